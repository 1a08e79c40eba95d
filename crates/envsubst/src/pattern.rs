/// Matching took more steps than allowed.
#[derive(Debug)]
pub(crate) struct TooComplex;

/// A pattern that cannot be read: an open class, a trailing backslash.
struct Malformed;

/// One element of a pattern.
#[derive(Debug, PartialEq)]
enum Element {
    /// Any run of bytes.
    Star,
    /// Any character.
    One,
    Byte(u8),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// The value without the shortest or longest start that is not empty and matches the pattern.
pub(crate) fn remove_prefix<'a>(
    value: &'a str,
    pattern: &[u8],
    longest: bool,
    steps: &mut u64,
) -> Result<&'a [u8], TooComplex> {
    let bytes = value.as_bytes();
    Ok(&bytes[matched_prefix(bytes, pattern, longest, steps)?..])
}

/// The value without the shortest or longest end that is not empty and matches. Works on the reversed
/// value with the reversed pattern, so classes and escapes in it are reversed, too.
pub(crate) fn remove_suffix(
    value: &str,
    pattern: &[u8],
    longest: bool,
    steps: &mut u64,
) -> Result<Vec<u8>, TooComplex> {
    let reversed: String = value.chars().rev().collect();
    let pattern: String = String::from_utf8_lossy(pattern).chars().rev().collect();
    let bytes = reversed.as_bytes();
    let rest = &bytes[matched_prefix(bytes, pattern.as_bytes(), longest, steps)?..];
    let rest: String = String::from_utf8_lossy(rest).chars().rev().collect();
    Ok(rest.into_bytes())
}

/// The length of the wished match; 0 if there is none or the pattern is malformed.
fn matched_prefix(value: &[u8], pattern: &[u8], longest: bool, steps: &mut u64) -> Result<usize, TooComplex> {
    match read(pattern) {
        Ok(elements) if value.is_ascii() || elements.iter().all(is_byte_wise) => {
            simulate(value, &elements, longest, steps)
        }
        _ => try_all(value, pattern, longest, steps),
    }
}

fn is_byte_wise(element: &Element) -> bool {
    matches!(element, Element::Star | Element::Byte(_))
}

fn spend(steps: &mut u64, count: usize) -> Result<(), TooComplex> {
    *steps = steps.checked_sub(count as u64).ok_or(TooComplex)?;
    Ok(())
}

/// Follows all ways through the pattern at once, byte by byte; bytes are characters here.
fn simulate(value: &[u8], elements: &[Element], longest: bool, steps: &mut u64) -> Result<usize, TooComplex> {
    let mut current = vec![false; elements.len() + 1];
    current[0] = true;
    skip_stars(&mut current, elements);
    let mut found = 0;
    for (at, &byte) in value.iter().enumerate() {
        spend(steps, elements.len() + 1)?;
        let mut next = vec![false; elements.len() + 1];
        for (place, element) in elements.iter().enumerate() {
            if !current[place] {
                continue;
            }
            match element {
                Element::Star => next[place] = true,
                element if accepts(element, byte) => next[place + 1] = true,
                _ => {}
            }
        }
        skip_stars(&mut next, elements);
        if next[elements.len()] {
            found = at + 1;
            if !longest {
                break;
            }
        }
        if !next.contains(&true) {
            break;
        }
        current = next;
    }
    Ok(found)
}

fn skip_stars(places: &mut [bool], elements: &[Element]) {
    for (place, element) in elements.iter().enumerate() {
        if places[place] && *element == Element::Star {
            places[place + 1] = true;
        }
    }
}

fn accepts(element: &Element, byte: u8) -> bool {
    match element {
        Element::Star | Element::One => true,
        Element::Byte(wanted) => *wanted == byte,
        Element::Class { negated, ranges } => in_ranges(char::from(byte), ranges) != *negated,
    }
}

fn in_ranges(character: char, ranges: &[(char, char)]) -> bool {
    ranges
        .iter()
        .any(|&(low, high)| low <= character && character <= high)
}

fn read(mut pattern: &[u8]) -> Result<Vec<Element>, Malformed> {
    let mut elements = Vec::new();
    while let Some((&first, rest)) = pattern.split_first() {
        pattern = rest;
        elements.push(match first {
            b'*' => {
                if elements.last() == Some(&Element::Star) {
                    continue;
                }
                Element::Star
            }
            b'?' => Element::One,
            b'[' => {
                let (negated, ranges, rest) = read_class(pattern)?;
                pattern = rest;
                Element::Class { negated, ranges }
            }
            b'\\' => {
                let (&escaped, rest) = pattern.split_first().ok_or(Malformed)?;
                pattern = rest;
                Element::Byte(escaped)
            }
            byte => Element::Byte(byte),
        });
    }
    Ok(elements)
}

type Class<'a> = (bool, Vec<(char, char)>, &'a [u8]);

/// A class from behind its `[`, and what follows it.
fn read_class(pattern: &[u8]) -> Result<Class<'_>, Malformed> {
    let (negated, mut pattern) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, pattern),
    };
    let mut ranges = Vec::new();
    loop {
        if let [b']', rest @ ..] = pattern
            && !ranges.is_empty()
        {
            return Ok((negated, ranges, rest));
        }
        let (low, rest) = read_class_character(pattern)?;
        pattern = rest;
        let mut high = low;
        if let [b'-', rest @ ..] = pattern {
            (high, pattern) = read_class_character(rest)?;
        }
        ranges.push((low, high));
    }
}

fn read_class_character(pattern: &[u8]) -> Result<(char, &[u8]), Malformed> {
    let pattern = match pattern {
        [] | [b'-' | b']', ..] | [b'\\'] => return Err(Malformed),
        [b'\\', rest @ ..] => rest,
        _ => pattern,
    };
    match decode(pattern) {
        (Some(character), width) if pattern.len() > width => Ok((character, &pattern[width..])),
        _ => Err(Malformed),
    }
}

/// The first character and its width; None and 1 for bytes that are none.
fn decode(bytes: &[u8]) -> (Option<char>, usize) {
    let head = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(character) => (Some(character), character.len_utf8()),
        None => (None, 1),
    }
}

/// Tries every start from the longest on. For malformed patterns, whose fault counts only when matching
/// gets to it, and for characters of several bytes, which a start may cut.
fn try_all(value: &[u8], pattern: &[u8], longest: bool, steps: &mut u64) -> Result<usize, TooComplex> {
    let mut found = 0;
    for length in (1..=value.len()).rev() {
        match matches(pattern, &value[..length], steps)? {
            Err(Malformed) => return Ok(0),
            Ok(true) if longest => return Ok(length),
            Ok(true) => found = length,
            Ok(false) => {}
        }
    }
    Ok(found)
}

type Verdict = Result<Result<bool, Malformed>, TooComplex>;

fn matches(mut pattern: &[u8], mut name: &[u8], steps: &mut u64) -> Verdict {
    'chunks: while !pattern.is_empty() {
        let stars = pattern.iter().take_while(|&&byte| byte == b'*').count();
        let (chunk, rest) = pattern[stars..].split_at(chunk_length(&pattern[stars..]));
        pattern = rest;
        if stars > 0 && chunk.is_empty() {
            return Ok(Ok(true));
        }
        match match_chunk(chunk, name, steps)? {
            Err(malformed) => return Ok(Err(malformed)),
            Ok(Some(rest)) if rest.is_empty() || !pattern.is_empty() => {
                name = rest;
                continue;
            }
            Ok(_) => {}
        }
        if stars > 0 {
            for skipped in 1..=name.len() {
                match match_chunk(chunk, &name[skipped..], steps)? {
                    Err(malformed) => return Ok(Err(malformed)),
                    Ok(Some(rest)) if rest.is_empty() || !pattern.is_empty() => {
                        name = rest;
                        continue 'chunks;
                    }
                    Ok(_) => {}
                }
            }
        }
        return Ok(Ok(false));
    }
    Ok(Ok(name.is_empty()))
}

/// The bytes of a pattern up to its next star outside of a class.
fn chunk_length(pattern: &[u8]) -> usize {
    let mut in_class = false;
    let mut at = 0;
    while at < pattern.len() {
        match pattern[at] {
            b'\\' if at + 1 < pattern.len() => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    at
}

type Rest<'a> = Result<Result<Option<&'a [u8]>, Malformed>, TooComplex>;

/// What of the name is left when the chunk matches its start.
fn match_chunk<'a>(mut chunk: &[u8], mut name: &'a [u8], steps: &mut u64) -> Rest<'a> {
    while let Some((&first, rest)) = chunk.split_first() {
        spend(steps, 1)?;
        if name.is_empty() {
            return Ok(Ok(None));
        }
        chunk = rest;
        match first {
            b'[' => {
                let (character, width) = decode(name);
                let (negated, ranges, rest) = match read_class(chunk) {
                    Ok(class) => class,
                    Err(malformed) => return Ok(Err(malformed)),
                };
                if in_ranges(character.unwrap_or('\u{fffd}'), &ranges) == negated {
                    return Ok(Ok(None));
                }
                spend(steps, chunk.len() - rest.len())?;
                name = &name[width..];
                chunk = rest;
            }
            b'?' => name = &name[decode(name).1..],
            first => {
                let mut wanted = first;
                if first == b'\\' {
                    let Some((&escaped, rest)) = chunk.split_first() else {
                        return Ok(Err(Malformed));
                    };
                    wanted = escaped;
                    chunk = rest;
                }
                if wanted != name[0] {
                    return Ok(Ok(None));
                }
                name = &name[1..];
            }
        }
    }
    Ok(Ok(Some(name)))
}
