//! From an artifact to the objects to apply. Nothing here talks to a cluster; only remote bases are waited for.

mod cache;
mod documents;
mod generate;
mod pack;
mod substitute;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use sha2::{Digest as _, Sha256};
use sluice_api::kustomize::KustomizationSpec;
use sluice_apply::{Object, normalise_all};
use sluice_kustomize::{BuildOptions, Limits, LoadRestrictions, RemoteResolver, Reorder, Resource};
use sluice_vfs::{EntryKind, FileSystem, Overlay, VirtualPath};

pub use cache::BuildCache;
pub use substitute::{Variables, with_inline};

/// What a build needs.
pub struct BuildInput {
    /// The artifact.
    pub files: Arc<dyn FileSystem>,
    /// The directory in it.
    pub directory: VirtualPath,
    /// The spec of the Kustomization.
    pub spec: KustomizationSpec,
    /// Variables of `substituteFrom`, or why they could not be read.
    pub variables: Variables,
    /// Whether a variable without value and default is an error.
    pub strict: bool,
    /// Labels by which the objects are known as the Kustomization's.
    pub owner_labels: Vec<(String, String)>,
    /// Which files are left out, `None` for none: a controller's artifact holds what is wanted.
    pub ignored: Option<Ignored>,
    /// Fetches remote bases; `None` where they are not allowed.
    pub remote: Option<Box<dyn RemoteResolver + Send>>,
    /// When to give up.
    pub deadline: Instant,
}

/// The result of a build.
pub struct Built {
    /// The objects with the owner's labels, else as they were built.
    pub objects: Vec<Object>,
    /// The digest of the manifests before that, for the history.
    pub digest: String,
    /// Whether something was fetched from elsewhere, so that the same files can build into something else.
    pub remote: bool,
}

impl Built {
    /// The subject of the first Secret that is still encrypted and is not meant to stay so.
    pub fn encrypted_secret(&self) -> Option<String> {
        documents::find_encrypted_secret(&self.objects)
    }

    /// The objects as they are applied: normalised, which also takes the marker off encrypted Secrets, and with
    /// the spec's common metadata.
    pub fn into_applicable(mut self, spec: &KustomizationSpec) -> Vec<Object> {
        normalise_all(&mut self.objects);
        self.set_common_metadata(spec);
        self.objects
    }

    /// Sets the spec's common labels and annotations.
    pub fn set_common_metadata(&mut self, spec: &KustomizationSpec) {
        if let Some(metadata) = &spec.common_metadata {
            for object in &mut self.objects {
                object.set_common_metadata(&metadata.labels, &metadata.annotations);
            }
        }
    }
}

/// Why a build failed: Flux's text, with the place where it is known.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    message: String,
    /// `file:line`, where known.
    pub place: Option<String>,
    /// What to do, where known.
    pub remedy: Option<String>,
}

impl BuildError {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            place: None,
            remedy: None,
        }
    }

    fn of_kustomize(error: &sluice_kustomize::Error) -> Self {
        let place = error.file().map(|file| match error.line() {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        });
        let remedy = Some(error.remedy_text().to_owned()).filter(|text| !text.is_empty());
        Self {
            message: format!("kustomize build failed: {error}"),
            place,
            remedy,
        }
    }
}

/// Generates the kustomization file, builds, substitutes and labels.
///
/// # Errors
/// [`BuildError`] with the text that the Ready condition shows.
pub fn build(input: &BuildInput) -> Result<Built, BuildError> {
    let mut files = Overlay::new(Arc::clone(&input.files));
    generate::write_kustomization(&mut files, &input.directory, &input.spec, input.ignored.as_ref())?;
    let options = BuildOptions {
        // Flux leaves the order of the files; the apply sorts.
        reorder: Reorder::None,
        load_restrictions: LoadRestrictions::None,
        limits: Limits {
            deadline: Some(input.deadline),
            ..Limits::default()
        },
        remote: input
            .remote
            .as_ref()
            .map(|remote| &**remote as &dyn RemoteResolver),
        ..BuildOptions::default()
    };
    let built = sluice_kustomize::build(&files, &input.directory, &options)
        .map_err(|error| BuildError::of_kustomize(&error))?;
    let mut manifests = Manifests {
        remote: built.remote,
        ..Manifests::default()
    };
    for resource in built.resources.iter() {
        manifests.add(resource, input)?;
    }
    Ok(manifests.finish(input))
}

/// Manifests as they come out of the build, one after the other.
#[derive(Default)]
struct Manifests {
    hash: Sha256,
    count: usize,
    objects: Vec<Object>,
    remote: bool,
}

impl Manifests {
    fn add(&mut self, resource: &Resource, input: &BuildInput) -> Result<(), BuildError> {
        let mut text = resource
            .to_yaml()
            .map_err(|error| BuildError::of_kustomize(&error))?;
        if resource.name().is_empty() || resource.kind().is_empty() || resource.api_version().is_empty() {
            let message = format!("failed to decode Kubernetes apiVersion, kind and name from: {text}");
            return Err(BuildError::new(message));
        }
        let mut value = resource
            .to_json()
            .map_err(|error| BuildError::of_kustomize(&error))?;
        if let Some(post_build) = &input.spec.post_build
            && let Some(substituted) = substitute::substitute(&text, &value, post_build, input)
                .map_err(|problem| substitute::describe(resource, &problem))?
        {
            text = sluice_goyaml::write_sigs(&substituted)
                .map_err(|error| BuildError::new(format!("kustomize build failed: {error}")))?;
            value = substituted;
        }
        if self.count > 0 {
            self.hash.update(b"---\n");
        }
        self.count += 1;
        self.hash.update(text.as_bytes());
        documents::collect_objects(value, &mut self.objects);
        Ok(())
    }

    fn finish(mut self, input: &BuildInput) -> Built {
        for object in &mut self.objects {
            let labels = input
                .owner_labels
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()));
            object.set_labels(labels);
        }
        Built {
            objects: self.objects,
            digest: format!("sha256:{}", hex::encode(self.hash.finalize())),
            remote: self.remote,
        }
    }
}

#[cfg(test)]
mod tests;

/// The variables of a build: inline ones win over those that were referred to.
pub type VariableMap = BTreeMap<String, String>;

/// Says of a path, relative to the directory that is built, whether it is left out.
pub type Ignored = Arc<dyn Fn(&VirtualPath, EntryKind) -> bool + Send + Sync>;
