//! YAML as Helm writes and reads it.

use sluice_goyaml::{Flavour, Limits, parse_json, write_sigs, write_v3};

use super::dates::time_text;
use super::json::{Style, into_list, into_map, mismatch, write};
use super::{ANY, LIST, MAP, Registry, TEXT};
use crate::error::Failure;
use crate::function::Scope;
use crate::text::Text;
use crate::value::{List, Map, Value};

pub(super) fn register(registry: &mut Registry) {
    for (name, must) in [("toYaml", false), ("mustToYaml", true)] {
        registry.fixed(name, &[ANY], TEXT, move |scope, arguments| {
            let outcome = to_json(scope, &arguments.value(0))
                .and_then(|json| write_sigs(&json).map_err(|error| Failure::new(error.go_message())));
            match outcome {
                Ok(text) => Ok(Value::from(without_last_newline(&text))),
                Err(failure) if must || failure.limit().is_some() => Err(failure),
                Err(_) => Ok(Value::from("")),
            }
        });
    }
    registry.fixed("toYamlPretty", &[ANY], TEXT, |scope, arguments| {
        // This writer knows times, which need no quotes; inside lists and maps ours has them.
        if let Some(time) = time_text(&arguments.value(0)) {
            return Ok(Value::string(time));
        }
        match to_json(scope, &arguments.value(0)) {
            Ok(json) => Ok(Value::from(without_last_newline(&write_v3(&json, false)))),
            Err(failure) if failure.limit().is_some() => Err(failure),
            Err(_) => Ok(Value::from("")),
        }
    });
    // An empty document leaves the map or list empty.
    registry.fixed("fromYaml", &[TEXT], MAP, |_, arguments| {
        Ok(into_map(match read(&arguments.text(0)) {
            Ok(Value::Nil) => Ok(Value::Map(Map::new())),
            Ok(value @ Value::Map(_)) => Ok(value),
            Ok(other) => Err(decoding(&mismatch(&other, "map[string]interface {}"))),
            Err(message) => Err(message),
        }))
    });
    registry.fixed("fromYamlArray", &[TEXT], LIST, |_, arguments| {
        Ok(into_list(match read(&arguments.text(0)) {
            Ok(Value::Nil) => Ok(Value::List(List::new(Vec::new()))),
            Ok(value @ Value::List(_)) => Ok(value),
            Ok(other) => Err(decoding(&mismatch(&other, "[]interface {}"))),
            Err(message) => Err(message),
        }))
    });
}

fn decoding(message: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {message}")
}

fn without_last_newline(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// The value as Go's JSON encoder sees it.
fn to_json(scope: &mut Scope<'_>, value: &Value) -> Result<serde_json::Value, Failure> {
    let text = write(scope, value, Style::Compact)?;
    serde_json::from_slice(&text).map_err(|error| Failure::new(error.to_string()))
}

fn read(text: &Text) -> Result<Value, String> {
    match parse_json(text, Flavour::Sigs, Limits::default()) {
        Ok(json) => Ok(Value::from_json(&json)),
        Err(error) => Err(format!("error converting YAML to JSON: {}", error.go_message())),
    }
}
