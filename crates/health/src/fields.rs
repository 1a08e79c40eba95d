//! Field access with the leniency and the error texts of Go's unstructured helpers.

use serde_json::Value;

/// The API group of the object, empty for the core group.
pub(crate) fn group(object: &Value) -> &str {
    let version = object
        .get("apiVersion")
        .and_then(Value::as_str)
        .unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

/// The kind of the object.
pub(crate) fn kind(object: &Value) -> &str {
    object.get("kind").and_then(Value::as_str).unwrap_or_default()
}

/// The value at `path`, `None` where a part is missing, or an error where a part is not a mapping.
fn lookup<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    for (depth, field) in path.iter().enumerate() {
        match value {
            Value::Null => return Ok(None),
            Value::Object(map) => match map.get(*field) {
                Some(child) => value = child,
                None => return Ok(None),
            },
            other => {
                return Err(accessor_error(&path[..=depth], other, "map[string]interface{}"));
            }
        }
    }
    Ok(Some(value))
}

/// An integer that must be an integer if it is there at all.
pub(crate) fn strict_integer(object: &Value, path: &[&str]) -> Result<Option<i64>, String> {
    match lookup(object, path)? {
        None => Ok(None),
        Some(value) => match value.as_i64() {
            Some(number) => Ok(Some(number)),
            None => Err(accessor_error(path, value, "int64")),
        },
    }
}

/// A text that must be a text if it is there at all.
pub(crate) fn strict_text<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a str>, String> {
    match lookup(object, path)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value) => Err(accessor_error(path, value, "string")),
    }
}

/// A list that must be a list if it is there at all.
pub(crate) fn strict_list<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a [Value]>, String> {
    match lookup(object, path)? {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(value) => Err(accessor_error(path, value, "[]interface {}")),
    }
}

/// An integer, or `default` where it is missing or something else.
pub(crate) fn integer(object: &Value, path: &[&str], default: i64) -> i64 {
    lookup(object, path)
        .ok()
        .flatten()
        .and_then(Value::as_i64)
        .unwrap_or(default)
}

/// A text, or `default` where it is missing or something else.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str], default: &'a str) -> &'a str {
    lookup(object, path)
        .ok()
        .flatten()
        .and_then(Value::as_str)
        .unwrap_or(default)
}

/// Go's message for a value of the wrong type.
fn accessor_error(path: &[&str], value: &Value, expected: &str) -> String {
    let path = path.join(".");
    format!(
        ".{path} accessor error: {} is of the type {}, expected {expected}",
        go_text(value),
        go_type(value)
    )
}

/// The value as Go's `%v` prints it.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let parts: Vec<String> = list.iter().map(go_text).collect();
            format!("[{}]", parts.join(" "))
        }
        Value::Object(map) => {
            let mut parts: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_text(value)))
                .collect();
            parts.sort();
            format!("map[{}]", parts.join(" "))
        }
    }
}

/// The type of the value as Go's `%T` prints it after decoding JSON.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The kind of the value as Go's reflection names it.
pub(crate) fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => go_type(other),
    }
}
