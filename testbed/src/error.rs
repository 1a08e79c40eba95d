//! What can go wrong around a test.

use std::path::PathBuf;
use std::time::Duration;

/// The result of everything in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why something of the test bed could not be had or did not happen in time.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program or data set that tests need is not on this machine. The only error for which a test may be
    /// skipped: see [`crate::tools::require_or_skip`].
    #[error("{what} is missing at {path}: {remedy}")]
    Missing {
        /// What it is, such as "tool kustomize".
        what: String,
        /// Where it was looked for.
        path: PathBuf,
        /// How to get it.
        remedy: &'static str,
    },
    /// A process could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// The program's file.
        program: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A process ended where it should go on, or failed where it should succeed.
    #[error("{what} failed: {output}")]
    Failed {
        /// Which process, with its arguments.
        what: String,
        /// How it ended and the last lines that it wrote.
        output: String,
    },
    /// Something did not happen before its deadline.
    #[error("{what} did not happen within {after:?}; last seen: {last}")]
    Timeout {
        /// What was waited for.
        what: String,
        /// How long.
        after: Duration,
        /// The state when time was up.
        last: String,
    },
    /// One of the test bed's own servers answered unexpectedly.
    #[error("{what}: unexpected answer: {answer}")]
    Answer {
        /// What was asked.
        what: String,
        /// What came back.
        answer: String,
    },
    /// A file or connection failed.
    #[error("{what}: {source}")]
    Io {
        /// What was done, and to which file or address.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Something that should be JSON was not, or had another shape.
    #[error("{what}: {source}")]
    Json {
        /// What was read or written.
        what: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The API server refused or could not be reached.
    #[error("{what}: {source}")]
    Kubernetes {
        /// What was asked.
        what: String,
        /// What came back.
        source: Box<kube::Error>,
    },
    /// A kubeconfig could not be used.
    #[error("kubeconfig {path}: {reason}")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl Error {
    /// Makes the adapter that adds to an input/output error what was being done.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// Makes the adapter that adds to a JSON error what was being read or written.
    pub(crate) fn json(what: impl Into<String>) -> impl FnOnce(serde_json::Error) -> Self {
        let what = what.into();
        move |source| Self::Json { what, source }
    }

    /// Makes the adapter that adds to a Kubernetes error what was asked.
    pub(crate) fn kubernetes(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Kubernetes {
            what,
            source: Box::new(source),
        }
    }
}
