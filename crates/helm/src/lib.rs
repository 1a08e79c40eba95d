//! The Helm engine: charts and values in, manifests out, equal to Helm 4.2 byte for byte.
//!
//! The engine is pure. Charts come as virtual files ([`Loader`]), values as JSON ([`ValuesBuilder`]); what it
//! needs of a cluster comes in through [`Capabilities`] and [`Lookup`]; a [`Budget`] bounds a render. What
//! comes out are the [manifests](Manifest) in the order of installation and the [hooks](Hook).

mod capabilities;
mod chart;
mod decode;
mod dependencies;
mod glob;
mod log;
mod manifest;
mod name;
pub mod release;
mod render;
mod schema;
mod text;
mod values;

pub use capabilities::{Capabilities, HelmVersion, KubeVersion, KubeVersionError};
pub use chart::{
    Archive, ArchiveError, Chart, CustomResourceFile, Dependency, File, IgnoreError, IgnoreRules, LoadError,
    Loader, Maintainer, Metadata,
};
pub use dependencies::process_dependencies;
pub use glob::{PatternError, matches_path};
pub use log::Log;
pub use manifest::{
    DeletePolicy, Hook, HookEvent, INSTALL_ORDER, LogPolicy, Manifest, ManifestError, UNINSTALL_ORDER,
    compare_kinds, sort_manifests, split_manifests,
};
pub use name::{MAX_RELEASE_NAME, ReleaseNameError, check_release_name, name_from_template};
pub use render::{
    Lookup, LookupError, OutputDocument, OutputOptions, PostRenderError, PostRenderStrategy, PostRenderer,
    PostRendering, RenderError, RenderOptions, Rendered, Resolver, Target, TemplateNotFound, render,
};
pub use schema::SchemaError;
pub use sluice_gotemplate::Budget;
pub use values::{TypeMismatch, Values, ValuesBuilder, ValuesError, merge_maps, read_documents};
