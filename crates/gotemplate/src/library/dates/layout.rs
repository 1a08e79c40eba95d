//! Go's layouts: a sample date as a pattern.

use super::Time;
use super::calendar::{MONTHS, WEEKDAYS};

/// A piece of a layout that stands for a part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperHalf,
    LowerHalf,
    ZoneName,
    Offset(Offset),
    /// So many digits, after a point or comma; with `trims` without the zeros at their end.
    Fraction {
        digits: usize,
        separator: u8,
        trims: bool,
    },
}

/// How the offset of a zone is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// `Z` for universal time.
    pub(super) zulu: bool,
    pub(super) colons: bool,
    pub(super) minutes: bool,
    pub(super) seconds: bool,
}

const PREFIXES: &[(&str, Piece)] = &[
    ("January", Piece::LongMonth),
    ("Monday", Piece::LongWeekday),
    ("MST", Piece::ZoneName),
    ("002", Piece::ZeroYearDay),
    ("01", Piece::ZeroMonth),
    ("02", Piece::ZeroDay),
    ("03", Piece::ZeroHour12),
    ("04", Piece::ZeroMinute),
    ("05", Piece::ZeroSecond),
    ("06", Piece::Year),
    ("15", Piece::Hour),
    ("1", Piece::NumMonth),
    ("2006", Piece::LongYear),
    ("2", Piece::Day),
    ("_2", Piece::UnderDay),
    ("__2", Piece::UnderYearDay),
    ("3", Piece::Hour12),
    ("4", Piece::Minute),
    ("5", Piece::Second),
    ("PM", Piece::UpperHalf),
    ("pm", Piece::LowerHalf),
];

const OFFSETS: &[(&str, bool, bool, bool)] = &[
    ("070000", false, true, true),
    ("07:00:00", true, true, true),
    ("0700", false, true, false),
    ("07:00", true, true, false),
    ("07", false, false, false),
];

/// The piece at the beginning of a layout and its length.
fn piece_at(layout: &[u8]) -> Option<(Piece, usize)> {
    for (name, piece) in [("Jan", Piece::Month), ("Mon", Piece::Weekday)] {
        if let Some(rest) = layout.strip_prefix(name.as_bytes()) {
            let long = if piece == Piece::Month { "uary" } else { "day" };
            if !rest.starts_with(long.as_bytes()) && !rest.first().is_some_and(u8::is_ascii_lowercase) {
                return Some((piece, 3));
            }
        }
    }
    // "_2006" is an underscore before a year.
    if !layout.starts_with(b"_2006")
        && let Some((name, piece)) = PREFIXES
            .iter()
            .find(|(name, _)| layout.starts_with(name.as_bytes()))
    {
        return Some((*piece, name.len()));
    }
    match layout.first()? {
        sign @ (b'-' | b'Z') => OFFSETS
            .iter()
            .find(|(name, ..)| layout[1..].starts_with(name.as_bytes()))
            .map(|&(name, colons, minutes, seconds)| {
                let offset = Offset {
                    zulu: *sign == b'Z',
                    colons,
                    minutes,
                    seconds,
                };
                (Piece::Offset(offset), name.len() + 1)
            }),
        &separator @ (b'.' | b',') => {
            let &digit = layout.get(1).filter(|digit| matches!(digit, b'0' | b'9'))?;
            let digits = layout[1..].iter().take_while(|&&other| other == digit).count();
            let ends = !layout.get(1 + digits).is_some_and(u8::is_ascii_digit);
            let piece = Piece::Fraction {
                digits,
                separator,
                trims: digit == b'9',
            };
            ends.then_some((piece, digits + 1))
        }
        _ => None,
    }
}

/// Text before the next piece, the piece with its own text, and what follows.
#[expect(clippy::type_complexity, reason = "four parts of one text")]
pub(super) fn next_piece(layout: &[u8]) -> (&[u8], Option<(Piece, &[u8])>, &[u8]) {
    for at in 0..layout.len() {
        if let Some((piece, length)) = piece_at(&layout[at..]) {
            let own = &layout[at..at + length];
            return (&layout[..at], Some((piece, own)), &layout[at + length..]);
        }
    }
    (layout, None, b"")
}

/// Go's `Time.Format`.
pub(super) fn format(time: &Time, layout: &[u8]) -> Vec<u8> {
    let parts = time.parts();
    let mut out = Vec::new();
    let mut rest = layout;
    loop {
        let (before, piece, after) = next_piece(rest);
        out.extend_from_slice(before);
        let Some((piece, _)) = piece else {
            return out;
        };
        rest = after;
        let number = |value: i64, width: usize| {
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{:0width$}", value.unsigned_abs())
        };
        let hour12 = if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 };
        let month = usize::try_from(parts.month - 1)
            .ok()
            .and_then(|index| MONTHS.get(index));
        let month = month.copied().unwrap_or_default();
        let weekday = WEEKDAYS[usize::try_from(parts.weekday).unwrap_or(0) % 7];
        let text = match piece {
            Piece::LongMonth => month.to_owned(),
            Piece::Month => month[..3].to_owned(),
            Piece::NumMonth => number(parts.month, 0),
            Piece::ZeroMonth => number(parts.month, 2),
            Piece::LongWeekday => weekday.to_owned(),
            Piece::Weekday => weekday[..3].to_owned(),
            Piece::Day => number(parts.day, 0),
            Piece::UnderDay => format!("{:>2}", parts.day),
            Piece::ZeroDay => number(parts.day, 2),
            Piece::UnderYearDay => format!("{:>3}", parts.year_day),
            Piece::ZeroYearDay => number(parts.year_day, 3),
            Piece::Hour => number(parts.hour, 2),
            Piece::Hour12 => number(hour12, 0),
            Piece::ZeroHour12 => number(hour12, 2),
            Piece::Minute => number(parts.minute, 0),
            Piece::ZeroMinute => number(parts.minute, 2),
            Piece::Second => number(parts.second, 0),
            Piece::ZeroSecond => number(parts.second, 2),
            Piece::LongYear => number(parts.year, 4),
            Piece::Year => number(parts.year.abs() % 100, 2),
            Piece::UpperHalf => if parts.hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Piece::LowerHalf => if parts.hour >= 12 { "pm" } else { "am" }.to_owned(),
            Piece::ZoneName if !parts.zone.is_empty() => parts.zone.clone(),
            Piece::ZoneName => print_offset(parts.offset, NUMERIC),
            Piece::Offset(offset) => print_offset(parts.offset, offset),
            Piece::Fraction {
                digits,
                separator,
                trims,
            } => fraction(time.nanoseconds, digits, char::from(separator), trims),
        };
        out.extend(text.bytes());
    }
}

const NUMERIC: Offset = Offset {
    zulu: false,
    colons: false,
    minutes: true,
    seconds: false,
};

fn print_offset(seconds: i64, form: Offset) -> String {
    if form.zulu && seconds == 0 {
        return "Z".to_owned();
    }
    // Go divides first, so that less than a minute west has a plus.
    let sign = if seconds / 60 < 0 { '-' } else { '+' };
    let minutes = (seconds / 60).abs();
    let colon = if form.colons { ":" } else { "" };
    let mut text = format!("{sign}{:02}", minutes / 60);
    if form.minutes {
        text.push_str(&format!("{colon}{:02}", minutes % 60));
    }
    if form.seconds {
        text.push_str(&format!("{colon}{:02}", seconds.abs() % 60));
    }
    text
}

fn fraction(nanoseconds: u32, digits: usize, separator: char, trims: bool) -> String {
    if trims && nanoseconds == 0 {
        return String::new();
    }
    let all = format!("{nanoseconds:09}");
    let shown = if digits < 9 { &all[..digits] } else { &all };
    if !trims {
        return format!("{separator}{shown}");
    }
    match shown.trim_end_matches('0') {
        "" => String::new(),
        shown => format!("{separator}{shown}"),
    }
}

/// Package time's own quoting.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if c < ' ' || !c.is_ascii() {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("\\x{byte:02x}"));
            }
        } else {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out.push('"');
    out
}
