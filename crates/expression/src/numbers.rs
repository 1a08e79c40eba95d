//! Numbers as Go reads and writes them.

/// Reads a floating-point number.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let lower = unsigned.to_ascii_lowercase();
    match lower.as_str() {
        "inf" | "infinity" => {
            return Some(if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            });
        }
        "nan" => return (unsigned.len() == text.len()).then_some(f64::NAN),
        _ if lower.starts_with("0x") => return parse_hexadecimal(text.starts_with('-'), &lower[2..]),
        _ => {}
    }
    let (text, unsigned) = (&without_underscores(text)?, &without_underscores(unsigned)?);
    let well_formed = unsigned
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    let value: f64 = text.parse().ok().filter(|_| well_formed)?;
    value.is_finite().then_some(value)
}

/// The text without its underscores, which must stand between digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let fine = text
        .match_indices('_')
        .all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)));
    fine.then(|| text.replace('_', ""))
}

/// The digits of a hexadecimal number, which must have an exponent of two.
fn parse_hexadecimal(negative: bool, digits: &str) -> Option<f64> {
    let (mantissa, exponent) = digits.split_once('p')?;
    let mut exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 || whole.len() + fraction.len() > 13 {
        return None;
    }
    let value = u64::from_str_radix(&format!("{whole}{fraction}"), 16).ok()?;
    exponent = exponent.checked_sub(4 * i32::try_from(fraction.len()).ok()?)?;
    if !(-1000..=900).contains(&exponent) {
        return None;
    }
    let value = value as f64 * 2f64.powi(exponent);
    Some(if negative { -value } else { value })
}

/// The shortest text that reads back as the number, with an exponent if that is below -4 or above 5.
pub(crate) fn general(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    format!("{digits}e{}", exponent_text(exponent))
}

/// Scientific notation with so many places.
pub(crate) fn scientific(number: f64, places: usize) -> String {
    let text = format!("{number:.places$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{digits}e{}", exponent_text(exponent.parse().unwrap_or(0)))
}

fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:02}", exponent.abs())
}
