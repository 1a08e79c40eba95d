//! Numbers as Go's `strconv` reads them: base prefixes, underscores, hexadecimal floats.

use crate::quote::quoted;

/// `strconv.ParseUint(text, 0, 64)`.
pub(crate) fn parse_unsigned(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (base, digits) = match bytes {
        [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() => (16, rest),
        [b'0', b'b' | b'B', rest @ ..] if !rest.is_empty() => (2, rest),
        [b'0', b'o' | b'O', rest @ ..] if !rest.is_empty() => (8, rest),
        [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ => (10, bytes),
    };
    if digits.is_empty() || (digits.contains(&b'_') && !has_good_underscores(bytes)) {
        return None;
    }
    let mut value = 0u64;
    for &digit in digits.iter().filter(|&&digit| digit != b'_') {
        let digit = char::from(digit).to_digit(base)?;
        value = value
            .checked_mul(u64::from(base))?
            .checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// `strconv.ParseInt(text, 0, 64)`.
pub(crate) fn parse_signed(text: &str) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    let magnitude = parse_unsigned(digits)?;
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// `strconv.ParseInt(text, base, 64)` for a base without prefix.
pub(crate) fn parse_based(text: &str, base: u32) -> Option<i64> {
    let (_, digits) = split_sign(text);
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return None;
    }
    i64::from_str_radix(text, base).ok()
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// Whether each underscore stands between digits, or between a base prefix and a digit.
fn has_good_underscores(bytes: &[u8]) -> bool {
    let bytes = match bytes {
        [b'-' | b'+', rest @ ..] => rest,
        all => all,
    };
    // '^' is the beginning, '0' a digit, '_' an underscore, '!' anything else.
    let mut last = '^';
    let mut at = 0;
    let mut hexadecimal = false;
    if let [b'0', prefix, ..] = bytes
        && matches!(prefix.to_ascii_lowercase(), b'b' | b'o' | b'x')
    {
        at = 2;
        last = '0';
        hexadecimal = prefix.eq_ignore_ascii_case(&b'x');
    }
    for &byte in &bytes[at..] {
        if byte.is_ascii_digit() || (hexadecimal && byte.is_ascii_hexdigit()) {
            last = '0';
        } else if byte == b'_' {
            if last != '0' {
                return false;
            }
            last = '_';
        } else {
            if last == '_' {
                return false;
            }
            last = '!';
        }
    }
    last != '_'
}

/// `strconv.ParseFloat(text, 64)`; the error is Go's.
pub(crate) fn parse_float(text: &str) -> Result<f64, String> {
    let failure = |reason: &str| {
        let text = quoted(text.as_bytes());
        format!("strconv.ParseFloat: parsing {text}: {reason}")
    };
    let (negative, digits) = split_sign(text);
    if let Some(special) = special_float(digits, digits.len() != text.len(), negative) {
        return Ok(special);
    }
    if digits.contains('_') && !has_good_underscores(text.as_bytes()) {
        return Err(failure("invalid syntax"));
    }
    let plain: String = digits.chars().filter(|&c| c != '_').collect();
    let magnitude = if plain.len() > 2 && matches!(plain.as_bytes(), [b'0', b'x' | b'X', ..]) {
        hexadecimal_float(&plain[2..])
    } else if is_decimal_float(plain.as_bytes()) {
        plain.parse().ok()
    } else {
        None
    };
    let magnitude = magnitude.ok_or_else(|| failure("invalid syntax"))?;
    if magnitude.is_infinite() {
        return Err(failure("value out of range"));
    }
    Ok(if negative { -magnitude } else { magnitude })
}

fn special_float(word: &str, signed: bool, negative: bool) -> Option<f64> {
    match word.to_ascii_lowercase().as_str() {
        "inf" | "infinity" if negative => Some(f64::NEG_INFINITY),
        "inf" | "infinity" => Some(f64::INFINITY),
        "nan" if !signed => Some(f64::NAN),
        _ => None,
    }
}

fn is_decimal_float(bytes: &[u8]) -> bool {
    let count = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let whole = count(0);
    let mut at = whole;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let fraction = count(at);
        if whole + fraction == 0 {
            return false;
        }
        at += fraction;
    } else if whole == 0 {
        return false;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let exponent = count(at);
        if exponent == 0 {
            return false;
        }
        at += exponent;
    }
    at == bytes.len()
}

/// The digits, point and obligatory exponent that follow `0x`.
fn hexadecimal_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (negative, exponent_digits) = split_sign(exponent);
    if exponent_digits.is_empty() || !exponent_digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent_digits.parse::<i32>().unwrap_or(100_000).min(100_000);
    let mut exponent = if negative { -exponent } else { exponent };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for (index, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let digit = u64::from(char::from(digit).to_digit(16)?);
        let behind_point = index >= whole.len();
        if value >> 60 == 0 {
            value = value << 4 | digit;
            exponent -= if behind_point { 4 } else { 0 };
        } else {
            // What no longer fits only decides the rounding.
            value |= u64::from(digit != 0);
            exponent += if behind_point { 0 } else { 4 };
        }
    }
    Some(scale(value, exponent))
}

#[expect(clippy::cast_precision_loss, reason = "rounds to the nearest, as it should")]
fn scale(mantissa: u64, exponent: i32) -> f64 {
    let mut value = mantissa as f64;
    let mut left = exponent.clamp(-4_000, 4_000);
    while left != 0 {
        let step = left.clamp(-1_000, 1_000);
        value *= 2f64.powi(step);
        left -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_bases_signs_and_underscores() {
        for (text, expected) in [
            ("0x1F", Some(31)),
            ("0b11", Some(3)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("1_000", Some(1000)),
            ("0x_1", Some(1)),
            ("0_1", Some(1)),
            ("1__0", None),
            ("_1", None),
            ("1_", None),
            ("089", None),
            ("-0", Some(0)),
            ("+5", Some(5)),
            ("0", Some(0)),
            ("0x", None),
            ("9223372036854775808", None),
            ("-9223372036854775808", Some(i64::MIN)),
        ] {
            assert_eq!(parse_signed(text), expected, "{text}");
        }
        assert_eq!(parse_unsigned("-0"), None);
        assert_eq!(parse_unsigned("18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn floats_may_be_hexadecimal() {
        for (text, expected) in [
            ("0x1p4", Some(16.0)),
            ("0x1.8p1", Some(3.0)),
            ("0x1", None),
            ("1e5", Some(1e5)),
            ("1_0.5", Some(10.5)),
            ("1_.5", None),
            (".5", Some(0.5)),
            (".", None),
            ("1e", None),
            ("1e400", None),
            ("0x1p-1074", Some(5e-324)),
        ] {
            assert_eq!(parse_float(text).ok(), expected, "{text}");
        }
    }
}
