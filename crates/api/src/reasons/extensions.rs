//! Reasons of ArtifactGenerators.

/// An annotation switched the reconcile off.
pub const RECONCILIATION_DISABLED: &str = "ReconciliationDisabled";
/// The spec is not valid.
pub const VALIDATION_FAILED: &str = "ValidationFailed";
/// A source is not ready or could not be fetched.
pub const SOURCE_FETCH_FAILED: &str = "SourceFetchFailed";
/// An artifact could not be put together.
pub const BUILD_FAILED: &str = "BuildFailed";
/// An artifact could not be stored or announced.
pub const RECONCILIATION_FAILED: &str = "ReconciliationFailed";
