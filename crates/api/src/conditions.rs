//! Types of conditions.

/// Whether the object is in the state that it asks for. The one condition that every kind has.
pub const READY: &str = "Ready";
/// Work is in progress. Present only while True.
pub const RECONCILING: &str = "Reconciling";
/// Nothing will happen until the object, or what it refers to, is changed. Present only while True.
pub const STALLED: &str = "Stalled";

/// Conditions of sources.
pub mod source {
    /// The artifact of the current revision is in the storage.
    pub const ARTIFACT_IN_STORAGE: &str = "ArtifactInStorage";
    /// A new artifact is being made. Present only while True.
    pub const ARTIFACT_OUTDATED: &str = "ArtifactOutdated";
    /// The signature of the source was checked: True when good, False when not.
    pub const SOURCE_VERIFIED: &str = "SourceVerified";
    /// The source could not be reached or read. Present only while True.
    pub const FETCH_FAILED: &str = "FetchFailed";
    /// A chart could not be built. Present only while True.
    pub const BUILD_FAILED: &str = "BuildFailed";
    /// The storage could not be read or written. Present only while True.
    pub const STORAGE_OPERATION_FAILED: &str = "StorageOperationFailed";
    /// An artifact to include is missing. Present only while True.
    pub const INCLUDE_UNAVAILABLE: &str = "IncludeUnavailable";
}

/// Conditions of Kustomizations.
pub mod kustomize {
    /// What was applied passed its health checks. Present only where checks are defined.
    pub const HEALTHY: &str = "Healthy";
}

/// Conditions of HelmReleases.
pub mod helm {
    /// The release is installed in the state that was asked for.
    pub const RELEASED: &str = "Released";
    /// The release passed its tests.
    pub const TEST_SUCCESS: &str = "TestSuccess";
    /// A failed release was rolled back or uninstalled.
    pub const REMEDIATED: &str = "Remediated";
    /// Objects of the release were changed in the cluster.
    pub const DRIFTED: &str = "Drifted";
}
