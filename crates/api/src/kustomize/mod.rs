//! Group `kustomize.toolkit.fluxcd.io`: applying what a kustomize build makes.

mod kustomization;
mod status;

pub use kustomization::{
    BuildMetadata, CrossNamespaceSourceReference, Decryption, DecryptionProvider, DeletionPolicy,
    Kustomization, KustomizationSpec, PostBuild, SourceKind, SubstituteReference, SubstituteReferenceKind,
    SubstituteStrategy,
};
pub use status::KustomizationStatus;

/// The API group of all kinds in this module.
pub const GROUP: &str = "kustomize.toolkit.fluxcd.io";
