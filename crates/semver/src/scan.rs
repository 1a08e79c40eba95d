//! Reads the lexical parts that versions and constraints share.

/// A cursor over the bytes of a text. Every position it stops at lies beside an ASCII byte, so slices
/// never split a character.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

/// The parts of a version as written: numbers or placeholders, pre-release and metadata without signs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) major: &'a str,
    pub(crate) minor: Option<&'a str>,
    pub(crate) patch: Option<&'a str>,
    pub(crate) pre_release: &'a str,
    pub(crate) metadata: &'a str,
}

/// Letters, digits and dashes, as in pre-releases and metadata.
pub(crate) fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// White space as Go's regular expressions define it.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(crate) fn at(text: &'a str, position: usize) -> Self {
        Self { text, position }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.position == self.text.len()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    /// Takes the longest run of bytes that satisfy `accepts`, which accepts ASCII only.
    pub(crate) fn take_while(&mut self, accepts: impl Fn(u8) -> bool) -> &'a str {
        let start = self.position;
        while self.peek().is_some_and(&accepts) {
            self.position += 1;
        }
        self.text.get(start..self.position).unwrap_or_default()
    }

    pub(crate) fn skip(&mut self, expected: &str) -> bool {
        let found = self.text.as_bytes()[self.position..].starts_with(expected.as_bytes());
        if found {
            self.position += expected.len();
        }
        found
    }

    /// Reads `v1.2.3-pre+meta` where `accepts_number` says which bytes make up the three numbers. Absent
    /// optional parts are left alone; `None` (position restored) if not even a major number is there.
    pub(crate) fn version_parts(&mut self, accepts_number: impl Fn(u8) -> bool + Copy) -> Option<Parts<'a>> {
        let start = self.position;
        self.skip("v");
        let major = self.take_while(accepts_number);
        if major.is_empty() {
            self.position = start;
            return None;
        }
        let minor = self.signed('.', |scanner| scanner.take_while(accepts_number));
        let patch = self.signed('.', |scanner| scanner.take_while(accepts_number));
        let pre_release = self.signed('-', Self::identifiers).unwrap_or_default();
        let metadata = self.signed('+', Self::identifiers).unwrap_or_default();
        Some(Parts {
            major,
            minor,
            patch,
            pre_release,
            metadata,
        })
    }

    /// A sign and what `read` finds after it, or nothing at all.
    fn signed(&mut self, sign: char, read: impl FnOnce(&mut Self) -> &'a str) -> Option<&'a str> {
        let start = self.position;
        if self.peek() == Some(sign as u8) {
            self.position += 1;
            let found = read(self);
            if !found.is_empty() {
                return Some(found);
            }
        }
        self.position = start;
        None
    }

    /// Identifiers joined by single dots; a trailing dot is left alone.
    fn identifiers(&mut self) -> &'a str {
        let start = self.position;
        if self.take_while(is_identifier_byte).is_empty() {
            return "";
        }
        while self
            .signed('.', |scanner| scanner.take_while(is_identifier_byte))
            .is_some()
        {}
        self.text.get(start..self.position).unwrap_or_default()
    }
}
