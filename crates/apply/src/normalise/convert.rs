//! The round trip of a value through a Go type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::quantity;
use super::types::{self, Presence};

/// A value that does not fit its type; the object is then left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mismatch;

/// Converts a whole object of the type `number`.
pub(super) fn convert_object(
    number: usize,
    content: Map<String, Value>,
) -> Result<Map<String, Value>, Mismatch> {
    convert_struct(number, content)
}

/// Moves `stringData` into `data`, encoded.
pub(super) fn move_string_data(content: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = content.remove("stringData") else {
        return;
    };
    let data = content.entry("data").or_insert_with(|| Map::new().into());
    let Some(data) = data.as_object_mut() else { return };
    for (key, text) in texts {
        let text = text.as_str().unwrap_or_default();
        data.insert(key, STANDARD.encode(text).into());
    }
}

fn convert_struct(number: usize, mut content: Map<String, Value>) -> Result<Map<String, Value>, Mismatch> {
    let mut result = Map::new();
    for field in types::fields(number) {
        let value = convert(field.code, content.remove(field.name).unwrap_or(Value::Null))?;
        let omit = match field.presence {
            Presence::Always => false,
            Presence::UnlessEmpty => is_empty(field.code, &value),
            Presence::UnlessZero => value.is_null(),
        };
        if !omit {
            result.insert(field.name.to_owned(), value);
        }
    }
    Ok(result)
}

/// Whether Go's `omitempty` leaves the value out: structs never, numbers at zero, pointers when nil.
fn is_empty(code: &str, value: &Value) -> bool {
    match code.as_bytes().first() {
        Some(b's') => value.as_str() == Some(""),
        Some(b'b') => *value == Value::Bool(false),
        Some(b'i' | b'f') => value.as_f64() == Some(0.0),
        Some(b'*' | b'v') => value.is_null(),
        Some(b'y') => value.is_null() || value.as_str() == Some(""),
        Some(b'[') => value.as_array().is_none_or(Vec::is_empty),
        Some(b'{') => value.as_object().is_none_or(Map::is_empty),
        _ => false,
    }
}

/// Converts a value to the type of `code` and back; null is the type's zero.
fn convert(code: &str, value: Value) -> Result<Value, Mismatch> {
    let Some(first) = code.chars().next() else {
        return Err(Mismatch);
    };
    let inner = &code[first.len_utf8()..];
    if first == '*' {
        return if value.is_null() {
            Ok(value)
        } else {
            convert(inner, value)
        };
    }
    match (first, value) {
        ('0'..='9', value) => {
            let number = code.parse().map_err(|_| Mismatch)?;
            match value {
                Value::Object(content) => convert_struct(number, content).map(Value::Object),
                Value::Null => convert_struct(number, Map::new()).map(Value::Object),
                _ => Err(Mismatch),
            }
        }
        ('[' | '{' | 'y' | 'v' | 'r' | 't' | 'm', Value::Null) => Ok(Value::Null),
        ('[', Value::Array(items)) => items
            .into_iter()
            .map(|item| convert(inner, item))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        ('{', Value::Object(entries)) => entries
            .into_iter()
            .map(|(key, value)| Ok((key, convert(inner, value)?)))
            .collect::<Result<_, _>>()
            .map(Value::Object),
        ('v' | 'r', value) => Ok(value),
        (scalar, value) => convert_scalar(scalar, value),
    }
}

fn convert_scalar(code: char, value: Value) -> Result<Value, Mismatch> {
    match (code, value) {
        ('s', Value::Null) => Ok("".into()),
        ('s', value @ Value::String(_)) => Ok(value),
        ('b', Value::Null) => Ok(false.into()),
        ('b', value @ Value::Bool(_)) => Ok(value),
        ('i' | 'f' | 'x', Value::Null) => Ok(0.into()),
        ('i' | 'x', Value::Number(number)) => whole(&number).map(Value::Number).ok_or(Mismatch),
        ('f', Value::Number(number)) => Ok(Value::Number(whole(&number).unwrap_or(number))),
        ('x', value @ Value::String(_)) => Ok(value),
        ('y', Value::String(text)) => decode(&text).map(|bytes| STANDARD.encode(bytes).into()),
        ('q', Value::Null) => Ok("0".into()),
        ('q', Value::String(text)) => quantity::canonical(&text).map(Value::String).ok_or(Mismatch),
        ('q', Value::Number(number)) => quantity::canonical(&number.to_string())
            .map(Value::String)
            .ok_or(Mismatch),
        ('t', Value::String(text)) => time(&text, 0),
        ('m', Value::String(text)) => time(&text, 6),
        ('d', value @ (Value::String(_) | Value::Null)) => Ok(value),
        _ => Err(Mismatch),
    }
}

/// The number as an integer, if it is one.
fn whole(number: &Number) -> Option<Number> {
    if number.is_i64() {
        return Some(number.clone());
    }
    let float = number.as_f64()?;
    // Above 2^53 a float no longer tells neighbouring integers apart; Go converts it all the same.
    (float.fract() == 0.0 && float.abs() < 9.2e18).then(|| Number::from(float as i64))
}

/// Decodes base64 as Go does, which passes over line breaks.
fn decode(text: &str) -> Result<Vec<u8>, Mismatch> {
    let compact: String = text
        .chars()
        .filter(|letter| !matches!(letter, '\n' | '\r'))
        .collect();
    STANDARD.decode(compact).map_err(|_| Mismatch)
}

/// A time in UTC with a fixed number of decimals of a second.
fn time(text: &str, decimals: i16) -> Result<Value, Mismatch> {
    let timestamp: jiff::Timestamp = text.parse().map_err(|_| Mismatch)?;
    if decimals > 0 {
        // Go's layout asks for exactly six decimals.
        let fraction = text.split_once('.').map_or("", |(_, rest)| rest);
        if fraction.bytes().take_while(u8::is_ascii_digit).count() != 6 {
            return Err(Mismatch);
        }
        return Ok(format!("{timestamp:.6}").into());
    }
    let seconds = jiff::Timestamp::from_second(timestamp.as_nanosecond().div_euclid(1_000_000_000) as i64);
    seconds
        .map(|seconds| seconds.to_string().into())
        .map_err(|_| Mismatch)
}
