use crate::lexer::Kind;
use crate::node::Number;
use crate::number::{parse_float, parse_signed, parse_unsigned};
use crate::quote::{quoted, unquote_character};
use crate::text::lossy;

/// A numeric constant as every type that can hold it; the error is Go's.
pub(super) fn read_number(kind: Kind, literal: &[u8]) -> Result<Number, String> {
    let text = lossy(literal).into_owned();
    let mut number = match kind {
        Kind::CharConstant => {
            let value = unquote_character(literal)?;
            Number {
                signed: Some(i64::from(value)),
                unsigned: u64::try_from(value).ok(),
                float: Some(f64::from(value)),
                ..Number::default()
            }
        }
        Kind::Complex => read_complex(&text)?,
        _ => read_real(&text)?,
    };
    number.text = text;
    Ok(number)
}

fn read_real(text: &str) -> Result<Number, String> {
    if let Some(imaginary) = text.strip_suffix('i')
        && let Ok(value) = parse_float(imaginary)
    {
        return Ok(simplify(0.0, value));
    }
    let mut number = Number {
        signed: parse_signed(text),
        unsigned: parse_unsigned(text),
        ..Number::default()
    };
    if number.signed == Some(0) {
        // "-0" is no unsigned number to strconv.
        number.unsigned = Some(0);
    }
    #[expect(clippy::cast_precision_loss, reason = "Go converts so as well")]
    if let Some(value) = number.signed {
        number.float = Some(value as f64);
    } else if let Some(value) = number.unsigned {
        number.float = Some(value as f64);
    } else if let Ok(value) = parse_float(text) {
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", quoted(text.as_bytes())));
        }
        number.float = Some(value);
        number.signed = whole(value);
        number.unsigned = whole_unsigned(value);
    } else {
        return Err(format!("illegal number syntax: {}", quoted(text.as_bytes())));
    }
    Ok(number)
}

/// A sum such as `1+2i`.
fn read_complex(text: &str) -> Result<Number, String> {
    let bytes = text.as_bytes();
    let border = (1..bytes.len())
        .rev()
        .find(|&at| matches!(bytes[at], b'+' | b'-') && !matches!(bytes[at - 1], b'e' | b'E' | b'p' | b'P'))
        .unwrap_or(0);
    let real = parse_float(&text[..border])?;
    let imaginary = parse_float(text[border..].trim_end_matches('i'))?;
    Ok(simplify(real, imaginary))
}

/// A complex number without an imaginary part is every simpler type, too.
fn simplify(real: f64, imaginary: f64) -> Number {
    let mut number = Number {
        complex: Some((real, imaginary)),
        ..Number::default()
    };
    if imaginary == 0.0 {
        number.float = Some(real);
        number.signed = whole(real);
        number.unsigned = whole_unsigned(real);
    }
    number
}

/// The integer that a float is. Beyond the range of i64 Go's conversion gives the least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "whether the conversion changes the value is the question"
)]
fn whole(value: f64) -> Option<i64> {
    let converted = if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        value as i64
    } else {
        i64::MIN
    };
    (converted as f64 == value).then_some(converted)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "whether the conversion changes the value is the question"
)]
fn whole_unsigned(value: f64) -> Option<u64> {
    let converted = value as u64;
    (value < 18_446_744_073_709_551_616.0 && converted as f64 == value).then_some(converted)
}
