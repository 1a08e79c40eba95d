//! Equality, order, membership and sizes.

use std::cmp::Ordering;

use crate::evaluation::{Evaluation, Failure, Outcome, no_overload, unfit};
use crate::value::{List, Value};

/// For what the evaluation handles itself: calling it by name finds no overload.
pub(crate) fn unreachable<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    Err(unfit(name, arguments))
}

pub(crate) fn equal<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [left, right] => Ok(Value::Bool(are_equal(evaluation, left, right)?)),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn not_equal<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [left, right] => Ok(Value::Bool(!are_equal(evaluation, left, right)?)),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn not<'a>(_: &mut Evaluation<'a>, _: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Bool(truth)] => Ok(Value::Bool(!truth)),
        _ => Err(no_overload()),
    }
}

/// Whether two values are equal; numbers of different types are if they are the same number.
pub(crate) fn are_equal<'a>(
    evaluation: &mut Evaluation<'a>,
    left: &Value<'a>,
    right: &Value<'a>,
) -> Result<bool, Failure> {
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::String(left), Value::String(right)) => {
            evaluation.step(left.len().min(right.len()) / 16)?;
            left == right
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            evaluation.step(left.len().min(right.len()) / 16)?;
            left == right
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => left.moment() == right.moment(),
        (Value::Duration(left), Value::Duration(right)) => left == right,
        (Value::Type(left), Value::Type(right)) => left == right,
        (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Optional(Some(left)), Value::Optional(Some(right))) => are_equal(evaluation, left, right)?,
        (Value::List(left), Value::List(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right.iter()) {
                evaluation.step(1)?;
                if !are_equal(evaluation, &left, &right)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(left), Value::Map(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            evaluation.produce(left.len() * size_of::<Value<'_>>())?;
            for key in left.keys() {
                evaluation.step(2)?;
                match (left.find(&key), right.find(&key)) {
                    (Some(left), Some(right)) if are_equal(evaluation, &left, &right)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        _ => compare_numbers(left, right) == Some(Ordering::Equal),
    })
}

/// The order of two numbers; `None` for what is none, and for not-a-number.
fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    Some(match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Uint(left), Value::Uint(right)) => left.cmp(right),
        (Value::Double(left), Value::Double(right)) => return left.partial_cmp(right),
        (Value::Int(left), Value::Uint(right)) => i128::from(*left).cmp(&i128::from(*right)),
        (Value::Uint(left), Value::Int(right)) => i128::from(*left).cmp(&i128::from(*right)),
        // As the original does it: the integer becomes a double first.
        (Value::Double(left), Value::Int(right)) => return left.partial_cmp(&(*right as f64)),
        (Value::Int(left), Value::Double(right)) => return (*left as f64).partial_cmp(right),
        (Value::Double(left), Value::Uint(right)) => return left.partial_cmp(&(*right as f64)),
        (Value::Uint(left), Value::Double(right)) => return (*left as f64).partial_cmp(right),
        _ => return None,
    })
}

fn compare<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
    holds: fn(Ordering) -> bool,
) -> Outcome<'a> {
    let [left, right] = arguments else {
        return Err(unfit(name, arguments));
    };
    let order = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::String(left), Value::String(right)) => {
            evaluation.step(left.len().min(right.len()) / 16)?;
            left.as_bytes().cmp(right.as_bytes())
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            evaluation.step(left.len().min(right.len()) / 16)?;
            left.cmp(right)
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => left.moment().cmp(&right.moment()),
        (Value::Duration(left), Value::Duration(right)) => left.cmp(right),
        (Value::Null | Value::List(_) | Value::Map(_) | Value::Type(_) | Value::Optional(_), _) => {
            return Err(Failure::new(format!("no such overload: {name}")));
        }
        _ => match compare_numbers(left, right) {
            Some(order) => order,
            None if is_not_a_number(left) || is_not_a_number(right) && is_number(left) => {
                return Err(Failure::new("NaN values cannot be ordered"));
            }
            None => return Err(no_overload()),
        },
    };
    Ok(Value::Bool(holds(order)))
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_))
}

fn is_not_a_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Double(number) if number.is_nan())
}

pub(crate) fn less<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    compare(evaluation, name, arguments, Ordering::is_lt)
}

pub(crate) fn less_or_equal<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    compare(evaluation, name, arguments, Ordering::is_le)
}

pub(crate) fn greater<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    compare(evaluation, name, arguments, Ordering::is_gt)
}

pub(crate) fn greater_or_equal<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    compare(evaluation, name, arguments, Ordering::is_ge)
}

/// `in`: an element of a list, or a key of a map.
pub(crate) fn within<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    Ok(Value::Bool(match arguments {
        [element, Value::List(list)] => holds(evaluation, list, element)?,
        [key, Value::Map(map)] => map.find(key).is_some(),
        [_, _] => return Err(no_overload()),
        _ => return Err(unfit(name, arguments)),
    }))
}

fn holds<'a>(evaluation: &mut Evaluation<'a>, list: &List<'a>, element: &Value<'a>) -> Result<bool, Failure> {
    for item in list.iter() {
        evaluation.step(1)?;
        if are_equal(evaluation, element, &item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds_all<'a>(
    evaluation: &mut Evaluation<'a>,
    list: &List<'a>,
    others: &List<'a>,
) -> Result<bool, Failure> {
    for element in others.iter() {
        if !holds(evaluation, list, &element)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) fn set_contains<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::List(list), Value::List(others)] => Ok(Value::Bool(holds_all(evaluation, list, others)?)),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn set_equivalent<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::List(list), Value::List(others)] => Ok(Value::Bool(
            holds_all(evaluation, list, others)? && holds_all(evaluation, others, list)?,
        )),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn set_intersects<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let [Value::List(list), Value::List(others)] = arguments else {
        return Err(unfit(name, arguments));
    };
    for element in list.iter() {
        if holds(evaluation, others, &element)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

pub(crate) fn size<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let size = match arguments {
        [Value::String(text)] => {
            evaluation.step(text.len() / 16)?;
            text.chars().count()
        }
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(list)] => list.len(),
        [Value::Map(map)] => map.len(),
        [Value::Timestamp(_) | Value::Duration(_)] => return Err(no_overload()),
        _ => return Err(Failure::new(format!("no such overload: {name}"))),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}
