use std::borrow::Cow;

use crate::{Error, ErrorKind, Position};

/// The text of an input: UTF-8, or UTF-16 with a byte order mark; free of characters that YAML refuses and
/// without its byte order mark.
pub(crate) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, Error> {
    let text = match bytes {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(decode_utf16(rest, u16::from_le_bytes)?),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(decode_utf16(rest, u16::from_be_bytes)?),
        [0xEF, 0xBB, 0xBF, rest @ ..] => Cow::Borrowed(decode_utf8(rest)?),
        _ => Cow::Borrowed(decode_utf8(bytes)?),
    };
    match text.char_indices().find(|&(_, character)| !is_allowed(character)) {
        None => Ok(text),
        Some((at, character)) => Err(Error::new(
            ErrorKind::Encoding,
            Some(position_of(text[..at].as_bytes())),
            format!(
                "control characters are not allowed (U+{:04X})",
                u32::from(character)
            ),
            "remove the character, or write it as an escape in double quotes",
        )
        .with_go_message("yaml: control characters are not allowed")),
    }
}

fn is_allowed(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n'
            | '\r'
            | ' '..='~'
            | '\u{85}'
            | '\u{a0}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fffd}'
            | '\u{10000}'..='\u{10ffff}'
    )
}

fn decode_utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = &bytes[..error.valid_up_to()];
        let wrong = bytes[error.valid_up_to()];
        let go = match error.error_len() {
            None => "incomplete UTF-8 octet sequence",
            Some(_) if !(0xC0..0xF8).contains(&wrong) => "invalid leading UTF-8 octet",
            Some(_) => "invalid trailing UTF-8 octet",
        };
        Error::new(
            ErrorKind::Encoding,
            Some(position_of(valid)),
            format!("the text is not UTF-8: byte 0x{wrong:02X}"),
            "save the file as UTF-8; binary data belongs into base64",
        )
        .with_go_message(format!("yaml: {go}"))
    })
}

fn decode_utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Result<String, Error> {
    let wrong = |position, go: &str| {
        Error::new(
            ErrorKind::Encoding,
            Some(position),
            "the text is not UTF-16, which its byte order mark announces",
            "save the file as UTF-8",
        )
        .with_go_message(format!("yaml: {go}"))
    };
    let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
    let mut text = String::with_capacity(bytes.len());
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(character) => text.push(character),
            Err(_) => {
                return Err(wrong(
                    position_of(text.as_bytes()),
                    "unexpected low surrogate area",
                ));
            }
        }
    }
    if bytes.len() % 2 == 1 {
        return Err(wrong(position_of(text.as_bytes()), "incomplete UTF-16 character"));
    }
    Ok(text)
}

/// The position behind a text.
#[expect(clippy::cast_possible_truncation)]
fn position_of(before: &[u8]) -> Position {
    let line_start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let characters = before[line_start..]
        .iter()
        .filter(|&&byte| byte & 0xC0 != 0x80)
        .count();
    Position {
        line: before.iter().filter(|&&byte| byte == b'\n').count() as u32 + 1,
        column: characters as u32 + 1,
    }
}
