//! `eq`, `ne`, `lt`, `le`, `gt`, `ge`, with Go's rules of what can be compared.

use std::rc::Rc;

use crate::format::describe;
use crate::value::{Operand, Shape, Value};

pub(super) type Verdict = Result<bool, String>;

const BAD_TYPE: &str = "invalid type for comparison";

/// A value of a basic kind; the types within a kind make no difference.
enum Basic {
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Complex(f64, f64),
    String(crate::text::Text),
}

fn basic(value: &Value) -> Option<Basic> {
    Some(match value {
        Value::Bool(value) => Basic::Bool(*value),
        Value::Signed(_, value) => Basic::Signed(*value),
        Value::Unsigned(_, value) => Basic::Unsigned(*value),
        Value::Float(_, value) => Basic::Float(*value),
        Value::Complex(real, imaginary) => Basic::Complex(*real, *imaginary),
        Value::String(text) => Basic::String(text.clone()),
        Value::Object(object) => match object.shape() {
            Shape::Plain(plain) => return basic(&plain),
            _ => return None,
        },
        _ => return None,
    })
}

fn incompatible<T>(left: &Value, right: &Value) -> Result<T, String> {
    let (left, right) = (left.type_of(), right.type_of());
    Err(format!("incompatible types for comparison: {left} and {right}"))
}

/// Whether the first operand equals any of the others.
pub(super) fn equal(operands: &[Operand]) -> Verdict {
    let Some((first, others)) = operands.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Err("missing argument for comparison".to_owned());
    };
    for other in others {
        if equals(&first.value, &other.value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equals(left: &Value, right: &Value) -> Verdict {
    match (basic(left), basic(right)) {
        (Some(Basic::Signed(signed)), Some(Basic::Unsigned(unsigned)))
        | (Some(Basic::Unsigned(unsigned)), Some(Basic::Signed(signed))) => {
            Ok(u64::try_from(signed) == Ok(unsigned))
        }
        (Some(Basic::Bool(left)), Some(Basic::Bool(right))) => Ok(left == right),
        (Some(Basic::Signed(left)), Some(Basic::Signed(right))) => Ok(left == right),
        (Some(Basic::Unsigned(left)), Some(Basic::Unsigned(right))) => Ok(left == right),
        #[expect(clippy::float_cmp, reason = "that is what the function asks")]
        (Some(Basic::Float(left)), Some(Basic::Float(right))) => Ok(left == right),
        #[expect(clippy::float_cmp, reason = "that is what the function asks")]
        (Some(Basic::Complex(a, b)), Some(Basic::Complex(c, d))) => Ok(a == c && b == d),
        (Some(Basic::String(left)), Some(Basic::String(right))) => Ok(left == right),
        (None, None) => equals_composite(left, right),
        _ if left.is_nil() || right.is_nil() => Ok(false),
        _ => incompatible(left, right),
    }
}

/// The kinds that have no order: lists, maps, functions, structures, pointers, nil.
#[derive(PartialEq, Eq)]
enum Kind {
    Invalid,
    List,
    Map,
    Function,
    Structure,
    Pointer,
}

fn kind(value: &Value) -> Kind {
    match value {
        Value::List(_) => Kind::List,
        Value::Map(_) => Kind::Map,
        Value::Function(_) => Kind::Function,
        Value::Object(object) => match object.shape() {
            Shape::Plain(plain) => kind(&plain),
            Shape::Struct(_) => Kind::Structure,
            Shape::Pointer(_) | Shape::NilPointer => Kind::Pointer,
            Shape::Sequence(_) | Shape::Pairs(_) => Kind::Function,
        },
        _ => Kind::Invalid,
    }
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::Nil => true,
        Value::List(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        Value::Object(object) => match object.shape() {
            Shape::Plain(plain) => is_nil(&plain),
            Shape::NilPointer => true,
            _ => false,
        },
        _ => false,
    }
}

fn equals_composite(left: &Value, right: &Value) -> Verdict {
    let (left_kind, right_kind) = (kind(left), kind(right));
    if left_kind != right_kind && left_kind != Kind::Invalid && right_kind != Kind::Invalid {
        return Err(format!(
            "non-comparable types {}: {}, {}: {}",
            describe(left, 's'),
            left.type_of(),
            right.type_of(),
            describe(right, 'v')
        ));
    }
    if is_nil(left) || is_nil(right) {
        return Ok(is_nil(left) && is_nil(right));
    }
    let refusal = || {
        Err(format!(
            "non-comparable type {}: {}",
            describe(right, 's'),
            right.type_of()
        ))
    };
    if !right.type_of().is_comparable() {
        return refusal();
    }
    let (Value::Object(left), Value::Object(right)) = (left, right) else {
        return Ok(false);
    };
    if Rc::ptr_eq(left, right) {
        return Ok(true);
    }
    if left.type_name() != right.type_name() || right_kind == Kind::Pointer {
        return Ok(false);
    }
    match left.equals(right.as_ref()) {
        Some(verdict) => Ok(verdict),
        None => refusal(),
    }
}

pub(super) fn not_equal(left: &Value, right: &Value) -> Verdict {
    Ok(!equals(left, right)?)
}

pub(super) fn less(left: &Value, right: &Value) -> Verdict {
    let (Some(first), Some(second)) = (basic(left), basic(right)) else {
        return Err(BAD_TYPE.to_owned());
    };
    match (first, second) {
        (Basic::Signed(left), Basic::Unsigned(right)) => {
            Ok(u64::try_from(left).map_or(true, |left| left < right))
        }
        (Basic::Unsigned(left), Basic::Signed(right)) => {
            Ok(u64::try_from(right).is_ok_and(|right| left < right))
        }
        (Basic::Bool(_), Basic::Bool(_)) | (Basic::Complex(..), Basic::Complex(..)) => {
            Err(BAD_TYPE.to_owned())
        }
        (Basic::Signed(left), Basic::Signed(right)) => Ok(left < right),
        (Basic::Unsigned(left), Basic::Unsigned(right)) => Ok(left < right),
        (Basic::Float(left), Basic::Float(right)) => Ok(left < right),
        (Basic::String(left), Basic::String(right)) => Ok(left < right),
        _ => incompatible(left, right),
    }
}

pub(super) fn less_or_equal(left: &Value, right: &Value) -> Verdict {
    Ok(less(left, right)? || equals(left, right)?)
}

pub(super) fn greater(left: &Value, right: &Value) -> Verdict {
    Ok(!less_or_equal(left, right)?)
}

pub(super) fn greater_or_equal(left: &Value, right: &Value) -> Verdict {
    Ok(!less(left, right)?)
}
