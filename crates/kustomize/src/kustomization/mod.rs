//! The kustomization file: its names, its fields, reading and writing it.

pub(crate) mod decode;
pub(crate) mod parse;
mod types;

pub use parse::{COMPONENT_KIND, COMPONENT_VERSION, KUSTOMIZATION_KIND, KUSTOMIZATION_VERSION};
pub(crate) use types::is_false;
pub use types::{
    ConfigMapArgs, FieldOptions, FieldSelector, GeneratorOptions, Image, Kustomization, Label,
    LegacySortOptions, ObjectMeta, Patch, PatchOptions, Replacement, ReplacementField, Replica, SecretArgs,
    Selector, SortOptions, SourceSelector, TargetSelector, Var, VarTarget,
};

/// The names that a kustomization file may have, in the order in which they are tried.
pub const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
