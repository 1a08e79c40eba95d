//! Step five: write the artifact into the storage.

use std::sync::Arc;

use sluice_api::meta::Artifact;
use sluice_artifact::{ArtifactPath, IgnoreRules, Storage, StorageError, Written, write_gzip};
use sluice_git::Checkout;
use sluice_runtime::ObjectKey;

use super::KIND;
use super::build::{BuildError, Include, SourceTree};
use super::fetch::{Cancellation, Limits};
use crate::artifacts::{Artifacts, unblock};

/// Why an artifact could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Its entries cannot be made.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The object's directory cannot be made.
    #[error("failed to create artifact directory: {0}")]
    Directory(#[source] StorageError),
    /// The artifact's lock cannot be taken.
    #[error("failed to acquire lock for artifact: {0}")]
    Lock(#[source] StorageError),
    /// The file cannot be written.
    #[error("unable to archive artifact to storage: {0}")]
    Write(#[from] StorageError),
    /// The process ends, or the work panicked.
    #[error("unable to archive artifact to storage: the work was broken off")]
    BrokenOff,
}

/// What goes into an artifact besides the commit.
#[derive(Debug, Clone)]
pub struct Contents {
    /// `spec.ignore`.
    pub ignore: Option<String>,
    /// The directories to take; empty for all.
    pub sparse: Vec<String>,
    /// The artifacts to include.
    pub includes: Vec<IncludedArtifact>,
    /// How much there may be.
    pub limits: Limits,
}

/// An artifact of another object in the same storage.
#[derive(Debug, Clone)]
pub struct IncludedArtifact {
    /// The object's name.
    pub name: String,
    /// What to take of it, as the spec has it.
    pub from: String,
    /// Where to put it, as the spec has it.
    pub to: String,
    /// The artifact.
    pub artifact: Artifact,
}

/// Writes the artifact of a commit and describes it for the status.
///
/// # Errors
/// See [`StoreError`]. An older artifact stays untouched.
pub async fn store(
    artifacts: &Arc<Artifacts>,
    key: &ObjectKey,
    checkout: Checkout,
    contents: Contents,
    cancellation: &Cancellation,
) -> Result<Artifact, StoreError> {
    let revision = checkout.revision.to_string();
    let file = format!("{}.tar.gz", checkout.revision.commit());
    let path = ArtifactPath::new(KIND, &key.namespace, &key.name, &file)?;
    let (storage, target, flag) = (artifacts.storage().clone(), path.clone(), cancellation.flag());
    let work = move || {
        let includes = open_includes(&storage, contents.includes)?;
        let source = SourceTree::new(checkout.tree().clone(), contents.sparse, includes, flag)?;
        write(
            &storage,
            &target,
            &source,
            contents.ignore.as_deref(),
            &contents.limits,
        )
    };
    let written = unblock(work).await.map_err(|_| StoreError::BrokenOff)??;
    Ok(artifacts.describe(&path, revision, &written))
}

fn write(
    storage: &Storage,
    path: &ArtifactPath,
    source: &SourceTree,
    ignore: Option<&str>,
    limits: &Limits,
) -> Result<Written, StoreError> {
    storage.create_directory(path).map_err(StoreError::Directory)?;
    let _lock = storage.lock(path).map_err(StoreError::Lock)?;
    let rules = IgnoreRules::for_source(source.ignore_patterns()?, ignore);
    storage.write(path, |writer| {
        write_gzip(writer, |tar| source.write(&rules, limits, tar))?;
        Ok(())
    })
}

/// Opens the included artifacts' files.
fn open_includes(storage: &Storage, includes: Vec<IncludedArtifact>) -> Result<Vec<Include>, BuildError> {
    let open = |include: IncludedArtifact| {
        let opened = ArtifactPath::parse(&include.artifact.path)
            .and_then(|path| storage.read(&path))
            .map_err(|error| error.to_string())
            .and_then(|mut file| {
                let limits = sluice_artifact::ArchiveLimits::default();
                sluice_artifact::Archive::read_gzip(
                    &mut file,
                    &limits,
                    sluice_artifact::archive::Links::Refuse,
                )
                .map_err(|error| error.to_string())
            });
        let IncludedArtifact { name, from, to, .. } = include;
        match opened {
            Ok(archive) => Ok(Include {
                name,
                from,
                to,
                archive,
            }),
            Err(reason) => Err(BuildError::Include {
                name,
                from,
                to,
                reason,
            }),
        }
    };
    includes.into_iter().map(open).collect()
}
