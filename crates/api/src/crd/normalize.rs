//! From JSON schema as it is derived to the structural schemas of the API server.

use serde_json::{Map, Value};

/// Rewrites a derived schema:
///
/// * An absent field, and not `null`, stands for no value: what allows `null` is taken out. (The API server
///   drops nulls of fields that are not nullable.)
/// * What only matters to other readers of JSON schema (`$schema`, `title`) is taken out.
/// * `required` is sorted, so that the order of fields in Rust does not show.
pub(super) fn structural(schema: Value) -> Value {
    match schema {
        Value::Object(object) => Value::Object(structural_object(object)),
        other => other,
    }
}

/// Rewrites one schema object and those in it.
fn structural_object(mut object: Map<String, Value>) -> Map<String, Value> {
    object.remove("$schema");
    object.remove("title");
    if let Some(Value::Array(alternatives)) = object.remove("anyOf") {
        for alternative in alternatives {
            if let Value::Object(alternative) = alternative
                && alternative.get("type") != Some(&Value::from("null"))
            {
                for (key, value) in alternative {
                    object.entry(key).or_insert(value);
                }
            }
        }
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(required)) = object.get_mut("required") {
        required.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for property in properties.values_mut() {
            *property = structural(property.take());
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            *inner = structural(inner.take());
        }
    }
    object
}
