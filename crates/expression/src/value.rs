//! Values while an expression is evaluated. What comes from the caller's JSON is borrowed, not copied.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::Value as Json;

use crate::syntax::Literal;
use crate::time::Timestamp;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Rc<[u8]>),
    List(List<'a>),
    Map(Map<'a>),
    Timestamp(Timestamp),
    /// Nanoseconds.
    Duration(i64),
    /// A type by its name.
    Type(&'static str),
    Optional(Option<Rc<Value<'a>>>),
}

/// A text, borrowed or shared.
#[derive(Debug, Clone)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

/// A list.
#[derive(Debug, Clone)]
pub(crate) enum List<'a> {
    Json(&'a [Json]),
    Made(Rc<Vec<Value<'a>>>),
}

/// A map.
#[derive(Debug, Clone)]
pub(crate) enum Map<'a> {
    Json(&'a serde_json::Map<String, Json>),
    Made(Rc<IndexMap<Key<'a>, Value<'a>>>),
}

/// What may be a key of a map.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key<'a> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// The bits of a number that is not -0.
    Double(u64),
    String(Text<'a>),
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Value::from_json),
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl<'a> Map<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(entries) => entries.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Json(entries) => entries
                .keys()
                .map(|key| Value::String(Text::Borrowed(key)))
                .collect(),
            Self::Made(entries) => entries.keys().map(Key::value).collect(),
        }
    }

    /// The value of a key; numbers of other types count as the same key if they are the same number.
    pub(crate) fn find(&self, key: &Value<'a>) -> Option<Value<'a>> {
        let entries = match self {
            Self::Json(entries) => {
                return match key {
                    Value::String(name) => entries.get(&**name).map(Value::from_json),
                    _ => None,
                };
            }
            Self::Made(entries) => entries,
        };
        let get = |key: Key<'a>| entries.get(&key).cloned();
        let exact = Key::of(key).and_then(get);
        if exact.is_some() {
            return exact;
        }
        match *key {
            Value::Double(number) => lossless_int(number)
                .and_then(|number| get(Key::Int(number)))
                .or_else(|| lossless_uint(number).and_then(|number| get(Key::Uint(number)))),
            Value::Int(number) => u64::try_from(number)
                .ok()
                .and_then(|number| get(Key::Uint(number))),
            Value::Uint(number) => i64::try_from(number)
                .ok()
                .and_then(|number| get(Key::Int(number))),
            _ => None,
        }
    }
}

impl<'a> Key<'a> {
    /// The key that a value is, if it may be one.
    pub(crate) fn of(value: &Value<'a>) -> Option<Self> {
        Some(match value {
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Int(number) => Self::Int(*number),
            Value::Uint(number) => Self::Uint(*number),
            Value::Double(number) => Self::Double((number + 0.0).to_bits()),
            Value::String(text) => Self::String(text.clone()),
            _ => return None,
        })
    }

    fn value(&self) -> Value<'a> {
        match self {
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Int(number) => Value::Int(*number),
            Self::Uint(number) => Value::Uint(*number),
            Self::Double(bits) => Value::Double(f64::from_bits(*bits)),
            Self::String(text) => Value::String(text.clone()),
        }
    }
}

/// The integer that a number is.
pub(crate) fn lossless_int(number: f64) -> Option<i64> {
    let limit = 2f64.powi(63);
    let fits = number > -limit && number < limit && number.fract() == 0.0;
    fits.then_some(number as i64)
}

/// The unsigned integer that a number is.
pub(crate) fn lossless_uint(number: f64) -> Option<u64> {
    let fits = number >= 0.0 && number < 2f64.powi(64) && number.fract() == 0.0;
    fits.then_some(number as u64)
}

impl<'a> Value<'a> {
    /// The value of JSON. Whole numbers within 64 bits are integers, all others doubles.
    pub(crate) fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => match number.as_i64() {
                Some(integer) => Self::Int(integer),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::String(Text::Borrowed(text)),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(entries) => Self::Map(Map::Json(entries)),
        }
    }

    pub(crate) fn from_literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(truth) => Self::Bool(*truth),
            Literal::Int(number) => Self::Int(*number),
            Literal::Uint(number) => Self::Uint(*number),
            Literal::Double(number) => Self::Double(*number),
            Literal::String(text) => Self::String(Text::Borrowed(text)),
            Literal::Bytes(bytes) => Self::Bytes(Rc::from(&**bytes)),
        }
    }

    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Made(Rc::new(items)))
    }

    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// The name of the value's type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
        }
    }

    /// What the original calls the representation of the value, in the messages that show it.
    pub(crate) fn representation(&self) -> &'static str {
        match self {
            Self::Null => "types.Null",
            Self::Bool(_) => "types.Bool",
            Self::Int(_) => "types.Int",
            Self::Uint(_) => "types.Uint",
            Self::Double(_) => "types.Double",
            Self::String(_) => "types.String",
            Self::Bytes(_) => "types.Bytes",
            Self::List(_) => "*types.baseList",
            Self::Map(_) => "*types.baseMap",
            Self::Timestamp(_) => "types.Timestamp",
            Self::Duration(_) => "types.Duration",
            Self::Type(_) => "*types.Type",
            Self::Optional(_) => "*types.Optional",
        }
    }

    /// Whether the value is the zero or the empty value of its type.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(truth) => !truth,
            Self::Int(number) | Self::Duration(number) => *number == 0,
            Self::Uint(number) => *number == 0,
            Self::Double(number) => *number == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.len() == 0,
            Self::Map(map) => map.len() == 0,
            Self::Timestamp(time) => time.is_zero(),
            Self::Type(_) | Self::Optional(_) => false,
        }
    }
}
