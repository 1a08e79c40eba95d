//! The formats of texts, with the words of Helm's library for what is wrong.

use core::net::Ipv6Addr;

use sluice_gotemplate::parse;

type Check = Result<(), String>;

/// Checks a text. Formats that the library does not know fit everything.
pub(super) fn check(format: &str, text: &str) -> Check {
    match format {
        "json-pointer" => json_pointer(text),
        "relative-json-pointer" => relative_json_pointer(text),
        "uuid" => uuid(text),
        "duration" => duration(text),
        "period" => period(text),
        "ipv4" => ipv4(text),
        "ipv6" => ipv6(text),
        "hostname" => hostname(text),
        "email" => email(text),
        "date" => parse::date(b"2006-01-02", text.as_bytes()),
        "time" => time(text),
        "date-time" => date_time(text),
        "uri" | "iri" => uri(text),
        "uri-reference" | "iri-reference" => uri_reference(text),
        "uri-template" => uri_template(text),
        "semver" => semver(text),
        "regex" => regex::Regex::new(text)
            .map(|_| ())
            .map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

fn refuse(condition: bool, words: &str) -> Check {
    if condition { Err(words.to_owned()) } else { Ok(()) }
}

/// Go's `%q` of a character.
fn quoted(character: char) -> String {
    parse::quoted_character(character)
}

fn invalid(character: char) -> String {
    format!("invalid character {}", quoted(character))
}

fn json_pointer(text: &str) -> Check {
    let Some(tokens) = text.strip_prefix('/') else {
        return refuse(!text.is_empty(), "not starting with /");
    };
    for token in tokens.split('/') {
        let mut characters = token.chars();
        while let Some(character) = characters.next() {
            if character == '~' && !matches!(characters.next(), Some('0' | '1')) {
                return Err("~ must be followed by 0 or 1".to_owned());
            }
        }
    }
    Ok(())
}

/// How many digits a text begins with.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn relative_json_pointer(text: &str) -> Check {
    let count = digits(text);
    refuse(count == 0, "must start with non-negative integer")?;
    refuse(count > 1 && text.starts_with('0'), "starts with zero")?;
    match &text[count..] {
        "#" => Ok(()),
        pointer => json_pointer(pointer),
    }
}

fn uuid(text: &str) -> Check {
    const LENGTHS: [usize; 5] = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    refuse(groups.len() != LENGTHS.len(), "must have 5 elements")?;
    for (index, (group, length)) in groups.iter().zip(LENGTHS).enumerate() {
        if group.len() != length {
            return Err(format!("element {} must be {length} characters long", index + 1));
        }
        if let Some(other) = group.chars().find(|character| !character.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {}", quoted(other)));
        }
    }
    Ok(())
}

fn duration(text: &str) -> Check {
    let rest = text.strip_prefix('P').ok_or("must start with P")?;
    refuse(rest.is_empty(), "nothing after P")?;
    if let Some(weeks) = rest.strip_suffix('W') {
        refuse(weeks.is_empty(), "no number in week")?;
        return refuse(digits(weeks) != weeks.len(), "invalid week");
    }
    const UNITS: [&str; 2] = ["YMD", "HMS"];
    for (index, part) in rest.split('T').enumerate() {
        refuse(index != 0 && part.is_empty(), "no time elements")?;
        let all = UNITS.get(index).ok_or("more than one T")?;
        let (mut units, mut part) = (*all, part);
        while !part.is_empty() {
            let count = digits(part);
            refuse(count == 0, "missing number")?;
            let unit = part[count..].chars().next().ok_or("missing unit")?;
            let Some((_, after)) = units.split_once(unit) else {
                let shown = quoted(unit);
                return Err(if all.contains(unit) {
                    format!("unit {shown} out of order")
                } else {
                    format!("invalid unit {shown}")
                });
            };
            units = after;
            part = &part[count + unit.len_utf8()..];
        }
    }
    Ok(())
}

/// A number as Go's `strconv.Atoi` reads it.
fn number(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!(
            "strconv.Atoi: parsing {}: invalid syntax",
            crate::text::quoted(text)
        ));
    }
    text.parse().map_err(|_| {
        let text = crate::text::quoted(text);
        format!("strconv.Atoi: parsing {text}: value out of range")
    })
}

fn ipv4(text: &str) -> Check {
    let groups: Vec<&str> = text.split('.').collect();
    refuse(groups.len() != 4, "expected four decimals")?;
    for group in groups {
        refuse(group.len() > 1 && group.starts_with('0'), "leading zeros")?;
        refuse(
            !(0..=255).contains(&number(group)?),
            "decimal must be between 0 and 255",
        )?;
    }
    Ok(())
}

fn ipv6(text: &str) -> Check {
    refuse(!text.contains(':'), "missing colon")?;
    let (address, zone) = match text.split_once('%') {
        Some((address, zone)) => (address, Some(zone)),
        None => (text, None),
    };
    if address.parse::<Ipv6Addr>().is_err() || zone == Some("") {
        return Err(format!(
            "ParseAddr({}): unable to parse IP",
            crate::text::quoted(text)
        ));
    }
    refuse(zone.is_some(), "zone id is not a part of ipv6 address")
}

fn hostname(text: &str) -> Check {
    let text = text.strip_suffix('.').unwrap_or(text);
    refuse(text.len() > 253, "more than 253 characters long")?;
    for label in text.split('.') {
        refuse(
            !(1..=63).contains(&label.len()),
            "label must be 1 to 63 characters long",
        )?;
        refuse(label.starts_with('-'), "label starts with hyphen")?;
        refuse(label.ends_with('-'), "label ends with hyphen")?;
        let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
        if let Some(other) = label.chars().find(|character| !is_plain(character)) {
            return Err(invalid(other));
        }
    }
    Ok(())
}

fn email(text: &str) -> Check {
    refuse(text.len() > 254, "more than 255 characters long")?;
    let (local, domain) = text.rsplit_once('@').ok_or("missing @")?;
    refuse(local.len() > 64, "local part more than 64 characters long")?;
    if local.len() > 1 && local.starts_with('"') {
        let inner = &local[1..local.len() - local.chars().next_back().map_or(0, char::len_utf8)];
        refuse(
            inner.contains(['\\', '"']),
            "backslash and quote are not allowed within quoted local part",
        )?;
    } else {
        refuse(local.starts_with('.'), "starts with dot")?;
        refuse(local.ends_with('.'), "ends with dot")?;
        refuse(local.contains(".."), "consecutive dots")?;
        let is_plain = |character: &char| {
            character.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(*character)
        };
        if let Some(other) = local.chars().find(|character| !is_plain(character)) {
            return Err(invalid(other));
        }
    }
    match domain
        .strip_prefix('[')
        .and_then(|domain| domain.strip_suffix(']'))
    {
        Some(address) => match address.strip_prefix("IPv6:") {
            Some(address) => ipv6(address).map_err(|error| format!("invalid ipv6 address: {error}")),
            None => ipv4(address).map_err(|error| format!("invalid ipv4 address: {error}")),
        },
        None => hostname(domain).map_err(|error| format!("invalid domain: {error}")),
    }
}

fn time(text: &str) -> Check {
    refuse(text.len() < 9, "less than 9 characters long")?;
    let bytes = text.as_bytes();
    refuse(
        bytes[2] != b':' || bytes[5] != b':',
        "missing colon in correct place",
    )?;
    let part = |range: std::ops::Range<usize>| text.get(range).ok_or("invalid hour/min/sec");
    let value = |range| number(part(range)?).map_err(|_| "invalid hour/min/sec".to_owned());
    let (hour, minute, second) = (value(0..2)?, value(3..5)?, value(6..8)?);
    refuse(hour < 0 || minute < 0 || second < 0, "non-positive hour/min/sec")?;
    refuse(
        hour > 23 || minute > 59 || second > 60,
        "hour/min/sec out of range",
    )?;
    let mut rest = &text[8..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        refuse(count == 0, "no digits in second fraction")?;
        rest = &fraction[count..];
    }
    let (mut hour, mut minute) = (hour, minute);
    if !matches!(rest, "z" | "Z") {
        let offset = offset(rest)?;
        let minutes = hour * 60 + minute - offset;
        let minutes = if minutes < 0 { minutes + 24 * 60 } else { minutes };
        (hour, minute) = (minutes / 60, minutes % 60);
    }
    refuse(second >= 60 && (hour, minute) != (23, 59), "invalid leap second")
}

/// An offset from universal time, in minutes.
fn offset(text: &str) -> Result<i64, String> {
    refuse(text.len() != 6, "offset must be 6 characters long")?;
    let sign = match text.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return Err("offset must begin with plus/minus".to_owned()),
    };
    refuse(
        text.as_bytes()[3] != b':',
        "missing colon in offset in correct place",
    )?;
    let value = |range: std::ops::Range<usize>| {
        let text = text.get(range).unwrap_or_default();
        number(text).map_err(|_| "invalid hour/min in offset".to_owned())
    };
    let (hour, minute) = (value(1..3)?, value(4..6)?);
    refuse(hour < 0 || minute < 0, "non-positive hour/min in offset")?;
    refuse(hour > 23 || minute > 59, "hour/min in offset out of range")?;
    Ok(sign * (hour * 60 + minute))
}

fn date_time(text: &str) -> Check {
    refuse(text.len() < 20, "less than 20 characters long")?;
    let (date, rest) = text.as_bytes().split_at(10);
    refuse(!matches!(rest[0], b't' | b'T'), "11th character must be t or T")?;
    parse::date(b"2006-01-02", date).map_err(|error| format!("invalid date element: {error}"))?;
    time(&text[11..]).map_err(|error| format!("invalid time element: {error}"))
}

fn period(text: &str) -> Check {
    let (start, end) = text.split_once('/').ok_or("missing slash")?;
    let end_time = || date_time(end).map_err(|error| format!("invalid end date-time: {error}"));
    if start.starts_with('P') {
        duration(start).map_err(|error| format!("invalid start duration: {error}"))?;
        return end_time();
    }
    date_time(start).map_err(|error| format!("invalid start date-time: {error}"))?;
    if end.starts_with('P') {
        return duration(end).map_err(|error| format!("invalid end duration: {error}"));
    }
    end_time()
}

/// An address as Go reads it.
fn address(text: &str) -> Result<parse::Url, String> {
    let url = parse::url(text.as_bytes())?;
    if url.host_name.contains(':') {
        refuse(
            !(url.host.contains('[') && url.host.contains(']')),
            "ipv6 address not enclosed in brackets",
        )?;
        ipv6(&url.host_name).map_err(|error| format!("invalid ipv6 address: {error}"))?;
    }
    Ok(url)
}

fn uri(text: &str) -> Check {
    refuse(address(text)?.scheme.is_empty(), "relative url")
}

fn uri_reference(text: &str) -> Check {
    refuse(text.contains('\\'), "contains \\")?;
    address(text).map(|_| ())
}

fn uri_template(text: &str) -> Check {
    address(text)?;
    let path = text.split(['?', '#']).next().unwrap_or_default();
    for part in path.split('/') {
        let mut is_open = false;
        for brace in part.chars().filter(|character| matches!(character, '{' | '}')) {
            refuse((brace == '{') == is_open, "nested curly braces")?;
            is_open = !is_open;
        }
        refuse(is_open, "no matching closing brace")?;
    }
    Ok(())
}

fn semver(text: &str) -> Check {
    let is_plain = |character: &char| character.is_ascii_alphanumeric() || *character == '-';
    let mut core = text;
    if let Some((before, build)) = core.split_once('+') {
        refuse(build.is_empty(), "build is empty")?;
        for part in build.split('.') {
            refuse(part.is_empty(), "build identifier is empty")?;
            if let Some(other) = part.chars().find(|character| !is_plain(character)) {
                return Err(format!("{} in build identifier", invalid(other)));
            }
        }
        core = before;
    }
    if let Some((before, release)) = core.split_once('-') {
        for part in release.split('.') {
            refuse(part.is_empty(), "pre-release identifier is empty")?;
            if let Some(other) = part.chars().find(|character| !is_plain(character)) {
                return Err(format!("{} in pre-release identifier", invalid(other)));
            }
            refuse(
                digits(part) == part.len() && part.len() > 1 && part.starts_with('0'),
                "pre-release numeric identifier starts with zero",
            )?;
        }
        core = before;
    }
    let numbers: Vec<&str> = core.split('.').collect();
    refuse(
        numbers.len() != 3,
        "versionCore must have 3 numbers separated by dot",
    )?;
    for (name, number) in ["major", "minor", "patch"].iter().zip(numbers) {
        refuse(number.is_empty(), &format!("{name} is empty"))?;
        refuse(
            number.len() > 1 && number.starts_with('0'),
            &format!("{name} starts with zero"),
        )?;
        refuse(
            digits(number) != number.len(),
            &format!("{name} contains non-digit"),
        )?;
    }
    Ok(())
}
