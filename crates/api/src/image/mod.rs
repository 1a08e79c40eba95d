//! Group `image.toolkit.fluxcd.io`: tags of images, choices among them, commits that follow.

mod policy;
mod repository;
mod update;

pub use policy::{
    AlphabeticalPolicy, DigestReflectionPolicy, ImagePolicy, ImagePolicyChoice, ImagePolicySpec,
    ImagePolicyStatus, ImageReference, NumericalPolicy, PolicyOrder, SemverPolicy, TagFilter,
};
pub use repository::{ImageRepository, ImageRepositorySpec, ImageRepositoryStatus, ScanResult};
pub use update::{
    AutomationSourceKind, AutomationSourceReference, CommitAuthor, CommitSpec, GitCheckout, GitSpec,
    ImageUpdateAutomation, ImageUpdateAutomationSpec, ImageUpdateAutomationStatus, PushSpec, SigningKey,
    SigningKeyType, UpdateSpec, UpdateStrategy,
};

/// The API group of all kinds in this module.
pub const GROUP: &str = "image.toolkit.fluxcd.io";

/// The sets of kinds that `kubectl get` knows image automation by.
const CATEGORIES: &[&str] = &["all", "fluxcd", "fluxcd-images"];
