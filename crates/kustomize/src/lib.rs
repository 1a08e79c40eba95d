//! kustomize 5.8.1 as a library: what `kustomize build` prints, byte for byte, without a process, a real file
//! system, a network or global state.
//!
//! [`build`] reads a directory of a [`FileSystem`](sluice_vfs::FileSystem) and returns a [`Build`] with the
//! objects in order. Builds share nothing and may run in parallel. What a build depended on is known to the
//! file system that it was given (see `sluice_vfs`); [`Build::remote`] says whether it also depended on
//! something fetched from elsewhere. What is fetched comes through a [`RemoteResolver`].
//!
//! [`Kustomization`] reads, changes and writes kustomization files on their own.

mod accumulator;
mod build;
mod error;
pub mod field_specs;
mod generators;
pub mod kustomization;
mod loader;
mod options;
mod patch;
mod plugins;
mod resource;
mod resource_map;
mod schema;
mod transformers;
mod tree;

pub use build::{Build, build, build_address};
pub use error::{Error, ErrorKind};
pub use field_specs::FieldSpec;
pub use kustomization::Kustomization;
pub use loader::GitAddress;
pub use options::{BuildOptions, Limits, LoadRestrictions, RemoteResolver, Reorder};
pub use resource::{Gvk, Resource, ResourceId};
pub use resource_map::ResourceMap;

pub(crate) use kustomization::is_false as kustomization_is_false;

/// Reads a file's YAML as Kubernetes objects and returns their trees: the test whether a file may be listed
/// under `resources`.
///
/// # Errors
/// What is not YAML and what is no object, with `file` and line.
pub fn parse_objects(
    text: &[u8],
    file: &str,
    limits: &sluice_goyaml::Limits,
) -> Result<Vec<sluice_goyaml::Node>, Error> {
    resource::parse_objects(text, file, limits)
}
