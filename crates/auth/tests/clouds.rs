//! Tokens from servers that speak the clouds' protocols and check what they are shown.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "clouds/aws.rs"]
mod aws;
#[path = "clouds/azure.rs"]
mod azure;
#[path = "clouds/github.rs"]
mod github;
#[path = "clouds/support.rs"]
mod support;
