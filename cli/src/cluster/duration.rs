//! Durations on the command line.

use std::time::Duration;

/// Reads a duration as Go writes it: `300ms`, `1m30s`, `2h`.
///
/// # Errors
/// A text that is no such duration.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no duration: write 30s, 5m or 1h30m");
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .ok_or_else(wrong)?;
        let value: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit_end = rest[digits..]
            .find(|character: char| character.is_ascii_digit())
            .map_or(rest.len(), |length| digits + length);
        seconds += value
            * match &rest[digits..unit_end] {
                "ms" => 0.001,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return Err(wrong()),
            };
        rest = &rest[unit_end..];
    }
    if text.is_empty() {
        Err(wrong())
    } else {
        Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        assert_eq!(parse_duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("1.5h"), Ok(Duration::from_secs(5400)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "5", "m", "1x", "-1s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }
}
