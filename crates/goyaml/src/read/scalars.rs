//! Scalars in their five forms.

use crate::read::cursor::Mark;
use crate::read::scanner::Scanner;
use crate::read::token::{Token, TokenKind};
use crate::{Error, Style};

/// What separates two parts of a scalar: white space on a line, or line breaks, which are folded.
#[derive(Default)]
struct Gap {
    white: String,
    /// Set once there was a line break; then white space no longer counts.
    broken: bool,
    first_break: String,
    breaks: String,
}

impl Gap {
    /// Adds what the gap stands for to a text and empties it.
    fn join(&mut self, text: &mut String) {
        if self.broken {
            if self.first_break.starts_with('\n') {
                if self.breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(&self.first_break);
            }
            text.push_str(&self.breaks);
        } else {
            text.push_str(&self.white);
        }
        self.white.clear();
        self.first_break.clear();
        self.breaks.clear();
    }
}

impl Scanner<'_> {
    fn scalar(&self, text: String, style: Style, start: Mark, end: Mark) -> Token {
        Token {
            kind: TokenKind::Scalar { text, style },
            start,
            end,
        }
    }

    /// Reads blanks and line breaks into a gap.
    fn scan_gap(
        &mut self,
        gap: &mut Gap,
        mut check_tab: impl FnMut(&Self, &Gap) -> Result<(), Error>,
    ) -> Result<(), Error> {
        loop {
            if self.cursor.is_blank(0) {
                check_tab(self, gap)?;
                if gap.broken {
                    self.cursor.skip();
                } else {
                    self.cursor.read(&mut gap.white);
                }
            } else if self.cursor.is_break(0) {
                if gap.broken {
                    self.cursor.read_line(&mut gap.breaks);
                } else {
                    gap.white.clear();
                    self.cursor.read_line(&mut gap.first_break);
                    gap.broken = true;
                }
            } else {
                return Ok(());
            }
        }
    }

    pub(crate) fn scan_plain(&mut self) -> Result<Token, Error> {
        let start = self.cursor.mark;
        let mut end = start;
        let indent = self.indent + 1;
        let mut text = String::new();
        let mut gap = Gap::default();
        while !self.cursor.is_document_indicator() && self.cursor.byte(0) != b'#' {
            while !self.cursor.is_white_or_end(0) && !self.ends_plain() {
                if gap.broken || !gap.white.is_empty() {
                    gap.join(&mut text);
                    gap.broken = false;
                }
                // Bytes that never end a plain scalar go at once.
                self.cursor.read_run(&mut text, |byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'/' | b'_')
                });
                if !self.cursor.is_white_or_end(0) && !self.ends_plain() {
                    self.cursor.read(&mut text);
                }
                end = self.cursor.mark;
            }
            if !(self.cursor.is_blank(0) || self.cursor.is_break(0)) {
                break;
            }
            self.scan_gap(&mut gap, |scanner, gap| {
                let column = scanner.cursor.mark.column.cast_signed();
                if gap.broken && column < indent && scanner.cursor.byte(0) == b'\t' {
                    return Err(scanner.error(Some(start), "found a tab character that violates indentation"));
                }
                Ok(())
            })?;
            if self.flow_level == 0 && self.cursor.mark.column.cast_signed() < indent {
                break;
            }
        }
        if gap.broken {
            self.simple_key_allowed = true;
        }
        Ok(self.scalar(text, Style::Plain, start, end))
    }

    fn ends_plain(&self) -> bool {
        match self.cursor.byte(0) {
            b':' => self.cursor.is_white_or_end(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => false,
        }
    }

    pub(crate) fn scan_quoted(&mut self, single: bool) -> Result<Token, Error> {
        let start = self.cursor.mark;
        let quote = if single { b'\'' } else { b'"' };
        self.cursor.skip();
        let mut text = String::new();
        let mut gap = Gap::default();
        loop {
            if self.cursor.is_document_indicator() {
                return Err(self.error(Some(start), "found unexpected document indicator"));
            }
            if self.cursor.is_end() {
                return Err(self.error(Some(start), "found unexpected end of stream"));
            }
            gap.broken = false;
            while !self.cursor.is_white_or_end(0) {
                let byte = self.cursor.byte(0);
                if single && byte == b'\'' && self.cursor.byte(1) == b'\'' {
                    text.push('\'');
                    self.cursor.skip_many(2);
                } else if byte == quote {
                    break;
                } else if !single && byte == b'\\' && self.cursor.is_break(1) {
                    self.cursor.skip();
                    self.cursor.skip_line();
                    gap.broken = true;
                    break;
                } else if !single && byte == b'\\' {
                    self.scan_escape(start, &mut text)?;
                } else {
                    self.cursor.read(&mut text);
                    self.cursor
                        .read_run(&mut text, |byte| !matches!(byte, b' ' | b'\'' | b'"' | b'\\'));
                }
            }
            if self.cursor.byte(0) == quote {
                break;
            }
            self.scan_gap(&mut gap, |_, _| Ok(()))?;
            gap.join(&mut text);
        }
        self.cursor.skip();
        let style = if single {
            Style::SingleQuoted
        } else {
            Style::DoubleQuoted
        };
        Ok(self.scalar(text, style, start, self.cursor.mark))
    }

    fn scan_escape(&mut self, start: Mark, text: &mut String) -> Result<(), Error> {
        let digits = match self.cursor.byte(1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => 0,
        };
        if digits == 0 {
            text.push(match self.cursor.byte(1) {
                b'0' => '\0',
                b'a' => '\u{7}',
                b'b' => '\u{8}',
                b't' | b'\t' => '\t',
                b'n' => '\n',
                b'v' => '\u{b}',
                b'f' => '\u{c}',
                b'r' => '\r',
                b'e' => '\u{1b}',
                b' ' => ' ',
                b'"' => '"',
                b'\'' => '\'',
                b'\\' => '\\',
                b'N' => '\u{85}',
                b'_' => '\u{a0}',
                b'L' => '\u{2028}',
                b'P' => '\u{2029}',
                _ => return Err(self.error(Some(start), "found unknown escape character")),
            });
            self.cursor.skip_many(2);
            return Ok(());
        }
        self.cursor.skip_many(2);
        let mut code = 0u64;
        for ahead in 0..digits {
            let Some(digit) = char::from(self.cursor.byte(ahead)).to_digit(16) else {
                return Err(self.error(Some(start), "did not find expected hexdecimal number"));
            };
            code = code << 4 | u64::from(digit);
        }
        let character = u32::try_from(code).ok().and_then(char::from_u32);
        let Some(character) = character else {
            return Err(self.error(Some(start), "found invalid Unicode character escape code"));
        };
        text.push(character);
        self.cursor.skip_many(digits);
        Ok(())
    }

    pub(crate) fn scan_block(&mut self, literal: bool) -> Result<Token, Error> {
        let start = self.cursor.mark;
        self.cursor.skip();
        let (chomping, increment) = self.scan_block_header(start)?;
        let mut end = self.cursor.mark;
        let mut indent = match increment {
            0 => 0,
            increment => self.indent.max(0).unsigned_abs() + increment,
        };
        let mut text = String::new();
        let mut leading_break = String::new();
        let mut breaks = String::new();
        self.scan_block_breaks(&mut indent, &mut breaks, start, &mut end)?;
        let mut leading_blank = false;
        while self.cursor.mark.column == indent && !self.cursor.is_end() {
            let blank = self.cursor.is_blank(0);
            if !literal && !leading_blank && !blank && leading_break.starts_with('\n') {
                if breaks.is_empty() {
                    text.push(' ');
                }
            } else {
                text.push_str(&leading_break);
            }
            leading_break.clear();
            text.push_str(&breaks);
            breaks.clear();
            leading_blank = blank;
            self.cursor.read_to_break(&mut text);
            self.cursor.read_line(&mut leading_break);
            self.scan_block_breaks(&mut indent, &mut breaks, start, &mut end)?;
        }
        if chomping != b'-' {
            text.push_str(&leading_break);
        }
        if chomping == b'+' {
            text.push_str(&breaks);
        }
        let style = if literal { Style::Literal } else { Style::Folded };
        Ok(self.scalar(text, style, start, end))
    }

    /// The signs behind `|` or `>`, in either order, and the rest of the line: chomping and indent.
    fn scan_block_header(&mut self, start: Mark) -> Result<(u8, usize), Error> {
        let mut chomping = 0;
        let mut increment = 0;
        if matches!(self.cursor.byte(0), b'+' | b'-') {
            chomping = self.cursor.byte(0);
            self.cursor.skip();
            increment = self.scan_increment(start)?;
        } else {
            increment += self.scan_increment(start)?;
            if increment > 0 && matches!(self.cursor.byte(0), b'+' | b'-') {
                chomping = self.cursor.byte(0);
                self.cursor.skip();
            }
        }
        self.cursor.skip_blanks();
        if self.cursor.byte(0) == b'#' {
            if self.v3 {
                self.scan_line_comment(start);
            }
            while !self.cursor.is_break_or_end(0) {
                self.cursor.skip();
            }
        }
        if !self.cursor.is_break_or_end(0) {
            return Err(self.error(Some(start), "did not find expected comment or line break"));
        }
        self.cursor.skip_line();
        Ok((chomping, increment))
    }

    fn scan_increment(&mut self, start: Mark) -> Result<usize, Error> {
        match self.cursor.byte(0) {
            b'0' => Err(self.error(Some(start), "found an indentation indicator equal to 0")),
            digit @ b'1'..=b'9' => {
                self.cursor.skip();
                Ok(usize::from(digit - b'0'))
            }
            _ => Ok(0),
        }
    }

    /// Passes indentation and empty lines; finds the indent out if it is 0.
    fn scan_block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut String,
        start: Mark,
        end: &mut Mark,
    ) -> Result<(), Error> {
        *end = self.cursor.mark;
        let mut widest = 0;
        loop {
            let inside = |column| *indent == 0 || column < *indent;
            while inside(self.cursor.mark.column) && self.cursor.byte(0) == b' ' {
                self.cursor.skip();
            }
            widest = widest.max(self.cursor.mark.column);
            if inside(self.cursor.mark.column) && self.cursor.byte(0) == b'\t' {
                return Err(self.error(
                    Some(start),
                    "found a tab character where an indentation space is expected",
                ));
            }
            if !self.cursor.is_break(0) {
                break;
            }
            self.cursor.read_line(breaks);
            *end = self.cursor.mark;
        }
        if *indent == 0 {
            *indent = widest.max((self.indent + 1).max(1).unsigned_abs());
        }
        Ok(())
    }
}
