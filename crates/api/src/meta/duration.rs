//! Lengths of time as Go reads and writes them: `1m30s`, `1.5h`, `250ms`.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A length of time, kept as the text that stands in the object.
///
/// The text is not checked when an object is read: one that cannot be parsed is an error of that object, to
/// be reported when the value is used ([`to_std`](Self::to_std)), and not of the list that it came in.
/// Equality compares texts, so `60s` and `1m0s` differ as field values while their lengths are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GoDuration(String);

/// Why a text is not a length of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DurationError {
    /// The text does not follow the grammar.
    Invalid(String),
    /// A number without a unit.
    MissingUnit(String),
    /// A unit other than ns, us, ms, s, m and h.
    UnknownUnit(String, String),
    /// The length does not fit in 64 bits of nanoseconds (about 292 years).
    Overflow(String),
    /// The length is below zero where only forward time makes sense.
    Negative(String),
}

impl fmt::Display for DurationError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(text) => write!(
                formatter,
                "invalid duration {text:?}: write a number with a unit, such as 10m or 1h30m"
            ),
            Self::MissingUnit(text) => {
                write!(
                    formatter,
                    "missing unit in duration {text:?}: write ms, s, m or h after each number"
                )
            }
            Self::UnknownUnit(unit, text) => {
                write!(
                    formatter,
                    "unknown unit {unit:?} in duration {text:?}: use ms, s, m or h"
                )
            }
            Self::Overflow(text) => {
                write!(
                    formatter,
                    "duration {text:?} is too long: at most about 2562047h can be expressed"
                )
            }
            Self::Negative(text) => write!(formatter, "duration {text:?} is negative"),
        }
    }
}

impl std::error::Error for DurationError {}

impl GoDuration {
    /// The text as it stands in the object.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The length of time.
    ///
    /// # Errors
    /// When the text is not a duration, is too long, or is negative.
    pub fn to_std(&self) -> Result<Duration, DurationError> {
        let nanoseconds = parse(&self.0)?;
        u64::try_from(nanoseconds)
            .map(Duration::from_nanos)
            .map_err(|_| DurationError::Negative(self.0.clone()))
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<Duration> for GoDuration {
    /// The text that Go prints for the length: `1m0s`, `9m30s`, `1.5s`, `250ms`. Lengths beyond 64 bits of
    /// nanoseconds are cut to that.
    fn from(duration: Duration) -> Self {
        Self(format(
            u64::try_from(duration.as_nanos())
                .unwrap_or(i64::MAX as u64)
                .min(i64::MAX as u64),
        ))
    }
}

impl From<String> for GoDuration {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for GoDuration {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    /// Takes a text after checking that it is a duration.
    fn from_str(text: &str) -> Result<Self, DurationError> {
        parse(text)?;
        Ok(Self(text.to_owned()))
    }
}

impl JsonSchema for GoDuration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "GoDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Units with their length in nanoseconds. Micro is accepted with both Unicode signs.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The largest magnitude: `i64::MIN` has one nanosecond more than `i64::MAX`.
const LIMIT: u64 = 1 << 63;

/// Reads a duration by the grammar of Go's `time.ParseDuration`, in nanoseconds.
fn parse(text: &str) -> Result<i64, DurationError> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if unsigned == "0" {
        return Ok(0);
    }
    if unsigned.is_empty() {
        return Err(DurationError::Invalid(text.to_owned()));
    }
    let mut total = 0_u64;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (length, remainder) = parse_part(rest, text)?;
        total = total
            .checked_add(length)
            .filter(|total| *total <= LIMIT)
            .ok_or_else(|| DurationError::Overflow(text.to_owned()))?;
        rest = remainder;
    }
    let signed = if negative {
        -i128::from(total)
    } else {
        i128::from(total)
    };
    i64::try_from(signed).map_err(|_| DurationError::Overflow(text.to_owned()))
}

/// Reads one number with its unit from the front; returns its length and what follows.
fn parse_part<'a>(rest: &'a str, text: &str) -> Result<(u64, &'a str), DurationError> {
    let invalid = || DurationError::Invalid(text.to_owned());
    let overflow = || DurationError::Overflow(text.to_owned());
    let (whole, rest) = split_digits(rest);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(invalid());
    }
    let unit_end = rest
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    if unit.is_empty() {
        return Err(DurationError::MissingUnit(text.to_owned()));
    }
    let scale = UNITS
        .iter()
        .find_map(|(name, scale)| (*name == unit).then_some(*scale))
        .ok_or_else(|| DurationError::UnknownUnit(unit.to_owned(), text.to_owned()))?;
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(|_| overflow())?
    };
    let length = whole
        .checked_mul(scale)
        .and_then(|length| length.checked_add(scale_fraction(fraction, scale)))
        .filter(|length| *length <= LIMIT)
        .ok_or_else(overflow)?;
    Ok((length, rest))
}

/// Splits off the leading decimal digits.
fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// The nanoseconds of `0.<fraction>` times the unit, rounded down. Digits that no 64-bit number can hold are
/// dropped, as Go does.
fn scale_fraction(fraction: &str, scale: u64) -> u64 {
    let mut value = 0_u64;
    let mut divisor = 1.0_f64;
    for digit in fraction.bytes() {
        let Some(next) = value
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit - b'0')))
            .filter(|next| *next < LIMIT)
        else {
            break;
        };
        value = next;
        divisor *= 10.0;
    }
    // The product is below the unit, so it fits; the conversion in floating point is Go's own.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "bounded by the unit, and equal to what Go computes"
    )]
    let nanoseconds = (value as f64 * (scale as f64 / divisor)) as u64;
    nanoseconds
}

/// Writes nanoseconds as Go's `Duration.String` does.
fn format(nanoseconds: u64) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    if nanoseconds < 1_000 {
        return format!("{nanoseconds}ns");
    }
    if nanoseconds < 1_000_000 {
        return format!("{}\u{b5}s", decimal(nanoseconds, 1_000));
    }
    if nanoseconds < 1_000_000_000 {
        return format!("{}ms", decimal(nanoseconds, 1_000_000));
    }
    let minutes = nanoseconds / 60_000_000_000;
    let seconds = decimal(nanoseconds % 60_000_000_000, 1_000_000_000);
    let mut text = String::new();
    // Writing to a String cannot fail.
    if minutes >= 60 {
        let _ = write!(text, "{}h", minutes / 60);
    }
    if minutes > 0 {
        let _ = write!(text, "{}m", minutes % 60);
    }
    let _ = write!(text, "{seconds}s");
    text
}

/// `value / unit` with as many decimals as it has, at most those of the unit.
fn decimal(value: u64, unit: u64) -> String {
    let (whole, fraction) = (value / unit, value % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{fraction:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_go_reads() {
        let cases = [
            ("0", 0),
            ("0s", 0),
            ("5s", 5_000_000_000),
            ("-5s", -5_000_000_000),
            ("+1478s", 1_478_000_000_000),
            ("5.6s", 5_600_000_000),
            ("5.s", 5_000_000_000),
            (".5s", 500_000_000),
            ("1.004s", 1_004_000_000),
            ("100.00100s", 100_001_000_000),
            ("10ns", 10),
            ("11us", 11_000),
            ("12\u{b5}s", 12_000),
            ("12\u{3bc}s", 12_000),
            ("13ms", 13_000_000),
            ("3h30m", 12_600_000_000_000),
            ("10.5s4m", 250_500_000_000),
            ("-2m3.4s", -123_400_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("0.9223372036854775807h", 3_320_413_933_267),
            ("0.100000000000000000000h", 360_000_000_000),
        ];
        for (text, nanoseconds) in cases {
            assert_eq!(parse(text), Ok(nanoseconds), "{text}");
        }
    }

    #[test]
    fn refuses_what_go_refuses() {
        for text in [
            "",
            "-",
            "+",
            "s",
            ".",
            "-.",
            ".s",
            "+.s",
            "1d",
            "\u{85}\u{85}",
            "hello",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
        assert_eq!(parse("3"), Err(DurationError::MissingUnit("3".into())));
        assert_eq!(
            parse("1d"),
            Err(DurationError::UnknownUnit("d".into(), "1d".into()))
        );
        for text in [
            "9223372036854775808ns",
            "9223372036854775.808us",
            "3000000h",
            "99999999999999999999h",
        ] {
            assert_eq!(parse(text), Err(DurationError::Overflow(text.into())), "{text}");
        }
    }

    #[test]
    fn writes_what_go_writes() {
        let cases = [
            (Duration::ZERO, "0s"),
            (Duration::from_nanos(1), "1ns"),
            (Duration::from_nanos(1_100), "1.1\u{b5}s"),
            (Duration::from_micros(2_200), "2.2ms"),
            (Duration::from_millis(3_300), "3.3s"),
            (Duration::from_secs(60), "1m0s"),
            (Duration::from_secs(570), "9m30s"),
            (Duration::from_millis(245_001), "4m5.001s"),
            (Duration::from_millis(18_367_001), "5h6m7.001s"),
            (Duration::from_nanos(480_000_000_001), "8m0.000000001s"),
            (Duration::from_nanos(i64::MAX as u64), "2562047h47m16.854775807s"),
            (Duration::MAX, "2562047h47m16.854775807s"),
        ];
        for (duration, text) in cases {
            assert_eq!(GoDuration::from(duration).as_str(), text);
        }
    }

    #[test]
    fn negative_durations_are_no_lengths() {
        assert_eq!(
            GoDuration::from("-1m").to_std(),
            Err(DurationError::Negative("-1m".into()))
        );
    }

    proptest! {
        #[test]
        fn every_length_survives_writing_and_reading(nanoseconds in 0..i64::MAX) {
            let duration = Duration::from_nanos(nanoseconds.unsigned_abs());
            prop_assert_eq!(GoDuration::from(duration).to_std(), Ok(duration));
        }

        #[test]
        fn reading_never_panics(text in "\\PC{0,24}") {
            let _ = parse(&text);
        }

        #[test]
        fn texts_that_the_api_server_accepts_are_read_unless_too_long(
            text in "([0-9]{1,6}(\\.[0-9]{1,4})?(ms|s|m|h)){1,3}"
        ) {
            prop_assert!(GoDuration::from(text.as_str()).to_std().is_ok());
        }

        #[test]
        fn the_field_keeps_its_text(text in "[0-9]{1,4}(ms|s|m|h)") {
            let json = serde_json::to_string(&text).unwrap();
            let field: GoDuration = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(serde_json::to_string(&field).unwrap(), json);
        }
    }
}
