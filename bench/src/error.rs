//! What ends a benchmark early.

use std::path::PathBuf;
use std::time::Duration;

/// The result of everything in this program.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A directory does not hold the controllers.
    #[error(
        "{path} is no program: --controllers needs a directory that holds source-controller and kustomize-controller"
    )]
    NoController {
        /// The file that should be one.
        path: PathBuf,
    },
    /// Not all objects came to where they should in time.
    #[error("{what}: {done} of {count} after {after:?}; {example}")]
    TooSlow {
        /// What was waited for.
        what: &'static str,
        /// How many objects got there.
        done: usize,
        /// How many there are.
        count: usize,
        /// How long was waited.
        after: Duration,
        /// One that did not get there, with its condition.
        example: String,
    },
    /// A controller ended where it should have gone on.
    #[error("{name} of {label} ended during the run; it wrote:\n{log}")]
    Ended {
        /// The program's name.
        name: &'static str,
        /// The label of its set.
        label: String,
        /// The end of its log.
        log: String,
    },
    /// A file of `/proc` has another form than documented.
    #[error("{file} has no usable {field}")]
    Process {
        /// The file.
        file: String,
        /// The field that is missing or no number.
        field: &'static str,
    },
    /// The test bed could not do its part.
    #[error(transparent)]
    Testbed(#[from] sluice_testbed::Error),
    /// The API server refused or could not be reached.
    #[error("{what}: {source}")]
    Kubernetes {
        /// What was asked.
        what: String,
        /// What came back.
        source: Box<kube::Error>,
    },
    /// A file or stream failed.
    #[error("{what}: {source}")]
    Io {
        /// What was done.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Makes the adapter that adds to an input/output error what was being done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
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
