//! Quantities of resources in canonical form (`1000m` is `1`, `0.5` is `500m`, `1024Mi` is `1Gi`).

/// The suffix families of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// Decimal suffixes and their power of ten.
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// Binary suffixes and their power of two.
const BINARY: [(&str, i32); 6] = [
    ("Ki", 10),
    ("Mi", 20),
    ("Gi", 30),
    ("Ti", 40),
    ("Pi", 50),
    ("Ei", 60),
];

/// How many decimals a quantity keeps: it is rounded up to billionths.
const SMALLEST: i32 = 9;

/// The parts of a quantity as written.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    exponent: i32,
    format: Format,
}

/// The canonical text of a quantity, or `None` if `text` is not one.
///
/// Texts that the API machinery takes as canonical already are returned as they are, including leading
/// zeros and signs. Numbers beyond 38 digits are returned as they are, too.
pub(super) fn canonical(text: &str) -> Option<String> {
    let text = text.trim();
    let parts = parse(text)?;
    if parts.whole == "0" && parts.fraction.is_empty() && parts.format == Format::Decimal && text == "0" {
        return Some("0".to_owned());
    }
    if is_canonical(&parts) {
        return Some(text.to_owned());
    }
    match render(&parts) {
        Some(rendered) => Some(rendered),
        None => Some(text.to_owned()),
    }
}

fn parse(text: &str) -> Option<Parts<'_>> {
    if text.is_empty() {
        return None;
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let stripped = unsigned.trim_start_matches('0');
    if stripped.is_empty() {
        let zero = Parts {
            negative,
            whole: "0",
            fraction: "",
            exponent: 0,
            format: Format::Decimal,
        };
        return Some(zero);
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = stripped.split_at(digits(stripped));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let (exponent, format) = interpret(suffix)?;
    Some(Parts {
        negative,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        exponent,
        format,
    })
}

fn interpret(suffix: &str) -> Option<(i32, Format)> {
    let find = |table: &[(&str, i32)]| {
        table
            .iter()
            .find(|(name, _)| *name == suffix)
            .map(|(_, power)| *power)
    };
    if let Some(power) = find(&DECIMAL) {
        return Some((power, Format::Decimal));
    }
    if let Some(power) = find(&BINARY) {
        return Some((power, Format::Binary));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((exponent.parse().ok()?, Format::Exponent))
}

/// Whether the API machinery keeps the text of such a number.
fn is_canonical(parts: &Parts<'_>) -> bool {
    let (whole, fraction) = (parts.whole.len() as i32, parts.fraction.len() as i32);
    let shifted = format!("{}{}", parts.whole, parts.fraction);
    match parts.format {
        Format::Binary => {
            let precision = 15 - whole - (parts.exponent as f32 * 3.0 / 10.0) as i32 - 1;
            let odd = shifted.parse::<i64>().is_ok_and(|value| value & 7 != 0);
            fraction == 0 && precision >= 0 && parts.exponent % 10 == 0 && odd
        }
        Format::Decimal | Format::Exponent => {
            let scale = parts.exponent - fraction;
            18 - whole - fraction >= 0
                && scale >= -SMALLEST
                && scale % 3 == 0
                && !shifted.ends_with("000")
                && !shifted.starts_with('0')
        }
    }
}

/// Writes the number anew, or `None` where it does not fit 128 bits.
fn render(parts: &Parts<'_>) -> Option<String> {
    let digits: i128 = format!("{}{}", parts.whole, parts.fraction).parse().ok()?;
    let mut scale = -i32::try_from(parts.fraction.len()).ok()?;
    let mut value = digits;
    let mut format = parts.format;
    if format == Format::Binary {
        value = value.checked_mul(1i128.checked_shl(u32::try_from(parts.exponent).ok()?)?)?;
    } else {
        scale += parts.exponent;
    }
    (value, scale) = round_up(value, scale)?;
    if value == 0 {
        return Some("0".to_owned());
    }
    let sign = if parts.negative { "-" } else { "" };
    if format == Format::Binary {
        match as_integer(value, scale) {
            Some(integer) if integer >= 1024 => return Some(format!("{sign}{}", binary_text(integer))),
            _ => format = Format::Decimal,
        }
    }
    Some(format!("{sign}{}", decimal_text(value, scale, format)?))
}

/// Rounds away from zero to billionths.
fn round_up(value: i128, scale: i32) -> Option<(i128, i32)> {
    if scale >= -SMALLEST {
        return Some((value, scale));
    }
    let divisor = 10i128.checked_pow(u32::try_from(-SMALLEST - scale).ok()?)?;
    let quotient = value / divisor;
    Some((
        if value % divisor == 0 {
            quotient
        } else {
            quotient + 1
        },
        -SMALLEST,
    ))
}

/// The number as an integer, if it is one.
fn as_integer(value: i128, scale: i32) -> Option<i128> {
    if scale >= 0 {
        return value.checked_mul(10i128.checked_pow(scale.unsigned_abs())?);
    }
    let divisor = 10i128.checked_pow(scale.unsigned_abs())?;
    (value % divisor == 0).then(|| value / divisor)
}

fn binary_text(mut integer: i128) -> String {
    let mut suffix = "";
    for (name, _) in BINARY {
        if integer % 1024 != 0 {
            break;
        }
        integer /= 1024;
        suffix = name;
    }
    format!("{integer}{suffix}")
}

fn decimal_text(mut value: i128, mut exponent: i32, format: Format) -> Option<String> {
    while value % 10 == 0 {
        value /= 10;
        exponent += 1;
    }
    let shift = exponent.rem_euclid(3);
    value = value.checked_mul(10i128.pow(shift.unsigned_abs()))?;
    exponent -= shift;
    let suffix = match format {
        Format::Exponent if exponent == 0 => String::new(),
        Format::Exponent => format!("e{exponent}"),
        _ => DECIMAL
            .iter()
            .find(|(_, power)| *power == exponent)
            .map(|(name, _)| (*name).to_owned())?,
    };
    Some(format!("{value}{suffix}"))
}
