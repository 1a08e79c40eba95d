//! Reasons of Kustomizations.

/// Everything was applied, and is healthy where that is checked.
pub const RECONCILIATION_SUCCEEDED: &str = "ReconciliationSucceeded";
/// Applying failed.
pub const RECONCILIATION_FAILED: &str = "ReconciliationFailed";
/// The manifests could not be built, decrypted or substituted.
pub const BUILD_FAILED: &str = "BuildFailed";
/// The source or its artifact is missing, or the artifact could not be fetched.
pub const ARTIFACT_FAILED: &str = "ArtifactFailed";
/// Objects that are no longer wanted could not be deleted.
pub const PRUNE_FAILED: &str = "PruneFailed";
/// An applied object did not become healthy.
pub const HEALTH_CHECK_FAILED: &str = "HealthCheckFailed";
/// The wait for health was given up for a newer revision.
pub const HEALTH_CHECK_CANCELED: &str = "HealthCheckCanceled";
/// No temporary directory could be made.
pub const DIRECTORY_CREATION_FAILED: &str = "DirectoryCreationFailed";
/// Somebody else changes the same object again and again, so that corrections wait longer. In events only; not
/// known in the API that this one is compatible with.
pub const DRIFT_CORRECTION_DELAYED: &str = "DriftCorrectionDelayed";
