//! Defaults, conditions, and questions about types.

use super::convert::kind_of;
use super::{ANY, Outcome, Registry, TEXT};
use crate::error::Failure;
use crate::format;
use crate::function::Arguments;
use crate::value::{Type, Value};

pub(super) fn register(registry: &mut Registry) {
    registry.variadic("default", &[ANY, ANY], ANY, |_, arguments| {
        let given = if arguments.len() > 1 {
            arguments.value(1)
        } else {
            Value::Nil
        };
        Ok(if given.is_true() {
            given
        } else {
            arguments.value(0)
        })
    });
    registry.fixed("empty", &[ANY], Type::Bool, |_, arguments| {
        Ok(Value::Bool(!arguments.value(0).is_true()))
    });
    registry.variadic("coalesce", &[ANY], ANY, |_, arguments| {
        let found = arguments.rest(0).into_iter().find(Value::is_true);
        Ok(found.unwrap_or_default())
    });
    registry.variadic("all", &[ANY], Type::Bool, |_, arguments| {
        Ok(Value::Bool(arguments.rest(0).iter().all(Value::is_true)))
    });
    registry.variadic("any", &[ANY], Type::Bool, |_, arguments| {
        Ok(Value::Bool(arguments.rest(0).iter().any(Value::is_true)))
    });
    registry.fixed("ternary", &[ANY, ANY, Type::Bool], ANY, |_, arguments| {
        Ok(arguments.value(if arguments.flag(2) { 0 } else { 1 }))
    });
    registry.fixed("fail", &[TEXT], TEXT, |_, arguments| {
        Err(Failure::new(arguments.text(0).to_text()))
    });
    registry.fixed("hello", &[], TEXT, |_, _| Ok(Value::from("Hello!")));

    let type_of = |arguments: &Arguments, index| format::describe(&arguments.value(index), 'T');
    registry.fixed("typeOf", &[ANY], TEXT, move |_, arguments| {
        Ok(Value::from(type_of(arguments, 0)))
    });
    registry.fixed("typeIs", &[TEXT, ANY], Type::Bool, move |_, arguments| {
        Ok(Value::Bool(arguments.text(0).to_text() == type_of(arguments, 1)))
    });
    registry.fixed("typeIsLike", &[TEXT, ANY], Type::Bool, move |_, arguments| {
        let found = type_of(arguments, 1);
        let target = arguments.text(0);
        let target = target.to_text();
        Ok(Value::Bool(
            target == found || found.strip_prefix('*') == Some(&*target),
        ))
    });
    registry.fixed("kindOf", &[ANY], TEXT, |_, arguments| {
        Ok(Value::from(kind_of(&arguments.value(0))))
    });
    registry.fixed("kindIs", &[TEXT, ANY], Type::Bool, |_, arguments| {
        Ok(Value::Bool(
            arguments.text(0).to_text() == kind_of(&arguments.value(1)),
        ))
    });
    registry.fixed("deepEqual", &[ANY, ANY], Type::Bool, |_, arguments| -> Outcome {
        let equal = deep_equal(&arguments.value(0), &arguments.value(1), 0)?;
        Ok(Value::Bool(equal))
    });
}

/// How deep values are compared; what nests deeper may contain itself.
const MAX_DEPTH: usize = 10_000;

/// Go's `reflect.DeepEqual`: types count, and nil lists and maps differ from empty ones.
pub(super) fn deep_equal(left: &Value, right: &Value, depth: usize) -> Result<bool, Failure> {
    if depth > MAX_DEPTH {
        return Err(crate::error::LimitError::Nesting(MAX_DEPTH).into());
    }
    stacker::maybe_grow(32 << 10, 512 << 10, || deep_equal_here(left, right, depth))
}

#[expect(clippy::float_cmp, reason = "Go compares so as well")]
fn deep_equal_here(left: &Value, right: &Value, depth: usize) -> Result<bool, Failure> {
    if left.type_of() != right.type_of() {
        return Ok(false);
    }
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Signed(_, left), Value::Signed(_, right)) => Ok(left == right),
        (Value::Unsigned(_, left), Value::Unsigned(_, right)) => Ok(left == right),
        (Value::Float(_, left), Value::Float(_, right)) => Ok(left == right),
        (Value::Complex(a, b), Value::Complex(c, d)) => Ok(a == c && b == d),
        (Value::String(left), Value::String(right)) => Ok(left == right),
        (Value::List(left), Value::List(right)) => {
            if left.is_nil() != right.is_nil() || left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.as_slice().iter().zip(right.as_slice()) {
                if !deep_equal(left, right, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(left), Value::Map(right)) => {
            if left.is_same(right) {
                return Ok(true);
            }
            if left.is_nil() != right.is_nil() || left.len() != right.len() {
                return Ok(false);
            }
            for ((left_key, left), (right_key, right)) in left.entries().iter().zip(right.entries().iter()) {
                if left_key != right_key || !deep_equal(left, right, depth + 1)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Object(left), Value::Object(right)) => {
            Ok(std::rc::Rc::ptr_eq(left, right) || left.equals(right.as_ref()).unwrap_or(false))
        }
        _ => Ok(false),
    }
}
