//! What does not fit, as a tree, and the words for it.

use serde_json::Value as Json;
use sluice_gotemplate::print;

/// What a failure is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Several things at once.
    Group,
    /// What a reference leads to.
    Reference,
    /// One thing.
    Message(String),
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    pub(super) path: Vec<String>,
    pub(super) causes: Vec<Failure>,
}

impl Failure {
    /// The text of a failed check.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        if self.kind == Kind::Group {
            self.causes.iter().for_each(|cause| cause.push(1, &mut text));
        } else {
            self.push(1, &mut text);
        }
        let mut text = text.trim_start_matches('\n').to_owned();
        text.push('\n');
        text
    }

    fn push(&self, indent: usize, text: &mut String) {
        let mut below = indent;
        // A reference with one cause says nothing of its own.
        if self.kind != Kind::Reference || self.causes.len() != 1 {
            text.push('\n');
            text.push_str(&"  ".repeat(indent - 1));
            text.push_str("- at ");
            let pointer: String = self
                .path
                .iter()
                .map(|name| format!("/{}", escaped(name)))
                .collect();
            text.push_str(&quoted(&pointer));
            text.push_str(": ");
            text.push_str(match &self.kind {
                Kind::Group | Kind::Reference => "validation failed",
                Kind::Message(message) => message,
            });
            below += 1;
        }
        self.causes.iter().for_each(|cause| cause.push(below, text));
    }
}

/// A name in a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A text in single quotes.
pub(super) fn quoted(text: &str) -> String {
    let quoted = crate::text::quoted(text)
        .replace("\\\"", "\"")
        .replace('\'', "\\'");
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    format!("'{inner}'")
}

/// Several texts in single quotes.
pub(super) fn all_quoted<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    texts.join(", ")
}

/// A value of a schema that is neither list nor map.
pub(super) fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Null => "<nil>".to_owned(),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
        other => other.to_string(),
    }
}

/// A count with English separators.
pub(super) fn count(number: usize) -> String {
    let digits = number.to_string();
    grouped(&digits)
}

fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number in English, with a power of ten from a million on.
pub(super) fn number(value: f64) -> String {
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if value < 0.0 { "-" } else { "" };
    if (-4..6).contains(&exponent) {
        let plain = format!("{}", value.abs());
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let point = if fraction.is_empty() { "" } else { "." };
        return format!("{sign}{}{point}{fraction}", grouped(whole));
    }
    let superscript: String = format!("{:02}", exponent.abs())
        .chars()
        .filter_map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize))
        .collect();
    let power = if exponent < 0 { "⁻" } else { "" };
    format!("{sign}{mantissa}×10{power}{superscript}")
}

/// `%v` of a number of the values.
pub(super) fn value_number(value: &Json) -> String {
    match value.as_i64() {
        Some(integer) => integer.to_string(),
        None => print::float(value.as_f64().unwrap_or_default()),
    }
}
