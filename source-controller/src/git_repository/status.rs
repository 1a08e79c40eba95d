//! What is said in the status on the way and at the end.

use sluice_api::conditions::source::{
    ARTIFACT_IN_STORAGE, ARTIFACT_OUTDATED, FETCH_FAILED, INCLUDE_UNAVAILABLE, SOURCE_VERIFIED,
    STORAGE_OPERATION_FAILED,
};
use sluice_api::conditions::{READY, RECONCILING, STALLED};
use sluice_api::meta::Artifact;
use sluice_api::reasons::source as reasons;
use sluice_api::reasons::{PROGRESSING, SUCCEEDED};
use sluice_api::source::{GROUP, GitRepository, GitRepositorySpec, GitRepositoryStatus, GitVerificationMode};
use sluice_runtime::conditions::{delete, has, mark_progress, mark_true};
use sluice_runtime::{Context, Event, ReconcileError, Summary};

use super::verify;

/// The conditions that belong to this controller.
pub const OWNED: &[&str] = &[
    STORAGE_OPERATION_FAILED,
    FETCH_FAILED,
    INCLUDE_UNAVAILABLE,
    ARTIFACT_OUTDATED,
    ARTIFACT_IN_STORAGE,
    SOURCE_VERIFIED,
    READY,
    RECONCILING,
    STALLED,
];

/// How Ready follows from the others.
pub const SUMMARY: Summary = Summary {
    conditions: &[
        STORAGE_OPERATION_FAILED,
        FETCH_FAILED,
        INCLUDE_UNAVAILABLE,
        ARTIFACT_OUTDATED,
        ARTIFACT_IN_STORAGE,
        SOURCE_VERIFIED,
        STALLED,
        RECONCILING,
    ],
    negative: &[
        STORAGE_OPERATION_FAILED,
        FETCH_FAILED,
        INCLUDE_UNAVAILABLE,
        ARTIFACT_OUTDATED,
        STALLED,
        RECONCILING,
    ],
    bipolar: &[SOURCE_VERIFIED],
};

/// The conditions of which the end is worth an event.
const FAILURES: [&str; 3] = [FETCH_FAILED, INCLUDE_UNAVAILABLE, STORAGE_OPERATION_FAILED];

/// What a reconcile found, to tell at its end what has changed.
#[derive(Debug, Clone)]
pub struct Before {
    digest: Option<String>,
    failing: bool,
}

impl Before {
    /// Notes the artifact's digest and whether something fails.
    pub fn of(object: &GitRepository) -> Self {
        let artifact = object.status.as_ref().and_then(|status| status.artifact.as_ref());
        Self {
            digest: artifact.map(|artifact| artifact.digest.clone()),
            failing: FAILURES.iter().any(|condition| has(object, condition)),
        }
    }

    /// The event that a success is worth: a new artifact, or the end of a failure. `about` is the first line
    /// of the commit's message, or the revision where the commit was not fetched.
    pub fn event(&self, object: &GitRepository, about: &str) -> Option<Event> {
        let artifact = object.status.as_ref()?.artifact.as_ref()?;
        let recovered = self.failing && !FAILURES.iter().any(|condition| has(object, condition));
        let reason = if self.digest.as_deref() != Some(artifact.digest.as_str()) {
            reasons::NEW_ARTIFACT
        } else if recovered {
            SUCCEEDED
        } else {
            return None;
        };
        let event = Event::info(reason, format!("stored artifact for commit '{about}'"))
            .with_metadata(format!("{GROUP}/revision"), &artifact.revision)
            .with_metadata(format!("{GROUP}/digest"), &artifact.digest);
        Some(event)
    }
}

/// Says that work begins. It is written at once only for a new generation or a new request, so that a
/// periodic look that finds nothing new costs one patch and shows no flicker.
///
/// # Errors
/// The status cannot be written.
pub async fn announce(context: &mut Context<GitRepository>) -> Result<(), ReconcileError> {
    mark_progress(
        &mut context.object,
        false,
        PROGRESSING,
        "reconciliation in progress",
    );
    if context.is_new_generation() {
        let observed = status(&context.object)
            .and_then(|status| status.observed_generation)
            .unwrap_or(0);
        let generation = context.object.metadata.generation.unwrap_or(0);
        let message = format!("processing object: new generation {observed} -> {generation}");
        mark_progress(&mut context.object, false, PROGRESSING, message);
        context.patch_status().await
    } else if context.is_requested() {
        context.patch_status().await
    } else {
        Ok(())
    }
}

/// Says that an artifact is being built, and why.
///
/// # Errors
/// The status cannot be written.
pub async fn announce_build(context: &mut Context<GitRepository>, why: &str) -> Result<(), ReconcileError> {
    let message = if why.is_empty() {
        "building artifact".to_owned()
    } else {
        format!("building artifact: {why}")
    };
    mark_progress(&mut context.object, true, PROGRESSING, message);
    context.patch_status().await
}

/// Says what was verified in the commit at hand.
pub fn mark_verified(object: &mut GitRepository, mode: GitVerificationMode, message: &str) {
    object.status.get_or_insert_default().source_verification_mode = Some(mode);
    mark_true(object, SOURCE_VERIFIED, SUCCEEDED, message);
}

/// Removes what an earlier verification said: it does not speak of the commit at hand.
pub fn forget_verification(object: &mut GitRepository) {
    delete(object, SOURCE_VERIFIED);
    object.status.get_or_insert_default().source_verification_mode = None;
}

/// Says that the artifact at hand is not the one that is wanted.
pub fn mark_outdated(object: &mut GitRepository, reason: &str, message: &str) {
    mark_true(object, ARTIFACT_OUTDATED, reason, message);
}

/// Says that the artifact of the revision is in the storage, observed for the object's generation.
pub fn mark_stored(object: &mut GitRepository, revision: &str) {
    delete(object, ARTIFACT_OUTDATED);
    mark_true(
        object,
        ARTIFACT_IN_STORAGE,
        SUCCEEDED,
        format!("stored artifact for revision '{revision}'"),
    );
}

/// Records a new artifact with everything that it was made with.
pub fn record(object: &mut GitRepository, artifact: Artifact, includes: Vec<Artifact>) {
    let spec = object.spec.clone();
    let status = object.status.get_or_insert_default();
    status.artifact = Some(artifact);
    status.included_artifacts = includes;
    status.observed_ignore = spec.ignore;
    status.observed_include = spec.include;
    status.observed_recurse_submodules = spec.recurse_submodules;
    status.observed_sparse_checkout = spec.sparse_checkout;
}

/// The artifact that the status names.
pub fn artifact(object: &GitRepository) -> Option<&Artifact> {
    status(object)?.artifact.as_ref()
}

/// The status, if there is one.
pub fn status(object: &GitRepository) -> Option<&GitRepositoryStatus> {
    object.status.as_ref()
}

/// Whether included artifacts are others than the status says, by revision.
pub fn includes_differ(found: &[Artifact], status: Option<&GitRepositoryStatus>) -> bool {
    let observed = status.map_or(&[][..], |status| &status.included_artifacts);
    found.len() != observed.len()
        || !found
            .iter()
            .all(|one| observed.iter().any(|other| one.revision == other.revision))
}

/// Whether something besides the commit that goes into the artifact is other than what the artifact was made
/// with, or more is to be verified than was.
pub fn contents_differ(
    spec: &GitRepositorySpec,
    status: Option<&GitRepositoryStatus>,
    includes: &[Artifact],
) -> bool {
    let nothing = GitRepositoryStatus::default();
    let status = status.unwrap_or(&nothing);
    spec.ignore != status.observed_ignore
        || verify::is_due(spec, Some(status))
        || spec.recurse_submodules != status.observed_recurse_submodules
        || spec.include != status.observed_include
        || spec.sparse_checkout != status.observed_sparse_checkout
        || includes.len() != status.included_artifacts.len()
        || includes
            .iter()
            .zip(&status.included_artifacts)
            .any(|(found, observed)| found.revision != observed.revision || found.digest != observed.digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(revision: &str, digest: &str) -> Artifact {
        Artifact {
            revision: revision.to_owned(),
            digest: digest.to_owned(),
            ..Artifact::default()
        }
    }

    #[test]
    fn contents_differ_when_anything_that_went_in_has_changed() {
        let sound = || {
            let spec = GitRepositorySpec {
                ignore: Some("*.md".into()),
                ..GitRepositorySpec::default()
            };
            let mut object = GitRepository {
                spec,
                ..GitRepository::default()
            };
            record(
                &mut object,
                artifact("main@sha1:a", "sha256:1"),
                vec![artifact("r", "d")],
            );
            object
        };
        let differ = |object: &GitRepository, includes: &[Artifact]| {
            contents_differ(&object.spec, object.status.as_ref(), includes)
        };
        let same = [artifact("r", "d")];
        assert!(!differ(&sound(), &same));
        let mut changed = sound();
        changed.spec.ignore = None;
        assert!(differ(&changed, &same));
        let mut changed = sound();
        changed.spec.sparse_checkout = vec!["apps".into()];
        assert!(differ(&changed, &same));
        assert!(differ(&sound(), &[]));
        assert!(differ(&sound(), &[artifact("r", "other")]));
        assert!(differ(&sound(), &[artifact("other", "d")]));
        assert!(contents_differ(&sound().spec, None, &same));
    }

    #[test]
    fn an_event_tells_of_new_artifacts_and_of_the_end_of_failures() {
        // SRC-054
        let mut object = GitRepository::default();
        let fresh = Before::of(&object);
        assert_eq!(fresh.event(&object, "x"), None);
        record(&mut object, artifact("main@sha1:a", "sha256:1"), Vec::new());
        let event = fresh.event(&object, "first").unwrap();
        assert_eq!(
            (event.reason.as_str(), event.message.as_str()),
            ("NewArtifact", "stored artifact for commit 'first'")
        );
        assert_eq!(event.metadata["source.toolkit.fluxcd.io/revision"], "main@sha1:a");
        assert_eq!(event.metadata["source.toolkit.fluxcd.io/digest"], "sha256:1");
        assert_eq!(Before::of(&object).event(&object, "x"), None);
        mark_true(&mut object, FETCH_FAILED, "GitOperationFailed", "gone");
        let failing = Before::of(&object);
        assert_eq!(failing.event(&object, "x"), None);
        delete(&mut object, FETCH_FAILED);
        assert_eq!(failing.event(&object, "x").unwrap().reason, "Succeeded");
    }
}
