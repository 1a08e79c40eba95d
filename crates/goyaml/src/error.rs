use std::fmt;

use crate::Position;

/// What a reader or writer of YAML complains about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not UTF-8 or UTF-16, or holds control characters.
    Encoding,
    /// The text is not YAML.
    Syntax,
    /// A key occurs twice in a mapping.
    DuplicateKey,
    /// A key is a sequence, a mapping or, for JSON, null.
    InvalidKey,
    /// An alias names no anchor, or contains itself.
    Alias,
    /// The value of `<<` is not a mapping or a sequence of mappings.
    Merge,
    /// An explicit tag does not fit the text, such as `!!int x`.
    Tag,
    /// The value has no JSON form: `.inf` and `.nan`.
    NoJson,
    /// The value has no YAML form that Go could write and read.
    Unwritable,
    /// One of the [`Limits`](crate::Limits) was exceeded.
    Limit,
}

/// Why a text could not be read as YAML, or a value not be written.
///
/// Displays as `FILE:LINE:COLUMN: problem; remedy`, leaving out what is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    file: Option<String>,
    position: Option<Position>,
    problem: String,
    remedy: &'static str,
    go: String,
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        position: Option<Position>,
        problem: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        let problem = problem.into();
        Self(Box::new(Details {
            kind,
            file: None,
            position,
            go: format!("yaml: {problem}"),
            problem,
            remedy,
        }))
    }

    pub(crate) fn with_go_message(mut self, message: impl Into<String>) -> Self {
        self.0.go = message.into();
        self
    }

    /// Adds the name of the file that the text came from.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.0.file = Some(file.into());
        self
    }

    /// What kind of complaint it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Where in the text, if that is known.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// The 1-based line, if it is known.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.0.position.map(|position| position.line)
    }

    /// What is wrong, without place and remedy.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// What to do; empty if nothing can be said.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        self.0.remedy
    }

    /// The text of the error that the Go library returns in the same case (`yaml: line 3: ...`), for
    /// places where users or tools compare it.
    #[must_use]
    pub fn go_message(&self) -> &str {
        &self.0.go
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = &self.0;
        match (&details.file, details.position) {
            (Some(file), Some(position)) => write!(f, "{file}:{position}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(position)) => write!(f, "line {}, column {}: ", position.line, position.column)?,
            (None, None) => {}
        }
        f.write_str(&details.problem)?;
        if !details.remedy.is_empty() {
            write!(f, "; {}", details.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
