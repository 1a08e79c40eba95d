//! PEM as Go's `encoding/pem` reads it.

use std::collections::HashMap;

use zeroize::Zeroizing;

use super::base64::decode;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"\n-----END ";
const DASHES: &[u8] = b"-----";

/// How many lines that begin a block are tried. Each costs a look at all that follows.
const MAX_ATTEMPTS: usize = 64;

/// A block between a BEGIN and an END line.
pub(crate) struct Block {
    /// What stands after BEGIN.
    pub(crate) kind: String,
    /// Lines of the form `Name: value` at the block's start.
    pub(crate) headers: HashMap<String, String>,
    /// The decoded content.
    pub(crate) bytes: Zeroizing<Vec<u8>>,
}

impl Block {
    /// The first block in `text` that is whole.
    pub(crate) fn find(text: &[u8]) -> Option<Self> {
        let mut rest = text;
        let mut at_start = true;
        for _ in 0..MAX_ATTEMPTS {
            rest = after_begin(rest, at_start)?;
            at_start = false;
            let (kind, after) = line(rest);
            if let Some(kind) = kind.strip_suffix(DASHES)
                && let Some(block) = Self::read(kind, after)
            {
                return Some(block);
            }
            rest = after;
        }
        None
    }

    fn read(kind: &[u8], mut rest: &[u8]) -> Option<Self> {
        let mut headers = HashMap::new();
        loop {
            if rest.is_empty() {
                return None;
            }
            let (header, after) = line(rest);
            let Some(colon) = header.iter().position(|byte| *byte == b':') else {
                break;
            };
            headers.insert(text(&header[..colon]), text(&header[colon + 1..]));
            rest = after;
        }
        let (content, after) = match rest.strip_prefix(&END[1..]) {
            Some(after) if headers.is_empty() => (&rest[..0], after),
            _ => {
                let end = find(rest, END)?;
                (&rest[..end], &rest[end + END.len()..])
            }
        };
        let (trailer, after) = after.split_at_checked(kind.len() + DASHES.len())?;
        if !trailer.starts_with(kind) || !trailer.ends_with(DASHES) || !line(after).0.is_empty() {
            return None;
        }
        let content: Zeroizing<Vec<u8>> = Zeroizing::new(
            content
                .iter()
                .copied()
                .filter(|byte| !matches!(byte, b' ' | b'\t'))
                .collect(),
        );
        Some(Self {
            kind: text(kind),
            headers,
            bytes: Zeroizing::new(decode(&content).ok()?),
        })
    }
}

fn after_begin(text: &[u8], at_start: bool) -> Option<&[u8]> {
    if at_start && let Some(after) = text.strip_prefix(BEGIN) {
        return Some(after);
    }
    let begin = [b"\n", BEGIN].concat();
    Some(&text[find(text, &begin)? + begin.len()..])
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// The first line without blanks at its end, and what follows it.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match text.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&text[..end], &text[end + 1..]),
        None => (text, &text[text.len()..]),
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let end = line
        .iter()
        .rposition(|byte| !matches!(byte, b' ' | b'\t'))
        .map_or(0, |last| last + 1);
    (&line[..end], rest)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}
