//! Dates, as Go's package time has them.

mod calendar;
mod duration;
mod layout;
mod read;
mod value;

use std::borrow::Cow;
use std::rc::Rc;

use calendar::{DAY, Zone, date_of, days_of};

use super::{ANY, Outcome, Registry, TEXT};
use crate::error::Failure;
use crate::function::{Arguments, Scope};
use crate::text::Text;
use crate::value::{Signed, Type, Value};

const TIME: Type = Type::Named(Cow::Borrowed("time.Time"), None);

/// A moment and the zone it is looked at from.
#[derive(Clone, Debug, PartialEq)]
struct Time {
    /// Seconds since 1970.
    seconds: i64,
    nanoseconds: u32,
    zone: Zone,
}

/// A time as a calendar and a clock show it.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    year_day: i64,
    weekday: i64,
    hour: i64,
    minute: i64,
    second: i64,
    offset: i64,
    zone: String,
}

impl Time {
    /// The first of January of the year 1, Go's zero.
    const ZERO: Self = Self {
        seconds: -62_135_596_800,
        nanoseconds: 0,
        zone: Zone::Utc,
    };

    fn unix(seconds: i64) -> Self {
        Self {
            seconds,
            nanoseconds: 0,
            zone: Zone::Utc,
        }
    }

    fn now(scope: &mut Scope<'_>) -> Self {
        let now = scope.run().now();
        Self {
            seconds: i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
            nanoseconds: now.subsec_nanos(),
            zone: Zone::Utc,
        }
    }

    fn parts(&self) -> Parts {
        let (offset, zone) = self.zone.at(self.seconds);
        let local = self.seconds.saturating_add(offset);
        let days = local.div_euclid(DAY);
        let clock = local.rem_euclid(DAY);
        let (year, month, day) = date_of(days);
        Parts {
            year,
            month,
            day,
            year_day: days - days_of(year, 1, 1) + 1,
            weekday: (days + 4).rem_euclid(7),
            hour: clock / 3_600,
            minute: clock / 60 % 60,
            second: clock % 60,
            offset,
            zone: zone.into_owned(),
        }
    }

    /// Nanoseconds since 1970.
    fn nanoseconds(&self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanoseconds)
    }

    fn plus(&self, nanoseconds: i128) -> Self {
        let total = self.nanoseconds() + nanoseconds;
        Self {
            seconds: i64::try_from(total.div_euclid(1_000_000_000)).unwrap_or(i64::MAX),
            nanoseconds: u32::try_from(total.rem_euclid(1_000_000_000)).unwrap_or(0),
            zone: self.zone.clone(),
        }
    }

    /// Go's `Sub`: the difference, cut to what a duration can hold.
    fn minus(&self, other: &Self) -> i64 {
        let difference = self.nanoseconds() - other.nanoseconds();
        let limits = i128::from(i64::MIN)..=i128::from(i64::MAX);
        i64::try_from(difference.clamp(*limits.start(), *limits.end())).unwrap_or(0)
    }

    fn into_value(self) -> Value {
        Value::Object(Rc::new(value::TimeValue(self)))
    }
}

/// The time in an argument of type `time.Time`.
fn time_of(value: &Value) -> Option<Time> {
    value::time_of(value)
}

/// Reads a date by its layout for nothing but Go's error.
pub(crate) fn read_date(layout: &[u8], text: &[u8]) -> Result<(), String> {
    read::parse(layout, text).map(|_| ())
}

pub(super) fn register(registry: &mut Registry) {
    registry.fixed("now", &[], TIME, |scope, _| Ok(Time::now(scope).into_value()));
    registry.fixed("date", &[TEXT, ANY], TEXT, |scope, arguments| {
        date_in_zone(scope, &arguments.text(0), &arguments.value(1), "Local")
    });
    registry.fixed("htmlDate", &[ANY], TEXT, |scope, arguments| {
        date_in_zone(scope, b"2006-01-02", &arguments.value(0), "Local")
    });
    registry.fixed("htmlDateInZone", &[ANY, TEXT], TEXT, |scope, arguments| {
        let zone = arguments.text(1);
        date_in_zone(scope, b"2006-01-02", &arguments.value(0), &zone.to_text())
    });
    for name in ["dateInZone", "date_in_zone"] {
        registry.fixed(name, &[TEXT, ANY, TEXT], TEXT, |scope, arguments| {
            let zone = arguments.text(2);
            date_in_zone(scope, &arguments.text(0), &arguments.value(1), &zone.to_text())
        });
    }
    for (name, must) in [
        ("dateModify", false),
        ("date_modify", false),
        ("mustDateModify", true),
        ("must_date_modify", true),
    ] {
        registry.fixed(name, &[TEXT, TIME], TIME, move |_, arguments| {
            modify(arguments, must)
        });
    }
    for (name, must) in [("toDate", false), ("mustToDate", true)] {
        registry.fixed(name, &[TEXT, TEXT], TIME, move |_, arguments| {
            match read::parse(&arguments.text(0), &arguments.text(1)) {
                Ok(time) => Ok(time.into_value()),
                Err(message) if must => Err(Failure::new(message)),
                Err(_) => Ok(Time::ZERO.into_value()),
            }
        });
    }
    registry.fixed("unixEpoch", &[TIME], TEXT, |_, arguments| {
        let time = time_of(&arguments.value(0)).unwrap_or(Time::ZERO);
        Ok(Value::from(time.seconds.to_string()))
    });
    register_durations(registry);
}

fn register_durations(registry: &mut Registry) {
    registry.fixed("ago", &[ANY], TEXT, |scope, arguments| {
        let now = Time::now(scope);
        let time = match arguments.value(0) {
            Value::Signed(Signed::Int | Signed::Int64, seconds) => Time::unix(seconds),
            value => time_of(&value).unwrap_or_else(|| now.clone()),
        };
        let elapsed = now.minus(&time);
        let second = 1_000_000_000;
        let rest = elapsed % second;
        let cut = elapsed - rest;
        let rounded = if rest.abs() * 2 >= second {
            cut.saturating_add(second * elapsed.signum())
        } else {
            cut
        };
        Ok(Value::from(duration::print(rounded)))
    });
    registry.fixed("duration", &[ANY], TEXT, |_, arguments| {
        let seconds = match arguments.value(0) {
            Value::Signed(Signed::Int64, seconds) => seconds,
            Value::String(text) => parse_clamped(&text),
            _ => 0,
        };
        let nanoseconds = seconds.wrapping_mul(1_000_000_000);
        Ok(Value::from(duration::print(nanoseconds)))
    });
    registry.fixed("durationRound", &[ANY], TEXT, |scope, arguments| {
        let nanoseconds = match arguments.value(0) {
            Value::Signed(Signed::Int64, nanoseconds) => nanoseconds,
            Value::String(text) => duration::parse(&text.to_text()).unwrap_or(0),
            value => match time_of(&value) {
                Some(time) => Time::now(scope).minus(&time),
                None => 0,
            },
        };
        Ok(Value::from(round_duration(nanoseconds.unsigned_abs())))
    });
}

/// `strconv.ParseInt` without its error: beyond the range it gives the nearest number.
fn parse_clamped(text: &Text) -> i64 {
    let text = text.to_text();
    let digits = text.trim_start_matches(['+', '-']);
    let is_number = digits.len() + 1 >= text.len()
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return 0;
    }
    let bound = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    text.parse().unwrap_or(bound)
}

fn round_duration(nanoseconds: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    for (unit, name) in [
        (365 * 24 * 3_600 * SECOND, "y"),
        (30 * 24 * 3_600 * SECOND, "mo"),
        (24 * 3_600 * SECOND, "d"),
        (3_600 * SECOND, "h"),
        (60 * SECOND, "m"),
        (SECOND, "s"),
    ] {
        if nanoseconds > unit {
            return format!("{}{name}", nanoseconds / unit);
        }
    }
    "0s".to_owned()
}

fn date_in_zone(scope: &mut Scope<'_>, layout: &[u8], date: &Value, zone: &str) -> Outcome {
    let mut time = match date {
        Value::Signed(Signed::Int | Signed::Int64 | Signed::Int32, seconds) => Time::unix(*seconds),
        value => match time_of(value) {
            Some(time) => time,
            None => Time::now(scope),
        },
    };
    time.zone = Zone::load(zone);
    Ok(Value::string(layout::format(&time, layout)))
}

fn modify(arguments: &Arguments, must: bool) -> Outcome {
    let time = time_of(&arguments.value(1)).unwrap_or(Time::ZERO);
    match duration::parse(&arguments.text(0).to_text()) {
        Ok(nanoseconds) => Ok(time.plus(i128::from(nanoseconds)).into_value()),
        Err(message) if must => Err(Failure::new(message)),
        Err(_) => Ok(time.into_value()),
    }
}

/// A time as RFC 3339 has it, for TOML; None for anything but a time.
pub(super) fn time_text(value: &Value) -> Option<Vec<u8>> {
    let time = time_of(value)?;
    Some(layout::format(&time, b"2006-01-02T15:04:05.999999999Z07:00"))
}

/// A date or time of TOML as the Go library has it: local ones are in zones that say so.
pub(super) fn clock_value(text: &str) -> Value {
    for (layout, zone) in [
        ("2006-01-02T15:04:05.999999999Z07:00", None),
        ("2006-01-02T15:04:05.999999999", Some("datetime-local")),
        ("2006-01-02", Some("date-local")),
        ("15:04:05.999999999", Some("time-local")),
    ] {
        if let Ok(mut time) = read::parse(layout.as_bytes(), text.as_bytes()) {
            if let Some(name) = zone {
                let name = name.to_owned();
                time.zone = Zone::Fixed { name, offset: 0 };
            }
            return time.into_value();
        }
    }
    Value::from(text)
}
