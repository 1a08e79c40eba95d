//! Texts.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::bytes::Regex;

use super::format as formatting;
use crate::evaluation::{Evaluation, Failure, Outcome, no_overload, show, unfit};
use crate::pattern;
use crate::value::Value;

/// Go minds neither the bits behind the last byte nor whether the padding is there.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);
const BASE64_UNPADDED: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

fn test<'a>(
    evaluation: &mut Evaluation<'a>,
    arguments: &[Value<'a>],
    holds: fn(&str, &str) -> bool,
) -> Outcome<'a> {
    match arguments {
        [Value::String(text), Value::String(part)] => {
            evaluation.step((text.len() + part.len()) / 16)?;
            Ok(Value::Bool(holds(text, part)))
        }
        _ => Err(no_overload()),
    }
}

pub(crate) fn contains<'a>(
    evaluation: &mut Evaluation<'a>,
    _: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    test(evaluation, arguments, |text, part| text.contains(part))
}

pub(crate) fn starts_with<'a>(
    evaluation: &mut Evaluation<'a>,
    _: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    test(evaluation, arguments, |text, part| text.starts_with(part))
}

pub(crate) fn ends_with<'a>(
    evaluation: &mut Evaluation<'a>,
    _: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    test(evaluation, arguments, |text, part| text.ends_with(part))
}

pub(crate) fn matches<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::String(text), Value::String(pattern)] => {
            // Compiling is the dear part.
            evaluation.step(1000 + 64 * pattern.len())?;
            let compiled = pattern::compile(pattern).map_err(Failure::new)?;
            match_compiled(evaluation, &compiled, text)
        }
        [Value::String(_) | Value::Timestamp(_) | Value::Duration(_), _] => Err(no_overload()),
        _ => Err(Failure::new(format!("no such overload: {name}"))),
    }
}

/// Whether a pattern matches anywhere in the text.
pub(crate) fn match_compiled<'a>(
    evaluation: &mut Evaluation<'a>,
    pattern: &Regex,
    text: &str,
) -> Outcome<'a> {
    // At worst every byte is looked at once for each state of the pattern.
    let states = pattern.as_str().len() / 64 + 1;
    evaluation.step((text.len() / 16 + 1).saturating_mul(states))?;
    Ok(Value::Bool(pattern.is_match(text.as_bytes())))
}

/// The place of a character in bytes, for an index that may be the end.
fn byte_at(text: &str, index: i64) -> Result<usize, Failure> {
    let out_of_range = || Failure::new(format!("index out of range: {index}"));
    let index = usize::try_from(index).map_err(|_| out_of_range())?;
    let places = text.char_indices().map(|(at, _)| at);
    let mut places = places.chain(std::iter::once(text.len()));
    places.nth(index).ok_or_else(out_of_range)
}

pub(crate) fn character_at<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let [Value::String(text), Value::Int(index)] = arguments else {
        return Err(unfit(name, arguments));
    };
    evaluation.step(text.len() / 16)?;
    let at = byte_at(text, *index)?;
    let found: String = text[at..].chars().take(1).collect();
    evaluation.text(found)
}

pub(crate) fn substring<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let (text, start, end) = match arguments {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(unfit(name, arguments)),
    };
    evaluation.step(text.len() / 16)?;
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Failure::new(format!(
            "invalid substring range. start: {start}, end: {end}"
        )));
    }
    let from = byte_at(text, start)?;
    let to = end.map_or(Ok(text.len()), |end| byte_at(text, end))?;
    evaluation.text(text[from..to].to_owned())
}

fn count(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

pub(crate) fn index_of<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let (text, part, offset) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, *offset),
        _ => return Err(unfit(name, arguments)),
    };
    evaluation.step((text.len() + part.len()) / 8)?;
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    if offset < 0 {
        return Err(Failure::new(format!("index out of range: {offset}")));
    }
    let found = byte_at(text, offset).ok().and_then(|from| {
        let at = text[from..].find(&**part)?;
        Some(offset + count(&text[from..from + at]))
    });
    Ok(Value::Int(found.unwrap_or(-1)))
}

pub(crate) fn last_index_of<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let (text, part, offset) = match arguments {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, Some(*offset)),
        _ => return Err(unfit(name, arguments)),
    };
    evaluation.step((text.len() + part.len()) / 8)?;
    let length = count(text);
    if part.is_empty() {
        return Ok(Value::Int(offset.unwrap_or(length)));
    }
    let offset = match offset {
        None if text.len() < part.len() => return Ok(Value::Int(-1)),
        None => length - 1,
        Some(offset) => offset,
    };
    if offset < 0 {
        return Err(Failure::new(format!("index out of range: {offset}")));
    }
    if offset >= length {
        return Ok(Value::Int(-1));
    }
    // A match may begin at the offset and reach beyond it.
    let most = offset.saturating_add(count(part)).min(length);
    let end = byte_at(text, most)?;
    let found = text[..end].rfind(&**part).map(|at| count(&text[..at]));
    Ok(Value::Int(found.unwrap_or(-1)))
}

fn map<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
    change: fn(&str) -> String,
) -> Outcome<'a> {
    let [Value::String(text)] = arguments else {
        return Err(unfit(name, arguments));
    };
    evaluation.produce(text.len())?;
    Ok(Value::text(change(text)))
}

pub(crate) fn lower<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    map(evaluation, name, arguments, str::to_ascii_lowercase)
}

pub(crate) fn upper<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    map(evaluation, name, arguments, str::to_ascii_uppercase)
}

pub(crate) fn reverse<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    map(evaluation, name, arguments, |text| text.chars().rev().collect())
}

pub(crate) fn trim<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    map(evaluation, name, arguments, |text| text.trim().to_owned())
}

pub(crate) fn replace<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let (text, old, new, most) = match arguments {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [
            Value::String(text),
            Value::String(old),
            Value::String(new),
            Value::Int(most),
        ] => (text, old, new, *most),
        _ => return Err(unfit(name, arguments)),
    };
    evaluation.step((text.len() + old.len()) / 8)?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let found = text.matches(&**old).take(most).count();
    evaluation.produce(text.len().saturating_add(found.saturating_mul(new.len())))?;
    Ok(Value::text(text.replacen(&**old, new, most)))
}

pub(crate) fn split<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let (text, separator, most) = match arguments {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(most)] => (text, separator, *most),
        _ => return Err(unfit(name, arguments)),
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    evaluation.produce(text.len())?;
    let mut parts: Vec<&str> = Vec::new();
    let mut rest: &str = text;
    // Without a separator every character is a part.
    while most > 0 && parts.len() + 1 < most {
        let cut = if separator.is_empty() {
            let next = rest.chars().next().map(char::len_utf8);
            next.filter(|length| *length < rest.len())
                .map(|length| (length, length))
        } else {
            rest.find(&**separator).map(|at| (at, at + separator.len()))
        };
        let Some((end, next)) = cut else { break };
        evaluation.produce(size_of::<Value<'_>>())?;
        parts.push(&rest[..end]);
        rest = &rest[next..];
    }
    if most > 0 && !(separator.is_empty() && rest.is_empty()) {
        parts.push(rest);
    }
    let parts = parts.into_iter().map(Value::text).collect();
    evaluation.list(parts)
}

pub(crate) fn join<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let (list, separator) = match arguments {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, &**separator),
        _ => return Err(unfit(name, arguments)),
    };
    if !matches!(list.get(0), None | Some(Value::String(_))) {
        return Err(unfit(name, arguments));
    }
    let mut joined = String::new();
    for (index, item) in list.iter().enumerate() {
        let Value::String(text) = item else {
            return Err(Failure::new(format!("join: invalid input: {}", show(&item))));
        };
        evaluation.produce(text.len() + separator.len() + 1)?;
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(&text);
    }
    Ok(Value::text(joined))
}

pub(crate) fn format<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::String(format), Value::List(items)] => {
            let text = formatting::format(evaluation, format, items)?;
            Ok(Value::text(text))
        }
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn quote<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let [Value::String(text)] = arguments else {
        return Err(unfit(name, arguments));
    };
    evaluation.produce(text.len() * 2)?;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    Ok(Value::text(quoted))
}

pub(crate) fn decode<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let [Value::String(text)] = arguments else {
        return Err(unfit(name, arguments));
    };
    evaluation.produce(text.len())?;
    let text: Vec<u8> = text
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let decoded = BASE64.decode(&text).or_else(|_| BASE64_UNPADDED.decode(&text));
    let decoded = decoded.map_err(|error| {
        let at = match error {
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => at,
            _ => text.len(),
        };
        Failure::new(format!("illegal base64 data at input byte {at}"))
    })?;
    Ok(Value::Bytes(decoded.into()))
}

pub(crate) fn encode<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::Bytes(bytes)] => {
            evaluation.produce(bytes.len() / 3 * 4 + 4)?;
            Ok(Value::text(BASE64.encode(bytes)))
        }
        _ => Err(unfit(name, arguments)),
    }
}
