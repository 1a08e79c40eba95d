//! Versions: parsing, precedence, printing.

use std::cmp::Ordering;
use std::fmt;

use crate::scan::{Scanner, is_identifier_byte};

/// The longest version text that is accepted, in bytes.
pub const MAX_VERSION_BYTES: usize = 256;

/// A semantic version.
///
/// Equality and order follow precedence: build metadata and the original spelling do not count, so
/// `v1.2` equals `1.2.0+build`. Compare [`Version::original`] to tell spellings apart.
#[derive(Debug, Clone)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    pre_release: String,
    metadata: String,
    original: String,
}

/// Why a text is no version. The texts are those of the reference library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The text does not have the shape of a version.
    #[error("invalid semantic version")]
    Invalid,
    /// The text is empty (strict parsing only).
    #[error("version string empty")]
    Empty,
    /// A number holds something else than digits (strict parsing only).
    #[error("invalid characters in version")]
    InvalidCharacters,
    /// A number, or a numeric part of the pre-release, starts with a superfluous zero.
    #[error("version segment starts with 0")]
    LeadingZero,
    /// The build metadata is malformed.
    #[error("invalid metadata string")]
    InvalidMetadata,
    /// The pre-release is malformed.
    #[error("invalid prerelease string")]
    InvalidPreRelease,
    /// A number does not fit 64 bits.
    #[error("error parsing version segment: value out of range")]
    OutOfRange,
    /// The text is longer than [`MAX_VERSION_BYTES`].
    #[error("version string is too long (max {MAX_VERSION_BYTES} bytes)")]
    TooLong,
}

impl Version {
    /// Parses tolerantly: a leading `v`, missing minor and patch, and leading zeros in the three numbers
    /// are accepted (`v1.2`, `01.2.3`).
    ///
    /// # Errors
    /// See [`VersionError`].
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        if text.len() > MAX_VERSION_BYTES {
            return Err(VersionError::TooLong);
        }
        let mut scanner = Scanner::new(text);
        let parts = scanner
            .version_parts(|byte| byte.is_ascii_digit())
            .ok_or(VersionError::Invalid)?;
        if !scanner.is_at_end() {
            return Err(VersionError::Invalid);
        }
        let version = Self {
            major: parse_number(parts.major)?,
            minor: parts.minor.map_or(Ok(0), parse_number)?,
            patch: parts.patch.map_or(Ok(0), parse_number)?,
            pre_release: parts.pre_release.to_owned(),
            metadata: parts.metadata.to_owned(),
            original: text.to_owned(),
        };
        validate_pre_release(&version.pre_release)?;
        Ok(version)
    }

    /// Parses as [`Version::parse`], but demands that minor and patch are present: `v1.2` is refused.
    /// Flux takes only such Git tags into account for a semver reference.
    ///
    /// # Errors
    /// See [`VersionError`].
    pub fn parse_complete(text: &str) -> Result<Self, VersionError> {
        if text.splitn(3, '.').count() < 3 {
            return Err(VersionError::Invalid);
        }
        Self::parse(text)
    }

    /// Parses by the letter of the semantic versioning specification 2.0: three numbers, no leading `v`,
    /// no leading zeros.
    ///
    /// # Errors
    /// See [`VersionError`].
    pub fn parse_strict(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        if text.len() > MAX_VERSION_BYTES {
            return Err(VersionError::TooLong);
        }
        let mut numbers = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (numbers.next(), numbers.next(), numbers.next()) else {
            return Err(VersionError::Invalid);
        };
        let (rest, metadata) = split_optional(rest, '+');
        if let Some(metadata) = metadata {
            validate_metadata(metadata)?;
        }
        let (patch, pre_release) = split_optional(rest, '-');
        if let Some(pre_release) = pre_release {
            validate_non_empty_pre_release(pre_release)?;
        }
        for number in [major, minor, patch] {
            if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(VersionError::InvalidCharacters);
            }
            if number.len() > 1 && number.starts_with('0') {
                return Err(VersionError::LeadingZero);
            }
        }
        Ok(Self {
            major: parse_number(major)?,
            minor: parse_number(minor)?,
            patch: parse_number(patch)?,
            pre_release: pre_release.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// The first number.
    pub fn major(&self) -> u64 {
        self.major
    }

    /// The second number, 0 where the text had none.
    pub fn minor(&self) -> u64 {
        self.minor
    }

    /// The third number, 0 where the text had none.
    pub fn patch(&self) -> u64 {
        self.patch
    }

    /// The pre-release without its dash, empty for a release.
    pub fn pre_release(&self) -> &str {
        &self.pre_release
    }

    /// The build metadata without its plus sign, empty if there is none.
    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// The text that was parsed, for example `v1.2` where [`Version`] prints `1.2.0`.
    pub fn original(&self) -> &str {
        &self.original
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre_release.is_empty() {
            write!(formatter, "-{}", self.pre_release)?;
        }
        if !self.metadata.is_empty() {
            write!(formatter, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(
                || match (self.pre_release.is_empty(), other.pre_release.is_empty()) {
                    (true, true) => Ordering::Equal,
                    (true, false) => Ordering::Greater,
                    (false, true) => Ordering::Less,
                    (false, false) => compare_pre_releases(&self.pre_release, &other.pre_release),
                },
            )
    }
}

/// Orders two pre-releases part by part; an absent part comes before any other.
pub(crate) fn compare_pre_releases(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (left, right) => compare_parts(left.unwrap_or_default(), right.unwrap_or_default()),
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn compare_parts(left: &str, right: &str) -> Ordering {
    if left.is_empty() || right.is_empty() {
        return left.len().cmp(&right.len());
    }
    // A number too large for 64 bits counts as text, as in the reference library.
    match (left.parse::<u64>(), right.parse::<u64>()) {
        (Ok(left), Ok(right)) => left.cmp(&right),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => left.cmp(right),
    }
}

fn parse_number(digits: &str) -> Result<u64, VersionError> {
    digits.parse().map_err(|_| VersionError::OutOfRange)
}

fn split_optional(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn validate_pre_release(text: &str) -> Result<(), VersionError> {
    if text.is_empty() {
        Ok(())
    } else {
        validate_non_empty_pre_release(text)
    }
}

fn validate_non_empty_pre_release(text: &str) -> Result<(), VersionError> {
    for part in text.split('.') {
        if part.is_empty() || !part.bytes().all(is_identifier_byte) {
            return Err(VersionError::InvalidPreRelease);
        }
        if part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(VersionError::LeadingZero);
        }
    }
    Ok(())
}

fn validate_metadata(text: &str) -> Result<(), VersionError> {
    if text
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(is_identifier_byte))
    {
        Ok(())
    } else {
        Err(VersionError::InvalidMetadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerant_parsing_fills_in_missing_parts_and_keeps_the_spelling() {
        let version = Version::parse("v01.2-rc.1+linux").unwrap();
        assert_eq!(version.to_string(), "1.2.0-rc.1+linux");
        assert_eq!(version.original(), "v01.2-rc.1+linux");
    }

    #[test]
    fn precedence_follows_the_specification() {
        let ordered = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
        ];
        for pair in ordered.windows(2) {
            assert!(
                Version::parse(pair[0]).unwrap() < Version::parse(pair[1]).unwrap(),
                "{pair:?}"
            );
        }
        assert_eq!(Version::parse("1.0.0+a").unwrap(), Version::parse("v1").unwrap());
    }

    #[test]
    fn malformed_texts_name_the_reason() {
        assert_eq!(Version::parse("1.2.3.4").unwrap_err(), VersionError::Invalid);
        assert_eq!(Version::parse("1.2.3-01").unwrap_err(), VersionError::LeadingZero);
        assert_eq!(
            Version::parse("18446744073709551616").unwrap_err(),
            VersionError::OutOfRange
        );
        assert_eq!(
            Version::parse(&"1".repeat(300)).unwrap_err(),
            VersionError::TooLong
        );
        assert_eq!(
            Version::parse_strict("v1.2.3").unwrap_err(),
            VersionError::InvalidCharacters
        );
        assert_eq!(
            Version::parse_complete("v1.2").unwrap_err(),
            VersionError::Invalid
        );
    }
}
