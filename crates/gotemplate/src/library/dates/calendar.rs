//! Days, clocks and zones.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

pub(super) const DAY: i64 = 86_400;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Where a time is looked at from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Zone {
    /// Universal time, which also stands for the machine's own zone: a render knows no machine.
    Utc,
    /// A zone with one offset, in seconds east.
    Fixed { name: String, offset: i64 },
    /// A zone of the time zone database.
    Named(TimeZone),
}

impl Zone {
    /// Go's `LoadLocation`, or universal time where there is no such zone.
    pub(super) fn load(name: &str) -> Self {
        if matches!(name, "" | "UTC" | "Local") {
            return Self::Utc;
        }
        match TimeZoneDatabase::bundled().get(name) {
            // The database takes names in any case, Go does not.
            Ok(zone) if zone.iana_name() == Some(name) => Self::Named(zone),
            _ => Self::Utc,
        }
    }

    /// Seconds east of Greenwich and abbreviation at a moment.
    pub(super) fn at(&self, seconds: i64) -> (i64, Cow<'_, str>) {
        match self {
            Self::Utc => (0, Cow::Borrowed("UTC")),
            Self::Fixed { name, offset } => (*offset, Cow::Borrowed(name.as_str())),
            Self::Named(zone) => {
                let clamped = seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
                let moment = Timestamp::from_second(clamped).unwrap_or(Timestamp::UNIX_EPOCH);
                let info = zone.to_offset_info(moment);
                let name = info.abbreviation().to_owned();
                (i64::from(info.offset().seconds()), Cow::Owned(name))
            }
        }
    }
}

pub(super) fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// Days of a month, counted from 1.
pub(super) fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days in the year before a month, leap days apart.
pub(super) fn days_before(month: i64) -> i64 {
    (1..month).map(|month| days_in(month, 1)).sum()
}

/// Days since 1970 of a date.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted - era * 400;
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day since 1970.
pub(super) fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = month_from_march + if month_from_march < 10 { 3 } else { -9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
