//! Texts.

use super::convert::to_text;
use super::{ANY, INT, Outcome, Registry, TEXT};
use crate::error::Failure;
use crate::format;
use crate::function::Scope;
use crate::text::{find, runes};
use crate::value::{Type, Value};

/// Results longer than this cannot be made at all.
const MAX_LENGTH: usize = isize::MAX as usize;

pub(super) fn register(registry: &mut Registry) {
    register_questions(registry);
    register_cuts(registry);
    register_growth(registry);
    registry.fixed("toString", &[ANY], TEXT, |_, arguments| {
        Ok(Value::String(to_text(&arguments.value(0))))
    });
    registry.variadic("quote", &[ANY], TEXT, |scope, arguments| {
        quote_all(scope, &arguments.rest(0), |value| {
            Ok(crate::quote::quote(&to_text(value), false))
        })
    });
    registry.variadic("squote", &[ANY], TEXT, |scope, arguments| {
        let limit = scope.run().producible();
        quote_all(scope, &arguments.rest(0), |value| {
            let text = format::print(std::slice::from_ref(value), limit)?;
            Ok([b"'", &*text, b"'"].concat())
        })
    });
    registry.variadic("cat", &[ANY], TEXT, |scope, arguments| {
        let mut values = arguments.rest(0);
        values.retain(|value| !value.is_nil());
        let mut text = Vec::new();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                text.push(b' ');
            }
            let limit = scope.run().producible();
            text.extend(format::print(std::slice::from_ref(value), limit)?);
        }
        Ok(Value::string(text))
    });
    registry.fixed("plural", &[TEXT, TEXT, INT], TEXT, |_, arguments| {
        let index = usize::from(arguments.integer(2) != 1);
        Ok(Value::String(arguments.text(index)))
    });
    registry.fixed("atoi", &[TEXT], INT, |_, arguments| {
        Ok(Value::int(atoi(&arguments.text(0))))
    });
}

/// `strconv.Atoi` without its error: beyond the range it gives the nearest number.
fn atoi(bytes: &[u8]) -> i64 {
    let digits = match bytes {
        [b'+' | b'-', digits @ ..] => digits,
        digits => digits,
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    let bound = if bytes[0] == b'-' { i64::MIN } else { i64::MAX };
    let text = String::from_utf8_lossy(bytes);
    text.parse().unwrap_or(bound)
}

fn quote_all(
    scope: &mut Scope<'_>,
    values: &[Value],
    quote: impl Fn(&Value) -> Result<Vec<u8>, Failure>,
) -> Outcome {
    let mut text = Vec::new();
    let mut first = true;
    for value in values.iter().filter(|value| !value.is_nil()) {
        if !first {
            text.push(b' ');
        }
        first = false;
        let quoted = quote(value)?;
        scope.run().produce(quoted.len())?;
        text.extend(quoted);
    }
    Ok(Value::string(text))
}

fn register_questions(registry: &mut Registry) {
    let two = [TEXT, TEXT];
    registry.fixed("contains", &two, Type::Bool, |_, arguments| {
        let part = arguments.text(0);
        Ok(Value::Bool(
            part.is_empty() || find(&arguments.text(1), &part).is_some(),
        ))
    });
    registry.fixed("hasPrefix", &two, Type::Bool, |_, arguments| {
        Ok(Value::Bool(arguments.text(1).starts_with(&arguments.text(0))))
    });
    registry.fixed("hasSuffix", &two, Type::Bool, |_, arguments| {
        Ok(Value::Bool(arguments.text(1).ends_with(&arguments.text(0))))
    });
}

/// Go's `unicode.IsSpace`.
pub(super) fn is_space(rune: char) -> bool {
    matches!(rune, '\t'..='\r' | ' ' | '\u{85}' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}'
        | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// Cuts characters for which `cut` is true off both ends.
fn trim(bytes: &[u8], cut: impl Fn(char) -> bool) -> &[u8] {
    let start = runes(bytes)
        .find(|&(_, rune)| !cut(rune))
        .map_or(bytes.len(), |(at, _)| at);
    let mut rest = &bytes[start..];
    while let Some((rune, width)) = crate::text::last_rune(rest)
        && cut(rune)
    {
        rest = &rest[..rest.len() - width];
    }
    rest
}

fn register_cuts(registry: &mut Registry) {
    let two = [TEXT, TEXT];
    registry.text("trim", |bytes| trim(bytes, is_space).to_vec());
    for name in ["trimall", "trimAll"] {
        registry.fixed(name, &two, TEXT, |_, arguments| {
            let set: Vec<char> = runes(&arguments.text(0)).map(|(_, rune)| rune).collect();
            Ok(Value::string(trim(&arguments.text(1), |rune| {
                set.contains(&rune)
            })))
        });
    }
    registry.fixed("trimPrefix", &two, TEXT, |_, arguments| {
        let text = arguments.text(1);
        let rest = text.strip_prefix(arguments.text(0).as_bytes());
        Ok(Value::string(rest.unwrap_or(&text)))
    });
    registry.fixed("trimSuffix", &two, TEXT, |_, arguments| {
        let text = arguments.text(1);
        let rest = text.strip_suffix(arguments.text(0).as_bytes());
        Ok(Value::string(rest.unwrap_or(&text)))
    });
    registry.text("nospace", remove_spaces);
    registry.fixed("trunc", &[INT, TEXT], TEXT, |_, arguments| {
        let text = arguments.text(1);
        Ok(Value::string(truncate(arguments.integer(0), &text)))
    });
    registry.fixed("substr", &[INT, INT, TEXT], TEXT, |_, arguments| {
        substring(arguments.integer(0), arguments.integer(1), &arguments.text(2))
    });
    registry.fixed("abbrev", &[INT, TEXT], TEXT, |_, arguments| {
        let text = arguments.text(1);
        let width = arguments.integer(0);
        if width < 4 {
            return Ok(Value::String(text));
        }
        Ok(Value::string(abbreviate(&text, 0, width)))
    });
    registry.fixed("abbrevboth", &[INT, INT, TEXT], TEXT, |_, arguments| {
        let (left, right, text) = (arguments.integer(0), arguments.integer(1), arguments.text(2));
        if right < 4 || (left > 0 && right < 7) {
            return Ok(Value::String(text));
        }
        if left < 0 && length(&text) > right && length(&text) - left < right - 3 {
            return Err("runtime error: slice bounds out of range".into());
        }
        Ok(Value::string(abbreviate(&text, left, right)))
    });
}

fn length(bytes: &[u8]) -> i64 {
    i64::try_from(bytes.len()).unwrap_or(i64::MAX)
}

/// Deletes spaces. The original looks at bytes as if they were characters, and so changes every text that
/// is not ASCII and has a space.
fn remove_spaces(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut kept = 0;
    for &byte in bytes {
        let rune = char::from(byte);
        if !is_space(rune) {
            crate::text::push_rune(&mut out, rune);
            kept += 1;
        }
    }
    if kept == bytes.len() { bytes.to_vec() } else { out }
}

fn truncate(count: i64, bytes: &[u8]) -> &[u8] {
    let length = length(bytes);
    let keep = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 && length.saturating_add(count) > 0 {
        return &bytes[bytes.len() - keep..];
    }
    if count >= 0 && length > count {
        return &bytes[..keep];
    }
    bytes
}

fn substring(start: i64, end: i64, bytes: &[u8]) -> Outcome {
    let length = length(bytes);
    let (from, to) = if start < 0 {
        (0, end)
    } else if end < 0 || end > length {
        (start, length)
    } else {
        (start, end)
    };
    let refused = |text: String| Err(format!("runtime error: slice bounds out of range [{text}]").into());
    if start < 0 && to < 0 {
        return refused(format!(":{to}"));
    }
    if to > length {
        return Err(format!("runtime error: slice bounds out of range [:{to}] with length {length}").into());
    }
    if from > to {
        let open = start >= 0 && (end < 0 || end > length);
        return refused(if open {
            format!("{from}:{length}")
        } else {
            format!("{from}:{to}")
        });
    }
    let bounds = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0);
    Ok(Value::string(&bytes[bounds]))
}

/// goutils' `AbbreviateFull`, which counts bytes.
fn abbreviate(bytes: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let length = length(bytes);
    if length <= width {
        return bytes.to_vec();
    }
    let mut offset = offset.min(length);
    if length - offset < width - 3 {
        offset = length - (width - 3);
    }
    let index = |position: i64| usize::try_from(position).unwrap_or(0).min(bytes.len());
    if offset <= 4 {
        return [&bytes[..index(width - 3)], b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    if offset + width - 3 < length {
        let rest = &bytes[index(offset)..];
        let inner = if width - 3 < 4 {
            Vec::new()
        } else {
            abbreviate(rest, 0, width - 3)
        };
        return [b"...", &*inner].concat();
    }
    [b"...", &bytes[index(length - (width - 3))..]].concat()
}

/// Functions whose result may be far larger than what goes in.
fn register_growth(registry: &mut Registry) {
    registry.fixed("repeat", &[INT, TEXT], TEXT, |scope, arguments| {
        repeat(scope, arguments.integer(0), &arguments.text(1))
    });
    registry.fixed("replace", &[TEXT, TEXT, TEXT], TEXT, |scope, arguments| {
        let (old, new, text) = (arguments.text(0), arguments.text(1), arguments.text(2));
        replace(scope, &text, &old, &new)
    });
    registry.fixed("indent", &[INT, TEXT], TEXT, |scope, arguments| {
        indent(scope, arguments.integer(0), &arguments.text(1), b"")
    });
    registry.fixed("nindent", &[INT, TEXT], TEXT, |scope, arguments| {
        indent(scope, arguments.integer(0), &arguments.text(1), b"\n")
    });
    registry.fixed("wrap", &[INT, TEXT], TEXT, |scope, arguments| {
        wrap(scope, &arguments.text(1), arguments.integer(0), b"", false)
    });
    registry.fixed("wrapWith", &[INT, TEXT, TEXT], TEXT, |scope, arguments| {
        let separator = arguments.text(1);
        wrap(scope, &arguments.text(2), arguments.integer(0), &separator, true)
    });
}

fn repeat_count(count: i64, length: usize) -> Result<usize, Failure> {
    let Ok(count) = usize::try_from(count) else {
        return Err("strings: negative Repeat count".into());
    };
    match length.checked_mul(count) {
        Some(total) if total <= MAX_LENGTH => Ok(count),
        _ => Err("strings: Repeat output length overflow".into()),
    }
}

fn repeat(scope: &mut Scope<'_>, count: i64, text: &[u8]) -> Outcome {
    let count = repeat_count(count, text.len())?;
    scope.run().produce(count * text.len())?;
    Ok(Value::string(text.repeat(count)))
}

fn replace(scope: &mut Scope<'_>, text: &[u8], old: &[u8], new: &[u8]) -> Outcome {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    if old.is_empty() {
        scope.run().produce(new.len().saturating_mul(text.len() + 1))?;
        for (at, rune) in runes(text) {
            out.extend_from_slice(new);
            let width = crate::text::first_rune(&text[at..]).map_or(rune.len_utf8(), |(_, width)| width);
            out.extend_from_slice(&text[at..at + width]);
        }
        out.extend_from_slice(new);
        return Ok(Value::string(out));
    }
    while let Some(at) = find(rest, old) {
        scope.run().produce(at + new.len())?;
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    Ok(Value::string(out))
}

fn indent(scope: &mut Scope<'_>, spaces: i64, text: &[u8], before: &[u8]) -> Outcome {
    let spaces = repeat_count(spaces, 1)?;
    let lines = text.iter().filter(|&&byte| byte == b'\n').count();
    scope
        .run()
        .produce(spaces.saturating_mul(lines + 1).saturating_add(text.len()))?;
    let padding = vec![b' '; spaces];
    let mut out = before.to_vec();
    out.extend_from_slice(&padding);
    for &byte in text {
        out.push(byte);
        if byte == b'\n' {
            out.extend_from_slice(&padding);
        }
    }
    Ok(Value::string(out))
}

/// goutils' `WrapCustom`, which counts bytes.
fn wrap(scope: &mut Scope<'_>, text: &[u8], width: i64, separator: &[u8], cut_long: bool) -> Outcome {
    let separator = if separator.is_empty() { b"\n" } else { separator };
    let width = usize::try_from(width.max(1)).unwrap_or(1);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while text.len() - at > width {
        if text[at] == b' ' {
            at += 1;
            continue;
        }
        scope.run().produce(separator.len())?;
        let line = &text[at..at + width + 1];
        if let Some(space) = line.iter().rposition(|&byte| byte == b' ') {
            out.extend_from_slice(&line[..space]);
            out.extend_from_slice(separator);
            at += space + 1;
        } else if cut_long {
            out.extend_from_slice(&line[..width]);
            out.extend_from_slice(separator);
            at += width;
        } else if let Some(space) = text[at + width..].iter().position(|&byte| byte == b' ') {
            let end = at + width + space;
            out.extend_from_slice(&text[at..end]);
            out.extend_from_slice(separator);
            at = end + 1;
        } else {
            out.extend_from_slice(&text[at..]);
            at = text.len();
        }
    }
    out.extend_from_slice(&text[at..]);
    Ok(Value::string(out))
}
