//! Finalizers.

/// Keeps an object until its controller has cleaned up after it. The same for every kind.
pub const FINALIZER: &str = "finalizers.fluxcd.io";
