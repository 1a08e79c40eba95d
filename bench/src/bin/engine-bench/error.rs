//! What ends the measurement early.

use std::path::PathBuf;

/// The result of everything in this program.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The operating system refused something.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was to be done.
        what: String,
        /// Why it was not.
        source: std::io::Error,
    },
    /// A program is not where it should be.
    #[error("{0} is no program: build it, or name another")]
    NoProgram(PathBuf),
    /// An engine failed.
    #[error("{engine} failed on {case}; it wrote:\n{output}")]
    Failed {
        /// The engine.
        engine: &'static str,
        /// What it was to build.
        case: String,
        /// What it wrote to standard error.
        output: String,
    },
    /// The engines do not agree, so their times cannot be compared.
    #[error("the engines print different manifests for {case}: {ours} and {other} bytes")]
    Different {
        /// What was built.
        case: String,
        /// The length of what sluice printed.
        ours: u64,
        /// The length of what the other printed.
        other: u64,
    },
}

impl Error {
    /// An error of the operating system in the middle of something.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
