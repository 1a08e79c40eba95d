use serde_json::Number as Number64;

use crate::Flavour;

/// A number that a plain scalar spells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    UInt(u64),
    Float(f64),
}

/// Reads a number as yaml.v2 and yaml.v3 do: underscores count for nothing, integers may have a base prefix
/// or a leading zero for octal, and what is no integer may be a decimal fraction.
pub(crate) fn parse_number(text: &str, flavour: Flavour) -> Option<Number> {
    if text.starts_with('.') {
        return parse_decimal(text).map(Number::Float);
    }
    let stripped;
    let plain = if text.contains('_') {
        stripped = text.replace('_', "");
        &stripped
    } else {
        text
    };
    parse_based(plain)
        .or_else(|| parse_decimal(plain).map(Number::Float))
        .or_else(|| parse_odd_prefix(plain, "0b", 2))
        .or_else(|| {
            (!flavour.is_sigs())
                .then(|| parse_odd_prefix(plain, "0o", 8))
                .flatten()
        })
}

/// An integer with sign and base prefix (Go's `ParseInt` and `ParseUint` with base 0).
fn parse_based(text: &str) -> Option<Number> {
    let (negative, signed, digits) = match text.as_bytes().first()? {
        b'-' => (true, true, &text[1..]),
        b'+' => (false, true, &text[1..]),
        _ => (false, false, text),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let magnitude = parse_digits(digits, base)?;
    to_integer(negative, signed, magnitude)
}

/// What `ParseInt` refuses but yaml tries again: a sign after the prefix, as in `0b-11`.
fn parse_odd_prefix(text: &str, prefix: &str, base: u32) -> Option<Number> {
    let rest = text.strip_prefix(prefix)?;
    let (negative, digits) = match rest.as_bytes().first()? {
        b'-' => (true, &rest[1..]),
        b'+' => (false, &rest[1..]),
        _ => return None,
    };
    to_integer(negative, true, parse_digits(digits, base)?)
}

fn parse_digits(digits: &str, base: u32) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| char::from(byte).is_digit(base)) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

fn to_integer(negative: bool, signed: bool, magnitude: u64) -> Option<Number> {
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Number::Int);
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Number::Int(value)),
        Err(_) if signed => None,
        Err(_) => Some(Number::UInt(magnitude)),
    }
}

/// A decimal number: digits with at most one point, then perhaps an exponent. None beyond the range of f64.
fn parse_decimal(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = count_digits(&bytes[at..]);
    at += whole;
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        let fraction = count_digits(&bytes[at..]);
        at += fraction;
        if whole + fraction == 0 {
            return None;
        }
    } else if whole == 0 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
        let exponent = count_digits(&bytes[at..]);
        at += exponent;
        if exponent == 0 {
            return None;
        }
    }
    if at != bytes.len() {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// A float as Go's `strconv.FormatFloat(value, 'g', -1, 64)` prints it: `1e+06`, `1e-05`, `12.5`.
pub(crate) fn format_general(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let (sign, digits, exponent) = shortest(value);
    lay_out(sign, &digits, exponent)
}

/// As [`format_general`], with the digits of the nearest 32-bit float.
pub(crate) fn format_general_32(value: f64) -> String {
    if !value.is_finite() {
        return format_general(value);
    }
    #[expect(clippy::cast_possible_truncation)]
    let short = value as f32;
    if short.is_infinite() {
        return if short > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    let scientific = format!("{short:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, mantissa) = split_sign(mantissa);
    let digits: String = mantissa.chars().filter(|&c| c != '.').collect();
    lay_out(sign, &digits, exponent.parse().unwrap_or(0))
}

fn split_sign(text: &str) -> (&'static str, &str) {
    text.strip_prefix('-').map_or(("", text), |rest| ("-", rest))
}

/// Sign, shortest digits and decimal exponent of the first digit. The digits come from serde_json, which
/// like Go prefers an even last digit where two are equally near; the standard library does not.
fn shortest(value: f64) -> (&'static str, String, i32) {
    let text = Number64::from_f64(value)
        .map(|number| number.to_string())
        .unwrap_or_default();
    let (sign, text) = split_sign(&text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let zeros = i32::try_from(all.len() - significant.len()).unwrap_or(0);
    let digits = significant.trim_end_matches('0');
    if digits.is_empty() {
        return (sign, "0".to_owned(), 0);
    }
    let point = i32::try_from(whole.len()).unwrap_or(0);
    (sign, digits.to_owned(), exponent + point - zeros - 1)
}

/// Go's `%g` form with shortest digits, which shows an exponent below 1e-4 and from 1e6 on.
fn lay_out(sign: &str, digits: &str, exponent: i32) -> String {
    if !(-4..6).contains(&exponent) {
        let tail = &digits[1..];
        let point = if tail.is_empty() { "" } else { "." };
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!(
            "{sign}{}{point}{tail}e{exponent_sign}{:02}",
            &digits[..1],
            exponent.unsigned_abs()
        );
    }
    place_point(sign, digits, exponent)
}

fn place_point(sign: &str, digits: &str, exponent: i32) -> String {
    let mut out = String::from(sign);
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', (-exponent - 1).unsigned_abs() as usize));
        out.push_str(digits);
        return out;
    }
    let whole = exponent.unsigned_abs() as usize + 1;
    if digits.len() <= whole {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', whole - digits.len()));
    } else {
        out.push_str(&digits[..whole]);
        out.push('.');
        out.push_str(&digits[whole..]);
    }
    out
}

/// A finite float as Go's encoding/json prints it: plain from 1e-6 up to 1e21, else with an exponent.
pub(crate) fn format_json(value: f64) -> String {
    let (sign, digits, exponent) = shortest(value);
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return place_point(sign, &digits, exponent);
    }
    let tail = &digits[1..];
    let point = if tail.is_empty() { "" } else { "." };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    // encoding/json shortens e-09 to e-9.
    format!(
        "{sign}{}{point}{tail}e{exponent_sign}{}",
        &digits[..1],
        exponent.unsigned_abs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_go_prints_them() {
        for (value, general, json) in [
            (0.0, "0", "0"),
            (-0.0, "-0", "-0"),
            (1.0, "1", "1"),
            (123_456.0, "123456", "123456"),
            (1e6, "1e+06", "1000000"),
            (1e20, "1e+20", "100000000000000000000"),
            (1e21, "1e+21", "1e+21"),
            (1e-5, "1e-05", "0.00001"),
            (1e-7, "1e-07", "1e-7"),
            (1.5e-10, "1.5e-10", "1.5e-10"),
            (0.0001, "0.0001", "0.0001"),
            (16_777_216.5, "1.67772165e+07", "16777216.5"),
            (
                -1_602_914_634_353_543.2,
                "-1.6029146343535432e+15",
                "-1602914634353543.2",
            ),
            (f64::MAX, "1.7976931348623157e+308", "1.7976931348623157e+308"),
            (5e-324, "5e-324", "5e-324"),
        ] {
            assert_eq!(format_general(value), general);
            assert_eq!(format_json(value), json);
        }
        assert_eq!(format_general_32(0.1), "0.1");
        assert_eq!(format_general_32(16_777_217.0), "1.6777216e+07");
    }

    #[test]
    fn numbers_are_read_with_bases_signs_and_underscores() {
        for (text, number) in [
            ("0644", Some(Number::Int(420))),
            ("08", Some(Number::Float(8.0))),
            ("0o17", Some(Number::Int(15))),
            ("-0x1F", Some(Number::Int(-31))),
            ("0b-11", Some(Number::Int(-3))),
            ("1__0", Some(Number::Int(10))),
            (
                "9223372036854775808",
                Some(Number::UInt(9_223_372_036_854_775_808)),
            ),
            ("-9223372036854775808", Some(Number::Int(i64::MIN))),
            (
                "+9223372036854775808",
                Some(Number::Float(9_223_372_036_854_775_808.0)),
            ),
            (
                "18446744073709551616",
                Some(Number::Float(18_446_744_073_709_551_616.0)),
            ),
            ("1e400", None),
            ("1e", None),
            (".", None),
            ("0x", None),
            ("-", None),
        ] {
            assert_eq!(parse_number(text, Flavour::Kyaml), number, "{text}");
        }
        assert_eq!(parse_number("0o-7", Flavour::Kyaml), Some(Number::Int(-7)));
        assert_eq!(parse_number("0o-7", Flavour::Sigs), None);
    }
}
