//! Go's `time.Parse`.

use super::Time;
use super::calendar::{DAY, MONTHS, WEEKDAYS, Zone, days_before, days_in, days_of, is_leap};
use super::layout::{Offset, Piece, next_piece, quote};
use crate::text::lossy;

/// Why a value does not fit a piece.
enum Misfit {
    /// It cannot be read.
    Bad,
    /// It is beyond the range of what is named.
    Range(&'static str),
}

type Fit<T> = Result<T, Misfit>;

/// What has been read so far.
#[derive(Default)]
struct Draft {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanoseconds: u32,
    afternoon: Option<bool>,
    universal: bool,
    offset: Option<i64>,
    zone: String,
}

/// Reads a value by its layout; without a zone it is universal time. The error is Go's.
pub(super) fn parse(layout: &[u8], value: &[u8]) -> Result<Time, String> {
    let mut draft = Draft::default();
    let shown = quote(&lossy(value));
    let misfit = |rest: &[u8], element: &[u8]| {
        let (layout, rest) = (quote(&lossy(layout)), quote(&lossy(rest)));
        let element = quote(&lossy(element));
        format!("parsing time {shown} as {layout}: cannot parse {rest} as {element}")
    };
    let mut pattern = layout;
    let mut rest = value;
    loop {
        let (before, piece, after) = next_piece(pattern);
        rest = skip(rest, before).map_err(|at| misfit(at, before))?;
        let Some((piece, element)) = piece else {
            if rest.is_empty() {
                break;
            }
            let extra = quote(&lossy(rest));
            return Err(format!("parsing time {shown}: extra text: {extra}"));
        };
        pattern = after;
        let held = rest;
        draft
            .read(piece, &mut rest, pattern)
            .map_err(|reason| match reason {
                Misfit::Bad => misfit(held, element),
                Misfit::Range(what) => format!("parsing time {shown}: {what} out of range"),
            })?;
    }
    draft
        .finish()
        .map_err(|problem| format!("parsing time {shown}: {problem}"))
}

/// Skips text of the layout; spaces fit any number of spaces.
fn skip<'text>(mut value: &'text [u8], mut prefix: &[u8]) -> Result<&'text [u8], &'text [u8]> {
    while let Some((&expected, tail)) = prefix.split_first() {
        if expected == b' ' {
            if value.first().is_some_and(|&byte| byte != b' ') {
                return Err(value);
            }
            prefix = prefix.trim_ascii_start_spaces();
            value = value.trim_ascii_start_spaces();
            continue;
        }
        match value.split_first() {
            Some((&found, rest)) if found == expected => value = rest,
            _ => return Err(value),
        }
        prefix = tail;
    }
    Ok(value)
}

trait TrimSpaces {
    fn trim_ascii_start_spaces(&self) -> &Self;
}

impl TrimSpaces for [u8] {
    fn trim_ascii_start_spaces(&self) -> &Self {
        let spaces = self.iter().take_while(|&&byte| byte == b' ').count();
        &self[spaces..]
    }
}

fn take<'text>(rest: &mut &'text [u8], count: usize) -> Fit<&'text [u8]> {
    let (taken, left) = rest.split_at_checked(count).ok_or(Misfit::Bad)?;
    *rest = left;
    Ok(taken)
}

fn digits_at(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn value_of(digits: &[u8]) -> i64 {
    digits
        .iter()
        .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
}

/// One or two digits; `fixed` asks for two.
fn number(rest: &mut &[u8], fixed: bool) -> Fit<i64> {
    let count = digits_at(rest).min(2);
    if count == 0 || (fixed && count < 2) {
        return Err(Misfit::Bad);
    }
    take(rest, count).map(value_of)
}

fn ranged(value: i64, range: std::ops::Range<i64>, what: &'static str) -> Fit<i64> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(Misfit::Range(what))
    }
}

/// The number of a name from 1, whatever its case.
fn name(rest: &mut &[u8], names: &[&str], length: Option<usize>) -> Fit<i64> {
    for (index, name) in names.iter().enumerate() {
        let name = length.map_or(*name, |length| &name[..length]);
        if rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            *rest = &rest[name.len()..];
            return Ok(i64::try_from(index).unwrap_or(0) + 1);
        }
    }
    Err(Misfit::Bad)
}

/// A point or comma and digits; more than nine count for nothing.
fn nanoseconds(text: &[u8]) -> Fit<u32> {
    let Some((b'.' | b',', digits)) = text.split_first() else {
        return Err(Misfit::Bad);
    };
    let digits = &digits[..digits.len().min(9)];
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(Misfit::Bad);
    }
    let scale = 10i64.pow(u32::try_from(9 - digits.len()).unwrap_or(0));
    u32::try_from(value_of(digits) * scale).map_err(|_| Misfit::Bad)
}

impl Draft {
    fn read(&mut self, piece: Piece, rest: &mut &[u8], after: &[u8]) -> Fit<()> {
        match piece {
            Piece::Year => {
                let digits = take(rest, 2)?;
                if digits_at(digits) < 2 {
                    return Err(Misfit::Bad);
                }
                let year = value_of(digits);
                self.year = year + if year >= 69 { 1_900 } else { 2_000 };
            }
            Piece::LongYear => {
                let digits = take(rest, 4)?;
                if digits_at(digits) < 4 {
                    return Err(Misfit::Bad);
                }
                self.year = value_of(digits);
            }
            Piece::Month => self.month = Some(name(rest, &MONTHS, Some(3))?),
            Piece::LongMonth => self.month = Some(name(rest, &MONTHS, None)?),
            Piece::NumMonth | Piece::ZeroMonth => {
                let month = number(rest, piece == Piece::ZeroMonth)?;
                self.month = Some(ranged(month, 1..13, "month")?);
            }
            Piece::Weekday => drop(name(rest, &WEEKDAYS, Some(3))?),
            Piece::LongWeekday => drop(name(rest, &WEEKDAYS, None)?),
            Piece::Day | Piece::UnderDay | Piece::ZeroDay => {
                if piece == Piece::UnderDay {
                    *rest = rest.strip_prefix(b" ").unwrap_or(rest);
                }
                self.day = Some(number(rest, piece == Piece::ZeroDay)?);
            }
            Piece::UnderYearDay | Piece::ZeroYearDay => {
                if piece == Piece::UnderYearDay {
                    *rest = rest.strip_prefix(b" ").unwrap_or(rest);
                    *rest = rest.strip_prefix(b" ").unwrap_or(rest);
                }
                let count = digits_at(rest).min(3);
                if count == 0 || (piece == Piece::ZeroYearDay && count < 3) {
                    return Err(Misfit::Bad);
                }
                self.year_day = Some(value_of(take(rest, count)?));
            }
            Piece::Hour => self.hour = ranged(number(rest, false)?, 0..24, "hour")?,
            Piece::Hour12 | Piece::ZeroHour12 => {
                self.hour = ranged(number(rest, piece == Piece::ZeroHour12)?, 0..13, "hour")?;
            }
            Piece::Minute | Piece::ZeroMinute => {
                self.minute = ranged(number(rest, piece == Piece::ZeroMinute)?, 0..60, "minute")?;
            }
            Piece::Second | Piece::ZeroSecond => {
                self.second = ranged(number(rest, piece == Piece::ZeroSecond)?, 0..60, "second")?;
                self.read_unasked_fraction(rest, after)?;
            }
            Piece::UpperHalf | Piece::LowerHalf => {
                let upper = piece == Piece::UpperHalf;
                self.afternoon = Some(match (take(rest, 2)?, upper) {
                    (b"PM", true) | (b"pm", false) => true,
                    (b"AM", true) | (b"am", false) => false,
                    _ => return Err(Misfit::Bad),
                });
            }
            Piece::Offset(offset) => self.read_offset(offset, rest)?,
            Piece::ZoneName => self.read_zone(rest)?,
            Piece::Fraction {
                digits, trims: false, ..
            } => {
                self.nanoseconds = nanoseconds(take(rest, digits + 1)?)?;
            }
            Piece::Fraction { .. } => {
                if matches!(rest, [b'.' | b',', digit, ..] if digit.is_ascii_digit()) {
                    let count = 1 + digits_at(&rest[1..]);
                    self.nanoseconds = nanoseconds(take(rest, count)?)?;
                }
            }
        }
        Ok(())
    }

    /// A fraction behind the seconds is taken even where the layout has none.
    fn read_unasked_fraction(&mut self, rest: &mut &[u8], after: &[u8]) -> Fit<()> {
        if !matches!(rest, [b'.' | b',', digit, ..] if digit.is_ascii_digit()) {
            return Ok(());
        }
        if let (_, Some((Piece::Fraction { .. }, _)), _) = next_piece(after) {
            return Ok(());
        }
        let count = 1 + digits_at(&rest[1..]);
        self.nanoseconds = nanoseconds(take(rest, count)?)?;
        Ok(())
    }

    fn read_offset(&mut self, form: Offset, rest: &mut &[u8]) -> Fit<()> {
        if form.zulu
            && let Some(tail) = rest.strip_prefix(b"Z")
        {
            *rest = tail;
            self.universal = true;
            return Ok(());
        }
        let colon = usize::from(form.colons);
        let fields = 1 + usize::from(form.minutes) + usize::from(form.seconds);
        let text = take(rest, 1 + 2 * fields + colon * (fields - 1))?;
        let mut values = [0; 3];
        for (index, value) in values.iter_mut().enumerate().take(fields) {
            let start = 1 + index * (2 + colon);
            if index > 0 && form.colons && text[start - 1] != b':' {
                return Err(Misfit::Bad);
            }
            let mut digits = &text[start..start + 2];
            *value = number(&mut digits, true)?;
        }
        for (value, limit, what) in [
            (values[0], 25, "time zone offset hour"),
            (values[1], 61, "time zone offset minute"),
            (values[2], 61, "time zone offset second"),
        ] {
            ranged(value, 0..limit, what)?;
        }
        let seconds = (values[0] * 60 + values[1]) * 60 + values[2];
        self.offset = Some(match text[0] {
            b'+' => seconds,
            b'-' => -seconds,
            _ => return Err(Misfit::Bad),
        });
        Ok(())
    }

    fn read_zone(&mut self, rest: &mut &[u8]) -> Fit<()> {
        if let Some(tail) = rest.strip_prefix(b"UTC") {
            *rest = tail;
            self.universal = true;
            return Ok(());
        }
        let length = zone_length(rest).ok_or(Misfit::Bad)?;
        self.zone = lossy(take(rest, length)?).into_owned();
        Ok(())
    }

    fn finish(mut self) -> Result<Time, String> {
        match self.afternoon {
            Some(true) if self.hour < 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        self.resolve_year_day()?;
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if day < 1 || day > days_in(month, self.year) {
            return Err("day out of range".to_owned());
        }
        let clock = self.hour * 3_600 + self.minute * 60 + self.second;
        let seconds = days_of(self.year, month, day) * DAY + clock;
        let (seconds, zone) = match self.offset {
            _ if self.universal => (seconds, Zone::Utc),
            Some(0) if matches!(self.zone.as_str(), "" | "UTC") => (seconds, Zone::Utc),
            Some(offset) => {
                let name = self.zone;
                (seconds - offset, Zone::Fixed { name, offset })
            }
            None if self.zone.is_empty() => (seconds, Zone::Utc),
            None => {
                let hours = self.zone.strip_prefix("GMT").and_then(|hours| hours.parse().ok());
                let offset = hours.unwrap_or(0) * 3_600;
                let name = self.zone;
                (seconds, Zone::Fixed { name, offset })
            }
        };
        Ok(Time {
            seconds,
            nanoseconds: self.nanoseconds,
            zone,
        })
    }

    fn resolve_year_day(&mut self) -> Result<(), String> {
        let Some(mut year_day) = self.year_day else {
            return Ok(());
        };
        let mut found = None;
        if is_leap(self.year) {
            if year_day == 31 + 29 {
                found = Some((2, 29));
            } else if year_day > 31 + 29 {
                year_day -= 1;
            }
        }
        if !(1..=365).contains(&year_day) {
            return Err("day-of-year out of range".to_owned());
        }
        let (month, day) = found.unwrap_or_else(|| {
            let month = (1..=12).rev().find(|&month| days_before(month) < year_day);
            let month = month.unwrap_or(1);
            (month, year_day - days_before(month))
        });
        if self.month.is_some_and(|seen| seen != month) {
            return Err("day-of-year does not match month".to_owned());
        }
        if self.day.is_some_and(|seen| seen != day) {
            return Err("day-of-year does not match day".to_owned());
        }
        self.month = Some(month);
        self.day = Some(day);
        Ok(())
    }
}

/// How long the name of a zone at the beginning is.
fn zone_length(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_offset(rest));
    }
    if matches!(value[0], b'+' | b'-') {
        return Some(signed_offset(value)).filter(|&length| length > 0);
    }
    let capitals = value
        .iter()
        .take(6)
        .take_while(|byte| byte.is_ascii_uppercase())
        .count();
    match capitals {
        5 if value[4] == b'T' => Some(5),
        4 if value[3] == b'T' || value.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

fn signed_offset(value: &[u8]) -> usize {
    let Some((b'+' | b'-', digits)) = value.split_first() else {
        return 0;
    };
    let count = digits_at(digits);
    if count == 0 || count > 18 || value_of(&digits[..count]) > 23 {
        return 0;
    }
    1 + count
}
