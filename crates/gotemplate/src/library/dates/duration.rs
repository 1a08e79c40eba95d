//! `time.Duration`: nanoseconds as text and back.

const SECOND: u64 = 1_000_000_000;

/// Go's `Duration.String`.
pub(super) fn print(duration: i64) -> String {
    let sign = if duration < 0 { "-" } else { "" };
    let nanoseconds = duration.unsigned_abs();
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    if nanoseconds < SECOND {
        let (unit, name) = match nanoseconds {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        return format!("{sign}{}{name}", with_fraction(nanoseconds, unit));
    }
    let seconds = nanoseconds / SECOND;
    let last = with_fraction(nanoseconds % (60 * SECOND), SECOND);
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{last}s"),
        (0, _) => format!("{sign}{minutes}m{last}s"),
        _ => format!("{sign}{hours}h{minutes}m{last}s"),
    }
}

fn with_fraction(value: u64, unit: u64) -> String {
    let fraction = value % unit;
    if fraction == 0 {
        return (value / unit).to_string();
    }
    let width = unit.to_string().len() - 1;
    let digits = format!("{fraction:0width$}");
    format!("{}.{}", value / unit, digits.trim_end_matches('0'))
}

/// Go's `ParseDuration`; the error is Go's.
pub(super) fn parse(text: &str) -> Result<i64, String> {
    let fail = |problem: &str| Err(format!("time: {problem} {}", super::layout::quote(text)));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return fail("invalid duration");
    }
    let limit = 1u64 << 63;
    let mut total = 0u64;
    while !rest.is_empty() {
        let whole_end = digits(rest);
        let (whole, after) = rest.split_at(whole_end);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(tail) => tail.split_at(digits(tail)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return fail("invalid duration");
        }
        let Some(value) = parse_whole(whole).filter(|&value| value <= limit) else {
            return fail("invalid duration");
        };
        let unit_end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit_name, after) = after.split_at(unit_end);
        let unit = match unit_name {
            "" => return fail("missing unit in duration"),
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND,
            "m" => 60 * SECOND,
            "h" => 3_600 * SECOND,
            _ => {
                let name = super::layout::quote(unit_name);
                return fail(&format!("unknown unit {name} in duration"));
            }
        };
        let added = value.checked_mul(unit).filter(|&added| added <= limit);
        let added = added.map(|added| added + scaled(fraction, unit));
        let sum = added.and_then(|added| total.checked_add(added));
        match sum.filter(|&sum| sum <= limit) {
            Some(sum) => total = sum,
            None => return fail("invalid duration"),
        }
        rest = after;
    }
    if negative {
        return Ok(0i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).or_else(|_| fail("invalid duration"))
}

fn parse_whole(digits: &str) -> Option<u64> {
    if digits.is_empty() {
        Some(0)
    } else {
        digits.parse().ok()
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// A fraction of a unit, by way of a float as in Go.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "Go converts so as well"
)]
fn scaled(fraction: &str, unit: u64) -> u64 {
    let mut value = 0u64;
    let mut scale = 1f64;
    for digit in fraction.bytes() {
        if value > (i64::MAX as u64) / 10 {
            break;
        }
        value = value * 10 + u64::from(digit - b'0');
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}
