use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;

use super::{Operand, Text, Type, Value};
use crate::function::Callable;

/// What two-valued iterators yield.
pub type Pairs = Box<dyn Iterator<Item = (Operand, Operand)>>;

/// A value of a named Go type: `.Capabilities`, a time, a version.
pub trait Object {
    /// The type as Go prints it: `*common.Capabilities`, `time.Time`.
    fn type_name(&self) -> Cow<'static, str>;

    /// What the value is underneath.
    fn shape(&self) -> Shape;

    /// The exported field `name` of the structure, or of the one that a pointer leads to.
    fn field(&self, name: &str) -> Option<Operand> {
        match self.shape() {
            Shape::Struct(fields) | Shape::Pointer(fields) => fields
                .into_iter()
                .find(|(field, _)| *field == name)
                .map(|(_, operand)| operand),
            _ => None,
        }
    }

    /// The exported method `name`, bound to this value.
    fn method(self: Rc<Self>, name: &str) -> Option<Rc<dyn Callable>> {
        let _ = name;
        None
    }

    /// What the method `Error` or `String` gives, for types that have one.
    fn text(&self) -> Option<Text> {
        None
    }

    /// The JSON string that the type's `MarshalJSON` gives, for structures that have one.
    fn json(&self) -> Option<Text> {
        None
    }

    /// Go's `==` with a value of the same type; None where the type cannot be compared. Pointers are equal
    /// if they lead to the same place, which needs no answer here.
    fn equals(&self, other: &dyn Object) -> Option<bool> {
        let _ = other;
        None
    }

    /// Another value of the same type, for types that are a map or list underneath: copies are made so. None
    /// where one value may stand for all copies.
    fn around(&self, plain: Value) -> Option<Value> {
        let _ = plain;
        None
    }

    /// The object itself, for functions that want their own kind of object back.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// The type; derived from the name and the shape.
    fn type_of(&self) -> Type {
        let underlying = match self.shape() {
            Shape::Plain(value) => match value.type_of() {
                Type::Bool => Some(&Type::Bool),
                Type::String => Some(&Type::String),
                Type::List(element) if *element == Type::Any => Some(&Type::LIST),
                Type::List(element) if *element == Type::String => Some(&Type::STRINGS),
                Type::Map(element) if *element == Type::Any => Some(&Type::MAP),
                Type::Map(element) if *element == Type::String => Some(&const { Type::Map(&Type::String) }),
                Type::Map(_) => Some(&const { Type::Map(&Type::LIST) }),
                Type::List(_) => Some(&const { Type::List(&Type::BYTE) }),
                _ => Some(&Type::INT64),
            },
            _ => None,
        };
        Type::Named(self.type_name(), underlying)
    }
}

/// What a named type is underneath.
pub enum Shape {
    /// A number, text, list or map.
    Plain(Value),
    /// A structure: its exported fields in order.
    Struct(Vec<(&'static str, Operand)>),
    /// A pointer to a structure.
    Pointer(Vec<(&'static str, Operand)>),
    /// A nil pointer.
    NilPointer,
    /// An iterator function of single values.
    Sequence(Box<dyn Iterator<Item = Operand>>),
    /// An iterator function of pairs.
    Pairs(Pairs),
}
