//! Functions that templates call: signatures, registration, and what a function sees of the render.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use crate::budget::Run;
use crate::error::{Error, Failure};
use crate::template::TemplateSet;
use crate::text::Text;
use crate::value::{List, Map, Operand, Type, Value};

/// Types of parameters and result, as Go's reflection sees them: they decide which arguments are taken, how
/// constants are read, and the words of the error where an argument does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Types of the parameters; with `variadic` the last is the type of each further argument.
    pub parameters: Vec<Type>,
    /// Whether the last parameter takes any number of arguments.
    pub variadic: bool,
    /// Type of the result. [`Type::Any`] for functions that return an interface.
    pub result: Type,
}

impl Signature {
    /// A function of exactly these parameters.
    pub fn fixed(parameters: &[Type], result: Type) -> Self {
        Self {
            parameters: parameters.to_vec(),
            variadic: false,
            result,
        }
    }

    /// A function whose last parameter takes any number of arguments.
    pub fn variadic(parameters: &[Type], result: Type) -> Self {
        Self {
            parameters: parameters.to_vec(),
            variadic: true,
            result,
        }
    }

    /// How many arguments must be there.
    pub(crate) fn required(&self) -> usize {
        self.parameters.len() - usize::from(self.variadic)
    }

    /// The type of argument `index`.
    pub(crate) fn parameter(&self, index: usize) -> &Type {
        static ANY: Type = Type::Any;
        let last = self.parameters.len().saturating_sub(1);
        self.parameters.get(index.min(last)).unwrap_or(&ANY)
    }
}

/// Something that templates can call.
pub trait Callable {
    /// The types.
    fn signature(&self) -> &Signature;

    /// Calls it with arguments that fit the signature.
    ///
    /// # Errors
    /// The function's own; the template engine puts the place and `error calling NAME: ` before it.
    fn call(&self, scope: &mut Scope<'_>, arguments: Arguments) -> Result<Operand, Failure>;
}

/// A closure with its signature.
pub struct Native<F> {
    signature: Signature,
    body: F,
}

impl<F, R> Native<F>
where
    F: Fn(&mut Scope<'_>, Arguments) -> Result<R, Failure>,
    R: Into<Operand>,
{
    /// Makes a closure callable.
    pub fn new(signature: Signature, body: F) -> Self {
        Self { signature, body }
    }
}

impl<F, R> Callable for Native<F>
where
    F: Fn(&mut Scope<'_>, Arguments) -> Result<R, Failure>,
    R: Into<Operand>,
{
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn call(&self, scope: &mut Scope<'_>, arguments: Arguments) -> Result<Operand, Failure> {
        (self.body)(scope, arguments).map(Into::into)
    }
}

/// A registered function: can be shared by renders on several threads.
pub type SharedFunction = Arc<dyn Callable + Send + Sync>;

/// Functions by name.
#[derive(Clone, Default)]
pub struct FunctionMap {
    functions: HashMap<Text, SharedFunction>,
}

impl FunctionMap {
    /// No functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a function, or replaces the one of that name. The name must be a Go identifier to be of use.
    pub fn register<F, R>(&mut self, name: &str, signature: Signature, body: F)
    where
        F: Fn(&mut Scope<'_>, Arguments) -> Result<R, Failure> + Send + Sync + 'static,
        R: Into<Operand> + 'static,
    {
        self.insert(name, Arc::new(Native::new(signature, body)));
    }

    /// Adds a callable, or replaces the one of that name.
    pub fn insert(&mut self, name: &str, function: SharedFunction) {
        self.functions.insert(name.into(), function);
    }

    /// Takes a function out.
    pub fn remove(&mut self, name: &str) {
        self.functions.remove(name.as_bytes());
    }

    /// The function of that name.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&SharedFunction> {
        self.functions.get(name.as_ref())
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<Text> {
        let mut names: Vec<Text> = self.functions.keys().cloned().collect();
        names.sort();
        names
    }

    /// Adds all functions of `other`; its own win.
    pub fn extend(&mut self, other: &Self) {
        let entries = other.functions.iter();
        self.functions
            .extend(entries.map(|(name, function)| (name.clone(), Arc::clone(function))));
    }
}

/// The arguments of a call; they fit the signature, so each accessor gives what the parameter's type
/// promises, and the zero of the type for anything else.
pub struct Arguments(Vec<Operand>);

impl Arguments {
    pub(crate) fn new(operands: Vec<Operand>) -> Self {
        Self(operands)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Argument `index` with its place; for parameters of type [`Type::Reflected`].
    pub fn operand(&self, index: usize) -> Operand {
        self.0.get(index).cloned().unwrap_or_default()
    }

    /// Argument `index` as it is.
    pub fn value(&self, index: usize) -> Value {
        self.operand(index).value
    }

    /// Argument `index` of a parameter of type `string`.
    pub fn text(&self, index: usize) -> Text {
        match self.value(index) {
            Value::String(text) => text,
            _ => Text::default(),
        }
    }

    /// Argument `index` of a parameter of an integer type.
    pub fn integer(&self, index: usize) -> i64 {
        match self.value(index) {
            Value::Signed(_, number) => number,
            Value::Unsigned(_, number) => number.cast_signed(),
            _ => 0,
        }
    }

    /// Argument `index` of a parameter of type `float64`.
    pub fn float(&self, index: usize) -> f64 {
        match self.value(index) {
            Value::Float(_, number) => number,
            _ => 0.0,
        }
    }

    /// Argument `index` of a parameter of type `bool`.
    pub fn flag(&self, index: usize) -> bool {
        matches!(self.value(index), Value::Bool(true))
    }

    /// Argument `index` of a parameter that is a map.
    pub fn map(&self, index: usize) -> Map {
        match self.value(index) {
            Value::Map(map) => map,
            _ => Map::nil(&Type::Any),
        }
    }

    /// Argument `index` of a parameter that is a slice.
    pub fn list(&self, index: usize) -> List {
        match self.value(index) {
            Value::List(list) => list,
            _ => List::nil(&Type::Any),
        }
    }

    /// The values from `index` on: those of the variadic parameter.
    pub fn rest(&self, index: usize) -> Vec<Value> {
        let rest = self.0.get(index..).unwrap_or_default();
        rest.iter().map(|operand| operand.value.clone()).collect()
    }

    /// All with their places.
    pub fn into_operands(self) -> Vec<Operand> {
        self.0
    }
}

/// What a function sees of the render that calls it.
pub struct Scope<'run> {
    pub(crate) set: &'run TemplateSet,
    pub(crate) run: &'run mut Run,
}

impl Scope<'_> {
    /// The templates among which the caller is executed; inside `tpl` these are the extended copy.
    pub fn templates(&self) -> &TemplateSet {
        self.set
    }

    /// The state of the render: limits, and what the engine keeps there.
    pub fn run(&mut self) -> &mut Run {
        self.run
    }

    /// What the engine has put into the render with [`Run::with_state`].
    pub fn state<T: Any>(&mut self) -> Option<&mut T> {
        self.run.state()
    }

    /// Executes a template of the caller's set into a string, as `include` does.
    ///
    /// # Errors
    /// If there is no such template, if it fails, or if a limit is reached.
    pub fn execute(&mut self, name: impl AsRef<[u8]>, data: &Value) -> Result<Text, Error> {
        self.set.execute_to_text(self.run, name, data)
    }

    /// Executes a template of another set into a string, as `tpl` does with a copy of
    /// [`Self::templates`] that has one template more.
    ///
    /// # Errors
    /// If there is no such template, if it fails, or if a limit is reached.
    pub fn execute_in(
        &mut self,
        set: &TemplateSet,
        name: impl AsRef<[u8]>,
        data: &Value,
    ) -> Result<Text, Error> {
        set.execute_to_text(self.run, name, data)
    }
}
