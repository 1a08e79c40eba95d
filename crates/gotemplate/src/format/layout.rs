//! The raw forms under fmt's verbs: padding, integers, strings, characters, floats.

use super::float::format_float;
use crate::quote::{can_backquote, quote, quote_rune};
use crate::text::{REPLACEMENT, count_runes, push_rune, runes};
use crate::unicode::is_printable;
use crate::value::Float;

/// The flags of one verb.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    pub(super) minus: bool,
    pub(super) plus: bool,
    pub(super) sharp: bool,
    pub(super) space: bool,
    pub(super) zero: bool,
    /// `%+v`.
    pub(super) plus_v: bool,
    /// `%#v`.
    pub(super) sharp_v: bool,
}

/// Output with the state of one verb.
#[derive(Default)]
pub(super) struct Layout {
    pub(super) out: Vec<u8>,
    pub(super) flags: Flags,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
}

/// Lower-case or upper-case digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Lower,
    Upper,
}

impl Case {
    fn digit(self, value: u64) -> u8 {
        match self {
            Self::Lower => b"0123456789abcdef"[(value & 0xF) as usize],
            Self::Upper => b"0123456789ABCDEF"[(value & 0xF) as usize],
        }
    }

    fn mark(self) -> u8 {
        match self {
            Self::Lower => b'x',
            Self::Upper => b'X',
        }
    }
}

/// Go's conversion of an integer to a character.
fn rune_of(value: u64) -> char {
    u32::try_from(value)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or(REPLACEMENT)
}

impl Layout {
    pub(super) fn clear(&mut self) {
        self.flags = Flags::default();
        self.width = None;
        self.precision = None;
    }

    pub(super) fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn write_padding(&mut self, count: usize) {
        // Zeros may only stand to the left.
        let byte = if self.flags.zero && !self.flags.minus {
            b'0'
        } else {
            b' '
        };
        self.out.resize(self.out.len() + count, byte);
    }

    pub(super) fn pad(&mut self, bytes: &[u8]) {
        let Some(width) = self.width.filter(|&width| width > 0) else {
            return self.out.extend_from_slice(bytes);
        };
        let padding = width.saturating_sub(count_runes(bytes));
        if self.flags.minus {
            self.out.extend_from_slice(bytes);
            self.write_padding(padding);
        } else {
            self.write_padding(padding);
            self.out.extend_from_slice(bytes);
        }
    }

    fn pad_without_zeros(&mut self, bytes: &[u8]) {
        let zero = std::mem::take(&mut self.flags.zero);
        self.pad(bytes);
        self.flags.zero = zero;
    }

    pub(super) fn boolean(&mut self, value: bool) {
        self.pad(if value { b"true" } else { b"false" });
    }

    /// `U+0078`, or with a sharp flag `U+0078 'x'`.
    pub(super) fn unicode(&mut self, value: u64) {
        let digits = self.precision.filter(|&precision| precision > 4).unwrap_or(4);
        let hexadecimal = format!("{value:X}");
        let mut text = b"U+".to_vec();
        text.resize(2 + digits.saturating_sub(hexadecimal.len()), b'0');
        text.extend(hexadecimal.bytes());
        if self.flags.sharp
            && let Some(rune) = u32::try_from(value).ok().and_then(char::from_u32)
            && is_printable(rune)
        {
            text.extend_from_slice(format!(" '{rune}'").as_bytes());
        }
        self.pad_without_zeros(&text);
    }

    pub(super) fn integer(&mut self, value: u64, base: u64, signed: bool, verb: char, case: Case) {
        let negative = signed && value.cast_signed() < 0;
        let mut left = if negative { value.wrapping_neg() } else { value };
        let mut digits = 0;
        if let Some(precision) = self.precision {
            digits = precision;
            if precision == 0 && left == 0 {
                let zero = std::mem::take(&mut self.flags.zero);
                self.write_padding(self.width.unwrap_or(0));
                self.flags.zero = zero;
                return;
            }
        } else if self.flags.zero && !self.flags.minus {
            digits = self.width.unwrap_or(0);
            if negative || self.flags.plus || self.flags.space {
                digits = digits.saturating_sub(1);
            }
        }
        // Built from the right.
        let mut reversed = Vec::with_capacity(digits.max(20) + 4);
        loop {
            reversed.push(case.digit(left % base));
            left /= base;
            if left == 0 {
                break;
            }
        }
        if reversed.len() < digits {
            reversed.resize(digits, b'0');
        }
        if self.flags.sharp {
            match base {
                2 => reversed.extend(*b"b0"),
                8 if reversed.last() != Some(&b'0') => reversed.push(b'0'),
                16 => reversed.extend([case.mark(), b'0']),
                _ => {}
            }
        }
        if verb == 'O' {
            reversed.extend(*b"o0");
        }
        if negative {
            reversed.push(b'-');
        } else if self.flags.plus {
            reversed.push(b'+');
        } else if self.flags.space {
            reversed.push(b' ');
        }
        reversed.reverse();
        self.pad_without_zeros(&reversed);
    }

    fn truncate<'text>(&self, bytes: &'text [u8]) -> &'text [u8] {
        match self.precision {
            Some(precision) if precision < bytes.len() => {
                let end = runes(bytes).nth(precision).map_or(bytes.len(), |(at, _)| at);
                &bytes[..end]
            }
            _ => bytes,
        }
    }

    pub(super) fn string(&mut self, bytes: &[u8]) {
        self.pad(self.truncate(bytes));
    }

    pub(super) fn quoted(&mut self, bytes: &[u8]) {
        let bytes = self.truncate(bytes);
        if self.flags.sharp && can_backquote(bytes) {
            return self.pad(&[b"`", bytes, b"`"].concat());
        }
        self.pad(&quote(bytes, self.flags.plus));
    }

    pub(super) fn character(&mut self, value: u64) {
        let mut encoded = Vec::new();
        push_rune(&mut encoded, rune_of(value));
        self.pad(&encoded);
    }

    pub(super) fn quoted_character(&mut self, value: u64) {
        self.pad(&quote_rune(rune_of(value), self.flags.plus));
    }

    /// The bytes of a text as hexadecimal digits.
    pub(super) fn hexadecimal(&mut self, bytes: &[u8], case: Case) {
        let length = self.precision.unwrap_or(usize::MAX).min(bytes.len());
        if length == 0 {
            return self.write_padding(self.width.unwrap_or(0));
        }
        let mut encoded = Vec::with_capacity(length * 2 + 2);
        if self.flags.sharp {
            encoded.extend([b'0', case.mark()]);
        }
        for (index, &byte) in bytes[..length].iter().enumerate() {
            if self.flags.space && index > 0 {
                encoded.push(b' ');
                if self.flags.sharp {
                    encoded.extend([b'0', case.mark()]);
                }
            }
            encoded.extend([case.digit(u64::from(byte >> 4)), case.digit(u64::from(byte))]);
        }
        self.pad(&encoded);
    }

    /// `default` is the precision where the verb has none: none means as many digits as it takes.
    pub(super) fn float(&mut self, value: f64, size: Float, verb: u8, default: Option<usize>) {
        let precision = self.precision.or(default);
        let mut number = format_float(value, verb, precision, size);
        if !matches!(number[0], b'-' | b'+') {
            number.insert(0, b'+');
        }
        if self.flags.space && number[0] == b'+' && !self.flags.plus {
            number[0] = b' ';
        }
        if matches!(number[1], b'I' | b'N') {
            // Neither infinity nor what is no number gets zeros.
            if number[1] == b'N' && !self.flags.space && !self.flags.plus {
                number.remove(0);
            }
            return self.pad_without_zeros(&number);
        }
        if self.flags.sharp && verb != b'b' {
            keep_point(&mut number, verb, precision);
        }
        if self.flags.plus || number[0] != b'+' {
            if let Some(width) = self.width
                && self.flags.zero
                && !self.flags.minus
                && width > number.len()
            {
                // The sign comes before the zeros.
                self.out.push(number[0]);
                self.write_padding(width - number.len());
                self.out.extend_from_slice(&number[1..]);
                return;
            }
            return self.pad(&number);
        }
        self.pad(&number[1..]);
    }
}

/// The sharp flag: a decimal point always, and zeros up to the precision. A sign comes first.
fn keep_point(number: &mut Vec<u8>, verb: u8, precision: Option<usize>) {
    let mut digits = match verb {
        b'g' | b'G' | b'x' => i64::try_from(precision.unwrap_or(6)).unwrap_or(0),
        _ => 0,
    };
    let is_hexadecimal = matches!(verb, b'x' | b'X');
    let mut has_point = false;
    let mut significant = false;
    let mut tail = Vec::new();
    for index in 1..number.len() {
        match number[index] {
            b'.' => has_point = true,
            b'p' | b'P' => {
                tail = number.split_off(index);
                break;
            }
            b'e' | b'E' if !is_hexadecimal => {
                tail = number.split_off(index);
                break;
            }
            byte => {
                significant |= byte != b'0';
                digits -= i64::from(significant);
            }
        }
    }
    if !has_point {
        // A leading zero counts once.
        digits -= i64::from(number.len() == 2 && number[1] == b'0');
        number.push(b'.');
    }
    number.resize(number.len() + usize::try_from(digits).unwrap_or(0), b'0');
    number.extend(tail);
}
