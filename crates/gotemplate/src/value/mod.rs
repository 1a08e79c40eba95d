//! Values as Go has them: kinds kept apart, maps shared and mutable, structures with methods.
//!
//! Values belong to one thread ([`std::rc::Rc`]): a render runs on one thread from beginning to end, and what
//! goes in (JSON, files) and out (text) can cross threads. Parsed templates and registered functions can, too.

mod json;
mod list;
mod map;
mod object;
mod types;

use std::rc::Rc;

pub use list::List;
pub use map::Map;
pub(crate) use map::WeakMap;
pub use object::{Object, Pairs, Shape};
pub use types::{Float, Signed, Type, Unsigned};

use crate::function::Callable;
pub(crate) use crate::text::Text;

/// A Go value: what an `interface {}` holds.
#[derive(Clone, Default)]
pub enum Value {
    /// The untyped nil.
    #[default]
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer and its type.
    Signed(Signed, i64),
    /// An unsigned integer and its type.
    Unsigned(Unsigned, u64),
    /// A floating-point number and its type.
    Float(Float, f64),
    /// A `complex128`: real and imaginary part.
    Complex(f64, f64),
    /// A `string`.
    String(Text),
    /// A slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A value of a named type: a structure, a pointer, or anything with methods.
    Object(Rc<dyn Object>),
    /// A function.
    Function(Rc<dyn Callable>),
}

impl Value {
    /// An `int`.
    pub fn int(value: i64) -> Self {
        Self::Signed(Signed::Int, value)
    }

    /// An `int64`.
    pub fn int64(value: i64) -> Self {
        Self::Signed(Signed::Int64, value)
    }

    /// A `uint8`.
    pub fn byte(value: u8) -> Self {
        Self::Unsigned(Unsigned::Uint8, u64::from(value))
    }

    /// A `float64`.
    pub fn float64(value: f64) -> Self {
        Self::Float(Float::Float64, value)
    }

    /// A `string`.
    pub fn string(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    /// A `[]uint8`.
    pub fn bytes(bytes: &[u8]) -> Self {
        let elements = bytes.iter().copied().map(Self::byte).collect();
        Self::List(List::typed(&Type::BYTE, elements))
    }

    /// Whether this is the untyped nil.
    pub fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }

    /// The type of the value; [`Type::Any`] for nil.
    pub fn type_of(&self) -> Type {
        match self {
            Self::Nil => Type::Any,
            Self::Bool(_) => Type::Bool,
            Self::Signed(kind, _) => Type::Signed(*kind),
            Self::Unsigned(kind, _) => Type::Unsigned(*kind),
            Self::Float(kind, _) => Type::Float(*kind),
            Self::Complex(..) => Type::Complex,
            Self::String(_) => Type::String,
            Self::List(list) => Type::List(list.element_type()),
            Self::Map(map) => Type::Map(map.element_type()),
            Self::Object(object) => object.type_of(),
            Self::Function(_) => Type::Function,
        }
    }

    /// The value without the name of its type: what a named number, string, list or map is underneath, and
    /// everything else itself.
    pub fn plain(&self) -> Self {
        match self {
            Self::Object(object) => match object.shape() {
                Shape::Plain(value) => value,
                _ => self.clone(),
            },
            other => other.clone(),
        }
    }

    /// The value that stands for nil in a place of type `kind`.
    pub(crate) fn zero(kind: &Type) -> Self {
        match kind {
            Type::Bool => Self::Bool(false),
            Type::Signed(kind) => Self::Signed(*kind, 0),
            Type::Unsigned(kind) => Self::Unsigned(*kind, 0),
            Type::Float(kind) => Self::Float(*kind, 0.0),
            Type::Complex => Self::Complex(0.0, 0.0),
            Type::String => Self::String(Text::default()),
            Type::List(element) => Self::List(List::nil(element)),
            Type::Map(element) => Self::Map(Map::nil(element)),
            Type::Named(_, Some(underlying)) => Self::zero(underlying),
            Type::Any | Type::Reflected | Type::Function | Type::Named(_, None) => Self::Nil,
        }
    }

    /// Go's truth of a value: not the zero of its type.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Signed(_, value) => *value != 0,
            Self::Unsigned(_, value) => *value != 0,
            Self::Float(_, value) => *value != 0.0,
            Self::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            Self::String(text) => !text.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Object(object) => match object.shape() {
                Shape::Plain(value) => value.is_true(),
                Shape::NilPointer => false,
                Shape::Struct(_) | Shape::Pointer(_) | Shape::Sequence(_) | Shape::Pairs(_) => true,
            },
            Self::Function(_) => true,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Text> for Value {
    fn from(text: Text) -> Self {
        Self::String(text)
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::List(list)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

/// A value in a place with a static type, Go's `reflect.Value`.
///
/// An element of a `[]interface {}` is boxed: its static type is `interface {}` whatever it holds, which
/// messages show. A nil that is not boxed is no value at all.
#[derive(Clone, Default)]
pub struct Operand {
    /// What is in the place.
    pub value: Value,
    /// Whether the place is an interface.
    pub boxed: bool,
}

impl Operand {
    /// No value.
    pub const INVALID: Self = Self {
        value: Value::Nil,
        boxed: false,
    };

    /// A value in a place of its own type.
    pub fn concrete(value: Value) -> Self {
        Self { value, boxed: false }
    }

    /// A value in an interface.
    pub fn boxed(value: Value) -> Self {
        Self { value, boxed: true }
    }

    /// A value in a place of type `element`.
    pub fn of_element(value: Value, element: &Type) -> Self {
        Self {
            value,
            boxed: *element == Type::Any,
        }
    }

    /// Whether there is a value, be it a nil interface.
    pub fn is_valid(&self) -> bool {
        self.boxed || !self.value.is_nil()
    }

    /// The static type.
    pub(crate) fn type_of(&self) -> Type {
        if self.boxed {
            Type::Any
        } else {
            self.value.type_of()
        }
    }

    /// What is in the place, the place forgotten.
    pub(crate) fn unboxed(self) -> Self {
        Self::concrete(self.value)
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Self {
        Self::concrete(value)
    }
}

/// Drops values without recursion, however deep they nest.
fn bury(values: impl IntoIterator<Item = Value>) {
    let mut graves: Vec<Value> = values
        .into_iter()
        .filter(|value| matches!(value, Value::List(_) | Value::Map(_)))
        .collect();
    while let Some(value) = graves.pop() {
        match value {
            Value::List(list) => list.take_elements(&mut graves),
            Value::Map(map) => map.take_elements(&mut graves),
            _ => {}
        }
    }
}
