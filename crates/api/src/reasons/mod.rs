//! Reasons of conditions and events. Those that controllers share stand here, the others in a module for
//! each controller.

pub mod extensions;
pub mod helm;
pub mod image;
pub mod kustomize;
pub mod notification;
pub mod source;

/// Work goes on.
pub const PROGRESSING: &str = "Progressing";
/// Work failed and will be tried again.
pub const PROGRESSING_WITH_RETRY: &str = "ProgressingWithRetry";
/// It worked.
pub const SUCCEEDED: &str = "Succeeded";
/// It did not work.
pub const FAILED: &str = "Failed";
/// Something that is needed first is not ready.
pub const DEPENDENCY_NOT_READY: &str = "DependencyNotReady";
/// The object is suspended.
pub const SUSPENDED: &str = "Suspended";
/// The object may not refer to another one, for instance in another namespace.
pub const ACCESS_DENIED: &str = "AccessDenied";
/// A CEL expression in the spec cannot be compiled.
pub const INVALID_CEL_EXPRESSION: &str = "InvalidCELExpression";
/// The spec asks for a feature that the controller has switched off.
pub const FEATURE_GATE_DISABLED: &str = "FeatureGateDisabled";
