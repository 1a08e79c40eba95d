use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use sluice_goyaml::{Content, Flavour, Node, json_from_node};

use crate::error::{Error, Result};
use crate::tree;

/// The hash that kustomize puts after the name of a generated object: ten characters made from the SHA-256
/// of kind, type and data as Go writes them as JSON.
///
/// # Errors
/// Data without JSON form.
pub(crate) fn hash_of(node: &Node) -> Result<String> {
    let kind = node.get("kind").map_or("", tree::text_of);
    let text = match kind {
        "ConfigMap" => encode(node, kind, &["data"], "binaryData")?,
        "Secret" => encode(node, kind, &["type", "data"], "stringData")?,
        _ => go_json(&to_json(node)?),
    };
    Ok(shorten(&hex::encode(Sha256::digest(text.as_bytes()))))
}

fn to_json(node: &Node) -> Result<Value> {
    json_from_node(node, Flavour::Kyaml).map_err(|error| Error::from_yaml(&error))
}

fn encode(node: &Node, kind: &str, fields: &[&str], optional: &str) -> Result<String> {
    let mut object = Map::new();
    object.insert("kind".to_owned(), kind.into());
    // kustomize looks the name up in a place where it never is.
    object.insert("name".to_owned(), "".into());
    let value = |field: &str| match node.get(field) {
        None => Ok(Value::from("")),
        Some(found) => match &found.content {
            Content::Scalar(text) => Ok(Value::from(text.as_str())),
            // A list is decoded into a map that stays nil.
            Content::Sequence(_) => Ok(Value::Null),
            _ => to_json(found),
        },
    };
    for field in fields {
        object.insert((*field).to_owned(), value(field)?);
    }
    let extra = value(optional)?;
    if extra.is_object()
        || node
            .get(optional)
            .is_some_and(|node| node.as_sequence().is_some())
    {
        object.insert(optional.to_owned(), extra);
    }
    Ok(go_json(&Value::Object(object)))
}

/// The first ten digits, with those replaced that could spell words.
fn shorten(hex: &str) -> String {
    hex.chars()
        .take(10)
        .map(|digit| match digit {
            '0' => 'g',
            '1' => 'h',
            '3' => 'k',
            'a' => 'm',
            'e' => 't',
            other => other,
        })
        .collect()
}

/// JSON as Go's `encoding/json` writes it: keys sorted, `<`, `>`, `&` and the line separators escaped.
pub(crate) fn go_json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => write_float(out, float),
            _ => {
                let _ = write!(out, "{number}");
            }
        },
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut entries: Vec<(&String, &Value)> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write_json(out, value);
            }
            out.push('}');
        }
    }
}

fn write_float(out: &mut String, value: f64) {
    let magnitude = value.abs();
    let _ = if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{value:e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
                Some(digits) => write!(out, "{mantissa}e-{digits}"),
                None => write!(out, "{mantissa}e+{exponent:0>2}"),
            },
            None => write!(out, "{text}"),
        }
    } else {
        write!(out, "{value}")
    };
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_goyaml::{Limits, parse_document};

    fn hash(text: &str) -> String {
        hash_of(
            &parse_document(text.as_bytes(), Flavour::Kyaml, Limits::default())
                .unwrap()
                .unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn hashes_equal_those_of_kustomize() {
        // Suffixes as kustomize 5.8.1 prints them for these objects.
        assert_eq!(hash("kind: ConfigMap\nmetadata: {name: q}\n"), "6ct58987ht");
        assert_eq!(
            hash("kind: ConfigMap\ndata:\n  A: it is a 'word'\n  B: ''''\n  C: quoted\n  D: a=b\n  E: ''\n"),
            "bkhh9b6gm2"
        );
    }

    #[test]
    fn json_is_escaped_as_in_go() {
        let value = serde_json::json!({"b": "<&>\u{2028}\u{1}\n", "a": [1, 1.5, 1e21, null, true]});
        assert_eq!(
            go_json(&value),
            r#"{"a":[1,1.5,1e+21,null,true],"b":"\u003c\u0026\u003e\u2028\u0001\n"}"#
        );
    }
}
