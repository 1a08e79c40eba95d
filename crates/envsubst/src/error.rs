/// Why a text could not be substituted. The words are those of `fluxcd/pkg/envsubst`, which users see in
/// conditions; [`Error::line`] says where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operator is incomplete or unknown.
    #[error("bad substitution")]
    BadSubstitution {
        /// The 1-based line of the expression.
        line: usize,
    },
    /// Something other than `}` or a known operator follows the name, as in `${a.b}` and `${v-d}`.
    #[error("missing closing brace")]
    MissingClosingBrace {
        /// The 1-based line of the expression.
        line: usize,
    },
    /// No name follows `${`.
    #[error("unable to parse variable name")]
    VariableName {
        /// The 1-based line of the expression.
        line: usize,
    },
    /// An operand is missing.
    #[error("unable to parse substitution within function")]
    Operand {
        /// The 1-based line of the expression.
        line: usize,
    },
    /// The operator of a default value is malformed.
    #[error("unable to parse default function")]
    DefaultFunction {
        /// The 1-based line of the expression.
        line: usize,
    },
    /// A variable without value and default, in strict mode.
    #[error("variable not set (strict mode): {name:?}")]
    NotSet {
        /// The variable.
        name: String,
        /// The 1-based line of the expression.
        line: usize,
    },
    /// A length in `${v:from:length}` that is negative or beyond 64 bits; `fluxcd/pkg/envsubst` crashes.
    #[error(
        "the length {length} of the substring of {name:?} is not a positive number; count from the start"
    )]
    SubstringLength {
        /// The variable.
        name: String,
        /// The length as written.
        length: String,
        /// The 1-based line of the expression.
        line: usize,
    },
    /// Expressions within expressions beyond [`Limits::depth`](crate::Limits::depth).
    #[error("expressions are nested deeper than {limit} levels; simplify the defaults")]
    TooDeep {
        /// The limit in levels.
        limit: usize,
        /// The 1-based line of the expression.
        line: usize,
    },
    /// The result is larger than [`Limits::output`](crate::Limits::output).
    #[error("the text has more than {limit} bytes after substitution; split it or shorten the values")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// Matching patterns took more than [`Limits::steps`](crate::Limits::steps).
    #[error("the pattern of {name:?} takes more than {limit} steps; simplify it or shorten the value")]
    TooComplex {
        /// The variable.
        name: String,
        /// The limit in steps.
        limit: u64,
        /// The 1-based line of the expression.
        line: usize,
    },
    /// Cutting a value at byte positions left a part of a character.
    #[error("the result is not valid UTF-8: a substring or pattern cuts through a character; cut elsewhere")]
    NotUtf8,
    /// A variable whose name cannot be written in an expression.
    #[error("'{name}' var name is invalid, must match '{pattern}'", pattern = crate::NAME_PATTERN)]
    InvalidName {
        /// The name.
        name: String,
    },
}

impl Error {
    /// The 1-based line of the text where the expression starts, if it concerns one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::BadSubstitution { line }
            | Self::MissingClosingBrace { line }
            | Self::VariableName { line }
            | Self::Operand { line }
            | Self::DefaultFunction { line }
            | Self::NotSet { line, .. }
            | Self::SubstringLength { line, .. }
            | Self::TooDeep { line, .. }
            | Self::TooComplex { line, .. } => Some(*line),
            Self::TooLarge { .. } | Self::NotUtf8 | Self::InvalidName { .. } => None,
        }
    }
}
