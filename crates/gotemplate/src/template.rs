//! Sets of templates: parsing into them and executing from them.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use crate::budget::Run;
use crate::builtins::builtins;
use crate::error::{Error, ParseError};
use crate::execute::Execution;
use crate::function::{FunctionMap, SharedFunction};
use crate::node::Tree;
use crate::parser::parse;
use crate::text::Text;
use crate::value::Value;

/// What a missing key of a map gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// No value, which prints as `<no value>` (Go's `missingkey=default` and `invalid`).
    #[default]
    Invalid,
    /// The zero of the map's element type (`missingkey=zero`).
    Zero,
    /// An error (`missingkey=error`).
    Error,
}

/// Templates that can call each other, and the functions they may call.
///
/// Can be shared between threads; clones share what was parsed before.
///
/// ```
/// use sluice_gotemplate::{Run, TemplateSet, Value};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut set = TemplateSet::new("example");
/// set.parse("hello", b"Hello {{ .name | printf \"%q\" }}")?;
/// let data = Value::from_json(&serde_json::json!({"name": "world"}));
/// let mut out = Vec::new();
/// set.execute(&mut Run::default(), "hello", &data, &mut out)?;
/// assert_eq!(out, b"Hello \"world\"");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct TemplateSet {
    name: String,
    /// Later layers hide earlier ones. A layer that a clone shares is never changed.
    layers: Vec<Arc<BTreeMap<Text, Arc<Tree>>>>,
    functions: Arc<FunctionMap>,
    missing_key: MissingKey,
    left: String,
    right: String,
}

impl TemplateSet {
    /// An empty set with Go's own functions. The name only shows where a template is not found.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            layers: Vec::new(),
            functions: Arc::default(),
            missing_key: MissingKey::default(),
            left: "{{".to_owned(),
            right: "}}".to_owned(),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the set another name.
    pub fn set_name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Adds functions; those of equal names replace Go's own and earlier ones.
    pub fn add_functions(&mut self, functions: &FunctionMap) {
        Arc::make_mut(&mut self.functions).extend(functions);
    }

    /// Says what a missing key gives.
    pub fn set_missing_key(&mut self, missing_key: MissingKey) {
        self.missing_key = missing_key;
    }

    /// What a missing key gives.
    pub fn missing_key(&self) -> MissingKey {
        self.missing_key
    }

    /// Changes the delimiters for what is parsed from now on; an empty one stands for Go's own.
    pub fn set_delimiters(&mut self, left: &str, right: &str) {
        let or = |text: &str, default: &str| if text.is_empty() { default } else { text }.to_owned();
        self.left = or(left, "{{");
        self.right = or(right, "}}");
    }

    /// Reads a text: itself becomes the template `name`, and each definition in it another one.
    ///
    /// A template replaces an earlier one of its name, unless it holds nothing but space and definitions.
    ///
    /// # Errors
    /// If the text is no template, with Go's message. The set is then as it was.
    pub fn parse(&mut self, name: &str, text: &[u8]) -> Result<(), ParseError> {
        for (name, tree) in self.read(name, text)? {
            self.add_tree(name, tree);
        }
        Ok(())
    }

    /// As [`Self::parse`], but the text becomes the template `name` even if it holds nothing: for texts that
    /// are executed at once, as those of `tpl`, which may stand within each other.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_over(&mut self, name: &str, text: &[u8]) -> Result<(), ParseError> {
        for (tree_name, tree) in self.read(name, text)? {
            if *tree_name == *name.as_bytes() {
                self.insert(tree_name, tree);
            } else {
                self.add_tree(tree_name, tree);
            }
        }
        Ok(())
    }

    fn read(&self, name: &str, text: &[u8]) -> Result<BTreeMap<Text, Arc<Tree>>, ParseError> {
        let functions = &self.functions;
        let is_function = |name: &[u8]| functions.get(name).is_some() || builtins().get(name).is_some();
        parse(name, text, (&self.left, &self.right), &is_function)
    }

    fn add_tree(&mut self, name: Text, tree: Arc<Tree>) {
        if tree.is_empty() && self.tree(&name).is_some() {
            return;
        }
        self.insert(name, tree);
    }

    fn insert(&mut self, name: Text, tree: Arc<Tree>) {
        let is_own = self
            .layers
            .last_mut()
            .is_some_and(|layer| Arc::get_mut(layer).is_some());
        if !is_own {
            self.layers.push(Arc::default());
        }
        if let Some(layer) = self.layers.last_mut().and_then(Arc::get_mut) {
            layer.insert(name, tree);
        }
    }

    /// Whether there is a template of this name.
    pub fn contains(&self, name: impl AsRef<[u8]>) -> bool {
        self.tree(name.as_ref()).is_some()
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> Vec<Text> {
        let all: BTreeMap<&Text, ()> = self
            .layers
            .iter()
            .flat_map(|layer| layer.keys().map(|name| (name, ())))
            .collect();
        all.into_keys().cloned().collect()
    }

    pub(crate) fn tree(&self, name: &[u8]) -> Option<&Tree> {
        self.layers
            .iter()
            .rev()
            .find_map(|layer| layer.get(name))
            .map(Arc::as_ref)
    }

    /// The function of that name and whether it is one of Go's own.
    pub(crate) fn function(&self, name: &[u8]) -> Option<(&SharedFunction, bool)> {
        let own = self.functions.get(name).map(|function| (function, false));
        own.or_else(|| builtins().get(name).map(|function| (function, true)))
    }

    /// Executes the template `name` with `data` as its dot.
    ///
    /// # Errors
    /// If there is no such template, if it fails, if a limit of the run is reached, or if the writer fails.
    /// Parts of the output may have been written by then.
    pub fn execute(
        &self,
        run: &mut Run,
        name: impl AsRef<[u8]>,
        data: &Value,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        let name = name.as_ref();
        let Some(tree) = self.tree(name) else {
            return Err(Error::NotFound {
                template: name.into(),
                set: self.name.clone(),
            });
        };
        Execution::new(self, tree, run, out).execute(data)
    }

    /// As [`Self::execute`], into a string.
    ///
    /// # Errors
    /// As [`Self::execute`].
    pub fn execute_to_text(
        &self,
        run: &mut Run,
        name: impl AsRef<[u8]>,
        data: &Value,
    ) -> Result<Text, Error> {
        let mut out = Vec::new();
        self.execute(run, name, data, &mut out)?;
        Ok(out.into())
    }
}
