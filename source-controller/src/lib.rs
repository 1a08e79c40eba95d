//! The source-controller: follows sources, keeps an artifact of each one's newest revision in its storage,
//! and serves them to the other controllers.
//!
//! - [`arguments`]: the command line;
//! - [`artifacts`]: what all kinds of sources do with the storage;
//! - [`git_repository`]: the reconciler of GitRepositories.

pub mod arguments;
pub mod artifacts;
pub mod git_repository;
mod setup;

pub use setup::run;
