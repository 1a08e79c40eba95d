//! GitRepositories: an artifact for each commit that a Git reference comes to point to.
//!
//! A reconcile goes in steps, each with its own file and error: [`dereference`] reads what the spec refers
//! to, [`validate`] checks it without asking anybody, [`login`] gets credentials that others give, [`fetch`] resolves and fetches the commit, [`verify`]
//! finds out who signed it, [`build`] turns its tree into the artifact's entries, [`store`] writes it, and
//! [`status`] says what happened.

pub mod build;
pub mod dereference;
mod error;
pub mod fetch;
pub mod login;
mod reconciler;
pub mod status;
pub mod store;
pub mod validate;
pub mod verify;

pub use fetch::Limits;
pub use reconciler::{GitRepositoryOptions, GitRepositoryReconciler};

/// The kind, as the storage's layout has it.
pub(crate) const KIND: &str = "GitRepository";
