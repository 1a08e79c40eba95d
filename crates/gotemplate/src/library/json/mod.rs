//! JSON as Go's encoding/json writes and reads it.

mod read;
mod write;

use super::{ANY, LIST, MAP, Registry, TEXT};
use crate::error::Failure;
use crate::value::{List, Map, Value};
pub(super) use write::{Style, write};

pub(super) fn register(registry: &mut Registry) {
    // The order of Helm's functions: they replace sprig's of the same name.
    for (name, style, must) in [
        ("toJson", Style::Compact, false),
        ("mustToJson", Style::Compact, true),
        ("toPrettyJson", Style::Pretty, false),
        ("mustToPrettyJson", Style::Pretty, true),
        ("toRawJson", Style::Raw, true),
        ("mustToRawJson", Style::Raw, true),
    ] {
        registry.fixed(name, &[ANY], TEXT, move |scope, arguments| {
            match write(scope, &arguments.value(0), style) {
                Ok(text) => Ok(Value::string(text)),
                Err(failure) if must || failure.limit().is_some() => Err(failure),
                Err(_) => Ok(Value::from("")),
            }
        });
    }
    registry.fixed("mustFromJson", &[TEXT], ANY, |_, arguments| {
        match read::read(&arguments.text(0)) {
            Ok((value, None)) => Ok(value),
            Ok((_, Some(message))) | Err(message) => Err(Failure::new(message)),
        }
    });
    registry.fixed("fromJson", &[TEXT], MAP, |_, arguments| {
        let (value, message) = match read::read(&arguments.text(0)) {
            Ok((value, message)) => (into_map(Ok(value)), message),
            Err(message) => (into_map(Err(message)), None),
        };
        if let (Value::Map(map), Some(message)) = (&value, message)
            && !map.contains("Error")
        {
            map.insert("Error", Value::from(message));
        }
        Ok(value)
    });
    registry.fixed("fromJsonArray", &[TEXT], LIST, |_, arguments| {
        Ok(into_list(match read::read(&arguments.text(0)) {
            Ok((Value::List(_), Some(message))) => Err(message),
            Ok((value, _)) => Ok(value),
            Err(message) => Err(message),
        }))
    });
}

/// What stands in the way of a value's becoming a `kind`, in encoding/json's words.
pub(super) fn mismatch(value: &Value, kind: &str) -> String {
    let found = match value {
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
        _ => "number",
    };
    format!("json: cannot unmarshal {found} into Go value of type {kind}")
}

/// A map, or one with the key `Error`.
pub(super) fn into_map(outcome: Result<Value, String>) -> Value {
    let message = match outcome {
        Ok(Value::Map(map)) => return Value::Map(map),
        // `null` leaves a nil map.
        Ok(Value::Nil) => return Value::Map(Map::nil(&crate::value::Type::Any)),
        Ok(other) => mismatch(&other, "map[string]interface {}"),
        Err(message) => message,
    };
    Value::Map(Map::from_iter([("Error", Value::from(message))]))
}

/// A list, or one with the error as its only element.
pub(super) fn into_list(outcome: Result<Value, String>) -> Value {
    let message = match outcome {
        Ok(Value::List(list)) => return Value::List(list),
        Ok(Value::Nil) => return Value::List(List::nil(&crate::value::Type::Any)),
        Ok(other) => mismatch(&other, "[]interface {}"),
        Err(message) => message,
    };
    Value::List(List::new(vec![Value::from(message)]))
}
