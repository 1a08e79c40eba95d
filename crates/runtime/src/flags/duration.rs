//! Durations as Go writes and reads them: `1h2m3.5s`, `750ms`.

use std::time::Duration;

/// A text that is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no duration: use a form such as 30s, 1h30m or 750ms")]
pub struct DurationError(String);

/// Nanoseconds of each unit, longest names first where one begins another.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

/// Reads a duration in Go's syntax. Negative ones are refused.
///
/// # Errors
/// [`DurationError`] if the text is none.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let invalid = || DurationError(text.to_owned());
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(invalid)?;
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().map_err(|_| invalid())?;
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(invalid)?;
        total += number * nanoseconds;
        rest = tail;
    }
    Duration::try_from_secs_f64(total / 1e9).map_err(|_| invalid())
}

/// Writes a duration as Go does.
pub fn format_duration(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    if nanoseconds < 1_000 {
        return format!("{nanoseconds}ns");
    }
    if nanoseconds < 1_000_000 {
        return format!("{}µs", decimal(nanoseconds, 1_000));
    }
    if nanoseconds < 1_000_000_000 {
        return format!("{}ms", decimal(nanoseconds, 1_000_000));
    }
    let minutes_total = duration.as_secs() / 60;
    let seconds = decimal(
        nanoseconds - u128::from(minutes_total) * 60_000_000_000,
        1_000_000_000,
    );
    match (minutes_total / 60, minutes_total % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// `value / unit` without trailing zeros.
fn decimal(value: u128, unit: u128) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    format!("{whole}.{rest:0width$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let cases = [
            ("0", 0),
            ("750ms", 750_000_000),
            ("15m", 900_000_000_000),
            ("1h2m3.5s", 3_723_500_000_000),
            ("1.5h", 5_400_000_000_000),
            ("+5s", 5_000_000_000),
            ("10us", 10_000),
            ("10µs", 10_000),
            (".5s", 500_000_000),
        ];
        for (text, nanoseconds) in cases {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_nanos(nanoseconds)),
                "{text}"
            );
        }
        for text in ["", "5", "s", "-5s", "5 s", "1x", "..s", "1h5", "9999999999999h9"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let cases = [
            (0, "0s"),
            (999, "999ns"),
            (1_500, "1.5µs"),
            (2_000_000, "2ms"),
            (1_234_567, "1.234567ms"),
            (60_000_000_000, "1m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (3_723_500_000_000, "1h2m3.5s"),
            (59_999_999_999, "59.999999999s"),
        ];
        for (nanoseconds, text) in cases {
            assert_eq!(format_duration(Duration::from_nanos(nanoseconds)), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(milliseconds in 0u64..10_000_000_000) {
            let duration = Duration::from_millis(milliseconds);
            let read = parse_duration(&format_duration(duration)).unwrap();
            prop_assert!(read.abs_diff(duration) < Duration::from_micros(10));
        }

        #[test]
        fn no_text_breaks_the_reader(text in "\\PC{0,20}") {
            let _ = parse_duration(&text);
        }
    }
}
