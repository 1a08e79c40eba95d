//! Times as Go writes them into records.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::fmt::temporal::{Pieces, PiecesOffset};
use jiff::tz::Offset;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A moment with the offset of the clock that told it: Go keeps the offset, and digests depend on it.
///
/// Prints as RFC 3339 with as many digits of a second as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    timestamp: Timestamp,
    offset: Offset,
}

/// A text that is no time of RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no time such as 2006-01-02T15:04:05Z")]
pub struct TimeError(String);

/// What Go writes for a time that is not set.
const ZERO: &str = "0001-01-01T00:00:00Z";

impl Time {
    /// A moment in universal time. None if it is more than some thousand years away.
    pub fn from_unix(seconds: i64, nanoseconds: i32) -> Option<Self> {
        let timestamp = Timestamp::new(seconds, nanoseconds).ok()?;
        Some(Self {
            timestamp,
            offset: Offset::UTC,
        })
    }

    /// The time by the machine's clock, in universal time.
    pub fn now() -> Self {
        Self {
            timestamp: Timestamp::now(),
            offset: Offset::UTC,
        }
    }

    /// Whole seconds since 1970.
    pub fn unix_seconds(&self) -> i64 {
        self.timestamp.as_second()
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.timestamp.cmp(&other.timestamp))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.offset.is_zero() {
            self.timestamp.fmt(formatter)
        } else {
            self.timestamp.display_with_offset(self.offset).fmt(formatter)
        }
    }
}

impl FromStr for Time {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let refused = || TimeError(text.to_owned());
        let pieces = Pieces::parse(text).map_err(|_| refused())?;
        let offset = match pieces.offset() {
            Some(PiecesOffset::Zulu) => Offset::UTC,
            Some(PiecesOffset::Numeric(offset)) => offset.offset(),
            _ => return Err(refused()),
        };
        let time = pieces.date().to_datetime(pieces.time().ok_or_else(refused)?);
        let timestamp = offset.to_timestamp(time).map_err(|_| refused())?;
        Ok(Self { timestamp, offset })
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A time that may be absent; Helm 3 has written empty texts as well, and Go the year 1.
pub(super) fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    match Option::<String>::deserialize(deserializer)? {
        Some(text) if !text.is_empty() && text != ZERO => text.parse().map(Some).map_err(D::Error::custom),
        _ => Ok(None),
    }
}

/// A time that is always written.
pub(super) fn write_always<S: Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => time.serialize(serializer),
        None => serializer.serialize_str(ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_printed_as_go_prints_them() {
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.12Z",
            "2026-01-02T03:04:05.000000001+05:30",
            "1969-12-31T23:59:59.5-08:00",
        ] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!(
            "2026-01-02T03:04:05.120000000+00:00"
                .parse::<Time>()
                .unwrap()
                .to_string(),
            "2026-01-02T03:04:05.12Z"
        );
        assert!("2026-01-02".parse::<Time>().is_err());
        assert!("2026-01-02T03:04:05".parse::<Time>().is_err());
    }
}
