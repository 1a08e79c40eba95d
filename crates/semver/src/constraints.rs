//! Ranges: comparators joined by "and" (space or comma) and by "or" (`||`).

use crate::comparator::{Comparator, OPERATORS, Operator};
use crate::scan::{Scanner, is_space};
use crate::{Rules, Version};

/// The longest constraint text that is accepted, in bytes.
pub const MAX_CONSTRAINT_BYTES: usize = 512;

/// The most alternatives (`||`) that a constraint may have.
pub const MAX_CONSTRAINT_GROUPS: usize = 32;

/// A range of versions, such as `>=1.0 <2.0 || ~3.1`.
#[derive(Debug, Clone)]
pub struct Constraints {
    groups: Vec<Vec<Comparator>>,
    rules: Rules,
}

/// Why a text is no constraint. The texts are those of the reference library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// A part of the text does not have the shape of a constraint.
    #[error("improper constraint: {0}")]
    Improper(String),
    /// A comparator has the right shape but no valid version.
    #[error("{}", parser_error(*.0))]
    Version(Rules),
    /// The text is longer than [`MAX_CONSTRAINT_BYTES`].
    #[error("constraint string is too long (max {MAX_CONSTRAINT_BYTES} bytes)")]
    TooLong,
    /// There are more alternatives than [`MAX_CONSTRAINT_GROUPS`].
    #[error("too many constraint groups (max {MAX_CONSTRAINT_GROUPS})")]
    TooManyGroups,
}

fn parser_error(rules: Rules) -> &'static str {
    match rules {
        Rules::Flux => "constraint Parser Error",
        Rules::Helm => "constraint parser error",
    }
}

impl Constraints {
    /// Parses a constraint: operators `= != > < >= => <= =< ~ ~> ^` or none, hyphen ranges (`1.2 - 1.4`),
    /// placeholders (`1.x`, `*`), spaces or commas for "and", `||` for "or".
    ///
    /// # Errors
    /// See [`ConstraintError`].
    pub fn parse(text: &str, rules: Rules) -> Result<Self, ConstraintError> {
        if text.len() > MAX_CONSTRAINT_BYTES {
            return Err(ConstraintError::TooLong);
        }
        let text = expand_hyphen_ranges(text);
        if text.split("||").count() > MAX_CONSTRAINT_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        let groups = text
            .split("||")
            .map(|group| parse_group(group, rules))
            .collect::<Result<_, _>>()?;
        Ok(Self { groups, rules })
    }

    /// Whether `version` lies in the range.
    pub fn matches(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let group_admits = group.iter().any(Comparator::is_pre_release);
            group.iter().all(|comparator| {
                self.admits_pre_release(comparator, group_admits, version) && comparator.matches(version)
            })
        })
    }

    fn admits_pre_release(&self, comparator: &Comparator, group_admits: bool, version: &Version) -> bool {
        if version.pre_release().is_empty() {
            return true;
        }
        match self.rules {
            Rules::Helm => group_admits,
            // Version 3.3 lets an exact `!=` pass, whatever the pre-release.
            Rules::Flux => {
                comparator.is_pre_release()
                    || (comparator.operator() == Operator::NotEqual && !comparator.is_partial())
            }
        }
    }
}

fn is_constraint_number_byte(byte: u8) -> bool {
    // The bar stands in the reference library's character class as well; it never parses as a number.
    byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|')
}

fn parse_group(text: &str, rules: Rules) -> Result<Vec<Comparator>, ConstraintError> {
    let improper = || {
        ConstraintError::Improper(match rules {
            Rules::Flux => text.to_owned(),
            Rules::Helm => format!("{text:?}"),
        })
    };
    let mut scanner = Scanner::new(text);
    scanner.take_while(is_space);
    let mut comparators = Vec::new();
    loop {
        let operator = OPERATORS
            .iter()
            .find(|(sign, _)| scanner.skip(sign))
            .map_or(Operator::Equal, |(_, operator)| *operator);
        scanner.take_while(is_space);
        let start = scanner.position();
        let parts = scanner
            .version_parts(is_constraint_number_byte)
            .ok_or_else(improper)?;
        let written = text.get(start..scanner.position()).unwrap_or_default();
        comparators.push((operator, parts, written));
        let spaces = scanner.take_while(is_space);
        if scanner.is_at_end() {
            break;
        }
        if scanner.skip(",") {
            scanner.take_while(is_space);
        } else if spaces.is_empty() {
            return Err(improper());
        }
    }
    comparators
        .into_iter()
        .map(|(operator, parts, written)| Comparator::new(operator, &parts, written))
        .collect::<Result<_, _>>()
        .map_err(|_| ConstraintError::Version(rules))
}

/// Rewrites every `1.2 - 1.4` as `>= 1.2, <= 1.4 `, before alternatives are told apart, as the reference
/// library does: so `1||2 - 3` means `>= 1 || 2, <= 3`.
fn expand_hyphen_ranges(text: &str) -> String {
    let mut ranges = Vec::new();
    let mut position = 0;
    while position < text.len() {
        match match_hyphen_range(text, position) {
            Some((end, lower, upper)) => {
                ranges.push((&text[position..end], format!(">= {lower}, <= {upper} ")));
                position = end;
            }
            None => position += 1,
        }
    }
    let mut expanded = text.to_owned();
    for (written, replacement) in ranges {
        expanded = expanded.replacen(written, &replacement, 1);
    }
    expanded
}

/// Matches a hyphen range with the spaces around it at `position`: its end, lower and upper bound.
fn match_hyphen_range(text: &str, position: usize) -> Option<(usize, &str, &str)> {
    if !text.is_char_boundary(position) {
        return None;
    }
    let mut scanner = Scanner::at(text, position);
    scanner.take_while(is_space);
    let lower = bound(&mut scanner, text)?;
    if scanner.take_while(is_space).is_empty()
        || !scanner.skip("-")
        || scanner.take_while(is_space).is_empty()
    {
        return None;
    }
    let upper = bound(&mut scanner, text)?;
    scanner.take_while(is_space);
    Some((scanner.position(), lower, upper))
}

fn bound<'a>(scanner: &mut Scanner<'a>, text: &'a str) -> Option<&'a str> {
    let start = scanner.position();
    scanner.version_parts(is_constraint_number_byte)?;
    text.get(start..scanner.position())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(constraint: &str, version: &str, rules: Rules) -> bool {
        Constraints::parse(constraint, rules)
            .unwrap()
            .matches(&Version::parse(version).unwrap())
    }

    #[test]
    fn flux_rules_admit_pre_releases_by_each_comparator() {
        assert!(matches(">=1.0.0-0 <2.0.0-0", "1.1.0-staging1", Rules::Flux));
        assert!(!matches(">=1.0.0-0 <2.0.0", "1.1.0-staging1", Rules::Flux));
        assert!(matches(">=1.0.0-0 <2.0.0", "1.1.0-staging1", Rules::Helm));
        assert!(!matches("1.x", "1.1.0-staging1", Rules::Flux));
        assert!(!matches("1.15.x", "1.15.0-r3", Rules::Flux));
    }

    #[test]
    fn errors_quote_the_constraint_as_the_reference_library_does() {
        assert_eq!(
            Constraints::parse("latest", Rules::Flux).unwrap_err().to_string(),
            "improper constraint: latest"
        );
        assert_eq!(
            Constraints::parse("latest", Rules::Helm).unwrap_err().to_string(),
            "improper constraint: \"latest\""
        );
        assert_eq!(
            Constraints::parse("1|2", Rules::Helm).unwrap_err(),
            ConstraintError::Version(Rules::Helm)
        );
    }

    #[test]
    fn limits_bound_the_work() {
        assert_eq!(
            Constraints::parse(&"1 ".repeat(300), Rules::Helm).unwrap_err(),
            ConstraintError::TooLong
        );
        let many = vec!["1"; 33].join("||");
        assert_eq!(
            Constraints::parse(&many, Rules::Helm).unwrap_err(),
            ConstraintError::TooManyGroups
        );
    }

    #[test]
    fn hyphen_ranges_are_expanded_before_alternatives() {
        assert!(matches("1.2 - 1.4.5 || 3", "3.9.0", Rules::Helm));
        assert!(!matches("1.2 - 1.4.5", "1.4.6", Rules::Helm));
        assert!(matches("1||2 - 3", "9.0.0", Rules::Helm));
    }
}
