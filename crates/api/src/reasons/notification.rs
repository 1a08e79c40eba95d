//! Reasons of Alerts, Providers and Receivers.

/// The Secret of a Receiver has no token.
pub const TOKEN_NOT_FOUND: &str = "TokenNotFound";
/// The spec of a Receiver is not valid.
pub const VALIDATION_FAILED: &str = "ValidationFailed";
/// Two sources of event metadata disagree. Events only.
pub const METADATA_APPEND_FAILED: &str = "MetadataAppendFailed";
/// An event could not be sent. Events only.
pub const NOTIFICATION_DISPATCH_FAILED: &str = "NotificationDispatchFailed";
/// The provider cannot be used as it is configured. Events only.
pub const INVALID_CONFIG: &str = "InvalidConfig";
/// The object of an event could not be read. Events only.
pub const SOURCE_FETCH_FAILED: &str = "SourceFetchFailed";
/// An old finalizer was taken off. Events only.
pub const MIGRATION: &str = "Migration";
