//! The value of a string or bytes literal.

/// Reads the literal of a string: quotes and escapes are gone, line ends are `\n`.
///
/// # Errors
/// What is wrong with an escape.
pub(crate) fn string(literal: &str) -> Result<String, &'static str> {
    let (text, raw) = open(literal);
    let mut value = String::with_capacity(text.len());
    read(&text, raw, false, &mut |part| match part {
        Part::Character(character) => value.push(character),
        Part::Byte(byte) => value.push(char::from(byte)),
    })?;
    Ok(value)
}

/// Reads the literal of bytes, its `b` included: octal and hexadecimal escapes are bytes.
///
/// # Errors
/// What is wrong with an escape.
pub(crate) fn bytes(literal: &str) -> Result<Vec<u8>, &'static str> {
    let (text, raw) = open(&literal[1..]);
    let mut value = Vec::with_capacity(text.len());
    read(&text, raw, true, &mut |part| match part {
        Part::Character(character) => {
            value.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Part::Byte(byte) => value.push(byte),
    })?;
    Ok(value)
}

enum Part {
    Character(char),
    Byte(u8),
}

/// What stands between the quotes, and whether it is raw.
fn open(literal: &str) -> (String, bool) {
    let literal = literal.replace("\r\n", "\n").replace('\r', "\n");
    let (literal, raw) = match literal.strip_prefix(['r', 'R']) {
        Some(rest) => (rest, true),
        None => (literal.as_str(), false),
    };
    let triple = literal.len() >= 6 && (literal.starts_with("'''") || literal.starts_with("\"\"\""));
    let width = if triple { 3 } else { 1 };
    (literal[width..literal.len() - width].to_owned(), raw)
}

fn read(text: &str, raw: bool, bytes: bool, take: &mut dyn FnMut(Part)) -> Result<(), &'static str> {
    const BROKEN: &str = "unable to unescape string";
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' || raw {
            take(Part::Character(character));
            continue;
        }
        let escape = rest.next().ok_or(BROKEN)?;
        let simple = match escape {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '`' | '?' => escape,
            'x' | 'X' | 'u' | 'U' | '0'..='3' => {
                let (count, radix, first) = match escape {
                    'x' | 'X' => (2, 16, 0),
                    'u' => (4, 16, 0),
                    'U' => (8, 16, 0),
                    digit => (2, 8, digit.to_digit(8).ok_or(BROKEN)?),
                };
                if bytes && count > 2 {
                    return Err(BROKEN);
                }
                let mut code = first;
                for _ in 0..count {
                    let digit = rest
                        .next()
                        .and_then(|digit| digit.to_digit(radix))
                        .ok_or(BROKEN)?;
                    code = code.wrapping_mul(radix) | digit;
                }
                if bytes {
                    take(Part::Byte(u8::try_from(code).map_err(|_| BROKEN)?));
                    continue;
                }
                char::from_u32(code).ok_or("invalid unicode code point")?
            }
            _ => return Err(BROKEN),
        };
        take(Part::Character(simple));
    }
    Ok(())
}
