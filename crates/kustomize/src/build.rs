use std::collections::BTreeMap;

use sluice_vfs::{FileSystem, VirtualPath};

use crate::accumulator::{SchemaState, Target};
use crate::error::Result;
use crate::field_specs::FieldSpec;
use crate::kustomization::SortOptions;
use crate::loader::{GitAddress, Loader, Session};
use crate::options::{BuildOptions, Reorder};
use crate::resource_map::{ResourceMap, sort};
use crate::transformers::Labels;

const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
const MANAGED_BY: &str = "kustomize-v5.8.1";

/// The outcome of a build.
#[derive(Debug, Clone)]
pub struct Build {
    /// The objects in their final order.
    pub resources: ResourceMap,
    /// What works but should be changed, in words for the user.
    pub warnings: Vec<String>,
    /// Whether something was fetched from elsewhere, so that the same files can build into something else.
    pub remote: bool,
}

impl Build {
    /// What `kustomize build` prints.
    ///
    /// # Errors
    /// As [`ResourceMap::to_yaml`].
    pub fn to_yaml(&self) -> Result<String> {
        self.resources.to_yaml()
    }
}

/// Builds the kustomization in the directory `root`.
///
/// # Errors
/// Everything that makes `kustomize build` fail, in own words: with file, line, field and remedy where they
/// are known.
pub fn build(files: &dyn FileSystem, root: &VirtualPath, options: &BuildOptions<'_>) -> Result<Build> {
    let session = Session::new(options);
    run(Loader::new(&session, files, root)?)
}

/// Builds the kustomization in a directory of a remote repository, which `options.remote` fetches.
///
/// # Errors
/// As [`build`], and what the resolver says.
pub fn build_address(address: &GitAddress, options: &BuildOptions<'_>) -> Result<Build> {
    let session = Session::new(options);
    run(Loader::at_address(&session, address)?)
}

fn run(loader: Loader<'_>) -> Result<Build> {
    let root = loader.display("");
    let root = if root.is_empty() { ".".to_owned() } else { root };
    let schema = SchemaState::new();
    let target = Target::load(loader, &schema).map_err(|error| error.complete(&root))?;
    finish(&target, &schema).map_err(|error| error.complete(target.file()))
}

fn finish(target: &Target<'_, '_>, schema: &SchemaState) -> Result<Build> {
    let session = target.session();
    let options = session.options;
    target.choose_schema(true)?;
    let mut resources = target.build()?;
    let kustomization = target.kustomization();
    let schema = schema.get();
    let default = SortOptions {
        order: "legacy".to_owned(),
        legacy_sort_options: None,
    };
    match &kustomization.sort_options {
        Some(own) => sort(&mut resources, own, &schema)?,
        None if options.reorder == Reorder::Legacy => sort(&mut resources, &default, &schema)?,
        None => {}
    }
    let asks_for = |option: &str| kustomization.build_metadata.iter().any(|entry| entry == option);
    if options.managed_by_label || asks_for("managedByLabel") {
        let labels = BTreeMap::from([(MANAGED_BY_LABEL.to_owned(), MANAGED_BY.to_owned())]);
        Labels {
            labels,
            fields: vec![FieldSpec::of_all("metadata/labels", true)],
        }
        .apply(&mut resources)?;
    }
    let (origins, transformations) = (asks_for("originAnnotations"), asks_for("transformerAnnotations"));
    for resource in resources.contents_mut() {
        resource.finish(origins, transformations)?;
    }
    Ok(Build {
        resources,
        warnings: session.warnings.take(),
        remote: session.remote.get(),
    })
}
