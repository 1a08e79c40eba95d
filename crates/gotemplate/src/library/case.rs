//! Upper and lower case, and the case of names.

use std::sync::LazyLock;

use regex::Regex;

use super::Registry;
use super::strings::is_space;
use crate::text::{REPLACEMENT, first_rune, push_rune, runes};
use crate::unicode::{is_digit, is_letter};

pub(super) fn register(registry: &mut Registry) {
    registry.text("upper", |bytes| map(bytes, to_upper));
    registry.text("lower", |bytes| map(bytes, to_lower));
    registry.text("title", title);
    registry.text("untitle", untitle);
    registry.text("swapcase", swap_case);
    registry.text("initials", initials);
    registry.text("camelcase", pascal_case);
    registry.text("snakecase", |bytes| separate_words(bytes, '_'));
    registry.text("kebabcase", |bytes| separate_words(bytes, '-'));
}

fn map(bytes: &[u8], change: impl Fn(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for (_, rune) in runes(bytes) {
        push_rune(&mut out, change(rune));
    }
    out
}

/// A character where the mapping gives one; None where it gives several or none.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    let first = mapped.next()?;
    mapped.next().is_none().then_some(first)
}

/// Go's `unicode.ToUpper`: the simple mapping, character by character.
pub(super) fn to_upper(rune: char) -> char {
    if rune.is_ascii() {
        return rune.to_ascii_uppercase();
    }
    let code = u32::from(rune);
    match code {
        // Letters whose capitals are younger than Go's tables.
        0x19B | 0x264 => rune,
        // Greek letters with a subscript.
        0x1F80..=0x1FAF if code & 8 == 0 => char::from_u32(code | 8).unwrap_or(rune),
        0x1FB3 | 0x1FC3 | 0x1FF3 => char::from_u32(code + 9).unwrap_or(rune),
        _ => single(rune.to_uppercase()).unwrap_or(rune),
    }
}

/// Go's `unicode.ToLower`.
pub(super) fn to_lower(rune: char) -> char {
    match rune {
        'İ' => 'i',
        _ => single(rune.to_lowercase()).unwrap_or(rune),
    }
}

/// Go's `unicode.ToTitle`.
fn to_title(rune: char) -> char {
    match u32::from(rune) {
        0x1C4..=0x1C6 => '\u{1C5}',
        0x1C7..=0x1C9 => '\u{1C8}',
        0x1CA..=0x1CC => '\u{1CB}',
        0x1F1..=0x1F3 => '\u{1F2}',
        0x10D0..=0x10FA | 0x10FD..=0x10FF => rune,
        _ => to_upper(rune),
    }
}

/// Whether a character belongs to a general category of Unicode.
fn is_in(category: &Regex, rune: char) -> bool {
    category.is_match(rune.encode_utf8(&mut [0; 4]))
}

macro_rules! category {
    ($name:ident, $pattern:literal) => {
        fn $name(rune: char) -> bool {
            // The pattern is a constant; if it did not compile, no character would match.
            static CATEGORY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
            CATEGORY
                .as_ref()
                .is_some_and(|category| is_in(category, rune))
        }
    };
}

category!(is_upper, r"^\p{Lu}$");
category!(is_lower, r"^\p{Ll}$");
category!(is_title, r"^\p{Lt}$");
category!(is_punctuation, r"^\p{P}$");
category!(is_number, r"^\p{N}$");

/// Go's `strings.Title`: upper case for letters that follow no letter, digit, underscore or the like.
fn title(bytes: &[u8]) -> Vec<u8> {
    let mut previous = ' ';
    let mut out = Vec::with_capacity(bytes.len());
    for (_, rune) in runes(bytes) {
        let changed = if is_separator(previous) {
            to_title(rune)
        } else {
            rune
        };
        push_rune(&mut out, changed);
        previous = rune;
    }
    out
}

fn is_separator(rune: char) -> bool {
    if rune.is_ascii() {
        return !(rune.is_ascii_alphanumeric() || rune == '_');
    }
    if is_letter(rune) || is_digit(rune) {
        return false;
    }
    is_space(rune)
}

fn untitle(bytes: &[u8]) -> Vec<u8> {
    let mut begins = true;
    let mut out = Vec::with_capacity(bytes.len());
    for (_, rune) in runes(bytes) {
        let changed = if begins && !is_space(rune) {
            to_lower(rune)
        } else {
            rune
        };
        begins = is_space(rune);
        push_rune(&mut out, changed);
    }
    out
}

fn swap_case(bytes: &[u8]) -> Vec<u8> {
    let mut after_space = true;
    let mut out = Vec::with_capacity(bytes.len());
    for (_, rune) in runes(bytes) {
        let changed = if is_upper(rune) || is_title(rune) {
            after_space = false;
            to_lower(rune)
        } else if is_lower(rune) {
            let changed = if after_space {
                to_title(rune)
            } else {
                to_upper(rune)
            };
            after_space = false;
            changed
        } else {
            after_space = is_space(rune);
            rune
        };
        push_rune(&mut out, changed);
    }
    out
}

/// First letters. The original looks at bytes as if they were characters.
fn initials(bytes: &[u8]) -> Vec<u8> {
    let mut after_gap = true;
    let mut out = Vec::new();
    for &byte in bytes {
        let rune = char::from(byte);
        if is_space(rune) {
            after_gap = true;
        } else if after_gap {
            push_rune(&mut out, rune);
            after_gap = false;
        }
    }
    out
}

fn is_connector(rune: char) -> bool {
    rune == '-' || rune == '_' || is_space(rune)
}

/// xstrings' `ToPascalCase`.
fn pascal_case(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = runes(bytes).map(|(_, rune)| rune).peekable();
    let mut first_is_upper = false;
    let mut current = None;
    while let Some(rune) = rest.next() {
        if !is_connector(rune) {
            first_is_upper = is_upper(rune);
            current = Some(to_upper(rune));
            break;
        }
        // The last character is written below, whatever it is.
        if rest.peek().is_none() {
            push_rune(&mut out, rune);
            current = Some(rune);
            break;
        }
        push_rune(&mut out, rune);
    }
    let Some(mut current) = current else {
        return out;
    };
    for next in rest {
        let previous = current;
        current = next;
        if is_connector(current) && is_connector(previous) {
            push_rune(&mut out, previous);
            continue;
        }
        if is_connector(previous) {
            first_is_upper = is_upper(current);
            current = to_upper(current);
        } else {
            if first_is_upper {
                if is_upper(current) {
                    current = to_lower(current);
                } else {
                    first_is_upper = false;
                }
            }
            push_rune(&mut out, previous);
        }
    }
    push_rune(&mut out, current);
    out
}

/// What a run of characters is for [`separate_words`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Invalid,
    Number,
    UpperCase,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

/// xstrings' letters: those of Chinese, Japanese and Korean are none.
fn is_alphabet(rune: char) -> bool {
    is_letter(rune)
        && !matches!(rune, '\u{3400}'..='\u{4D85}' | '\u{4E00}'..='\u{9FCC}' | '\u{20000}'..='\u{2B81D}')
}

/// The first valid character and the bytes up to its end; `otherwise` where none follows.
fn next_valid(bytes: &[u8], otherwise: char) -> (char, usize) {
    let mut size = 0;
    while let Some((rune, width)) = first_rune(&bytes[size..]) {
        size += width;
        if rune != REPLACEMENT {
            return (rune, size);
        }
    }
    (otherwise, size)
}

/// How far a run of characters for which `belongs` holds goes on from `offset`.
fn run_end(bytes: &[u8], mut offset: usize, mut rune: char, belongs: impl Fn(char) -> bool) -> usize {
    while offset < bytes.len() {
        let (next, size) = next_valid(&bytes[offset..], rune);
        rune = next;
        if !belongs(rune) {
            break;
        }
        offset += size;
    }
    offset
}

/// The first word, its kind, and what follows.
fn next_word(bytes: &[u8]) -> (Word, &[u8], &[u8]) {
    if bytes.is_empty() {
        return (Word::Invalid, b"", b"");
    }
    let (rune, size) = next_valid(bytes, REPLACEMENT);
    let (word, end) = if rune == REPLACEMENT {
        (Word::Invalid, size)
    } else if is_connector(rune) {
        (Word::Connector, run_end(bytes, size, rune, is_connector))
    } else if is_punctuation(rune) {
        (Word::Punctuation, run_end(bytes, size, rune, is_punctuation))
    } else if is_upper(rune) {
        (Word::UpperCase, upper_case_end(bytes, size, rune))
    } else if is_alphabet(rune) {
        let belongs = |rune| is_alphabet(rune) && !is_upper(rune);
        (Word::Alphabet, run_end(bytes, size, rune, belongs))
    } else if is_number(rune) {
        (Word::Number, run_end(bytes, size, rune, is_number))
    } else {
        let belongs =
            |rune| !(is_connector(rune) || is_alphabet(rune) || is_number(rune) || is_punctuation(rune));
        (Word::Other, run_end(bytes, size, rune, belongs))
    };
    let (word_bytes, rest) = bytes.split_at(end);
    (word, word_bytes, rest)
}

/// A word that begins with a capital: all capitals but the last before a small letter, or one and small ones.
fn upper_case_end(bytes: &[u8], start: usize, first: char) -> usize {
    if start >= bytes.len() {
        return start;
    }
    let (second, size) = next_valid(&bytes[start..], first);
    if is_upper(second) {
        let mut offset = start + size;
        let mut previous_size = size;
        let mut rune = second;
        while offset < bytes.len() {
            let (next, size) = next_valid(&bytes[offset..], rune);
            rune = next;
            if !is_upper(rune) {
                break;
            }
            previous_size = size;
            offset += size;
        }
        if offset < bytes.len() && is_alphabet(rune) {
            offset -= previous_size;
        }
        return offset;
    }
    if is_alphabet(second) {
        return run_end(bytes, start + size, second, |rune| {
            is_alphabet(rune) && !is_upper(rune)
        });
    }
    start
}

fn write_lower(out: &mut Vec<u8>, word: Word, bytes: &[u8], connector: char) {
    if word != Word::UpperCase && word != Word::Connector {
        return out.extend_from_slice(bytes);
    }
    for (_, rune) in runes(bytes) {
        if is_connector(rune) {
            push_rune(out, connector);
        } else if is_upper(rune) {
            push_rune(out, to_lower(rune));
        } else {
            push_rune(out, rune);
        }
    }
}

/// xstrings' `ToSnakeCase` and `ToKebabCase`.
fn separate_words(bytes: &[u8], connector: char) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    if bytes.is_empty() {
        return out;
    }
    let (mut kind, mut word, mut rest) = next_word(bytes);
    while !rest.is_empty() {
        if kind != Word::Connector {
            write_lower(&mut out, kind, word, connector);
        }
        let (previous, last) = (kind, word);
        (kind, word, rest) = next_word(rest);
        match previous {
            Word::Number => {
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write_lower(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, Word::Invalid | Word::Punctuation | Word::Connector) {
                    push_rune(&mut out, connector);
                }
            }
            Word::Connector => write_lower(&mut out, previous, last, connector),
            Word::Punctuation => {}
            _ if kind != Word::Number => {
                if !matches!(kind, Word::Connector | Word::Punctuation) {
                    push_rune(&mut out, connector);
                }
            }
            _ if rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word, rest) = next_word(rest);
                if kind != Word::Alphabet {
                    write_lower(&mut out, Word::Number, number, connector);
                    if !matches!(kind, Word::Connector | Word::Punctuation) {
                        push_rune(&mut out, connector);
                    }
                    continue;
                }
                push_rune(&mut out, connector);
                write_lower(&mut out, Word::Number, number, connector);
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write_lower(&mut out, kind, word, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, Word::Invalid | Word::Connector | Word::Punctuation) {
                    push_rune(&mut out, connector);
                }
            }
        }
    }
    write_lower(&mut out, kind, word, connector);
    out
}
