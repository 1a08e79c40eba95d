//! Conversions between types.

use crate::evaluation::{Evaluation, Failure, Outcome, no_overload, unfit};
use crate::numbers;
use crate::time::{self, Timestamp};
use crate::value::Value;

fn failed<'a>(value: &Value<'a>, target: &str) -> Outcome<'a> {
    let from = value.type_name();
    Err(Failure::new(format!(
        "type conversion error from '{from}' to '{target}'"
    )))
}

pub(crate) fn identity<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [value] => Ok(value.clone()),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn type_of<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [value] => Ok(Value::Type(value.type_name())),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn to_bool<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [value @ Value::Bool(_)] => Ok(value.clone()),
        [value @ Value::String(text)] => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => failed(value, "bool"),
        },
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn to_bytes<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [value @ Value::Bytes(_)] => Ok(value.clone()),
        [Value::String(text)] => {
            evaluation.produce(text.len())?;
            Ok(Value::Bytes(text.as_bytes().into()))
        }
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn to_double<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    Ok(Value::Double(match arguments {
        [Value::Double(number)] => *number,
        [Value::Int(number)] => *number as f64,
        [Value::Uint(number)] => *number as f64,
        [value @ Value::String(text)] => {
            evaluation.step(text.len())?;
            match numbers::parse_float(text) {
                Some(number) => number,
                None => return failed(value, "double"),
            }
        }
        _ => return Err(unfit(name, arguments)),
    }))
}

pub(crate) fn to_duration<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [value @ Value::Duration(_)] => Ok(value.clone()),
        [value @ Value::String(text)] => {
            evaluation.step(text.len())?;
            match time::parse_duration(text) {
                Some(length) => Ok(Value::Duration(length)),
                None => failed(value, "google.protobuf.Duration"),
            }
        }
        [value @ Value::Int(_)] => failed(value, "google.protobuf.Duration"),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn to_int<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let overflow = || Failure::new("integer overflow");
    Ok(Value::Int(match arguments {
        [Value::Int(number)] => *number,
        [Value::Double(number)] => {
            let limit = 2f64.powi(63);
            if !(*number > -limit && *number < limit) {
                return Err(overflow());
            }
            *number as i64
        }
        [Value::Duration(length)] => *length,
        [Value::Timestamp(time)] => time.seconds,
        [Value::Uint(number)] => i64::try_from(*number).map_err(|_| overflow())?,
        [value @ Value::String(text)] => {
            evaluation.step(text.len() / 16)?;
            match text.parse() {
                Ok(number) => number,
                Err(_) => return failed(value, "int"),
            }
        }
        _ => return Err(unfit(name, arguments)),
    }))
}

pub(crate) fn to_uint<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let overflow = || Failure::new("unsigned integer overflow");
    Ok(Value::Uint(match arguments {
        [Value::Uint(number)] => *number,
        [Value::Double(number)] => {
            if !(*number >= 0.0 && *number < 2f64.powi(64)) {
                return Err(overflow());
            }
            *number as u64
        }
        [Value::Int(number)] => u64::try_from(*number).map_err(|_| overflow())?,
        [value @ Value::String(text)] => {
            evaluation.step(text.len() / 16)?;
            match text.parse() {
                Ok(number) if !text.starts_with('+') => number,
                _ => return failed(value, "uint"),
            }
        }
        _ => return Err(unfit(name, arguments)),
    }))
}

pub(crate) fn to_string<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let text = match arguments {
        [value @ Value::String(_)] => return Ok(value.clone()),
        [Value::Bool(truth)] => truth.to_string(),
        [Value::Bytes(bytes)] => {
            evaluation.step(bytes.len() / 16)?;
            let text = std::str::from_utf8(bytes);
            text.map_err(|_| Failure::new("invalid UTF-8 in bytes, cannot convert to string"))?
                .to_owned()
        }
        [Value::Double(number)] => numbers::general(*number),
        [Value::Duration(length)] => format!("{}s", time::seconds(*length)),
        [Value::Int(number)] => number.to_string(),
        [Value::Timestamp(time)] => time.format(false),
        [Value::Uint(number)] => number.to_string(),
        _ => return Err(unfit(name, arguments)),
    };
    evaluation.text(text)
}

pub(crate) fn to_timestamp<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let overflow = || Failure::new("timestamp overflow");
    match arguments {
        [value @ Value::Timestamp(_)] => Ok(value.clone()),
        [Value::Int(seconds)] => {
            let time = Timestamp::new(*seconds, 0, 0).ok_or_else(overflow)?;
            Ok(Value::Timestamp(time))
        }
        [value @ Value::String(text)] => match Timestamp::parse(text) {
            Some(Ok(time)) => Ok(Value::Timestamp(time)),
            Some(Err(_)) => Err(overflow()),
            None => failed(value, "google.protobuf.Timestamp"),
        },
        [] => Err(no_overload()),
        _ => Err(unfit(name, arguments)),
    }
}
