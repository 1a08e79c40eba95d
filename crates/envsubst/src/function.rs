use crate::case::{to_lower, to_upper};
use crate::parse::Expression;
use crate::pattern::{TooComplex, remove_prefix, remove_suffix};
use crate::{Error, Limits};

/// Applies an expression's operator to the variable's value.
pub(crate) fn apply(
    expression: &Expression,
    value: &str,
    operands: &[Vec<u8>],
    limits: &Limits,
    steps: &mut u64,
) -> Result<Vec<u8>, Error> {
    let bytes = value.as_bytes();
    let first = operands.first().map(Vec::as_slice);
    let result = match (expression.operator.as_str(), first) {
        (",", _) => return Ok(map_first(value, to_lower)),
        (",,", _) => return Ok(value.chars().map(to_lower).collect::<String>().into_bytes()),
        ("^", _) => return Ok(map_first(value, to_upper)),
        ("^^", _) => return Ok(value.chars().map(to_upper).collect::<String>().into_bytes()),
        ("#", None) => return Ok(value.len().to_string().into_bytes()),
        ("#", Some(pattern)) => remove_prefix(value, pattern, false, steps).map(<[u8]>::to_vec),
        ("##", Some(pattern)) => remove_prefix(value, pattern, true, steps).map(<[u8]>::to_vec),
        ("%", Some(pattern)) => remove_suffix(value, pattern, false, steps),
        ("%%", Some(pattern)) => remove_suffix(value, pattern, true, steps),
        (":", _) => return substring(expression, bytes, operands),
        ("/", Some(old)) => return replace(bytes, old, operands.get(1), 1, limits),
        ("//", Some(old)) => return replace(bytes, old, operands.get(1), usize::MAX, limits),
        ("/#", Some(old)) => match operands.get(1) {
            Some(new) if bytes.starts_with(old) => return replace(bytes, old, Some(new), 1, limits),
            _ => return Ok(bytes.to_vec()),
        },
        ("/%", Some(old)) => match (operands.get(1), bytes.strip_suffix(old)) {
            (Some(new), Some(rest)) => return Ok([rest, new].concat()),
            _ => return Ok(bytes.to_vec()),
        },
        // Every form of default acts alike, also `:?` and `:+`.
        _ if value.is_empty() => return Ok(operands.concat()),
        _ => return Ok(bytes.to_vec()),
    };
    result.map_err(|TooComplex| Error::TooComplex {
        name: expression.name.clone(),
        limit: limits.steps,
        line: expression.line,
    })
}

fn map_first(value: &str, map: fn(char) -> char) -> Vec<u8> {
    let mut characters = value.chars();
    match characters.next() {
        Some(first) => {
            let mut out = String::with_capacity(value.len());
            out.push(map(first));
            out.push_str(characters.as_str());
            out.into_bytes()
        }
        None => Vec::new(),
    }
}

/// Go's `strconv.Atoi`.
fn number(operand: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(operand).ok()?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

fn substring(expression: &Expression, value: &[u8], operands: &[Vec<u8>]) -> Result<Vec<u8>, Error> {
    let Some(start) = operands.first().and_then(|operand| number(operand)) else {
        return Ok(value.to_vec());
    };
    let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
    let start = if start < 0 { (start + size).max(0) } else { start };
    let rest = usize::try_from(start)
        .ok()
        .and_then(|start| value.get(start..))
        .unwrap_or_default();
    let Some(written) = operands.get(1) else {
        return Ok(rest.to_vec());
    };
    let Some(length) = number(written) else {
        return Ok(value.to_vec());
    };
    let wrong = || Error::SubstringLength {
        name: expression.name.clone(),
        length: String::from_utf8_lossy(written).into_owned(),
        line: expression.line,
    };
    let end = start.checked_add(length).ok_or_else(wrong)?;
    if end >= size {
        return Ok(rest.to_vec());
    }
    let length = usize::try_from(length).map_err(|_| wrong())?;
    Ok(rest[..length.min(rest.len())].to_vec())
}

/// Replaces up to `times` occurrences. An empty text occurs before every character and at the end.
fn replace(
    value: &[u8],
    old: &[u8],
    new: Option<&Vec<u8>>,
    times: usize,
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    let new = new.map(Vec::as_slice).unwrap_or_default();
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    let mut done = 0;
    while done < times {
        let at = if old.is_empty() {
            match done {
                0 => Some(0),
                _ => (!rest.is_empty()).then(|| character_width(rest)),
            }
        } else {
            find(rest, old)
        };
        let Some(at) = at else { break };
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
        done += 1;
        if out.len() > limits.output {
            return Err(Error::TooLarge { limit: limits.output });
        }
    }
    out.extend_from_slice(rest);
    Ok(out)
}

fn character_width(bytes: &[u8]) -> usize {
    1 + bytes[1..].iter().take_while(|&&byte| byte & 0xC0 == 0x80).count()
}

/// The first place of a text in another, in linear time (Knuth, Morris, Pratt).
fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.len() > haystack.len() {
        return None;
    }
    let mut borders = vec![0usize; needle.len()];
    let mut matched = 0;
    for at in 1..needle.len() {
        while matched > 0 && needle[at] != needle[matched] {
            matched = borders[matched - 1];
        }
        if needle[at] == needle[matched] {
            matched += 1;
        }
        borders[at] = matched;
    }
    matched = 0;
    for (at, byte) in haystack.iter().enumerate() {
        while matched > 0 && *byte != needle[matched] {
            matched = borders[matched - 1];
        }
        if *byte == needle[matched] {
            matched += 1;
        }
        if matched == needle.len() {
            return Some(at + 1 - needle.len());
        }
    }
    None
}
