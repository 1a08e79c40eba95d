//! Cuts a template into tokens, as Go's text/template/parse does.
//!
//! The state (what is left after an error, whether the end was seen) is Go's as well, because it decides
//! which error a broken template shows.

use crate::quote::quoted;
use crate::text::{count_runes, find, first_rune, last_rune, lossy, runes};
use crate::unicode::{is_digit, is_letter, is_printable};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Error,
    Bool,
    /// A printable ASCII character that means nothing by itself, such as a comma.
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    End,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParenthesis,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParenthesis,
    Space,
    String,
    Text,
    Variable,
    Dot,
    Nil,
    Keyword(Keyword),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

/// A token: what it is, where it begins (bytes and lines), and its text.
#[derive(Clone, Debug)]
pub(crate) struct Item<'text> {
    pub(crate) kind: Kind,
    pub(crate) position: usize,
    pub(crate) text: &'text [u8],
    /// The message of an [`Kind::Error`].
    pub(crate) message: String,
    pub(crate) line: usize,
}

impl Item<'_> {
    /// As error messages show it.
    pub(crate) fn describe(&self) -> String {
        match self.kind {
            Kind::End => "EOF".to_owned(),
            Kind::Error => self.message.clone(),
            Kind::Keyword(_) | Kind::Dot | Kind::Nil => format!("<{}>", lossy(self.text)),
            _ if self.text.len() > 10 => {
                let end = runes(self.text).nth(10).map_or(self.text.len(), |(at, _)| at);
                format!("{}...", quoted(&self.text[..end]))
            }
            _ => quoted(self.text),
        }
    }
}

/// Which of the words `break` and `continue` are keywords: not those that name a function.
#[derive(Clone, Copy)]
pub(crate) struct LoopWords {
    pub(crate) breaks: bool,
    pub(crate) continues: bool,
}

pub(crate) struct Lexer<'text> {
    input: &'text [u8],
    left: &'text [u8],
    right: &'text [u8],
    position: usize,
    start: usize,
    at_end: bool,
    depth: isize,
    line: usize,
    start_line: usize,
    inside_action: bool,
    words: LoopWords,
}

const SPACES: &[u8] = b" \t\r\n";

fn is_space(rune: char) -> bool {
    matches!(rune, ' ' | '\t' | '\r' | '\n')
}

fn is_space_byte(byte: u8) -> bool {
    SPACES.contains(&byte)
}

fn is_alphanumeric(rune: char) -> bool {
    rune == '_' || is_letter(rune) || is_digit(rune)
}

fn has_left_trim(bytes: &[u8]) -> bool {
    matches!(bytes, [b'-', space, ..] if is_space_byte(*space))
}

fn has_right_trim(bytes: &[u8]) -> bool {
    matches!(bytes, [space, b'-', ..] if is_space_byte(*space))
}

fn leading_spaces(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| is_space_byte(byte)).count()
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

/// `%#U` of a character, or of what stands for the end of the text.
fn describe_rune(rune: Option<char>) -> String {
    match rune {
        None => "U+FFFFFFFFFFFFFFFF".to_owned(),
        Some(rune) if is_printable(rune) => format!("U+{:04X} '{rune}'", u32::from(rune)),
        Some(rune) => format!("U+{:04X}", u32::from(rune)),
    }
}

impl<'text> Lexer<'text> {
    pub(crate) fn new(input: &'text [u8], left: &'text [u8], right: &'text [u8], words: LoopWords) -> Self {
        Self {
            input,
            left,
            right,
            position: 0,
            start: 0,
            at_end: false,
            depth: 0,
            line: 1,
            start_line: 1,
            inside_action: false,
            words,
        }
    }

    /// The next token. After an error the input counts as empty.
    pub(crate) fn next_item(&mut self) -> Item<'text> {
        if self.inside_action {
            self.lex_inside_action()
        } else {
            self.lex_text()
        }
    }

    fn rest(&self) -> &'text [u8] {
        &self.input[self.position.min(self.input.len())..]
    }

    fn next(&mut self) -> Option<char> {
        let Some((rune, width)) = first_rune(self.rest()) else {
            self.at_end = true;
            return None;
        };
        self.position += width;
        if rune == '\n' {
            self.line += 1;
        }
        Some(rune)
    }

    fn backup(&mut self) {
        if self.at_end {
            return;
        }
        if let Some((rune, width)) = last_rune(&self.input[..self.position]) {
            self.position -= width;
            if rune == '\n' {
                self.line -= 1;
            }
        }
    }

    fn peek(&mut self) -> Option<char> {
        let rune = self.next();
        self.backup();
        rune
    }

    fn accept(&mut self, valid: &str) -> bool {
        if self.next().is_some_and(|rune| valid.contains(rune)) {
            return true;
        }
        self.backup();
        false
    }

    fn accept_run(&mut self, valid: &str) {
        while self.next().is_some_and(|rune| valid.contains(rune)) {}
        self.backup();
    }

    fn emit(&mut self, kind: Kind) -> Item<'text> {
        let item = Item {
            kind,
            position: self.start,
            text: &self.input[self.start..self.position],
            message: String::new(),
            line: self.start_line,
        };
        self.start = self.position;
        self.start_line = self.line;
        item
    }

    fn fail(&mut self, message: impl Into<String>) -> Item<'text> {
        let item = Item {
            kind: Kind::Error,
            position: self.start,
            text: b"",
            message: message.into(),
            line: self.start_line,
        };
        self.start = 0;
        self.position = 0;
        self.input = b"";
        item
    }

    /// Drops what was skipped without [`Self::next`].
    fn ignore(&mut self) {
        self.line += count_lines(&self.input[self.start..self.position]);
        self.start = self.position;
        self.start_line = self.line;
    }

    fn lex_text(&mut self) -> Item<'text> {
        loop {
            let Some(offset) = find(self.rest(), self.left) else {
                self.position = self.input.len();
                if self.position > self.start {
                    self.line += count_lines(&self.input[self.start..self.position]);
                    return self.emit(Kind::Text);
                }
                return self.emit(Kind::End);
            };
            if offset > 0 {
                self.position += offset;
                let mut trimmed = 0;
                if has_left_trim(&self.input[self.position + self.left.len()..]) {
                    let text = &self.input[self.start..self.position];
                    trimmed = text.iter().rev().take_while(|&&byte| is_space_byte(byte)).count();
                }
                self.position -= trimmed;
                self.line += count_lines(&self.input[self.start..self.position]);
                let item = self.emit(Kind::Text);
                self.position += trimmed;
                self.ignore();
                if !item.text.is_empty() {
                    return item;
                }
            }
            if let Some(item) = self.lex_left_delimiter() {
                return item;
            }
        }
    }

    /// The delimiter, or None after a comment.
    fn lex_left_delimiter(&mut self) -> Option<Item<'text>> {
        self.position += self.left.len();
        let marker = if has_left_trim(self.rest()) { 2 } else { 0 };
        if self.input[self.position + marker..].starts_with(b"/*") {
            self.position += marker;
            self.ignore();
            return self.skip_comment();
        }
        let item = self.emit(Kind::LeftDelimiter);
        self.inside_action = true;
        self.position += marker;
        self.ignore();
        self.depth = 0;
        Some(item)
    }

    /// Skips a comment and its delimiter; an error if there is no end.
    fn skip_comment(&mut self) -> Option<Item<'text>> {
        self.position += 2;
        let Some(offset) = find(self.rest(), b"*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.position += offset + 2;
        let Some(trims) = self.at_right_delimiter() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        self.line += count_lines(&self.input[self.start..self.position]);
        self.emit(Kind::Text);
        self.position += if trims { 2 } else { 0 } + self.right.len();
        if trims {
            self.position += leading_spaces(self.rest());
        }
        self.ignore();
        None
    }

    /// Whether a right delimiter follows, and if so whether it trims.
    fn at_right_delimiter(&self) -> Option<bool> {
        let rest = self.rest();
        if has_right_trim(rest) && rest[2..].starts_with(self.right) {
            return Some(true);
        }
        rest.starts_with(self.right).then_some(false)
    }

    fn lex_right_delimiter(&mut self) -> Item<'text> {
        let trims = self.at_right_delimiter() == Some(true);
        if trims {
            self.position += 2;
            self.ignore();
        }
        self.position += self.right.len();
        let item = self.emit(Kind::RightDelimiter);
        if trims {
            self.position += leading_spaces(self.rest());
            self.ignore();
        }
        self.inside_action = false;
        item
    }

    fn lex_inside_action(&mut self) -> Item<'text> {
        if self.at_right_delimiter().is_some() {
            if self.depth == 0 {
                return self.lex_right_delimiter();
            }
            return self.fail("unclosed left paren");
        }
        let Some(rune) = self.next() else {
            return self.fail("unclosed action");
        };
        match rune {
            _ if is_space(rune) => {
                self.backup();
                self.lex_space()
            }
            '=' => self.emit(Kind::Assign),
            ':' => {
                if self.next() != Some('=') {
                    return self.fail("expected :=");
                }
                self.emit(Kind::Declare)
            }
            '|' => self.emit(Kind::Pipe),
            '"' => self.lex_until('"', Kind::String, "unterminated quoted string"),
            '`' => self.lex_raw_string(),
            '$' => {
                if self.at_terminator() {
                    return self.emit(Kind::Variable);
                }
                self.lex_field_or_variable(Kind::Variable)
            }
            '\'' => self.lex_until('\'', Kind::CharConstant, "unterminated character constant"),
            '.' if self.rest().first().is_some_and(|byte| !byte.is_ascii_digit()) => {
                self.lex_field_or_variable(Kind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.backup();
                self.lex_number()
            }
            _ if is_alphanumeric(rune) => {
                self.backup();
                self.lex_identifier()
            }
            '(' => {
                self.depth += 1;
                self.emit(Kind::LeftParenthesis)
            }
            ')' => {
                self.depth -= 1;
                if self.depth < 0 {
                    return self.fail("unexpected right paren");
                }
                self.emit(Kind::RightParenthesis)
            }
            ' '..='~' => self.emit(Kind::Char),
            _ => {
                let message = format!("unrecognized character in action: {}", describe_rune(Some(rune)));
                self.fail(message)
            }
        }
    }

    fn lex_space(&mut self) -> Item<'text> {
        let mut spaces = 0;
        while self.peek().is_some_and(is_space) {
            self.next();
            spaces += 1;
        }
        // A trimming delimiter begins with the last of the spaces.
        let tail = &self.input[self.position - 1..];
        if has_right_trim(tail) && tail[2..].starts_with(self.right) {
            self.backup();
            if spaces == 1 {
                return self.lex_right_delimiter();
            }
        }
        self.emit(Kind::Space)
    }

    /// Reads on to the end of a word; the error item if something stands there that cannot end one.
    fn skip_word(&mut self) -> Option<Item<'text>> {
        let mut rune = self.next();
        while rune.is_some_and(is_alphanumeric) {
            rune = self.next();
        }
        self.backup();
        let ends = self.at_terminator();
        (!ends).then(|| self.fail(format!("bad character {}", describe_rune(rune))))
    }

    fn lex_identifier(&mut self) -> Item<'text> {
        if let Some(failure) = self.skip_word() {
            return failure;
        }
        let kind = match &self.input[self.start..self.position] {
            b"block" => Kind::Keyword(Keyword::Block),
            b"break" if self.words.breaks => Kind::Keyword(Keyword::Break),
            b"continue" if self.words.continues => Kind::Keyword(Keyword::Continue),
            b"define" => Kind::Keyword(Keyword::Define),
            b"else" => Kind::Keyword(Keyword::Else),
            b"end" => Kind::Keyword(Keyword::End),
            b"if" => Kind::Keyword(Keyword::If),
            b"range" => Kind::Keyword(Keyword::Range),
            b"nil" => Kind::Nil,
            b"template" => Kind::Keyword(Keyword::Template),
            b"with" => Kind::Keyword(Keyword::With),
            b"true" | b"false" => Kind::Bool,
            _ => Kind::Identifier,
        };
        self.emit(kind)
    }

    fn lex_field_or_variable(&mut self, kind: Kind) -> Item<'text> {
        if self.at_terminator() {
            return self.emit(if kind == Kind::Field { Kind::Dot } else { kind });
        }
        if let Some(failure) = self.skip_word() {
            return failure;
        }
        self.emit(kind)
    }

    fn at_terminator(&mut self) -> bool {
        match self.peek() {
            None | Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(rune) => is_space(rune) || self.rest().starts_with(self.right),
        }
    }

    /// A string or character constant; its opening mark is past.
    fn lex_until(&mut self, mark: char, kind: Kind, unterminated: &str) -> Item<'text> {
        loop {
            match self.next() {
                Some('\\') => {
                    if matches!(self.next(), None | Some('\n')) {
                        return self.fail(unterminated);
                    }
                }
                None | Some('\n') => return self.fail(unterminated),
                Some(rune) if rune == mark => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn lex_raw_string(&mut self) -> Item<'text> {
        loop {
            match self.next() {
                None => return self.fail("unterminated raw quoted string"),
                Some('`') => return self.emit(Kind::RawString),
                Some(_) => {}
            }
        }
    }

    fn lex_number(&mut self) -> Item<'text> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.peek(), Some('+' | '-')) {
            if !self.scan_number() || self.input[self.position - 1] != b'i' {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> Item<'text> {
        let text = quoted(&self.input[self.start..self.position]);
        self.fail(format!("bad number syntax: {text}"))
    }

    /// Takes what looks like a number; whether it is one turns out when it is read.
    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        let radix = count_runes(digits.as_bytes());
        if (radix == 11 && self.accept("eE")) || (radix == 23 && self.accept("pP")) {
            self.accept("+-");
            self.accept_run("0123456789_");
        }
        self.accept("i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.next();
            return false;
        }
        true
    }
}
