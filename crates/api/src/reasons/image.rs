//! Reasons of ImageRepositories, ImagePolicies and ImageUpdateAutomations.

/// The name of the image is not valid.
pub const IMAGE_URL_INVALID: &str = "ImageURLInvalid";
/// Credentials are missing, incomplete, or were refused.
pub const AUTHENTICATION_FAILED: &str = "AuthenticationFailed";
/// The tags could not be listed or kept.
pub const READ_OPERATION_FAILED: &str = "ReadOperationFailed";
/// The choice could not be made.
pub const FAILURE: &str = "Failure";
/// The range or the regular expression of a policy is not valid.
pub const INVALID_POLICY: &str = "InvalidPolicy";
/// A policy that always looks up the digest has no interval.
pub const INTERVAL_NOT_CONFIGURED: &str = "IntervalNotConfigured";
/// The selector of policies is not valid.
pub const INVALID_POLICY_SELECTOR: &str = "InvalidPolicySelector";
/// The source cannot be used as it is configured.
pub const INVALID_SOURCE_CONFIGURATION: &str = "InvalidSourceConfiguration";
/// The update strategy is not known.
pub const INVALID_UPDATE_STRATEGY: &str = "InvalidUpdateStrategy";
/// The message template uses a field that no longer exists.
pub const REMOVED_TEMPLATE_FIELD: &str = "RemovedTemplateField";
/// The source could not be prepared.
pub const SOURCE_MANAGER_FAILED: &str = "SourceManagerFailed";
/// A Git operation failed.
pub const GIT_OPERATION_FAILED: &str = "GitOperationFailed";
/// The files could not be updated.
pub const UPDATE_FAILED: &str = "UpdateFailed";
