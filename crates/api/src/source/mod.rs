//! Group `source.toolkit.fluxcd.io`: where desired state comes from.

mod git_repository;

pub use git_repository::{
    GitProvider, GitRepository, GitRepositoryInclude, GitRepositoryReference, GitRepositorySpec,
    GitRepositoryStatus, GitVerification, GitVerificationMode,
};

/// The API group of all kinds in this module.
pub const GROUP: &str = "source.toolkit.fluxcd.io";

/// The sets of kinds that `kubectl get` knows sources by.
const CATEGORIES: &[&str] = &["all", "fluxcd", "fluxcd-sources"];
