//! Reads JSON with the messages of Go's encoding/json.

use crate::quote::quote_rune;
use crate::text::{REPLACEMENT, first_rune, lossy, push_rune};
use crate::value::{List, Map, Value};

/// Go's own limit of nesting.
const MAX_DEPTH: usize = 10_000;

type Result<T> = std::result::Result<T, String>;

/// A whole document, and the error of the first number in it that no float64 can hold; that number is null.
pub(super) fn read(bytes: &[u8]) -> Result<(Value, Option<String>)> {
    let mut reader = Reader {
        bytes,
        at: 0,
        overflow: None,
    };
    reader.skip_space();
    let value = reader.value(0)?;
    reader.skip_space();
    if let Some(byte) = reader.peek() {
        return reader.invalid(byte, "after top-level value");
    }
    let overflow = reader
        .overflow
        .map(|number| format!("json: cannot unmarshal number {number} into Go value of type float64"));
    Ok((value, overflow))
}

struct Reader<'text> {
    bytes: &'text [u8],
    at: usize,
    overflow: Option<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn invalid<T>(&self, byte: u8, place: &str) -> Result<T> {
        let shown = match byte {
            b'\'' => "'\\''".to_owned(),
            b'"' => "'\"'".to_owned(),
            _ => lossy(&quote_rune(char::from(byte), false)).into_owned(),
        };
        Err(format!("invalid character {shown} {place}"))
    }

    fn ended<T>(&self) -> Result<T> {
        Err("unexpected end of JSON input".to_owned())
    }

    /// The next byte, or the error of its absence or of what it is.
    fn fail<T>(&self, place: &str) -> Result<T> {
        match self.peek() {
            Some(byte) => self.invalid(byte, place),
            None => self.ended(),
        }
    }

    /// As [`Self::fail`] inside a word, number or escape: there Go takes the end for a space.
    fn fail_inside<T>(&self, place: &str) -> Result<T> {
        self.invalid(self.peek().unwrap_or(b' '), place)
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        match self.peek() {
            Some(b'{') | Some(b'[') if depth >= MAX_DEPTH => {
                let byte = self.peek().unwrap_or_default();
                self.invalid(byte, "exceeded max depth")
                    .or(Err("exceeded max depth".to_owned()))
            }
            Some(b'{') => stacker::maybe_grow(32 << 10, 512 << 10, || self.object(depth + 1)),
            Some(b'[') => stacker::maybe_grow(32 << 10, 512 << 10, || self.array(depth + 1)),
            Some(b'"') => Ok(Value::string(self.string()?)),
            Some(b't') => self.literal(b"true", Value::Bool(true)),
            Some(b'f') => self.literal(b"false", Value::Bool(false)),
            Some(b'n') => self.literal(b"null", Value::Nil),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.fail("looking for beginning of value"),
        }
    }

    fn literal(&mut self, word: &[u8], value: Value) -> Result<Value> {
        let name = lossy(word).into_owned();
        for &expected in word {
            if self.peek() != Some(expected) {
                let expected = char::from(expected);
                return self.fail_inside(&format!("in literal {name} (expecting '{expected}')"));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<Value> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.fail_inside("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fail_inside("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !matches!(self.peek(), Some(b'0'..=b'9')) {
                return self.fail_inside("in exponent of numeric literal");
            }
            self.digits();
        }
        let text = lossy(&self.bytes[start..self.at]).into_owned();
        let number: f64 = text.parse().unwrap_or(f64::INFINITY);
        if number.is_infinite() {
            self.overflow.get_or_insert(text);
            return Ok(Value::Nil);
        }
        Ok(Value::float64(number))
    }

    /// A string; the cursor is on its first quote.
    fn string(&mut self) -> Result<Vec<u8>> {
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let Some(byte) = self.peek() else {
                return self.ended();
            };
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(out);
                }
                b'\\' => self.escape(&mut out)?,
                0..0x20 => return self.invalid(byte, "in string literal"),
                _ => {
                    let (rune, width) = first_rune(&self.bytes[self.at..]).unwrap_or((REPLACEMENT, 1));
                    push_rune(&mut out, rune);
                    self.at += width;
                }
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.at += 1;
        let Some(byte) = self.peek() else {
            return self.fail_inside("in string escape code");
        };
        let simple = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.at += 1;
                let first = self.hexadecimal()?;
                push_rune(out, self.surrogates(first)?);
                return Ok(());
            }
            _ => return self.invalid(byte, "in string escape code"),
        };
        out.push(simple);
        self.at += 1;
        Ok(())
    }

    fn hexadecimal(&mut self) -> Result<u32> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return self.fail_inside("in \\u hexadecimal character escape");
            };
            value = value << 4 | digit;
            self.at += 1;
        }
        Ok(value)
    }

    /// The character of an escape, which may need a second one; half of a pair is U+FFFD.
    fn surrogates(&mut self, first: u32) -> Result<char> {
        if (0xD800..0xDC00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hexadecimal()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(REPLACEMENT));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(REPLACEMENT))
    }

    fn array(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let mut elements = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(List::new(elements)));
        }
        loop {
            self.skip_space();
            elements.push(self.value(depth)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::List(List::new(elements)));
                }
                _ => return self.fail("after array element"),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value> {
        self.at += 1;
        let map = Map::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(map));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return self.fail("looking for beginning of object key string");
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.fail("after object key");
            }
            self.at += 1;
            self.skip_space();
            let value = self.value(depth)?;
            map.insert(key, value);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Map(map));
                }
                _ => return self.fail("after object key:value pair"),
            }
        }
    }
}
