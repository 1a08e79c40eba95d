//! Go's strings: bytes that are usually, but not always, UTF-8.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// What decoding makes of a byte that is no UTF-8.
pub(crate) const REPLACEMENT: char = '\u{FFFD}';

/// A Go string: immutable bytes, shared when cloned, compared and ordered bytewise.
///
/// Template functions may cut a string inside a character (`trunc`, `slice`), so the bytes need not be UTF-8.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(Arc<[u8]>);

impl Text {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// As text; each byte that is no UTF-8 shows as U+FFFD, as in Go's `range` and encoders.
    pub fn to_text(&self) -> Cow<'_, str> {
        lossy(&self.0)
    }
}

impl Default for Text {
    fn default() -> Self {
        Self(Arc::from(&[][..]))
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Arc::from(text.as_bytes()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::from(text.into_bytes()))
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(Arc::from(bytes))
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::from(bytes))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), formatter)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_text(), formatter)
    }
}

/// Bytes as text, with one U+FFFD for each byte that is no UTF-8.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(runes(bytes).map(|(_, rune)| rune).collect()),
    }
}

/// The first character and how many bytes it takes: U+FFFD and 1 where the bytes are no UTF-8. None at the end.
pub(crate) fn first_rune(bytes: &[u8]) -> Option<(char, usize)> {
    let &first = bytes.first()?;
    if first < 0x80 {
        return Some((char::from(first), 1));
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return Some((REPLACEMENT, 1)),
    };
    let decoded = bytes
        .get(..width)
        .and_then(|encoded| std::str::from_utf8(encoded).ok())
        .and_then(|text| text.chars().next());
    Some(decoded.map_or((REPLACEMENT, 1), |rune| (rune, width)))
}

/// The last character and how many bytes it takes, as [`first_rune`].
pub(crate) fn last_rune(bytes: &[u8]) -> Option<(char, usize)> {
    let &last = bytes.last()?;
    if last < 0x80 {
        return Some((char::from(last), 1));
    }
    for width in 2..=4.min(bytes.len()) {
        let tail = &bytes[bytes.len() - width..];
        if let Some((rune, found)) = first_rune(tail)
            && found == width
        {
            return Some((rune, width));
        }
    }
    Some((REPLACEMENT, 1))
}

/// The characters with the position of each.
pub(crate) fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (rune, width) = first_rune(&bytes[at..])?;
        let start = at;
        at += width;
        Some((start, rune))
    })
}

/// How many characters there are, a byte that is no UTF-8 counting as one.
pub(crate) fn count_runes(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().count(),
        Err(_) => runes(bytes).count(),
    }
}

/// Where `needle` first stands in `bytes`.
pub(crate) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let &first = needle.first()?;
    let mut from = 0;
    while let Some(offset) = bytes[from..].iter().position(|&byte| byte == first) {
        let at = from + offset;
        if bytes[at..].starts_with(needle) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

pub(crate) fn push_rune(out: &mut Vec<u8>, rune: char) {
    out.extend_from_slice(rune.encode_utf8(&mut [0; 4]).as_bytes());
}
