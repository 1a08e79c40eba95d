//! What every kind of source does with the storage, off the asynchronous threads.

use std::time::Duration;

use sluice_api::meta::{Artifact, Timestamp};
use sluice_artifact::{ArtifactPath, Digest, Storage, StorageError, Written, storage::Removed};
use sluice_runtime::ObjectKey;

/// How long one collection of garbage may take.
const GARBAGE_BUDGET: Duration = Duration::from_secs(5);

/// What was found where a status says that an artifact is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// The file, with the bytes that its digest names.
    Intact,
    /// No file.
    Disappeared,
    /// A file with other bytes, for this reason; it was removed.
    Corrupt(String),
}

/// A failure that has no better name: the blocking work was broken off by a panic or by the end of the
/// process.
#[derive(Debug, thiserror::Error)]
#[error("the work on the storage was broken off")]
pub struct BrokenOff;

/// The storage as sources use it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Artifacts {
    storage: Storage,
}

impl Artifacts {
    /// Artifacts in this storage.
    pub fn new(storage: Storage) -> Self {
        Self { storage }
    }

    /// The storage.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The URL of an artifact that a status names, as this process serves it now; `None` if its path is not
    /// of the storage's layout.
    pub fn current_url(&self, artifact: &Artifact) -> Option<String> {
        ArtifactPath::parse(&artifact.path)
            .ok()
            .map(|path| self.storage.url(&path))
    }

    /// The value for a status of an artifact that was written now.
    pub fn describe(&self, path: &ArtifactPath, revision: String, written: &Written) -> Artifact {
        Artifact {
            digest: written.digest.to_string(),
            last_update_time: Timestamp::now(),
            path: path.to_string(),
            revision,
            size: i64::try_from(written.size).ok(),
            url: self.storage.url(path),
            ..Artifact::default()
        }
    }

    /// Looks for the file of an artifact that a status names and digests it again. A file with other bytes
    /// is removed.
    ///
    /// # Errors
    /// The file with other bytes cannot be removed.
    pub async fn examine(&self, artifact: Artifact) -> Result<Presence, StorageError> {
        let storage = self.storage.clone();
        unblock(move || examine(&storage, &artifact))
            .await
            .unwrap_or(Ok(Presence::Disappeared))
    }

    /// Removes what is no longer needed beside an artifact, within five seconds.
    ///
    /// # Errors
    /// A file cannot be examined or removed.
    pub async fn collect_garbage(&self, artifact: &Artifact) -> Result<Removed, StorageError> {
        let path = ArtifactPath::parse(&artifact.path)?;
        let storage = self.storage.clone();
        unblock(move || storage.collect_garbage(&path, GARBAGE_BUDGET))
            .await
            .unwrap_or_else(|_| Ok(Removed::default()))
    }

    /// Removes everything that was stored for an object; `None` if that was nothing.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub async fn remove_all(
        &self,
        kind: &'static str,
        key: &ObjectKey,
    ) -> Result<Option<Removed>, StorageError> {
        let (storage, key) = (self.storage.clone(), key.clone());
        unblock(move || storage.remove_directory(kind, &key.namespace, &key.name))
            .await
            .unwrap_or(Ok(None))
    }
}

fn examine(storage: &Storage, artifact: &Artifact) -> Result<Presence, StorageError> {
    let Ok(path) = ArtifactPath::parse(&artifact.path) else {
        return Ok(Presence::Disappeared);
    };
    if !storage.exists(&path) {
        return Ok(Presence::Disappeared);
    }
    let checked = match artifact.digest.parse::<Digest>() {
        Ok(digest) => storage.verify(&path, &digest).map_err(|error| error.to_string()),
        Err(_) if artifact.digest.is_empty() => Err("artifact has no digest".to_owned()),
        Err(error) => Err(format!(
            "failed to parse artifact digest '{}': {error}",
            artifact.digest
        )),
    };
    match checked {
        Ok(()) => Ok(Presence::Intact),
        Err(reason) => {
            storage.remove(&path)?;
            Ok(Presence::Corrupt(reason))
        }
    }
}

/// Runs blocking work where it holds nobody up.
///
/// # Errors
/// [`BrokenOff`] if the work panicked or the process ends.
pub async fn unblock<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, BrokenOff> {
    tokio::task::spawn_blocking(work).await.map_err(|_| BrokenOff)
}
