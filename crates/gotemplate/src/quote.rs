//! Go's quoted strings and characters: `strconv.Quote`, `Unquote` and their kin.

use crate::text::{REPLACEMENT, first_rune, push_rune};
use crate::unicode::is_printable;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// What `strconv.Unquote` says of anything it refuses.
pub(crate) const INVALID_SYNTAX: &str = "invalid syntax";

/// `strconv.Quote`, or `QuoteToASCII`.
pub(crate) fn quote(bytes: &[u8], ascii: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 2);
    out.push(b'"');
    let mut at = 0;
    while let Some((rune, width)) = first_rune(&bytes[at..]) {
        if width == 1 && rune == REPLACEMENT {
            push_hex(&mut out, b'x', u32::from(bytes[at]), 2);
        } else {
            push_escaped(&mut out, rune, '"', ascii);
        }
        at += width;
    }
    out.push(b'"');
    out
}

/// [`quote`] as text; a quoted string is always valid UTF-8.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    String::from_utf8(quote(bytes, false)).unwrap_or_default()
}

/// `strconv.QuoteRune`, or `QuoteRuneToASCII`.
pub(crate) fn quote_rune(rune: char, ascii: bool) -> Vec<u8> {
    let mut out = vec![b'\''];
    push_escaped(&mut out, rune, '\'', ascii);
    out.push(b'\'');
    out
}

/// `strconv.CanBackquote`: whether the text can stand between backquotes in one line.
pub(crate) fn can_backquote(bytes: &[u8]) -> bool {
    let mut at = 0;
    while let Some((rune, width)) = first_rune(&bytes[at..]) {
        at += width;
        let control = rune < ' ' && rune != '\t';
        let invalid = width == 1 && rune == REPLACEMENT;
        if control || invalid || matches!(rune, '`' | '\u{7F}' | '\u{FEFF}') {
            return false;
        }
    }
    true
}

fn push_hex(out: &mut Vec<u8>, letter: u8, value: u32, digits: u32) {
    out.extend([b'\\', letter]);
    for place in (0..digits).rev() {
        out.push(DIGITS[(value >> (4 * place) & 0xF) as usize]);
    }
}

fn push_escaped(out: &mut Vec<u8>, rune: char, mark: char, ascii: bool) {
    if rune == mark || rune == '\\' {
        out.push(b'\\');
        return push_rune(out, rune);
    }
    if is_printable(rune) && (!ascii || rune.is_ascii()) {
        return push_rune(out, rune);
    }
    let letter = match rune {
        '\u{07}' => b'a',
        '\u{08}' => b'b',
        '\u{0C}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{0B}' => b'v',
        _ => {
            let value = u32::from(rune);
            return match value {
                0..0x20 | 0x7F => push_hex(out, b'x', value, 2),
                0..0x1_0000 => push_hex(out, b'u', value, 4),
                _ => push_hex(out, b'U', value, 8),
            };
        }
    };
    out.extend([b'\\', letter]);
}

/// One character of a quoted text: itself, or a byte that an octal or hexadecimal escape names.
enum Unit {
    Rune(char),
    Byte(u8),
}

/// `strconv.UnquoteChar`: the first unit of `bytes` and what is left.
fn unquote_unit(bytes: &[u8], mark: u8) -> Option<(Unit, &[u8])> {
    let &first = bytes.first()?;
    if first == mark && (mark == b'\'' || mark == b'"') {
        return None;
    }
    if first != b'\\' {
        let (rune, width) = first_rune(bytes)?;
        return Some((Unit::Rune(rune), &bytes[width..]));
    }
    let &letter = bytes.get(1)?;
    let rest = &bytes[2..];
    let simple = match letter {
        b'a' => '\u{07}',
        b'b' => '\u{08}',
        b'f' => '\u{0C}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'v' => '\u{0B}',
        b'\\' => '\\',
        b'\'' | b'"' if letter == mark => char::from(letter),
        b'x' => {
            let value = number(rest.get(..2)?, 16)?;
            return Some((Unit::Byte(u8::try_from(value).ok()?), &rest[2..]));
        }
        b'u' | b'U' => {
            let width = if letter == b'u' { 4 } else { 8 };
            let value = number(rest.get(..width)?, 16)?;
            return Some((Unit::Rune(char::from_u32(value)?), &rest[width..]));
        }
        b'0'..=b'7' => {
            let value = number(bytes.get(1..4)?, 8)?;
            return Some((Unit::Byte(u8::try_from(value).ok()?), &bytes[4..]));
        }
        _ => return None,
    };
    Some((Unit::Rune(simple), rest))
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, &digit| {
        let digit = char::from(digit).to_digit(base)?;
        value.checked_mul(base)?.checked_add(digit)
    })
}

/// `strconv.Unquote` for strings in double quotes or backquotes.
pub(crate) fn unquote(literal: &[u8]) -> Option<Vec<u8>> {
    let (&mark, rest) = literal.split_first()?;
    let (&last, inner) = rest.split_last()?;
    if mark != last {
        return None;
    }
    match mark {
        b'`' => {
            if inner.contains(&b'`') {
                return None;
            }
            Some(inner.iter().copied().filter(|&byte| byte != b'\r').collect())
        }
        b'"' => {
            let mut out = Vec::with_capacity(inner.len());
            let mut rest = inner;
            while !rest.is_empty() {
                if rest[0] == b'\n' {
                    return None;
                }
                let (unit, left) = unquote_unit(rest, mark)?;
                match unit {
                    Unit::Rune(rune) => push_rune(&mut out, rune),
                    Unit::Byte(byte) => out.push(byte),
                }
                rest = left;
            }
            Some(out)
        }
        _ => None,
    }
}

/// The value of a character constant with its quotes; the error is Go's.
pub(crate) fn unquote_character(literal: &[u8]) -> Result<i32, String> {
    let invalid = || INVALID_SYNTAX.to_owned();
    let (&mark, rest) = literal.split_first().ok_or_else(invalid)?;
    let (unit, tail) = unquote_unit(rest, mark).ok_or_else(invalid)?;
    if tail != b"'" {
        let literal = crate::text::lossy(literal);
        return Err(format!("malformed character constant: {literal}"));
    }
    let value = match unit {
        Unit::Rune(rune) => u32::from(rune),
        Unit::Byte(byte) => u32::from(byte),
    };
    i32::try_from(value).map_err(|_| invalid())
}
