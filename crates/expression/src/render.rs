//! Values written with their types.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::numbers;
use crate::value::Value;

/// How much is written at most.
const LONGEST: usize = 1 << 20;

/// Writes a value.
pub(crate) fn print(value: &Value<'_>) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value<'_>, text: &mut String) {
    if text.len() > LONGEST {
        return;
    }
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(truth) => text.push_str(&truth.to_string()),
        Value::Int(number) => text.push_str(&number.to_string()),
        Value::Uint(number) => text.push_str(&format!("{number}u")),
        Value::Double(number) => text.push_str(&format!("double({})", numbers::general(*number))),
        Value::String(string) => text.push_str(&serde_json::Value::from(&**string).to_string()),
        Value::Bytes(bytes) => text.push_str(&format!("bytes({})", BASE64_STANDARD.encode(bytes))),
        Value::Timestamp(time) => text.push_str(&format!("timestamp({})", time.format(true))),
        Value::Duration(length) => text.push_str(&format!("duration({length})")),
        Value::Type(name) => text.push_str(&format!("type({name})")),
        Value::Optional(None) => text.push_str("optional()"),
        Value::Optional(Some(inner)) => {
            text.push_str("optional(");
            write(inner, text);
            text.push(')');
        }
        Value::List(list) => {
            text.push('[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write(&item, text);
            }
            text.push(']');
        }
        Value::Map(map) => {
            let mut entries: Vec<String> = Vec::new();
            for key in map.keys() {
                let value = map.find(&key).unwrap_or(Value::Null);
                entries.push(format!("{}: {}", print(&key), print(&value)));
            }
            entries.sort();
            text.push_str(&format!("{{{}}}", entries.join(", ")));
        }
    }
}
