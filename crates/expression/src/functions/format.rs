//! `string.format`: `%s %d %f %e %b %x %X %o`, with a precision.

use crate::evaluation::{Evaluation, Failure};
use crate::numbers;
use crate::time;
use crate::value::{List, Value};

/// How a clause writes its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hexadecimal { upper: bool },
    Octal,
}

/// The most digits that may be asked for.
const MOST_PLACES: usize = 1000;

impl Clause {
    /// The words for an argument of a type that the clause cannot write.
    pub(crate) fn refuse(self, given: &str) -> String {
        let words = match self {
            Self::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on ints, uints, and doubles",
            Self::Fixed(_) => "fixed-point clause can only be used on ints, uints, and doubles",
            Self::Scientific(_) => "scientific clause can only be used on ints, uints, and doubles",
            Self::Binary => "only ints, uints, and bools can be formatted as binary",
            Self::Hexadecimal { .. } => "only ints, uints, bytes, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on ints and uints",
        };
        format!("error during formatting: {words}, was given {given}")
    }
}

/// A part of a format.
pub(crate) enum Part<'text> {
    Plain(&'text str),
    Clause(Clause),
}

/// The parts of a format, one after the other.
pub(crate) struct Parts<'text> {
    rest: &'text str,
}

impl<'text> Parts<'text> {
    pub(crate) fn new(format: &'text str) -> Self {
        Self { rest: format }
    }

    /// Whether the next part is a clause, which needs an argument before it is even read.
    pub(crate) fn needs_argument(&self) -> bool {
        self.rest.starts_with('%') && !self.rest.starts_with("%%")
    }

    /// The next part.
    pub(crate) fn next(&mut self) -> Option<Result<Part<'text>, String>> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some(rest) = self.rest.strip_prefix("%%") {
            let (percent, _) = self.rest.split_at(1);
            self.rest = rest;
            return Some(Ok(Part::Plain(percent)));
        }
        let Some(rest) = self.rest.strip_prefix('%') else {
            let end = self.rest.find('%').unwrap_or(self.rest.len());
            let (plain, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Some(Ok(Part::Plain(plain)));
        };
        if rest.is_empty() {
            return Some(Err("unexpected end of string".to_owned()));
        }
        Some(self.clause(rest).map(Part::Clause))
    }

    fn clause(&mut self, rest: &'text str) -> Result<Clause, String> {
        let failed = |problem: String| format!("could not parse formatting clause: {problem}");
        let (places, rest) = match rest.strip_prefix('.') {
            None => (6, rest),
            Some(rest) => {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                if digits == rest.len() {
                    let problem = "error while parsing precision: could not find end of precision specifier";
                    return Err(failed(problem.to_owned()));
                }
                let places = rest[..digits].parse().map_err(|_| {
                    failed(format!(
                        "error while parsing precision: error while converting precision to integer: \
                         strconv.Atoi: parsing \"{}\": invalid syntax",
                        &rest[..digits]
                    ))
                })?;
                (places, &rest[digits..])
            }
        };
        if places > MOST_PLACES {
            return Err(failed(format!(
                "the precision {places} is larger than {MOST_PLACES}"
            )));
        }
        let letter = rest.chars().next().unwrap_or_default();
        self.rest = &rest[letter.len_utf8()..];
        Ok(match letter {
            's' => Clause::Text,
            'd' => Clause::Decimal,
            'f' => Clause::Fixed(places),
            'e' => Clause::Scientific(places),
            'b' => Clause::Binary,
            'x' | 'X' => Clause::Hexadecimal { upper: letter == 'X' },
            'o' => Clause::Octal,
            other => return Err(failed(format!("unrecognized formatting clause \"{other}\""))),
        })
    }
}

/// Writes the arguments into a format.
///
/// # Errors
/// A format or an argument that does not fit, a limit.
pub(crate) fn format<'a>(
    evaluation: &mut Evaluation<'a>,
    format: &str,
    arguments: &List<'a>,
) -> Result<String, Failure> {
    evaluation.produce(format.len())?;
    let mut parts = Parts::new(format);
    let mut text = String::new();
    let mut index = 0;
    loop {
        let argument = arguments.get(index);
        if parts.needs_argument() && argument.is_none() {
            return Err(Failure::new(format!("index {index} out of range")));
        }
        match parts.next().transpose().map_err(Failure::new)? {
            None => return Ok(text),
            Some(Part::Plain(plain)) => text.push_str(plain),
            Some(Part::Clause(clause)) => {
                let written = write(evaluation, clause, &argument.unwrap_or(Value::Null))?;
                evaluation.produce(written.len())?;
                text.push_str(&written);
                index += 1;
            }
        }
    }
}

fn write<'a>(evaluation: &mut Evaluation<'a>, clause: Clause, value: &Value<'a>) -> Result<String, Failure> {
    let special = |number: f64| match number {
        number if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        _ => None,
    };
    Ok(match (clause, value) {
        (Clause::Text, value) => {
            let mut text = String::new();
            write_text(evaluation, value, &mut text)?;
            text
        }
        (Clause::Decimal | Clause::Fixed(_) | Clause::Scientific(_), Value::Double(number))
            if special(*number).is_some() =>
        {
            special(*number).unwrap_or_default().to_owned()
        }
        (Clause::Decimal, Value::Int(number)) => number.to_string(),
        (Clause::Decimal, Value::Uint(number)) => number.to_string(),
        (Clause::Decimal, Value::Double(number)) => number.to_string(),
        (Clause::Fixed(places), Value::Double(number)) => format!("{number:.places$}"),
        (Clause::Scientific(places), Value::Double(number)) => numbers::scientific(*number, places),
        // Go refuses to write integers so, and the original lets its complaint through.
        (Clause::Fixed(places), Value::Int(number)) => {
            complaint('f', "int64", *number < 0, number.unsigned_abs(), places)
        }
        (Clause::Fixed(places), Value::Uint(number)) => complaint('f', "uint64", false, *number, places),
        (Clause::Scientific(places), Value::Int(number)) => {
            complaint('e', "int64", *number < 0, number.unsigned_abs(), places)
        }
        (Clause::Scientific(places), Value::Uint(number)) => complaint('e', "uint64", false, *number, places),
        (Clause::Binary, Value::Bool(truth)) => u8::from(*truth).to_string(),
        (Clause::Binary, Value::Int(number)) => signed(*number, |number| format!("{number:b}")),
        (Clause::Binary, Value::Uint(number)) => format!("{number:b}"),
        (Clause::Octal, Value::Int(number)) => signed(*number, |number| format!("{number:o}")),
        (Clause::Octal, Value::Uint(number)) => format!("{number:o}"),
        (Clause::Hexadecimal { upper }, value) => {
            let text = match value {
                Value::Int(number) => signed(*number, |number| format!("{number:x}")),
                Value::Uint(number) => format!("{number:x}"),
                Value::String(text) => hexadecimal(text.as_bytes()),
                Value::Bytes(bytes) => hexadecimal(bytes),
                other => return Err(Failure::new(clause.refuse(other.type_name()))),
            };
            if upper { text.to_uppercase() } else { text }
        }
        (clause, other) => return Err(Failure::new(clause.refuse(other.type_name()))),
    })
}

fn complaint(letter: char, kind: &str, negative: bool, number: u64, places: usize) -> String {
    let sign = if negative { "-" } else { "" };
    format!("%!{letter}({kind}={sign}{number:0places$})")
}

fn signed(number: i64, digits: fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", digits(number.unsigned_abs()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a value as `%s` does.
fn write_text<'a>(
    evaluation: &mut Evaluation<'a>,
    value: &Value<'a>,
    text: &mut String,
) -> Result<(), Failure> {
    evaluation.step(1)?;
    let before = text.len();
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(truth) => text.push_str(&truth.to_string()),
        Value::Int(number) => text.push_str(&number.to_string()),
        Value::Uint(number) => text.push_str(&number.to_string()),
        Value::Double(number) if number.is_nan() => text.push_str("NaN"),
        Value::Double(f64::INFINITY) => text.push_str("Infinity"),
        Value::Double(f64::NEG_INFINITY) => text.push_str("-Infinity"),
        Value::Double(number) => text.push_str(&number.to_string()),
        Value::String(string) => {
            evaluation.produce(string.len())?;
            text.push_str(string);
        }
        Value::Bytes(bytes) => {
            evaluation.produce(bytes.len())?;
            text.push_str(&String::from_utf8_lossy(bytes));
        }
        Value::Timestamp(time) => text.push_str(&time.format(true)),
        Value::Duration(length) => text.push_str(&format!("{}s", time::seconds(*length))),
        Value::Type(name) => text.push_str(name),
        Value::List(list) => {
            text.push('[');
            for (index, item) in list.iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_text(evaluation, &item, text)?;
            }
            text.push(']');
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for key in map.keys() {
                let (mut name, mut shown) = (String::new(), String::new());
                write_text(evaluation, &key, &mut name)?;
                let value = map.find(&key).unwrap_or(Value::Null);
                write_text(evaluation, &value, &mut shown)?;
                entries.push((name, shown));
            }
            entries.sort_by(|left, right| left.0.cmp(&right.0));
            text.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                let separator = if index > 0 { ", " } else { "" };
                text.push_str(&format!("{separator}{key}: {value}"));
            }
            text.push('}');
        }
        Value::Optional(_) => {
            return Err(Failure::new(Clause::Text.refuse(value.type_name())));
        }
    }
    evaluation.step((text.len() - before) / 16)
}
