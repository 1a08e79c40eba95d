//! Arithmetic.

use crate::evaluation::{Evaluation, Failure, Outcome, no_overload};
use crate::value::Value;

const OVERFLOW: &str = "integer overflow";
const UNSIGNED_OVERFLOW: &str = "unsigned integer overflow";
const TIMESTAMP_OVERFLOW: &str = "timestamp overflow";

fn int<'a>(result: Option<i64>) -> Outcome<'a> {
    result.map(Value::Int).ok_or_else(|| Failure::new(OVERFLOW))
}

fn uint<'a>(result: Option<u64>) -> Outcome<'a> {
    result
        .map(Value::Uint)
        .ok_or_else(|| Failure::new(UNSIGNED_OVERFLOW))
}

fn duration<'a>(result: Option<i64>) -> Outcome<'a> {
    result.map(Value::Duration).ok_or_else(|| Failure::new(OVERFLOW))
}

/// What cannot compute at all is told apart from what cannot compute with the other operand.
fn unfit(name: &str, first: Option<&Value<'_>>, able: bool) -> Failure {
    match first {
        Some(_) if able => no_overload(),
        _ => Failure::new(format!("no such overload: {name}")),
    }
}

pub(crate) fn add<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::Int(left), Value::Int(right)] => int(left.checked_add(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_add(*right)),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left + right)),
        [Value::String(left), Value::String(right)] => {
            evaluation.produce(left.len() + right.len())?;
            Ok(Value::text([&**left, &**right].concat()))
        }
        [Value::Bytes(left), Value::Bytes(right)] => {
            evaluation.produce(left.len() + right.len())?;
            Ok(Value::Bytes([&**left, &**right].concat().into()))
        }
        [Value::List(left), Value::List(right)] => {
            evaluation.produce((left.len() + right.len()) * size_of::<Value<'_>>())?;
            Ok(Value::list(left.iter().chain(right.iter()).collect()))
        }
        [Value::Duration(left), Value::Duration(right)] => duration(left.checked_add(*right)),
        [Value::Timestamp(time), Value::Duration(length)]
        | [Value::Duration(length), Value::Timestamp(time)] => time
            .plus(*length)
            .map(Value::Timestamp)
            .ok_or_else(|| Failure::new(TIMESTAMP_OVERFLOW)),
        _ => {
            let first = arguments.first();
            let unable = matches!(
                first,
                Some(Value::Null | Value::Bool(_) | Value::Map(_) | Value::Type(_) | Value::Optional(_))
            );
            Err(unfit(name, first, !unable))
        }
    }
}

pub(crate) fn subtract<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::Int(left), Value::Int(right)] => int(left.checked_sub(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_sub(*right)),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left - right)),
        [Value::Duration(left), Value::Duration(right)] => duration(left.checked_sub(*right)),
        [Value::Timestamp(left), Value::Timestamp(right)] => duration(left.since(right)),
        [Value::Timestamp(time), Value::Duration(length)] => {
            let length = length.checked_neg().ok_or_else(|| Failure::new(OVERFLOW))?;
            time.plus(length)
                .map(Value::Timestamp)
                .ok_or_else(|| Failure::new(TIMESTAMP_OVERFLOW))
        }
        _ => {
            let first = arguments.first();
            let able = matches!(
                first,
                Some(
                    Value::Int(_)
                        | Value::Uint(_)
                        | Value::Double(_)
                        | Value::Duration(_)
                        | Value::Timestamp(_)
                        | Value::String(_)
                )
            );
            Err(unfit(name, first, able))
        }
    }
}

pub(crate) fn multiply<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::Int(left), Value::Int(right)] => int(left.checked_mul(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_mul(*right)),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left * right)),
        _ => Err(unfit(name, arguments.first(), is_number(arguments.first()))),
    }
}

pub(crate) fn divide<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            Err(Failure::new("division by zero"))
        }
        [Value::Int(left), Value::Int(right)] => int(left.checked_div(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_div(*right)),
        [Value::Double(left), Value::Double(right)] => Ok(Value::Double(left / right)),
        _ => Err(unfit(name, arguments.first(), is_number(arguments.first()))),
    }
}

pub(crate) fn modulo<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => {
            Err(Failure::new("modulus by zero"))
        }
        [Value::Int(left), Value::Int(right)] => int(left.checked_rem(*right)),
        [Value::Uint(left), Value::Uint(right)] => uint(left.checked_rem(*right)),
        _ => {
            let first = arguments.first();
            let able = is_number(first) && !matches!(first, Some(Value::Double(_)));
            Err(unfit(name, first, able))
        }
    }
}

/// Numbers, and what looks for methods of its own.
fn is_number(value: Option<&Value<'_>>) -> bool {
    matches!(
        value,
        Some(
            Value::Int(_)
                | Value::Uint(_)
                | Value::Double(_)
                | Value::String(_)
                | Value::Timestamp(_)
                | Value::Duration(_)
        )
    )
}

pub(crate) fn negate<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Int(number)] => int(number.checked_neg()),
        [Value::Double(number)] => Ok(Value::Double(-number)),
        [Value::Duration(length)] => duration(length.checked_neg()),
        [Value::Bool(_) | Value::String(_) | Value::Timestamp(_)] => Err(no_overload()),
        _ => Err(Failure::new(format!("no such overload: {name}"))),
    }
}
