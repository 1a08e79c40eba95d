//! Regular expressions with RE2's syntax and meaning.

use std::iter::Peekable;
use std::str::Chars;

use regex::bytes::{Regex, RegexBuilder};

/// How large a compiled pattern may get.
const LARGEST: usize = 1 << 20;

/// Compiles a pattern.
///
/// # Errors
/// What is wrong with it; the text begins as Go's does.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if let Some(repeat) = find_large_repeat(pattern) {
        return Err(format!("error parsing regexp: invalid repeat count: `{repeat}`"));
    }
    let translated = translate(pattern);
    let built = RegexBuilder::new(&translated)
        .size_limit(LARGEST)
        .dfa_size_limit(LARGEST)
        .nest_limit(100)
        .build();
    built.map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default();
        let reason = reason.trim_start_matches("error: ");
        format!("error parsing regexp: {reason}: `{pattern}`")
    })
}

/// The first repetition of more than 1,000 times.
fn find_large_repeat(pattern: &str) -> Option<&str> {
    let inner = |at: usize| {
        let end = at + pattern[at..].find('}')?;
        let counts = &pattern[at + 1..end];
        let is_large = |count: &str| {
            !count.is_empty()
                && count.bytes().all(|byte| byte.is_ascii_digit())
                && count.parse::<u32>().is_ok_and(|count| count > 1000)
        };
        counts.split(',').any(is_large).then_some(&pattern[at..=end])
    };
    pattern.match_indices('{').find_map(|(at, _)| inner(at))
}

/// Spells what RE2 means in the words of this engine: its classes are those of ASCII, brackets inside classes
/// mean themselves, `\Q…\E` quotes.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars().peekable();
    let mut class: Option<usize> = None;
    while let Some(character) = rest.next() {
        let position = class;
        class = class.map(|position| position + 1);
        match (character, position) {
            ('\\', _) => escape(&mut rest, position.is_some(), &mut out),
            ('[', None) => {
                out.push('[');
                if rest.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                class = Some(0);
            }
            ('[', Some(_)) if rest.peek() == Some(&':') => {
                out.push('[');
                for inner in rest.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            (']', Some(0)) | ('[' | '&' | '~', Some(_)) => out.extend(['\\', character]),
            ('-', Some(_)) if rest.peek() == Some(&'-') => out.push_str("\\-"),
            (']', Some(_)) => {
                out.push(']');
                class = None;
            }
            (']', None) => out.push_str("\\]"),
            _ => out.push(character),
        }
    }
    out
}

fn escape(rest: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    let Some(escaped) = rest.next() else {
        out.push('\\');
        return;
    };
    match (escaped, in_class) {
        ('Q', _) => {
            while let Some(character) = rest.next() {
                if character == '\\' && rest.next_if_eq(&'E').is_some() {
                    return;
                }
                out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
            }
        }
        ('d' | 'D' | 'w' | 'W', _) => out.push_str(match escaped {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            'w' => "[0-9A-Za-z_]",
            _ => "[^0-9A-Za-z_]",
        }),
        ('s', _) => out.push_str(r"[\t\n\f\r ]"),
        ('S', _) => out.push_str(r"[^\t\n\f\r ]"),
        ('b', false) => out.push_str(r"(?-u:\b)"),
        ('B', false) => out.push_str(r"(?-u:\B)"),
        ('C', false) => out.push_str("(?s-u:.)"),
        (other, _) => out.extend(['\\', other]),
    }
}
