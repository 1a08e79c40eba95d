//! Finalizers.

/// Keeps an object until its controller has cleaned up after it. The same for every kind.
pub const FINALIZER: &str = "finalizers.fluxcd.io";

/// As [`FINALIZER`], for ArtifactGenerators, which have one of their own.
pub const ARTIFACT_GENERATOR: &str = "source.extensions.fluxcd.io/finalizer";
