//! What can go wrong, in the words of Go's text/template.

use std::fmt;

use thiserror::Error;

use crate::text::Text;

/// A template that cannot be read. Its text is Go's: `template: NAME:LINE: ...`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("template: {name}:{line}: {message}")]
pub struct ParseError {
    name: String,
    line: usize,
    message: String,
}

impl ParseError {
    pub(crate) fn new(name: &str, line: usize, message: &str) -> Self {
        Self {
            name: name.to_owned(),
            line,
            message: message.to_owned(),
        }
    }

    /// The name of the text, as it was given to the parser.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The line on which reading ended, counted from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// A limit of the [`Budget`](crate::Budget) or of the engine that a render has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LimitError {
    /// The deadline has passed.
    #[error("the time allowed for this render is over; look for a loop over too much, or allow more time")]
    Deadline,
    /// Too many actions were executed.
    #[error("more than {0} steps in one render; look for a loop or recursion without end")]
    Steps(u64),
    /// Too much output was written.
    #[error("more than {0} bytes of output in one render; look for a loop without end")]
    Output(u64),
    /// Functions have produced too much text or too large lists.
    #[error(
        "the values computed in one render take too much memory; look for a loop that repeats or doubles a value"
    )]
    Produced,
    /// A value nests too deep, or contains itself.
    #[error("a value nests deeper than {0} levels; it may contain itself")]
    Nesting(usize),
    /// Functions that execute templates call each other too deep.
    #[error(
        "templates call each other through functions deeper than {0} levels; look for a recursion without end"
    )]
    Depth(usize),
}

/// Why a function failed.
///
/// A function of an engine makes one from a text; what comes back from a nested execution keeps the error.
#[derive(Debug)]
pub struct Failure {
    message: String,
    cause: Option<Box<Error>>,
    limit: Option<LimitError>,
}

impl Failure {
    /// A failure with Go's text of the error.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
            limit: None,
        }
    }

    /// The failure with other words, the cause kept.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// The error of the nested execution that failed.
    pub fn cause(&self) -> Option<&Error> {
        self.cause.as_deref()
    }

    /// The limit behind the failure.
    pub fn limit(&self) -> Option<LimitError> {
        self.limit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<LimitError> for Failure {
    fn from(limit: LimitError) -> Self {
        Self {
            message: limit.to_string(),
            cause: None,
            limit: Some(limit),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self {
            message: error.to_string(),
            limit: error.limit(),
            cause: Some(Box::new(error)),
        }
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        Error::from(error).into()
    }
}

/// An error in executing a template. Its text is Go's:
/// `template: NAME:LINE:COLUMN: executing "NAME" at <NODE>: ...`.
#[derive(Debug)]
pub struct ExecuteError {
    pub(crate) template: String,
    pub(crate) message: String,
    pub(crate) failure: Option<Failure>,
    pub(crate) limit: Option<LimitError>,
}

impl ExecuteError {
    /// The name of the template that was executed.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The failure of the function behind it.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ExecuteError {}

/// Any error of this crate.
#[derive(Debug, Error)]
pub enum Error {
    /// A template cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// A template failed.
    #[error(transparent)]
    Execute(#[from] Box<ExecuteError>),
    /// There is no template of the name.
    #[error("template: no template {template} associated with template {set}", template = crate::quote::quoted(template), set = crate::quote::quoted(set.as_bytes()))]
    NotFound {
        /// The name that was asked for.
        template: Text,
        /// The name of the set.
        set: String,
    },
    /// The writer refused the output.
    #[error("the output cannot be written: {0}")]
    Write(#[from] std::io::Error),
}

impl Error {
    /// The limit that ended the render, if one did.
    pub fn limit(&self) -> Option<LimitError> {
        match self {
            Self::Execute(error) => error
                .limit
                .or_else(|| error.failure.as_ref().and_then(Failure::limit)),
            _ => None,
        }
    }
}
