//! Values: reading, merging, setting.

mod assign;
mod coalesce;
mod sources;

use serde_json::{Number, Value as Json};
use sluice_gotemplate::{List, Map, Value};

pub use sources::{ValuesBuilder, ValuesError};

pub use coalesce::TypeMismatch;
pub(crate) use coalesce::{coalesce_values, deep_copy, merge_tables, merge_values};

/// Values of a chart or of a user: a JSON object.
///
/// Whether a number is an integer matters, for Go's types show in templates: what was read from YAML or JSON
/// is a float (`1e+06`), what `--set` assigned is an integer (`1000000`).
pub type Values = serde_json::Map<String, Json>;

/// The key under which values reach all charts below.
pub(crate) const GLOBAL: &str = "global";

/// Reads the documents of a values file and merges them, the later over the earlier.
///
/// # Errors
/// The text that Helm has for it.
pub fn read_documents(text: &[u8]) -> Result<Values, String> {
    let mut values = Values::new();
    for document in split_documents(text) {
        let read = crate::decode::decode_values(&document)
            .map_err(|problem| format!("cannot unmarshal yaml document: {problem}"))?;
        merge_maps(&mut values, read.unwrap_or_default());
    }
    Ok(values)
}

/// The documents of a stream: lines of three dashes, with nothing but space or a comment after them, stand
/// between them.
fn split_documents(text: &[u8]) -> Vec<Vec<u8>> {
    let mut documents = Vec::new();
    let mut document: Vec<u8> = Vec::new();
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let rest = line.strip_prefix(b"---").map(|rest| rest.trim_ascii());
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"#")) && !document.is_empty() {
            documents.push(std::mem::take(&mut document));
        } else {
            document.extend_from_slice(line);
        }
    }
    if !document.is_empty() {
        documents.push(document);
    }
    documents
}

/// Merges `over` into `values`: maps are merged, everything else is replaced, nulls stay.
pub fn merge_maps(values: &mut Values, over: Values) {
    for (key, value) in over {
        match (values.get_mut(&key), value) {
            (Some(Json::Object(below)), Json::Object(over)) => merge_maps(below, over),
            (_, value) => {
                values.insert(key, value);
            }
        }
    }
}

/// The values as Go's JSON decoder leaves them: all numbers are floats.
pub(crate) fn with_go_numbers(values: Values) -> Values {
    values
        .into_iter()
        .map(|(key, value)| (key, go_numbers(value)))
        .collect()
}

pub(crate) fn go_numbers(value: Json) -> Json {
    match value {
        Json::Number(number) => number
            .as_f64()
            .and_then(Number::from_f64)
            .map_or(Json::Null, Json::Number),
        Json::Array(items) => items.into_iter().map(go_numbers).collect(),
        Json::Object(map) => Json::Object(with_go_numbers(map)),
        other => other,
    }
}

/// The Go type of a value.
pub(crate) fn go_type(value: &Json) -> &'static str {
    match value {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}

/// The value as templates see it.
pub(crate) fn to_template(value: &Json) -> Value {
    match value {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::int64(integer),
            None => Value::float64(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::List(List::new(items.iter().map(to_template).collect())),
        Json::Object(map) => Value::Map(to_template_map(map)),
    }
}

/// The values as templates see them.
pub(crate) fn to_template_map(values: &Values) -> Map {
    let entries = values.iter();
    Map::from_iter(entries.map(|(key, value)| (key.as_str(), to_template(value))))
}

/// The values that templates have seen, as JSON again. Values of other types than JSON has become null;
/// nesting stops at the depth that no values reach.
pub(crate) fn from_template(value: &Value) -> Json {
    match value.plain() {
        Value::Bool(value) => Json::Bool(value),
        Value::Signed(_, number) => number.into(),
        Value::Unsigned(_, number) => number.into(),
        Value::Float(_, number) => Number::from_f64(number).map_or(Json::Null, Json::Number),
        Value::String(text) => Json::String(text.to_text().into_owned()),
        Value::List(list) => list.as_slice().iter().map(from_template).collect(),
        Value::Map(map) => Json::Object(from_template_map(&map)),
        _ => Json::Null,
    }
}

/// As [`from_template`], for a map.
pub(crate) fn from_template_map(map: &Map) -> Values {
    let entries = map.entries().into_iter();
    entries
        .map(|(key, value)| (key.to_text().into_owned(), from_template(&value)))
        .collect()
}

/// The table at a path with dots. None if something on the way is missing or no table.
pub(crate) fn table(values: &Map, path: &str) -> Option<Map> {
    path.split('.')
        .try_fold(values.clone(), |table, name| match table.get(name)?.plain() {
            Value::Map(inner) => Some(inner),
            _ => None,
        })
}

/// The value at a path with dots, if it is there and no table.
pub(crate) fn path_value(values: &Map, path: &str) -> Option<Value> {
    let (table, key) = match path.rsplit_once('.') {
        Some((path, key)) => (self::table(values, path)?, key),
        None => (values.clone(), path),
    };
    table.get(key).filter(|value| !matches!(value, Value::Map(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn documents(text: &str) -> Vec<String> {
        let split = split_documents(text.as_bytes()).into_iter();
        split
            .map(|document| String::from_utf8(document).unwrap())
            .collect()
    }

    #[test]
    fn documents_are_split_at_lines_of_dashes() {
        assert_eq!(
            documents("a: 1\n--- # c\nb: 2\n---x\n"),
            ["a: 1\n", "b: 2\n---x\n"]
        );
        assert_eq!(documents("---\na: 1\n---\n"), ["---\na: 1\n"]);
    }

    // H19
    #[test]
    fn documents_are_merged_and_empty_ones_do_no_harm() {
        let values = read_documents(b"a: {x: 1}\n---\n# nothing\n---\na: {z: null}\nb: 2\n").unwrap();
        assert_eq!(
            Json::Object(values),
            json!({"a": {"x": 1.0, "z": null}, "b": 2.0})
        );
    }
}
