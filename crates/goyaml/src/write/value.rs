use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use crate::convert::number_from_float;
use crate::number::format_general;
use crate::write::analysis::Analysis;
use crate::write::emitter::{Dialect, Emitter, Place};
use crate::write::sort::{merge_sort, natural_order};
use crate::write::style_of_string;
use crate::{Error, ErrorKind, Flavour, Limits, Node, Style, json_from_node, parse_document};

/// Writes a value as `sigs.k8s.io/yaml` `Marshal` and `JSONToYAML` do, byte for byte: keys in Go's natural
/// order, lists in their parent's column, long lines folded, strings quoted where YAML 1.1 would read
/// something else. This is what kustomize prints and what Flux substitutes variables in.
///
/// # Errors
/// A string or key holds a control character that Go cannot carry through JSON into YAML
/// ([`ErrorKind::Unwritable`]).
pub fn write_sigs(value: &Value) -> Result<String, Error> {
    let mut emitter = Emitter::new(Dialect::V2);
    Writer { v3: false }.document(&mut emitter, value)?;
    Ok(emitter.finish())
}

/// Writes a node as [`write_sigs`], by way of the JSON that [`json_from_node`] makes of it: kustomize's
/// output of a resource.
///
/// # Errors
/// As [`json_from_node`] and [`write_sigs`].
pub fn write_sigs_node(node: &Node, flavour: Flavour) -> Result<String, Error> {
    write_sigs(&json_from_node(node, flavour)?)
}

/// Writes a value as `go.yaml.in/yaml/v3` encodes it with an indent of two: lists indented below their keys
/// unless `compact` (kyaml's choice), nothing folded, floats of whole value with an exponent (`1e+06`).
#[must_use]
pub fn write_v3(value: &Value, compact: bool) -> String {
    let mut emitter = Emitter::new(Dialect::V3 { compact });
    // Only the sigs way through JSON text can fail.
    let _ = Writer { v3: true }.document(&mut emitter, value);
    emitter.finish()
}

struct Writer {
    v3: bool,
}

impl Writer {
    fn document(&self, emitter: &mut Emitter, value: &Value) -> Result<(), Error> {
        self.value(emitter, value, Place::Root)?;
        emitter.end_document("");
        Ok(())
    }

    fn value(&self, emitter: &mut Emitter, value: &Value, place: Place) -> Result<(), Error> {
        match value {
            Value::Null => self.plain(emitter, "null", place),
            Value::Bool(true) => self.plain(emitter, "true", place),
            Value::Bool(false) => self.plain(emitter, "false", place),
            Value::Number(number) => self.plain(emitter, &self.number(number), place),
            Value::String(text) => {
                let text = self.through_json(text)?;
                let style = style_of_string(&text, self.v3);
                let analysis = Analysis::of(&text, self.v3);
                emitter.write_scalar(&text, style, &analysis, place);
            }
            Value::Array(items) if items.is_empty() => emitter.write_empty("[]"),
            Value::Object(object) if object.is_empty() => emitter.write_empty("{}"),
            Value::Array(items) => {
                emitter.increase_indent_for_sequence(place);
                for item in items {
                    emitter.write_indent();
                    emitter.write_indicator("-", true, false, true);
                    self.value(emitter, item, Place::BlockItem)?;
                }
                emitter.decrease_indent();
            }
            Value::Object(object) => self.object(emitter, object, place)?,
        }
        Ok(())
    }

    fn object(&self, emitter: &mut Emitter, object: &Map<String, Value>, place: Place) -> Result<(), Error> {
        emitter.increase_indent(place, false, false, false);
        for (key, value) in self.sorted(object)? {
            emitter.write_indent();
            let style = style_of_string(&key, self.v3);
            let analysis = Analysis::of(&key, self.v3);
            let simple = !analysis.multiline && key.len() <= 128;
            let place = Place::Key { simple, block: true };
            if simple {
                emitter.write_scalar(&key, style, &analysis, place);
                emitter.write_indicator(":", false, false, false);
            } else {
                emitter.write_indicator("?", true, false, true);
                emitter.write_scalar(&key, style, &analysis, place);
                emitter.write_indent();
                emitter.write_indicator(":", true, false, true);
            }
            self.value(emitter, value, Place::Value { block: true })?;
        }
        emitter.decrease_indent();
        Ok(())
    }

    fn sorted<'a>(&self, object: &'a Map<String, Value>) -> Result<Vec<(Cow<'a, str>, &'a Value)>, Error> {
        let mut entries = object
            .iter()
            .map(|(key, value)| Ok((self.key_through_json(key)?, value)))
            .collect::<Result<Vec<_>, Error>>()?;
        // A fixed order to start from, whatever order the map has.
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(merge_sort(entries, &|(a, _), (b, _)| {
            natural_order(a, b, self.v3).is_lt()
        }))
    }

    fn plain(&self, emitter: &mut Emitter, text: &str, place: Place) {
        emitter.write_scalar(text, Style::Plain, &Analysis::of(text, self.v3), place);
    }

    fn number(&self, number: &Number) -> String {
        match number.as_f64() {
            Some(float) if number.is_f64() => {
                if self.v3 {
                    return format_general(float);
                }
                match number_from_float(float) {
                    Value::Number(number) if !number.is_f64() => number.to_string(),
                    _ => format_general(float),
                }
            }
            _ => number.to_string(),
        }
    }

    fn key_through_json<'a>(&self, key: &'a str) -> Result<Cow<'a, str>, Error> {
        if !self.v3 && key.contains('\u{85}') {
            refuse_control_characters(key)?;
            return Err(Error::new(
                ErrorKind::Unwritable,
                None,
                format!("the key {:?} holds the line break U+0085", shorten(key)),
                "remove it",
            )
            .with_go_message("yaml: did not find expected ',' or '}'"));
        }
        self.through_json(key)
    }

    /// What of a string arrives on the other side when it is written as JSON and read as YAML.
    fn through_json<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, Error> {
        if self.v3 {
            return Ok(Cow::Borrowed(text));
        }
        refuse_control_characters(text)?;
        if !text.contains('\u{85}') {
            return Ok(Cow::Borrowed(text));
        }
        // JSON leaves U+0085 as it is, and YAML folds it like any line break in quotes.
        let quoted = Value::from(text)
            .to_string()
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029");
        let node = parse_document(quoted.as_bytes(), Flavour::Sigs, Limits::default())?;
        Ok(Cow::Owned(
            node.as_ref().and_then(Node::text).unwrap_or_default().to_owned(),
        ))
    }
}

/// Characters that JSON does not escape and that YAML's reader refuses.
fn is_refused(character: char) -> bool {
    matches!(character, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

fn refuse_control_characters(text: &str) -> Result<(), Error> {
    match text.chars().find(|&character| is_refused(character)) {
        None => Ok(()),
        Some(refused) => Err(Error::new(
            ErrorKind::Unwritable,
            None,
            format!(
                "the text {:?} holds the control character {refused:?}",
                shorten(text)
            ),
            "remove it, or carry the text as base64",
        )
        .with_go_message("yaml: control characters are not allowed")),
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}
