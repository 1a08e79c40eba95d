//! Floating-point numbers as Go's `strconv.FormatFloat` prints them.

use crate::value::Float;

/// Beyond this many digits behind the point, or significant ones, every float64 has zeros only.
const EXACT_DIGITS: usize = 1_100;

/// Sign, digits without trailing zeros, and where the point stands relative to the first digit.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i32,
}

/// `strconv.FormatFloat`; without a precision as many digits as it takes to read the same number back.
pub(crate) fn format_float(value: f64, verb: u8, precision: Option<usize>, size: Float) -> Vec<u8> {
    if value.is_nan() {
        return b"NaN".to_vec();
    }
    if value.is_infinite() {
        return if value > 0.0 { b"+Inf" } else { b"-Inf" }.to_vec();
    }
    match verb {
        b'b' => binary(value, size),
        b'x' | b'X' => hexadecimal(value, verb, precision, size),
        b'e' | b'E' => {
            let decimal = match precision {
                Some(precision) => rounded(value, precision + 1),
                None => shortest(value, size),
            };
            let places = precision.unwrap_or_else(|| decimal.digits.len().saturating_sub(1));
            scientific(&decimal, places, verb)
        }
        b'f' => match precision {
            Some(precision) => fixed(value, precision),
            None => {
                let decimal = shortest(value, size);
                let behind = i32::try_from(decimal.digits.len()).unwrap_or(0) - decimal.point;
                positional(&decimal, usize::try_from(behind).unwrap_or(0))
            }
        },
        _ => general(value, verb, precision, size),
    }
}

/// `strconv.FormatFloat(value, 'g', -1, 64)`, the form of `%v`.
pub(crate) fn format_general(value: f64) -> String {
    String::from_utf8(format_float(value, b'g', None, Float::Float64)).unwrap_or_default()
}

/// The fewest digits that read back as the same number, in any notation with `e`.
pub(crate) fn format_shortest(value: f64) -> String {
    String::from_utf8(format_float(value, b'e', None, Float::Float64)).unwrap_or_default()
}

/// A finite float as Go's encoding/json prints it: plain from 1e-6 up to 1e21, else with an exponent.
pub(crate) fn format_json(value: f64) -> String {
    let magnitude = value.abs();
    let verb = if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        b'e'
    } else {
        b'f'
    };
    let text = String::from_utf8(format_float(value, verb, None, Float::Float64)).unwrap_or_default();
    // e-09 becomes e-9.
    match text.split_once("e-0") {
        Some((mantissa, digit)) if digit.len() == 1 => format!("{mantissa}e-{digit}"),
        _ => text,
    }
}

fn general(value: f64, verb: u8, precision: Option<usize>, size: Float) -> Vec<u8> {
    let (decimal, mut places, exponent_from) = match precision {
        None => {
            let decimal = shortest(value, size);
            let places = decimal.digits.len();
            (decimal, places, 6)
        }
        Some(precision) => {
            let places = precision.max(1);
            let decimal = rounded(value, places);
            let digits = i32::try_from(decimal.digits.len()).unwrap_or(0);
            let wanted = i32::try_from(places).unwrap_or(i32::MAX);
            let from = if wanted > digits && digits >= decimal.point {
                digits
            } else {
                wanted
            };
            (decimal, places, from)
        }
    };
    let exponent = decimal.point - 1;
    if exponent < -4 || exponent >= exponent_from {
        places = places.min(decimal.digits.len());
        return scientific(
            &decimal,
            places.saturating_sub(1),
            if verb == b'G' { b'E' } else { b'e' },
        );
    }
    let wanted = i32::try_from(places).unwrap_or(i32::MAX);
    let shown = if wanted > decimal.point {
        i32::try_from(decimal.digits.len()).unwrap_or(0)
    } else {
        wanted
    };
    positional(&decimal, usize::try_from(shown - decimal.point).unwrap_or(0))
}

/// The fewest digits that read back as the same number.
///
/// They come from serde_json for float64, which like Go prefers an even last digit where two are equally
/// near; the standard library does not.
fn shortest(value: f64, size: Float) -> Decimal {
    let text = match size {
        Float::Float64 => serde_json::Number::from_f64(value).map(|number| number.to_string()),
        #[expect(clippy::cast_possible_truncation, reason = "the value is a float32")]
        Float::Float32 => Some(format!("{:e}", value as f32)),
    };
    read_decimal(&text.unwrap_or_default())
}

/// The value rounded to so many significant digits.
fn rounded(value: f64, digits: usize) -> Decimal {
    let precision = digits.clamp(1, EXACT_DIGITS) - 1;
    read_decimal(&format!("{value:.precision$e}"))
}

fn read_decimal(text: &str) -> Decimal {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let zeros = all.iter().take_while(|&&digit| digit == b'0').count();
    let end = all
        .iter()
        .rposition(|&digit| digit != b'0')
        .map_or(zeros, |last| last + 1);
    let digits = all[zeros..end].to_vec();
    let shift = |count: usize| i32::try_from(count).unwrap_or(0);
    let point = if digits.is_empty() {
        0
    } else {
        exponent + shift(whole.len()) - shift(zeros)
    };
    Decimal {
        negative,
        digits,
        point,
    }
}

fn digit(decimal: &Decimal, index: i32) -> u8 {
    usize::try_from(index)
        .ok()
        .and_then(|index| decimal.digits.get(index).copied())
        .unwrap_or(b'0')
}

/// `d.ddde±dd` with so many places behind the point.
fn scientific(decimal: &Decimal, places: usize, verb: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(places + 8);
    if decimal.negative {
        out.push(b'-');
    }
    out.push(digit(decimal, 0));
    if places > 0 {
        out.push(b'.');
        let tail = decimal.digits.get(1..).unwrap_or_default();
        let taken = tail.len().min(places);
        out.extend_from_slice(&tail[..taken]);
        out.resize(out.len() + places - taken, b'0');
    }
    let exponent = if decimal.digits.is_empty() {
        0
    } else {
        decimal.point - 1
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    out.push(verb);
    out.extend(format!("{sign}{:02}", exponent.unsigned_abs()).bytes());
    out
}

/// `ddd.ddd` with so many places behind the point.
fn positional(decimal: &Decimal, places: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(places + 8);
    if decimal.negative {
        out.push(b'-');
    }
    if decimal.point > 0 {
        out.extend((0..decimal.point).map(|index| digit(decimal, index)));
    } else {
        out.push(b'0');
    }
    if places > 0 {
        out.push(b'.');
        out.extend((0..places).map(|index| {
            let index = i32::try_from(index).unwrap_or(i32::MAX - 400);
            digit(decimal, decimal.point.saturating_add(index))
        }));
    }
    out
}

/// `%.nf`.
fn fixed(value: f64, precision: usize) -> Vec<u8> {
    let exact = precision.min(EXACT_DIGITS);
    let mut out = format!("{value:.exact$}").into_bytes();
    out.resize(out.len() + precision - exact, b'0');
    out
}

/// Mantissa and exponent of two, for the bits of a float32 or float64.
fn parts(value: f64, size: Float) -> (bool, u64, i32, u32) {
    let (bits, mantissa_bits, exponent_bits, bias) = match size {
        Float::Float64 => (value.to_bits(), 52, 11, -1023),
        #[expect(clippy::cast_possible_truncation, reason = "the value is a float32")]
        Float::Float32 => (u64::from((value as f32).to_bits()), 23, 8, -127),
    };
    let negative = bits >> (mantissa_bits + exponent_bits) & 1 == 1;
    let exponent = i32::try_from(bits >> mantissa_bits & ((1 << exponent_bits) - 1)).unwrap_or(0);
    let mantissa = bits & ((1 << mantissa_bits) - 1);
    if exponent == 0 {
        (negative, mantissa, 1 + bias, mantissa_bits)
    } else {
        (
            negative,
            mantissa | 1 << mantissa_bits,
            exponent + bias,
            mantissa_bits,
        )
    }
}

/// `%b`: mantissa, `p`, exponent of two.
fn binary(value: f64, size: Float) -> Vec<u8> {
    let (negative, mantissa, exponent, bits) = parts(value, size);
    let sign = if negative { "-" } else { "" };
    let exponent = exponent - i32::try_from(bits).unwrap_or(0);
    format!("{sign}{mantissa}p{exponent:+}").into_bytes()
}

/// `%x`: `0x1.yyyyyyyyp±ddd`.
fn hexadecimal(value: f64, verb: u8, precision: Option<usize>, size: Float) -> Vec<u8> {
    let (negative, mut mantissa, mut exponent, bits) = parts(value, size);
    if mantissa == 0 {
        exponent = 0;
    }
    // The leading one moves to bit 60, so that four bits at a time follow it.
    mantissa <<= 60 - bits;
    while mantissa != 0 && mantissa & (1 << 60) == 0 {
        mantissa <<= 1;
        exponent -= 1;
    }
    if let Some(precision) = precision.filter(|&precision| precision < 15) {
        let shift = u32::try_from(precision * 4).unwrap_or(0);
        let extra = mantissa << shift & ((1 << 60) - 1);
        mantissa >>= 60 - shift;
        if extra | (mantissa & 1) > 1 << 59 {
            mantissa += 1;
        }
        mantissa <<= 60 - shift;
        if mantissa & (1 << 61) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut out = Vec::new();
    if negative {
        out.push(b'-');
    }
    out.extend([b'0', verb, b'0' + u8::from(mantissa >> 60 & 1 == 1)]);
    mantissa <<= 4;
    let nibble = |mantissa: u64| {
        let digit = char::from_digit(u32::try_from(mantissa >> 60).unwrap_or(0), 16).unwrap_or('0');
        let digit = if verb == b'X' {
            digit.to_ascii_uppercase()
        } else {
            digit
        };
        u8::try_from(digit).unwrap_or(b'0')
    };
    let places = precision.unwrap_or_else(|| (64 - mantissa.trailing_zeros() as usize).div_ceil(4));
    if places > 0 && (precision.is_some() || mantissa != 0) {
        out.push(b'.');
        for _ in 0..places {
            out.push(nibble(mantissa));
            mantissa <<= 4;
        }
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    out.push(if verb == b'X' { b'P' } else { b'p' });
    out.extend(format!("{sign}{:02}", exponent.unsigned_abs()).bytes());
    out
}
