use crate::Position;

/// A place in a text, all numbers from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// In characters from the start.
    pub(crate) index: usize,
    pub(crate) line: usize,
    /// In characters from the line's start.
    pub(crate) column: usize,
}

impl Mark {
    /// The place as users count.
    #[expect(clippy::cast_possible_truncation)]
    pub(crate) fn position(self) -> Position {
        Position {
            line: self.line as u32 + 1,
            column: self.column as u32 + 1,
        }
    }
}

/// Goes through a text character by character. Beyond its end there are only NULs, which the text itself
/// cannot hold.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    pub(crate) mark: Mark,
    /// Line breaks since the last character that was not blank.
    pub(crate) newlines: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            mark: Mark::default(),
            newlines: 0,
        }
    }

    /// The byte at a distance from here.
    pub(crate) fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(crate) fn is_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Whether there is a space or tab.
    pub(crate) fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t')
    }

    /// The bytes of the line break at a distance from here; 0 if there is none.
    pub(crate) fn break_width(&self, ahead: usize) -> usize {
        match self.byte(ahead) {
            b'\r' if self.byte(ahead + 1) == b'\n' => 2,
            b'\r' | b'\n' => 1,
            0xC2 if self.byte(ahead + 1) == 0x85 => 2,
            0xE2 if self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xA8 | 0xA9) => 3,
            _ => 0,
        }
    }

    pub(crate) fn is_break(&self, ahead: usize) -> bool {
        self.break_width(ahead) > 0
    }

    /// A line break or the end.
    pub(crate) fn is_break_or_end(&self, ahead: usize) -> bool {
        self.byte(ahead) == 0 || self.is_break(ahead)
    }

    /// White space or the end.
    pub(crate) fn is_white_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// Whether the text starts here with a byte order mark; Go takes it for text further on.
    pub(crate) fn is_byte_order_mark(&self) -> bool {
        self.at == 0 && self.bytes.starts_with(&[0xEF, 0xBB, 0xBF])
    }

    /// A letter, digit, underscore or dash.
    pub(crate) fn is_word(&self) -> bool {
        matches!(self.byte(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    /// Whether a line starts here with `---` or `...`.
    pub(crate) fn is_document_indicator(&self) -> bool {
        self.mark.column == 0 && (self.is_indicator(b"---") || self.is_indicator(b"..."))
    }

    pub(crate) fn is_indicator(&self, indicator: &[u8; 3]) -> bool {
        self.bytes[self.at.min(self.bytes.len())..].starts_with(indicator) && self.is_white_or_end(3)
    }

    fn width(&self) -> usize {
        match self.byte(0) {
            0..=0x7F => 1,
            0x80..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xFF => 4,
        }
    }

    /// Passes one character.
    pub(crate) fn skip(&mut self) {
        if !self.is_blank(0) {
            self.newlines = 0;
        }
        if self.is_end() {
            return;
        }
        self.mark.index += 1;
        self.mark.column += 1;
        self.at += self.width();
    }

    pub(crate) fn skip_many(&mut self, count: usize) {
        for _ in 0..count {
            self.skip();
        }
    }

    pub(crate) fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }

    fn pass_break(&mut self, width: usize) {
        self.mark.index += if width == 2 && self.byte(0) == b'\r' { 2 } else { 1 };
        self.mark.column = 0;
        self.mark.line += 1;
        self.at += width;
        self.newlines += 1;
    }

    /// Passes a line break, if there is one.
    pub(crate) fn skip_line(&mut self) {
        let width = self.break_width(0);
        if width > 0 {
            self.pass_break(width);
        }
    }

    /// Moves one character to the end of a text.
    pub(crate) fn read(&mut self, out: &mut String) {
        if self.is_end() {
            return;
        }
        let width = self.width();
        out.push_str(&self.text[self.at..self.at + width]);
        self.skip();
    }

    /// Moves the characters from here on that are printable ASCII and satisfy a condition to the end of a text.
    pub(crate) fn read_run(&mut self, out: &mut String, belongs: impl Fn(u8) -> bool) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest
            .iter()
            .take_while(|&&byte| matches!(byte, b' '..=b'~') && belongs(byte))
            .count();
        let Some(&last) = rest[..count].last() else { return };
        out.push_str(&self.text[self.at..self.at + count]);
        // A blank leaves the count of line breaks alone.
        if last != b' ' || rest[..count].iter().any(|&byte| byte != b' ') {
            self.newlines = 0;
        }
        self.mark.index += count;
        self.mark.column += count;
        self.at += count;
    }

    /// Moves a line break to the end of a text, made a line feed unless it is U+2028 or U+2029.
    pub(crate) fn read_line(&mut self, out: &mut String) {
        match self.break_width(0) {
            0 => return,
            3 => out.push_str(&self.text[self.at..self.at + 3]),
            _ => out.push('\n'),
        }
        self.pass_break(self.break_width(0));
    }

    /// Moves the rest of the line to the end of a text.
    pub(crate) fn read_to_break(&mut self, out: &mut String) {
        while !self.is_break_or_end(0) {
            self.read_run(out, |_| true);
            if !self.is_break_or_end(0) {
                self.read(out);
            }
        }
    }
}
