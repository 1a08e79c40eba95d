use icu_properties::props::{EnumeratedProperty as _, GeneralCategory};

use crate::{Error, Limits};

/// A piece of a parsed text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Expression(Expression),
}

/// `${name operator operands}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(crate) name: String,
    pub(crate) operator: String,
    pub(crate) operands: Vec<Part>,
    pub(crate) line: usize,
}

/// What the scanner looks for besides text.
#[derive(Clone, Copy)]
struct Mode {
    opening: bool,
    closing: bool,
    text: bool,
    escapes: Escapes,
}

/// Which characters may escape.
#[derive(Clone, Copy, PartialEq)]
enum Escapes {
    None,
    /// `$$`.
    Dollar,
    /// `$$`, and a backslash before a slash or backslash.
    DollarAndBackslash,
}

enum Token {
    End,
    Opening,
    Closing,
    Text(String),
    Illegal,
}

/// Decides whether a character belongs to the text being scanned; the number is the text's length in bytes
/// with it.
type Accept = fn(char, usize) -> bool;

pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Vec<Part>, Error> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        limit: limits.depth,
        line: 1,
        counted: 0,
    };
    let mut parts = Vec::new();
    let mode = Mode {
        opening: true,
        closing: false,
        text: true,
        escapes: Escapes::Dollar,
    };
    loop {
        match parser.scan(mode, |_, _| true) {
            Token::End => return Ok(parts),
            Token::Text(text) => parts.push(Part::Text(text)),
            Token::Opening => parts.push(Part::Expression(parser.expression()?)),
            Token::Closing | Token::Illegal => {
                let line = parser.line();
                return Err(Error::BadSubstitution { line });
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    limit: usize,
    line: usize,
    counted: usize,
}

impl Parser<'_> {
    /// The 1-based line of the current place.
    fn line(&mut self) -> usize {
        let at = self.at.min(self.text.len());
        self.line += self.text.as_bytes()[self.counted..at]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        self.counted = at;
        self.line
    }

    /// The next character. The library that this follows takes NUL for the end.
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next().filter(|&next| next != '\0')
    }

    fn peek_second(&self) -> Option<char> {
        self.text[self.at..].chars().nth(1)
    }

    fn is_opening(&self) -> bool {
        self.text[self.at..].starts_with("${")
    }

    fn is_escape(&self, escapes: Escapes) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        match escapes {
            Escapes::None => false,
            Escapes::Dollar => rest.starts_with(b"$$"),
            Escapes::DollarAndBackslash => {
                rest.starts_with(b"$$") || rest.starts_with(b"\\/") || rest.starts_with(b"\\\\")
            }
        }
    }

    fn scan(&mut self, mode: Mode, accept: Accept) -> Token {
        let Some(first) = self.peek() else {
            return Token::End;
        };
        if mode.opening && self.is_opening() {
            self.at += 2;
            return Token::Opening;
        }
        if mode.closing && first == '}' {
            self.at += 1;
            return Token::Closing;
        }
        if !mode.text {
            return Token::Illegal;
        }
        let mut text = String::new();
        while let Some(next) = self.peek() {
            if mode.opening && self.is_opening() {
                break;
            }
            if self.is_escape(mode.escapes) {
                text.push_str(&self.text[self.at + 1..self.at + 2]);
                self.at += 2;
                continue;
            }
            if !accept(next, text.len() + next.len_utf8()) {
                break;
            }
            text.push(next);
            self.at += next.len_utf8();
        }
        if text.is_empty() {
            Token::Illegal
        } else {
            Token::Text(text)
        }
    }

    fn scan_text(&mut self, accept: Accept) -> Option<String> {
        let mode = Mode {
            opening: false,
            closing: false,
            text: true,
            escapes: Escapes::None,
        };
        match self.scan(mode, accept) {
            Token::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What follows `${`.
    fn expression(&mut self) -> Result<Expression, Error> {
        let line = self.line();
        self.depth += 1;
        if self.depth > self.limit {
            let limit = self.limit;
            return Err(Error::TooDeep { limit, line });
        }
        let mut expression = Expression {
            name: String::new(),
            operator: String::new(),
            operands: Vec::new(),
            line,
        };
        if self.peek() == Some('#') {
            self.length(&mut expression)?;
        } else {
            expression.name = self
                .scan_text(is_name_character)
                .ok_or(Error::VariableName { line })?;
            match self.peek() {
                Some(':') => match self.peek_second() {
                    Some('=' | '-' | '?' | '+') => self.default(&mut expression)?,
                    _ => self.substring(&mut expression)?,
                },
                Some('=') => self.default(&mut expression)?,
                Some(',' | '^') => {
                    expression.operator = self.operator(&expression, |next, length| {
                        matches!(next, ',' | '^') && length < 3
                    })?;
                    self.close(line)?;
                }
                Some('/') => self.replacement(&mut expression)?,
                Some('#') => self.removal(&mut expression, |next, length| next == '#' && length < 3)?,
                Some('%') => self.removal(&mut expression, |next, length| next == '%' && length < 3)?,
                Some('}') => self.at += 1,
                _ => return Err(Error::MissingClosingBrace { line }),
            }
        }
        self.depth -= 1;
        Ok(expression)
    }

    fn operator(&mut self, expression: &Expression, accept: Accept) -> Result<String, Error> {
        let line = expression.line;
        self.scan_text(accept).ok_or(Error::BadSubstitution { line })
    }

    fn close(&mut self, line: usize) -> Result<(), Error> {
        if self.peek() == Some('}') {
            self.at += 1;
            Ok(())
        } else {
            Err(Error::BadSubstitution { line })
        }
    }

    /// Text up to what is not accepted, or one expression.
    fn operand(&mut self, line: usize, escapes: Escapes, accept: Accept) -> Result<Part, Error> {
        let mode = Mode {
            opening: true,
            closing: false,
            text: true,
            escapes,
        };
        match self.scan(mode, accept) {
            Token::Opening => self.expression().map(Part::Expression),
            Token::Text(text) => Ok(Part::Text(text)),
            Token::End | Token::Closing | Token::Illegal => Err(Error::Operand { line }),
        }
    }

    fn length(&mut self, expression: &mut Expression) -> Result<(), Error> {
        let line = expression.line;
        expression.operator = self.operator(expression, |next, length| next == '#' && length == 1)?;
        expression.name = self
            .scan_text(is_name_character)
            .ok_or(Error::BadSubstitution { line })?;
        self.close(line)
    }

    fn default(&mut self, expression: &mut Expression) -> Result<(), Error> {
        let line = expression.line;
        let accept: Accept = if self.peek() == Some('=') {
            |next, length| next == '=' && length == 1
        } else {
            |next, length| match length {
                1 => next == ':',
                2 => matches!(next, '=' | '-' | '?' | '+'),
                _ => false,
            }
        };
        expression.operator = self.scan_text(accept).ok_or(Error::DefaultFunction { line })?;
        while self.peek() != Some('}') {
            let operand = self.operand(line, Escapes::None, |next, _| next != '}')?;
            expression.operands.push(operand);
        }
        self.close(line)
    }

    fn substring(&mut self, expression: &mut Expression) -> Result<(), Error> {
        let line = expression.line;
        // The library steps back by the width of the character after the colon, so a wide one is an error.
        if self.peek_second().is_none_or(|next| next.len_utf8() > 1) {
            return Err(Error::BadSubstitution { line });
        }
        expression.operator = self.operator(expression, |next, length| next == ':' && length == 1)?;
        let start = self.operand(line, Escapes::None, |next, _| !matches!(next, ':' | '}'))?;
        expression.operands.push(start);
        if self.peek() == Some('}') {
            self.at += 1;
            return Ok(());
        }
        self.operator(expression, |next, _| next == ':')?;
        let length = self.operand(line, Escapes::None, |next, _| next != '}')?;
        expression.operands.push(length);
        self.close(line)
    }

    fn removal(&mut self, expression: &mut Expression, accept: Accept) -> Result<(), Error> {
        let line = expression.line;
        expression.operator = self.operator(expression, accept)?;
        let pattern = self.operand(line, Escapes::None, |next, _| next != '}')?;
        expression.operands.push(pattern);
        self.close(line)
    }

    fn replacement(&mut self, expression: &mut Expression) -> Result<(), Error> {
        let line = expression.line;
        expression.operator = self.operator(expression, |next, length| match length {
            1 => next == '/',
            2 => matches!(next, '/' | '#' | '%'),
            _ => false,
        })?;
        let old = self.operand(line, Escapes::DollarAndBackslash, |next, _| next != '/')?;
        expression.operands.push(old);
        self.operator(expression, |next, _| next == '/')?;
        if self.peek() != Some('}') {
            let new = self.operand(line, Escapes::DollarAndBackslash, |next, _| next != '}')?;
            expression.operands.push(new);
        }
        self.close(line)
    }
}

/// Letters and decimal digits by their Unicode category; Rust's alphabetic characters would include marks.
fn is_name_character(next: char, _length: usize) -> bool {
    if next.is_ascii() {
        return next == '_' || next.is_ascii_alphanumeric();
    }
    matches!(
        GeneralCategory::for_char(next),
        GeneralCategory::UppercaseLetter
            | GeneralCategory::LowercaseLetter
            | GeneralCategory::TitlecaseLetter
            | GeneralCategory::ModifierLetter
            | GeneralCategory::OtherLetter
            | GeneralCategory::DecimalNumber
    )
}
