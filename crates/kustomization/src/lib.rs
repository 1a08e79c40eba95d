//! What a Kustomization means: from files to the objects that are applied, and how they are applied.
//!
//! kustomize-controller and the command line share it, so that a person sees on a laptop what the controller
//! would do in the cluster. [`build()`] is pure: it neither talks to a cluster nor touches a disk, and waits
//! for nothing but what a given resolver of remote bases fetches.
//! What it needs from the cluster, [`load_variables`] reads before.

mod build;
mod options;
mod variables;

pub use build::{
    BuildCache, BuildError, BuildInput, Built, Ignored, VariableMap, Variables, build, with_inline,
};
pub use options::{apply_options, owner_labels, taken_over};
pub use variables::load_variables;
