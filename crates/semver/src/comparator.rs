//! One comparator of a range, such as `>=1.2` or `~1.x`.

use std::cmp::Ordering;

use crate::scan::Parts;
use crate::version::compare_pre_releases;
use crate::{Version, VersionError};

/// How a comparator compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The operators by their spelling, longer ones first.
pub(crate) const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

/// Which of a comparator's numbers were left out or given as a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// All three numbers are given.
    Nothing,
    /// `1.2` or `1.2.x`.
    Patch,
    /// `1` or `1.x`.
    Minor,
    /// `*` or `x`.
    All,
}

/// An operator with its version.
#[derive(Debug, Clone)]
pub(crate) struct Comparator {
    operator: Operator,
    version: Version,
    open: Open,
}

fn is_placeholder(text: &str) -> bool {
    matches!(text, "x" | "X" | "*")
}

impl Comparator {
    /// Builds a comparator from the parts of `written`, its version as spelled.
    pub(crate) fn new(operator: Operator, parts: &Parts<'_>, written: &str) -> Result<Self, VersionError> {
        let suffix = if parts.pre_release.is_empty() {
            String::new()
        } else {
            format!("-{}", parts.pre_release)
        };
        let is_open = |part: Option<&str>| part.is_none_or(is_placeholder);
        let (text, open) = if is_placeholder(parts.major) {
            (format!("0.0.0{suffix}"), Open::All)
        } else if is_open(parts.minor) {
            (format!("{}.0.0{suffix}", parts.major), Open::Minor)
        } else if is_open(parts.patch) {
            (
                format!("{}.{}.0{suffix}", parts.major, parts.minor.unwrap_or_default()),
                Open::Patch,
            )
        } else {
            (written.to_owned(), Open::Nothing)
        };
        Ok(Self {
            operator,
            version: Version::parse(&text)?,
            open,
        })
    }

    pub(crate) fn is_pre_release(&self) -> bool {
        !self.version.pre_release().is_empty()
    }

    pub(crate) fn operator(&self) -> Operator {
        self.operator
    }

    pub(crate) fn is_partial(&self) -> bool {
        self.open != Open::Nothing
    }

    /// Whether `version` satisfies the comparator, its pre-release aside.
    pub(crate) fn matches(&self, version: &Version) -> bool {
        let order = version.cmp(&self.version);
        match self.operator {
            Operator::Equal if self.is_partial() => self.matches_tilde(version, order),
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => self.differs_from(version, order),
            Operator::Greater => self.is_below(version, order),
            Operator::Less => order.is_lt(),
            Operator::GreaterOrEqual => order.is_ge(),
            Operator::LessOrEqual => self.is_not_below(version, order),
            Operator::Tilde => self.matches_tilde(version, order),
            Operator::Caret => self.matches_caret(version, order),
        }
    }

    fn differs_from(&self, version: &Version, order: Ordering) -> bool {
        let bound = &self.version;
        if !self.is_partial() {
            return order.is_ne();
        }
        if bound.major() != version.major() {
            return true;
        }
        match self.open {
            Open::Minor => false,
            _ if bound.minor() != version.minor() => true,
            Open::Patch => compare_pre_releases(version.pre_release(), bound.pre_release()).is_ne(),
            _ if bound.patch() != version.patch() => true,
            _ => order.is_ne(),
        }
    }

    fn is_below(&self, version: &Version, order: Ordering) -> bool {
        match (self.open, version.major().cmp(&self.version.major())) {
            (Open::Nothing, _) => order.is_gt(),
            (_, Ordering::Greater) => true,
            (_, Ordering::Less) | (Open::Minor, _) => false,
            (Open::Patch, _) => version.minor() > self.version.minor(),
            (Open::All, _) => order.is_gt(),
        }
    }

    fn is_not_below(&self, version: &Version, order: Ordering) -> bool {
        match (self.open, version.major().cmp(&self.version.major())) {
            (Open::Nothing, _) => order.is_le(),
            (_, Ordering::Greater) => false,
            (_, Ordering::Less) | (Open::Minor, _) => true,
            (_, Ordering::Equal) => version.minor() <= self.version.minor(),
        }
    }

    fn matches_tilde(&self, version: &Version, order: Ordering) -> bool {
        let bound = &self.version;
        if order.is_lt() {
            return false;
        }
        let is_zero = (bound.major(), bound.minor(), bound.patch()) == (0, 0, 0);
        if is_zero && matches!(self.open, Open::Nothing | Open::All) {
            return true;
        }
        version.major() == bound.major() && (version.minor() == bound.minor() || self.open == Open::Minor)
    }

    fn matches_caret(&self, version: &Version, order: Ordering) -> bool {
        let bound = &self.version;
        if order.is_lt() || version.major() != bound.major() {
            return false;
        }
        if bound.major() > 0 || self.open == Open::Minor {
            return true;
        }
        if version.minor() != bound.minor() {
            return false;
        }
        bound.minor() > 0 || self.open == Open::Patch || version.patch() == bound.patch()
    }
}
