//! YAML as the definitions are written: block style, keys sorted, texts of several lines as blocks.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Writes a value as one YAML document with sorted keys. Any YAML reader gets the same value back.
#[must_use]
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::from("---\n");
    match value {
        Value::Object(object) if !object.is_empty() => write_object(&mut out, object, 0, true),
        Value::Array(list) if !list.is_empty() => write_list(&mut out, list, 0),
        scalar => {
            out.push_str(&inline(scalar, 0));
            out.push('\n');
        }
    }
    out
}

/// Writes the entries of an object. The first one goes on the current line unless `indent_first`.
fn write_object(out: &mut String, object: &Map<String, Value>, indent: usize, indent_first: bool) {
    let mut keys: Vec<&String> = object.keys().collect();
    keys.sort();
    for (position, key) in keys.into_iter().enumerate() {
        if position > 0 || indent_first {
            push_indent(out, indent);
        }
        out.push_str(&text(key, indent));
        out.push(':');
        match &object[key] {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_object(out, inner, indent + 2, true);
            }
            Value::Array(list) if !list.is_empty() => {
                out.push('\n');
                write_list(out, list, indent);
            }
            scalar => {
                let _ = writeln!(out, " {}", inline(scalar, indent));
            }
        }
    }
}

/// Writes the elements of a list, each with its dash at the given indent.
fn write_list(out: &mut String, list: &[Value], indent: usize) {
    for element in list {
        push_indent(out, indent);
        out.push_str("- ");
        match element {
            Value::Object(inner) if !inner.is_empty() => write_object(out, inner, indent + 2, false),
            other => {
                out.push_str(&inline(other, indent));
                out.push('\n');
            }
        }
    }
}

/// A value that stands on the line of its key. A list within a list is written in flow style.
fn inline(value: &Value, indent: usize) -> String {
    match value {
        Value::String(string) => text(string, indent),
        other => other.to_string(),
    }
}

/// A text: plain where that is safe, else in quotes, or as a block when it has several lines.
fn text(string: &str, indent: usize) -> String {
    if is_plain(string) {
        return string.to_owned();
    }
    let lines_are_simple = string
        .lines()
        .all(|line| !line.starts_with([' ', '\t']) && !line.chars().any(char::is_control));
    if string.contains('\n') && !string.ends_with('\n') && !string.starts_with('\n') && lines_are_simple {
        let mut block = String::from("|-");
        for line in string.split('\n') {
            block.push('\n');
            if !line.is_empty() {
                push_indent(&mut block, indent + 2);
                block.push_str(line);
            }
        }
        return block;
    }
    if string.chars().any(char::is_control) {
        return Value::from(string).to_string();
    }
    format!("'{}'", string.replace('\'', "''"))
}

/// Whether a text reads as itself without quotes: begins with a letter, has no character with a meaning, and is
/// no word that reads as a boolean or null.
fn is_plain(string: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let characters_are_safe = string.chars().all(|c| {
        c.is_ascii_alphanumeric()
            || matches!(
                c,
                ' ' | '_' | '-' | '.' | '/' | ',' | ';' | '(' | ')' | '\'' | '`'
            )
    });
    string.starts_with(|c: char| c.is_ascii_alphabetic())
        && characters_are_safe
        && !string.ends_with(' ')
        && !WORDS.contains(&string.to_ascii_lowercase().as_str())
}

/// Writes spaces.
fn push_indent(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use sluice_goyaml::{Flavour, Limits, parse_json};

    use super::*;

    fn read(yaml: &str) -> Value {
        parse_json(yaml.as_bytes(), Flavour::Sigs, Limits::default())
            .expect("the YAML that was written is read")
    }

    #[test]
    fn words_with_a_meaning_are_quoted() {
        let value =
            json!({ "enum": ["True", "no", "1", "~", "", "a: b", "# c", "it's", "- d", "*", "x\ty"] });
        insta::assert_snapshot!(to_yaml(&value), @r#"
        ---
        enum:
        - 'True'
        - 'no'
        - '1'
        - '~'
        - ''
        - 'a: b'
        - '# c'
        - it's
        - '- d'
        - '*'
        - "x\ty"
        "#);
        assert_eq!(read(&to_yaml(&value)), value);
    }

    #[test]
    fn texts_of_several_lines_are_blocks() {
        let value = json!({ "description": "One.\n\nTwo: #2.", "list": [{ "b": {}, "a": [] }] });
        insta::assert_snapshot!(to_yaml(&value), @r"
        ---
        description: |-
          One.

          Two: #2.
        list:
        - a: []
          b: {}
        ");
        assert_eq!(read(&to_yaml(&value)), value);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(json!(true)),
            any::<i32>().prop_map(|number| json!(number)),
            "[ -~]{0,12}".prop_map(Value::from),
            "[a-zé \n\t'\":#]{0,12}".prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_filter("no list within a list", |list| !list.iter().any(Value::is_array))
                    .prop_map(Value::from),
                prop::collection::btree_map("[ -~]{1,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same_value(value in any_value()) {
            prop_assert_eq!(read(&to_yaml(&value)), value);
        }
    }
}
