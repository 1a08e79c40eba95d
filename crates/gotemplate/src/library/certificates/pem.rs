//! PEM as Go's `encoding/pem` reads and writes it.

use der::pem::{LineEnding, encode_string};

use crate::library::encoding::decode_base64;
use crate::text::find;

/// The first block of a text.
pub(super) struct Block {
    pub(super) label: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

/// A block as a text that ends with a line break.
pub(super) fn encode(label: &str, bytes: &[u8]) -> Result<String, String> {
    encode_string(label, LineEnding::LF, bytes).map_err(|error| error.to_string())
}

/// The first block that can be read; what stands around it is skipped, and so are headers in it.
pub(super) fn decode(text: &[u8]) -> Option<Block> {
    const END: &[u8] = b"\n-----END ";
    let mut rest = text;
    loop {
        let end = find(rest, END)?;
        let after = &rest[end + END.len()..];
        if let Some(block) = block(&rest[..end], after) {
            return Some(block);
        }
        rest = after;
    }
}

/// The block that begins last in `before` and ends with `after`, the label of its last line.
fn block(before: &[u8], after: &[u8]) -> Option<Block> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    let begin = before.windows(BEGIN.len()).rposition(|window| window == BEGIN)?;
    if begin > 0 && before[begin - 1] != b'\n' {
        return None;
    }
    let (first, mut body) = line(&before[begin + BEGIN.len()..]);
    let label = first.strip_suffix(b"-----")?;
    let (last, _) = line(after);
    if last.strip_prefix(label)? != b"-----" {
        return None;
    }
    while let (header, next) = line(body)
        && header.contains(&b':')
    {
        body = next;
    }
    let body: Vec<u8> = body
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b' ' | b'\t'))
        .collect();
    Some(Block {
        label: label.to_vec(),
        bytes: decode_base64(&body).ok()?,
    })
}

/// The first line without what is blank at its end, and what follows it.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match text.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[][..]),
    };
    (line.trim_ascii_end(), rest)
}
