//! Step three: find out which commit the reference points to, and fetch it if it is a new one.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sluice_git::{Budget, Checkout, ErrorKind};
use sluice_vfs::{FileSystem, VirtualPath};

use super::validate::ValidSpec;
use crate::artifacts::unblock;

/// Why no commit could be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The repository has no commits.
    #[error("git repository is empty")]
    Empty,
    /// Git failed.
    #[error("failed to checkout and determine revision: {0}")]
    Git(#[source] sluice_git::Error),
    /// The remote sends more than the limit.
    #[error(
        "failed to checkout and determine revision: {0}; the controller's flags --git-max-transfer-size and --git-max-file-size set the limits"
    )]
    TooMuch(#[source] sluice_git::Error),
    /// A directory of `spec.sparseCheckout` is not there.
    #[error(
        "failed to sparse checkout directories : sparse checkout dir '{0}' does not exist in repository: lstat {0}: no such file or directory"
    )]
    SparseDirectory(String),
    /// The process is told to end, or the work panicked.
    #[error("failed to checkout and determine revision: the operation was broken off")]
    BrokenOff,
}

impl From<sluice_git::Error> for FetchError {
    fn from(error: sluice_git::Error) -> Self {
        match error.kind() {
            ErrorKind::Empty => Self::Empty,
            ErrorKind::Limit => Self::TooMuch(error),
            _ => Self::Git(error),
        }
    }
}

/// Sets its flag when it is dropped, so that blocking work ends soon after nobody waits for it any more.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<Guard>);

#[derive(Debug, Default)]
struct Guard(Arc<AtomicBool>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Cancellation {
    /// The flag that blocking work looks at.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.0.clone()
    }
}

/// How much one repository may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that one Git operation may receive (`--git-max-transfer-size`).
    pub transfer_bytes: u64,
    /// Files and directories of a commit that are looked at (`--git-max-tree-entries`).
    pub tree_entries: usize,
    /// Bytes of one file (`--git-max-file-size`).
    pub file_bytes: u64,
    /// Bytes of all files of an artifact together, before they are compressed (`--git-max-checkout-size`).
    pub checkout_bytes: u64,
}

/// Runs Git operations for one reconcile.
#[derive(Debug, Clone)]
pub struct Fetch {
    /// The spec.
    pub spec: Arc<ValidSpec>,
    /// Where fetched objects may lie.
    pub scratch: PathBuf,
    /// How much the repository may bring.
    pub limits: Limits,
    /// Ends operations early.
    pub cancellation: Cancellation,
}

impl Fetch {
    fn budget(&self) -> Budget {
        Budget::new(self.spec.timeout)
            .with_transfer_bytes(self.limits.transfer_bytes)
            .with_entries(self.limits.tree_entries)
            // A smaller limit is checked where the file's path is known.
            .with_object_bytes(self.limits.file_bytes.max(Budget::DEFAULT_OBJECT_BYTES))
            .with_cancellation(self.cancellation.flag())
    }

    /// The revision that the reference has now, by listing references alone; `None` where listing cannot tell.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn resolve(&self) -> Result<Option<String>, FetchError> {
        let (spec, budget) = (self.spec.clone(), self.budget());
        let resolved = unblock(move || sluice_git::resolve(&spec.remote, &spec.reference, &budget)).await;
        let revision = resolved.map_err(|_| FetchError::BrokenOff)??;
        Ok(revision.map(|revision| revision.to_string()))
    }

    /// Fetches the commit, with its submodules if the spec wants them.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn checkout(&self) -> Result<Checkout, FetchError> {
        let (spec, budget, scratch) = (self.spec.clone(), self.budget(), self.scratch.clone());
        let fetch = move || {
            let checkout = sluice_git::fetch(&spec.remote, &spec.reference, &scratch, &budget)?;
            if spec.submodules {
                checkout.with_submodules(&spec.remote, &scratch, &budget)
            } else {
                Ok(checkout)
            }
        };
        let fetched = unblock(fetch).await;
        Ok(fetched.map_err(|_| FetchError::BrokenOff)??)
    }
}

/// Checks that each directory to take is there.
///
/// # Errors
/// [`FetchError::SparseDirectory`] names the first that is not.
pub fn check_sparse(tree: &dyn FileSystem, directories: &[String]) -> Result<(), FetchError> {
    let missing = directories.iter().find(|directory| {
        let kind = VirtualPath::parse(directory)
            .ok()
            .and_then(|path| tree.kind(&path).ok().flatten());
        kind.is_none()
    });
    missing.map_or(Ok(()), |directory| {
        Err(FetchError::SparseDirectory(directory.clone()))
    })
}
