use std::fmt::Write as _;

/// A date and time as yaml reads it from a plain scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    /// Minutes east of UTC.
    offset: i32,
}

impl Timestamp {
    /// RFC 3339 with as many digits of the second's fraction as are not zero, as Go's JSON shows a time.
    /// None if the offset is a whole day, which Go refuses.
    #[must_use]
    pub fn to_rfc3339(self) -> Option<String> {
        if self.offset.unsigned_abs() >= 24 * 60 {
            return None;
        }
        let mut out = String::with_capacity(35);
        let _ = write!(
            out,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        );
        if self.nanosecond != 0 {
            let fraction = format!("{:09}", self.nanosecond);
            let _ = write!(out, ".{}", fraction.trim_end_matches('0'));
        }
        if self.offset == 0 {
            out.push('Z');
        } else {
            let sign = if self.offset < 0 { '-' } else { '+' };
            let minutes = self.offset.unsigned_abs();
            let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
        Some(out)
    }
}

/// Reads the forms that yaml.v2 and yaml.v3 accept: `2006-1-2`, `2006-1-2 15:4:5.999`, and with `T` or `t`
/// and a zone `2006-1-2T15:4:5.999Z`.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || !bytes[..4].iter().all(u8::is_ascii_digit) || bytes[4] != b'-' {
        return None;
    }
    let mut cursor = Cursor { rest: bytes };
    let mut timestamp = Timestamp {
        year: cursor.exact(4)?,
        month: cursor.after(b'-')?,
        day: cursor.after(b'-')?,
        hour: 0,
        minute: 0,
        second: 0,
        nanosecond: 0,
        offset: 0,
    };
    if let Some((&separator, rest)) = cursor.rest.split_first() {
        cursor.rest = rest;
        match separator {
            b'T' | b't' => {
                cursor.time(&mut timestamp)?;
                timestamp.offset = cursor.zone()?;
            }
            b' ' => {
                // Go's layout skips further spaces where it has one.
                while let [b' ', rest @ ..] = cursor.rest {
                    cursor.rest = rest;
                }
                cursor.time(&mut timestamp)?;
            }
            _ => return None,
        }
    }
    (cursor.rest.is_empty() && is_valid(&timestamp)).then_some(timestamp)
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl Cursor<'_> {
    fn exact(&mut self, count: usize) -> Option<u32> {
        let digits = self.rest.get(..count)?;
        let value = digits.iter().try_fold(0u32, |value, digit| {
            digit
                .is_ascii_digit()
                .then(|| value * 10 + u32::from(digit - b'0'))
        })?;
        self.rest = &self.rest[count..];
        Some(value)
    }

    fn one_or_two(&mut self) -> Option<u32> {
        let two = self.rest.get(1).is_some_and(u8::is_ascii_digit);
        self.exact(if two { 2 } else { 1 })
    }

    fn after(&mut self, separator: u8) -> Option<u32> {
        let (&found, rest) = self.rest.split_first()?;
        if found != separator {
            return None;
        }
        self.rest = rest;
        self.one_or_two()
    }

    fn time(&mut self, timestamp: &mut Timestamp) -> Option<()> {
        timestamp.hour = self.one_or_two()?;
        timestamp.minute = self.after(b':')?;
        timestamp.second = self.after(b':')?;
        if let [b'.' | b',', digit, ..] = self.rest
            && digit.is_ascii_digit()
        {
            let count = self.rest[1..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            let digits = &self.rest[1..1 + count];
            timestamp.nanosecond = (0..9).fold(0, |value, place| {
                value * 10 + digits.get(place).map_or(0, |digit| u32::from(digit - b'0'))
            });
            self.rest = &self.rest[1 + count..];
        }
        Some(())
    }

    fn zone(&mut self) -> Option<i32> {
        let (&sign, rest) = self.rest.split_first()?;
        self.rest = rest;
        let negative = match sign {
            b'Z' => return Some(0),
            b'+' => false,
            b'-' => true,
            _ => return None,
        };
        let hours = self.exact(2)?;
        let [b':', rest @ ..] = self.rest else {
            return None;
        };
        self.rest = rest;
        let minutes = self.exact(2)?;
        if hours > 24 || minutes > 60 {
            return None;
        }
        let offset = i32::try_from(hours * 60 + minutes).ok()?;
        Some(if negative { -offset } else { offset })
    }
}

fn is_valid(timestamp: &Timestamp) -> bool {
    let leap = timestamp.year.is_multiple_of(4)
        && (!timestamp.year.is_multiple_of(100) || timestamp.year.is_multiple_of(400));
    let days = match timestamp.month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&timestamp.day)
        && timestamp.hour < 24
        && timestamp.minute < 60
        && timestamp.second < 60
}
