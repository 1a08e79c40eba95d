//! Whether and how builds fetch remote bases.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sluice_kustomize::RemoteResolver;
use sluice_remote_bases::{Limits, RemoteBases};
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Lets builds fetch remote bases. The objects of repositories lie in a directory of this process while a build
/// reads them.
#[derive(Debug, Clone)]
pub(crate) struct RemoteAccess {
    scratch: PathBuf,
    cancelled: Arc<AtomicBool>,
}

impl RemoteAccess {
    /// Makes the directory, without what a killed process of the same id left in it, and breaks off transfers once
    /// the controller stops.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        let scratch = std::env::temp_dir().join(format!("{}-{}", crate::NAME, std::process::id()));
        let access = Self::within(scratch);
        let cancelled = Arc::clone(&access.cancelled);
        tokio::spawn(async move {
            stop.cancelled().await;
            cancelled.store(true, Ordering::Relaxed);
        });
        access
    }

    fn within(scratch: PathBuf) -> Self {
        if scratch.exists()
            && let Err(error) = std::fs::remove_dir_all(&scratch)
        {
            warn!("{}: {error}", scratch.display());
        }
        // A build that needs the directory says so; others need none.
        if let Err(error) = std::fs::DirBuilder::new().mode(0o700).create(&scratch) {
            warn!("remote bases cannot be fetched: {}: {error}", scratch.display());
        }
        Self {
            scratch,
            cancelled: Arc::default(),
        }
    }

    /// What one build fetches with.
    pub(crate) fn open(&self, deadline: Instant) -> Box<dyn RemoteResolver + Send> {
        let limits = Limits {
            deadline: Some(deadline),
            cancelled: Arc::clone(&self.cancelled),
            ..Limits::default()
        };
        Box::new(RemoteBases::new(self.scratch.clone(), limits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_fresh_and_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let scratch = parent.path().join("scratch");
        std::fs::create_dir_all(scratch.join("git-leftover/objects")).unwrap();
        let access = RemoteAccess::within(scratch.clone());
        assert_eq!(std::fs::read_dir(&access.scratch).unwrap().count(), 0);
        let mode = std::fs::metadata(&scratch).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
