//! Shell patterns for one path component, with the meaning of Go's `filepath.Match`.

/// The pattern is malformed: a class that is not closed or empty, a range without end, a lone backslash at
/// the end. Go finds this only where the pattern is read that far, and so do we.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadPattern;

/// Tells whether `pattern` matches all of `name`. `*` and `?` do not match a slash; a class is negated by
/// `^` only; a backslash takes the next character as it is.
///
/// Go compares literal characters bytewise and classes by character; so does this.
pub(crate) fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let mut pattern = pattern;
    let mut name = name.as_bytes();
    while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains(&b'/'));
        }
        if let Some(left) = match_chunk(chunk.as_bytes(), name)?
            && (left == 0 || !pattern.is_empty())
        {
            name = &name[name.len() - left..];
            continue;
        }
        let found = if star {
            find_after_star(chunk, name, pattern.is_empty())?
        } else {
            None
        };
        match found {
            Some(left) => name = &name[name.len() - left..],
            None => return Ok(false),
        }
    }
    Ok(name.is_empty())
}

/// Looks for `chunk` behind one or more bytes that a star takes. Gives how many bytes are left.
fn find_after_star(chunk: &str, name: &[u8], last: bool) -> Result<Option<usize>, BadPattern> {
    for (start, byte) in name.iter().enumerate() {
        if *byte == b'/' {
            break;
        }
        if let Some(left) = match_chunk(chunk.as_bytes(), &name[start + 1..])?
            && !(last && left > 0)
        {
            return Ok(Some(left));
        }
    }
    Ok(None)
}

/// Cuts off leading stars and what follows up to the next star outside a class.
fn next_chunk(pattern: &str) -> (bool, &str, &str) {
    let trimmed = pattern.trim_start_matches('*');
    let star = trimmed.len() != pattern.len();
    let bytes = trimmed.as_bytes();
    let mut in_class = false;
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'\\' if index + 1 < bytes.len() => index += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => return (star, &trimmed[..index], &trimmed[index..]),
            _ => {}
        }
        index += 1;
    }
    (star, trimmed, "")
}

/// Matches a chunk without stars at the start of `name`; gives how many bytes of `name` are left, or `None`
/// if it does not match. The whole chunk is read in either case, so that its syntax is checked.
fn match_chunk(chunk: &[u8], name: &[u8]) -> Result<Option<usize>, BadPattern> {
    let mut chunk = chunk;
    let mut name = name;
    let mut failed = false;
    while let Some(&first) = chunk.first() {
        failed = failed || name.is_empty();
        match first {
            b'[' => {
                let mut character = '\0';
                if !failed {
                    let (decoded, length) = decode(name);
                    character = decoded;
                    name = &name[length..];
                }
                let (matched, rest) = match_class(&chunk[1..], character)?;
                chunk = rest;
                failed = failed || !matched;
            }
            b'?' => {
                if !failed {
                    failed = name[0] == b'/';
                    name = &name[decode(name).1..];
                }
                chunk = &chunk[1..];
            }
            _ => {
                if first == b'\\' {
                    chunk = &chunk[1..];
                }
                let expected = *chunk.first().ok_or(BadPattern)?;
                if !failed {
                    failed = expected != name[0];
                    name = &name[1..];
                }
                chunk = &chunk[1..];
            }
        }
    }
    Ok((!failed).then_some(name.len()))
}

/// Reads a class behind its opening bracket; gives whether `character` is in it and what follows.
fn match_class(class: &[u8], character: char) -> Result<(bool, &[u8]), BadPattern> {
    let (negated, mut class) = match class.strip_prefix(b"^") {
        Some(rest) => (true, rest),
        None => (false, class),
    };
    let mut matched = false;
    let mut ranges = 0;
    loop {
        if ranges > 0
            && let Some(rest) = class.strip_prefix(b"]")
        {
            return Ok((matched != negated, rest));
        }
        let (low, rest) = class_character(class)?;
        class = rest;
        let mut high = low;
        if let Some(rest) = class.strip_prefix(b"-") {
            (high, class) = class_character(rest)?;
        }
        matched = matched || (low <= character && character <= high);
        ranges += 1;
    }
}

/// One possibly escaped character of a class; something must follow it, if only the closing bracket.
fn class_character(class: &[u8]) -> Result<(char, &[u8]), BadPattern> {
    let class = match class {
        [] | [b'-' | b']', ..] | [b'\\'] => return Err(BadPattern),
        [b'\\', rest @ ..] => rest,
        _ => class,
    };
    let (character, length) = decode(class);
    let rest = &class[length..];
    let invalid = character == char::REPLACEMENT_CHARACTER && length == 1;
    if invalid || rest.is_empty() {
        Err(BadPattern)
    } else {
        Ok((character, rest))
    }
}

/// The first character and its length in bytes; an invalid byte counts as one replacement character.
fn decode(bytes: &[u8]) -> (char, usize) {
    let window = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(window) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&window[..error.valid_up_to()]).unwrap_or(""),
    };
    valid
        .chars()
        .next()
        .map_or((char::REPLACEMENT_CHARACTER, 1), |character| {
            (character, character.len_utf8())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            ("abc", "abc", Ok(true)),
            ("*", "abc", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*", "ab/c", Ok(false)),
            ("a*b*c*d*e*", "axbxcxdxe", Ok(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Ok(true)),
            ("ab[c]", "abc", Ok(true)),
            ("ab[^c]", "abc", Ok(false)),
            ("ab[!c]", "abd", Ok(false)),
            ("ab[^b-d]", "abe", Ok(true)),
            ("a\\*b", "a*b", Ok(true)),
            ("a?b", "aüb", Ok(true)),
            ("a[^a]b", "aüb", Ok(true)),
            ("[a-ζ]*", "α", Ok(true)),
            ("*[a-ζ]", "A", Ok(false)),
            ("[]a]", "]", Err(BadPattern)),
            ("[-]", "-", Err(BadPattern)),
            ("[x-]", "x", Err(BadPattern)),
            ("[\\]a]", "]", Ok(true)),
            ("[\\-x]", "-", Ok(true)),
            ("a[", "a", Err(BadPattern)),
            ("a[", "ab", Err(BadPattern)),
            ("a[", "x", Err(BadPattern)),
            ("\\", "a", Err(BadPattern)),
            ("*x", "xxx", Ok(true)),
            ("", "", Ok(true)),
            ("", "a", Ok(false)),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }
}
