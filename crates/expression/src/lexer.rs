//! From text to tokens.

use crate::error::Problem;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Identifier,
    /// A name in backquotes.
    Quoted,
    Integer,
    Unsigned,
    Float,
    String,
    Bytes,
    True,
    False,
    Null,
    In,
    /// A sign of one or two characters.
    Sign(&'static str),
    End,
}

/// A token and where it stands, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The offset of its first character.
    pub(crate) at: usize,
}

/// Longer signs first.
const SIGNS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%",
];

/// Splits a text into tokens; the last one is the end. Places where no token begins are problems.
pub(crate) fn split(text: &str) -> (Vec<Lexeme>, Vec<Problem>) {
    let (mut lexemes, mut problems) = (Vec::new(), Vec::new());
    let (mut start, mut at) = (0, 0);
    while start < text.len() {
        let rest = &text[start..];
        let (found, length) = next(rest);
        match found {
            Found::Token(token) => lexemes.push(Lexeme {
                token,
                start,
                end: start + length,
                at,
            }),
            Found::Nothing => {}
            Found::Unknown => problems.push(unrecognized(at, &rest[..length])),
        }
        at += rest[..length].chars().count();
        start += length;
    }
    lexemes.push(Lexeme {
        token: Token::End,
        start,
        end: start,
        at,
    });
    (lexemes, problems)
}

fn unrecognized(at: usize, text: &str) -> Problem {
    let text = text
        .replace('\n', "\\n")
        .replace('\r', "\\r")
        .replace('\t', "\\t");
    Problem {
        at: Some(at),
        message: format!("Syntax error: token recognition error at: '{text}'"),
    }
}

/// What the beginning of a text is.
enum Found {
    Token(Token),
    /// White space or a comment.
    Nothing,
    /// No token begins so.
    Unknown,
}

/// What comes next, and how long it is.
fn next(rest: &str) -> (Found, usize) {
    let skipped = rest.len() - rest.trim_start_matches(['\t', ' ', '\r', '\n', '\u{c}']).len();
    if skipped > 0 {
        return (Found::Nothing, skipped);
    }
    if rest.starts_with("//") {
        return (Found::Nothing, rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some(found) = string(rest) {
        return found;
    }
    if let Some((token, length)) = number(rest) {
        return (Found::Token(token), length);
    }
    let name = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count();
    if name > 0 {
        let token = match &rest[..name] {
            "true" => Token::True,
            "false" => Token::False,
            "null" => Token::Null,
            "in" => Token::In,
            _ => Token::Identifier,
        };
        return (Found::Token(token), name);
    }
    let characters = |count: usize| rest.chars().take(count).map(char::len_utf8).sum();
    if let Some(quoted) = rest.strip_prefix('`') {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-/ ".contains(byte);
        let length = quoted.bytes().take_while(allowed).count();
        if length > 0 && quoted[length..].starts_with('`') {
            return (Found::Token(Token::Quoted), length + 2);
        }
        return (Found::Unknown, characters(length + 2));
    }
    if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        return (Found::Token(Token::Sign(sign)), sign.len());
    }
    // Half of a sign is reported with what stands in the place of the other half.
    let count = if rest.starts_with(['=', '&', '|']) { 2 } else { 1 };
    (Found::Unknown, characters(count))
}

fn number(rest: &str) -> Option<(Token, usize)> {
    let bytes = rest.as_bytes();
    let digits = |from: usize| {
        bytes[from.min(bytes.len())..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let unsigned = |end: usize| matches!(bytes.get(end), Some(b'u' | b'U'));
    if rest.starts_with("0x") {
        let digits = bytes[2..]
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        if digits > 0 {
            let end = 2 + digits;
            return Some(if unsigned(end) {
                (Token::Unsigned, end + 1)
            } else {
                (Token::Integer, end)
            });
        }
    }
    let whole = digits(0);
    let fraction = if bytes.get(whole) == Some(&b'.') {
        digits(whole + 1)
    } else {
        0
    };
    if whole == 0 && fraction == 0 {
        return None;
    }
    let mut end = whole + if fraction > 0 { fraction + 1 } else { 0 };
    let mut float = fraction > 0;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
            float = true;
        }
    }
    Some(match (float, unsigned(end)) {
        (true, _) => (Token::Float, end),
        (false, true) => (Token::Unsigned, end + 1),
        (false, false) => (Token::Integer, end),
    })
}

fn string(rest: &str) -> Option<(Found, usize)> {
    let bytes = rest.as_bytes();
    let is_bytes = matches!(bytes.first(), Some(b'b' | b'B'));
    let mut at = usize::from(is_bytes);
    let raw = matches!(bytes.get(at), Some(b'r' | b'R'));
    at += usize::from(raw);
    let quote = *bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\''))?;
    let token = if is_bytes { Token::Bytes } else { Token::String };
    let triple = [quote; 3];
    if bytes[at..].starts_with(&triple)
        && let Ok(end) = end_of_string(bytes, at + 3, &triple, raw)
    {
        return Some((Found::Token(token), end));
    }
    Some(match end_of_string(bytes, at + 1, &triple[..1], raw) {
        Ok(end) => (Found::Token(token), end),
        Err(broken) => {
            let next = rest[broken.min(rest.len())..].chars().next();
            (Found::Unknown, broken + next.map_or(0, char::len_utf8))
        }
    })
}

/// Where a string ends that is closed by `close`, its escapes being well-formed, or else where it breaks.
fn end_of_string(bytes: &[u8], mut at: usize, close: &[u8], raw: bool) -> Result<usize, usize> {
    loop {
        if bytes[at.min(bytes.len())..].starts_with(close) {
            return Ok(at + close.len());
        }
        match bytes.get(at) {
            None => return Err(bytes.len()),
            Some(b'\n' | b'\r') if close.len() == 1 => return Err(at),
            Some(b'\\') if !raw => match escape(&bytes[at + 1..]) {
                Some(length) => at += length + 1,
                None => return Err((at + 1).min(bytes.len())),
            },
            Some(_) => at += 1,
        }
    }
}

/// How long the escape is after its backslash, if it is one.
fn escape(rest: &[u8]) -> Option<usize> {
    let hex = |count: usize| {
        let digits = rest.get(1..=count)?;
        digits.iter().all(u8::is_ascii_hexdigit).then_some(count + 1)
    };
    match rest.first()? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Some(1),
        b'x' | b'X' => hex(2),
        b'u' => hex(4),
        b'U' => hex(8),
        b'0'..=b'3' => {
            let digits = rest.get(1..3)?;
            digits
                .iter()
                .all(|digit| (b'0'..=b'7').contains(digit))
                .then_some(3)
        }
        _ => None,
    }
}
