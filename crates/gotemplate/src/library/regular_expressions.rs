//! Regular expressions with RE2's syntax and meaning, on bytes.

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::{INT, Outcome, Registry, STRINGS, TEXT};
use crate::error::Failure;
use crate::function::Scope;
use crate::quote::{can_backquote, quoted};
use crate::text::{Text, lossy, runes};
use crate::value::{List, Type, Value};

/// The memory that one compiled expression may take.
const MAX_SIZE: usize = 4 << 20;

pub(super) fn register(registry: &mut Registry) {
    for (name, must) in [("regexMatch", false), ("mustRegexMatch", true)] {
        registry.fixed(
            name,
            &[TEXT, TEXT],
            Type::Bool,
            move |_, arguments| match compile(&arguments.text(0)) {
                Ok(regex) => Ok(Value::Bool(regex.is_match(&arguments.text(1)))),
                Err(message) if must => Err(message.into()),
                Err(_) => Ok(Value::Bool(false)),
            },
        );
    }
    for (name, must) in [("regexFind", false), ("mustRegexFind", true)] {
        registry.fixed(name, &[TEXT, TEXT], TEXT, move |_, arguments| {
            let regex = compile_for(&arguments.text(0), must)?;
            let text = arguments.text(1);
            let found = regex.find(&text).map(|found| found.as_bytes());
            Ok(Value::string(found.unwrap_or_default()))
        });
    }
    for (name, must) in [("regexFindAll", false), ("mustRegexFindAll", true)] {
        registry.fixed(name, &[TEXT, TEXT, INT], STRINGS, move |scope, arguments| {
            let regex = compile_for(&arguments.text(0), must)?;
            find_all(scope, &regex, &arguments.text(1), arguments.integer(2))
        });
    }
    for (name, must) in [("regexSplit", false), ("mustRegexSplit", true)] {
        registry.fixed(name, &[TEXT, TEXT, INT], STRINGS, move |scope, arguments| {
            let pattern = arguments.text(0);
            let regex = compile_for(&pattern, must)?;
            split(scope, &regex, &pattern, &arguments.text(1), arguments.integer(2))
        });
    }
    for (name, must, literal) in [
        ("regexReplaceAll", false, false),
        ("mustRegexReplaceAll", true, false),
        ("regexReplaceAllLiteral", false, true),
        ("mustRegexReplaceAllLiteral", true, true),
    ] {
        registry.fixed(name, &[TEXT, TEXT, TEXT], TEXT, move |scope, arguments| {
            let regex = compile_for(&arguments.text(0), must)?;
            replace_all(scope, &regex, &arguments.text(1), &arguments.text(2), literal)
        });
    }
    registry.text("regexQuoteMeta", |bytes| {
        let mut out = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            if b"\\.+*?()|[]{}^$".contains(&byte) {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out
    });
}

/// Compiles as Go's `MustCompile` or, with `must`, as its `Compile`; the error's beginning is Go's.
fn compile_for(pattern: &Text, must: bool) -> Result<Regex, Failure> {
    compile(pattern).map_err(|message| {
        if must {
            return message.into();
        }
        let shown = if can_backquote(pattern) {
            format!("`{}`", lossy(pattern))
        } else {
            quoted(pattern)
        };
        format!("regexp: Compile({shown}): {message}").into()
    })
}

fn compile(pattern: &Text) -> Result<Regex, String> {
    let pattern = translate(&pattern.to_text());
    RegexBuilder::new(&pattern)
        .size_limit(MAX_SIZE)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            let reason = text
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            format!("error parsing regexp: {reason}: `{pattern}`")
        })
}

/// Rewrites what RE2 and this crate's regular expressions spell or mean differently: classes of ASCII
/// letters, `\z`, `\Q...\E`, and brackets that mean themselves inside classes.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars().peekable();
    let mut in_class = false;
    let mut class_start = false;
    while let Some(c) = rest.next() {
        let at_start = std::mem::take(&mut class_start);
        match c {
            '\\' => match rest.next() {
                Some('Q') => quote_literal(&mut rest, &mut out),
                Some(class @ ('d' | 'w' | 's' | 'D' | 'W' | 'S')) => {
                    out.push_str(ascii_class(class, in_class));
                }
                Some('b') if !in_class => out.push_str(r"(?-u:\b)"),
                Some('B') if !in_class => out.push_str(r"(?-u:\B)"),
                Some('C') => out.push_str(r"(?s-u:.)"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if in_class => {
                if rest.peek() == Some(&':') {
                    out.push('[');
                    for inner in rest.by_ref() {
                        out.push(inner);
                        if inner == ']' {
                            break;
                        }
                    }
                } else {
                    out.push_str(r"\[");
                }
            }
            '[' => {
                in_class = true;
                class_start = true;
                out.push('[');
                if rest.peek() == Some(&'^') {
                    rest.next();
                    out.push('^');
                }
            }
            ']' if in_class && at_start => out.push_str(r"\]"),
            ']' => {
                out.push_str(if in_class { "]" } else { r"\]" });
                in_class = false;
            }
            '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class && rest.peek() == Some(&'-') => out.push_str(r"\-"),
            '(' if !in_class => {
                out.push('(');
                let ahead: String = rest.clone().take(3).collect();
                if ahead == "?P=" {
                    out.push_str("?P=");
                    rest.nth(2);
                }
            }
            _ => out.push(c),
        }
    }
    out
}

fn quote_literal(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while let Some(c) = rest.next() {
        if c == '\\' && rest.peek() == Some(&'E') {
            rest.next();
            return;
        }
        out.push_str(&regex::escape(&c.to_string()));
    }
}

/// RE2's classes are those of ASCII.
fn ascii_class(class: char, in_class: bool) -> &'static str {
    match (class, in_class) {
        ('d', false) => "[0-9]",
        ('d', true) => "0-9",
        ('D', false) => "[^0-9]",
        ('D', true) => "[^0-9]",
        ('w', false) => "[0-9A-Za-z_]",
        ('w', true) => "0-9A-Za-z_",
        ('W', _) => "[^0-9A-Za-z_]",
        ('s', false) => r"[\t\n\f\r ]",
        ('s', true) => r"\t\n\f\r ",
        _ => r"[^\t\n\f\r ]",
    }
}

/// The matches as Go finds them: an empty match next to the one before does not count.
fn matches<'text>(regex: &Regex, text: &'text [u8]) -> impl Iterator<Item = Captures<'text>> {
    let mut last_end = None;
    // On bytes, an empty match may stand inside a character.
    let characters = std::str::from_utf8(text).ok();
    let mut found = Vec::new();
    for captures in regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        let is_inside = characters.is_some_and(|text| !text.is_char_boundary(whole.start()));
        if whole.is_empty() && (is_inside || last_end == Some(whole.start())) {
            continue;
        }
        last_end = Some(whole.end());
        found.push(captures);
    }
    found.into_iter()
}

fn limit(count: i64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn find_all(scope: &mut Scope<'_>, regex: &Regex, text: &[u8], count: i64) -> Outcome {
    let mut found = Vec::new();
    for captures in matches(regex, text).take(limit(count)) {
        scope.run().step()?;
        found.extend(captures.get(0).map(|whole| Text::from(whole.as_bytes())));
    }
    if found.is_empty() {
        return Ok(Value::List(List::nil(&Type::String)));
    }
    Ok(Value::List(List::strings(found)))
}

fn split(scope: &mut Scope<'_>, regex: &Regex, pattern: &[u8], text: &[u8], count: i64) -> Outcome {
    if count == 0 {
        return Ok(Value::List(List::nil(&Type::String)));
    }
    if !pattern.is_empty() && text.is_empty() {
        return Ok(Value::List(List::strings([""])));
    }
    let mut parts: Vec<Text> = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for captures in matches(regex, text).take(limit(count)) {
        scope.run().step()?;
        if count > 0 && parts.len() + 1 == limit(count) {
            break;
        }
        let Some(whole) = captures.get(0) else {
            continue;
        };
        end = whole.start();
        if whole.end() != 0 {
            parts.push(Text::from(&text[begin..end]));
        }
        begin = whole.end();
    }
    if end != text.len() {
        parts.push(Text::from(&text[begin..]));
    }
    Ok(Value::List(List::strings(parts)))
}

fn replace_all(
    scope: &mut Scope<'_>,
    regex: &Regex,
    text: &[u8],
    replacement: &[u8],
    literal: bool,
) -> Outcome {
    let mut out = Vec::with_capacity(text.len());
    let mut end = 0;
    for captures in matches(regex, text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        out.extend_from_slice(&text[end..whole.start()]);
        let before = out.len();
        if literal {
            out.extend_from_slice(replacement);
        } else {
            expand(&captures, replacement, &mut out);
        }
        scope.run().produce(out.len() - before)?;
        end = whole.end();
    }
    out.extend_from_slice(&text[end..]);
    Ok(Value::string(out))
}

/// Go's `Regexp.Expand`: `$name`, `${name}`, `$1`, `$$`.
fn expand(captures: &Captures<'_>, template: &[u8], out: &mut Vec<u8>) {
    let mut rest = template;
    while let Some(at) = rest.iter().position(|&byte| byte == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        if rest.get(1) == Some(&b'$') {
            out.push(b'$');
            rest = &rest[2..];
            continue;
        }
        let Some((name, left)) = reference(rest) else {
            out.push(b'$');
            rest = &rest[1..];
            continue;
        };
        rest = left;
        let group =
            if name.bytes().all(|byte| byte.is_ascii_digit()) && !(name.len() > 1 && name.starts_with('0')) {
                name.parse().ok().and_then(|index: usize| captures.get(index))
            } else {
                captures.name(&name)
            };
        out.extend_from_slice(group.map(|group| group.as_bytes()).unwrap_or_default());
    }
    out.extend_from_slice(rest);
}

/// A reference at the beginning: its name and what follows.
fn reference(bytes: &[u8]) -> Option<(String, &[u8])> {
    let braced = bytes.get(1) == Some(&b'{');
    let start = if braced { 2 } else { 1 };
    let is_word =
        |rune: char| rune == '_' || crate::unicode::is_letter(rune) || crate::unicode::is_digit(rune);
    let length = runes(&bytes[start..])
        .find(|&(_, rune)| !is_word(rune))
        .map_or(bytes.len() - start, |(at, _)| at);
    if length == 0 {
        return None;
    }
    let name = lossy(&bytes[start..start + length]).into_owned();
    let mut end = start + length;
    if braced {
        if bytes.get(end) != Some(&b'}') {
            return None;
        }
        end += 1;
    }
    Some((name, &bytes[end..]))
}
