use std::collections::BTreeMap;

use super::{List, Map, Text, Value};

impl Value {
    /// A JSON document as Go decodes it into an `interface {}`: every number is a `float64`.
    pub fn from_json(json: &serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::float64(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Self::from(text.as_str()),
            serde_json::Value::Array(elements) => {
                Self::List(List::new(elements.iter().map(Self::from_json).collect()))
            }
            serde_json::Value::Object(entries) => {
                let entries: BTreeMap<Text, Self> = entries
                    .iter()
                    .map(|(key, value)| (Text::from(key.as_str()), Self::from_json(value)))
                    .collect();
                Self::Map(Map::from_iter(entries))
            }
        }
    }
}
