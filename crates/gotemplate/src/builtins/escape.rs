//! `html`, `js` and `urlquery`.

use crate::text::first_rune;
use crate::unicode::is_printable;

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

pub(super) fn html(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
    out
}

pub(super) fn javascript(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some((rune, width)) = first_rune(&bytes[at..]) {
        let encoded = &bytes[at..at + width];
        at += width;
        match rune {
            '\\' => out.extend_from_slice(br"\\"),
            '\'' => out.extend_from_slice(br"\'"),
            '"' => out.extend_from_slice(b"\\\""),
            '<' => out.extend_from_slice(br"\u003C"),
            '>' => out.extend_from_slice(br"\u003E"),
            '&' => out.extend_from_slice(br"\u0026"),
            '=' => out.extend_from_slice(br"\u003D"),
            ' '..='\u{7F}' => out.extend_from_slice(encoded),
            _ if rune >= '\u{80}' && is_printable(rune) => out.extend_from_slice(encoded),
            _ => out.extend_from_slice(format!("\\u{:04X}", u32::from(rune)).as_bytes()),
        }
    }
    out
}

/// Go's `url.QueryEscape`.
pub(super) fn query(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte),
            b' ' => out.push(b'+'),
            _ => out.extend([
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 0xF)],
            ]),
        }
    }
    out
}
