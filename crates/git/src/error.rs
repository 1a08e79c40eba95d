//! What can go wrong with a remote.

use std::fmt;

/// A failed operation. Its text reads as Flux's does and holds no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    /// Nothing is put before the text.
    is_whole: bool,
}

/// The class of an [`Error`], for choosing a reason and whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The remote wants other credentials (HTTP 401 or 403).
    Authentication,
    /// The repository does not exist, or not for these credentials (HTTP 404).
    NotFound,
    /// The repository has no such branch, tag, reference, matching version or commit.
    ReferenceNotFound,
    /// The repository has no commits.
    Empty,
    /// The remote could not be reached, the connection broke, or TLS failed.
    Network,
    /// The [`crate::Budget`]'s time is over.
    Timeout,
    /// The [`crate::Budget`] was cancelled.
    Cancelled,
    /// The remote answered with something that is not Git, or with an HTTP status that says nothing else.
    Protocol,
    /// The request itself makes no sense: a malformed reference, range, certificate or proxy address.
    Invalid,
    /// More bytes or entries than the [`crate::Budget`] allows.
    Limit,
    /// The scratch directory or the objects in it could not be read or written.
    Storage,
    /// The transport or object format is not supported.
    Unsupported,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            is_whole: false,
        }
    }

    /// An error whose text no context is put before.
    pub(crate) fn whole(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            is_whole: true,
            ..Self::new(kind, message)
        }
    }

    /// The class.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Puts `context` and a colon before the text.
    pub(crate) fn context(self, context: impl fmt::Display) -> Self {
        if self.is_whole {
            return self;
        }
        Self {
            message: format!("{context}: {}", self.message),
            ..self
        }
    }

    pub(crate) fn storage(action: &str, cause: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Storage, format!("{action}: {cause}"))
    }

    pub(crate) fn protocol(cause: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Protocol, cause.to_string())
    }
}
