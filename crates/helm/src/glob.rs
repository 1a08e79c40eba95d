//! Patterns for names: those of Go's `path.Match`, and those of `.Files.Glob`.

use regex::bytes::{Regex, RegexBuilder};

/// A pattern that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("syntax error in pattern")]
pub struct PatternError;

/// Go's `path.Match`: `*` and `?` do not match slashes, `[a-z]` and `[^a-z]` are classes, `\` takes the
/// meaning from what follows. The whole name must match.
///
/// # Errors
/// If the part of the pattern that was needed for the answer is malformed; the rest is checked too.
pub fn matches_path(pattern: &str, name: &str) -> Result<bool, PatternError> {
    let pattern: Vec<char> = pattern.chars().collect();
    let pieces = parse(&pattern)?;
    let name: Vec<char> = name.chars().collect();
    Ok(matches(&pieces, &name))
}

enum Piece {
    Star,
    Any,
    One(char),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

fn parse(pattern: &[char]) -> Result<Vec<Piece>, PatternError> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(&character) = pattern.get(at) {
        at += 1;
        pieces.push(match character {
            '*' => Piece::Star,
            '?' => Piece::Any,
            '[' => parse_class(pattern, &mut at)?,
            '\\' => {
                let escaped = pattern.get(at).ok_or(PatternError)?;
                at += 1;
                Piece::One(*escaped)
            }
            other => Piece::One(other),
        });
    }
    Ok(pieces)
}

fn parse_class(pattern: &[char], at: &mut usize) -> Result<Piece, PatternError> {
    let negated = pattern.get(*at) == Some(&'^');
    *at += usize::from(negated);
    let mut ranges = Vec::new();
    loop {
        if pattern.get(*at) == Some(&']') && !ranges.is_empty() {
            *at += 1;
            return Ok(Piece::Class { negated, ranges });
        }
        let low = parse_class_character(pattern, at)?;
        let high = if pattern.get(*at) == Some(&'-') {
            *at += 1;
            parse_class_character(pattern, at)?
        } else {
            low
        };
        ranges.push((low, high));
    }
}

fn parse_class_character(pattern: &[char], at: &mut usize) -> Result<char, PatternError> {
    let mut character = *pattern.get(*at).ok_or(PatternError)?;
    if character == '-' || character == ']' {
        return Err(PatternError);
    }
    *at += 1;
    if character == '\\' {
        character = *pattern.get(*at).ok_or(PatternError)?;
        *at += 1;
    }
    // A class must be closed.
    if *at >= pattern.len() {
        return Err(PatternError);
    }
    Ok(character)
}

/// Matches with one place to come back to: the last star.
fn matches(pieces: &[Piece], name: &[char]) -> bool {
    let (mut piece, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        match pieces.get(piece) {
            Some(Piece::Star) => {
                star = Some((piece, at));
                piece += 1;
                continue;
            }
            Some(one) if name.get(at).is_some_and(|&found| one.takes(found)) => {
                piece += 1;
                at += 1;
                continue;
            }
            None if at == name.len() => return true,
            _ => {}
        }
        let Some((star_piece, star_at)) = star else {
            return false;
        };
        match name.get(star_at) {
            Some(&skipped) if skipped != '/' => {
                star = Some((star_piece, star_at + 1));
                piece = star_piece + 1;
                at = star_at + 1;
            }
            _ => return false,
        }
    }
}

impl Piece {
    fn takes(&self, character: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => character != '/',
            Self::One(wanted) => *wanted == character,
            Self::Class { negated, ranges } => {
                let is_in = ranges
                    .iter()
                    .any(|&(low, high)| (low..=high).contains(&character));
                is_in != *negated
            }
        }
    }
}

/// A pattern of `.Files.Glob`: `*` and `?` stop at slashes, `**` does not; `[abc]`, `[!abc]`, `[a-z]`,
/// `{one,two}`. A malformed pattern matches everything, as in Helm.
pub(crate) struct FileGlob(Option<Regex>);

impl FileGlob {
    pub(crate) fn new(pattern: &str) -> Self {
        let regex = translate(pattern).and_then(|text| {
            let mut builder = RegexBuilder::new(&text);
            builder
                .size_limit(1 << 20)
                .dot_matches_new_line(true)
                .build()
                .ok()
        });
        Self(regex)
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0
            .as_ref()
            .is_none_or(|regex| regex.is_match(name.as_bytes()))
    }
}

/// The pattern as a regular expression; None if it is malformed.
fn translate(pattern: &str) -> Option<String> {
    let characters: Vec<char> = pattern.chars().collect();
    let mut out = String::from("^(?:");
    let mut open = 0_usize;
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        at += 1;
        match character {
            '*' if characters.get(at) == Some(&'*') => {
                while characters.get(at) == Some(&'*') {
                    at += 1;
                }
                out.push_str(".*");
            }
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            '[' => translate_class(&characters, &mut at, &mut out)?,
            '{' => {
                open += 1;
                out.push_str("(?:");
            }
            '}' if open > 0 => {
                open -= 1;
                out.push(')');
            }
            ',' if open > 0 => out.push('|'),
            '\\' => {
                let escaped = characters.get(at)?;
                at += 1;
                out.push_str(&regex::escape(&escaped.to_string()));
            }
            other => out.push_str(&regex::escape(&other.to_string())),
        }
    }
    out.push_str(")$");
    (open == 0).then_some(out)
}

fn translate_class(characters: &[char], at: &mut usize, out: &mut String) -> Option<()> {
    let negated = characters.get(*at) == Some(&'!');
    *at += usize::from(negated);
    let length = characters
        .get(*at..)?
        .iter()
        .position(|&character| character == ']')?;
    let body = &characters[*at..*at + length];
    *at += length + 1;
    if body.is_empty() {
        return None;
    }
    out.push_str(if negated { "[^" } else { "[" });
    match body {
        [low, '-', high] => {
            if low > high {
                return None;
            }
            out.push_str(&regex::escape(&low.to_string()));
            out.push('-');
            out.push_str(&regex::escape(&high.to_string()));
        }
        _ => body.iter().for_each(|&character| {
            if character != '\\' {
                out.push_str(&regex::escape(&character.to_string()));
            }
        }),
    }
    out.push(']');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_as_in_go() {
        for (pattern, name, wanted) in [
            ("abc", "abc", true),
            ("*", "a/b", false),
            ("a*c", "abbc", true),
            ("a*/b", "axx/b", true),
            ("a?c", "a/c", false),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("a\\*", "a*", true),
            ("*x", "axbx", true),
            ("a*b*c", "aXbYbZc", true),
        ] {
            assert_eq!(matches_path(pattern, name), Ok(wanted), "{pattern} {name}");
        }
        for pattern in ["[", "[a", "[]a]", "a\\", "[-]", "[a-]"] {
            assert_eq!(matches_path(pattern, "a"), Err(PatternError), "{pattern}");
        }
    }

    #[test]
    fn files_match_across_directories_only_with_two_stars() {
        let matching = |pattern: &str, name: &str| FileGlob::new(pattern).matches(name);
        assert!(matching("config/*.yaml", "config/a.yaml"));
        assert!(!matching("config/*.yaml", "config/a/b.yaml"));
        assert!(matching("config/**.yaml", "config/a/b.yaml"));
        assert!(matching("**", "a/b"));
        assert!(matching("{a,b}/[!x].txt", "b/y.txt"));
        assert!(!matching("{a,b}/[!x].txt", "b/x.txt"));
        assert!(matching("a{", "anything/at/all"));
    }
}
