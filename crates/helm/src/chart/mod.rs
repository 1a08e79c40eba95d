//! Charts: the model, and how they are loaded from directories and archives.

mod archive;
mod ignore;
mod load;
mod metadata;

use std::sync::Arc;

use bytes::Bytes;

pub use archive::{Archive, ArchiveError};
pub use ignore::{IgnoreError, IgnoreRules};
pub use load::{LoadError, Loader};
pub use metadata::{Dependency, Maintainer, Metadata};

use crate::values::Values;

/// A file of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The path below the chart, with slashes.
    pub name: String,
    /// The contents, without a byte order mark.
    pub data: Bytes,
    /// When it was last changed, in seconds since 1970, where that is known.
    pub modified: Option<i64>,
}

impl File {
    /// A file of unknown age.
    pub fn new(name: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            name: name.into(),
            data: data.into(),
            modified: None,
        }
    }
}

/// A chart with the charts inside it. Cheap to clone; can be shared between threads.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    /// What `Chart.yaml` says.
    pub metadata: Metadata,
    /// The default values; None where there is no `values.yaml`.
    pub values: Option<Arc<Values>>,
    /// The contents of `values.schema.json`.
    pub schema: Option<Bytes>,
    /// What stands in `templates/`.
    pub templates: Arc<[File]>,
    /// All files that are nothing else, `crds/` among them.
    pub files: Arc<[File]>,
    /// All files as they were loaded.
    pub raw: Arc<[File]>,
    /// The contents of `Chart.lock`, as JSON.
    pub lock: Option<serde_json::Value>,
    /// When `Chart.yaml` was last changed, in seconds since 1970, where that is known.
    pub modified: Option<i64>,
    /// When the schema was last changed, likewise.
    pub schema_modified: Option<i64>,
    /// The charts in `charts/`, sorted by the names of their files.
    pub dependencies: Vec<Chart>,
}

/// A file in `crds/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomResourceFile {
    /// The path from the root chart: `chart/charts/sub/crds/x.yaml`.
    pub path: String,
    /// The contents.
    pub data: Bytes,
}

impl Chart {
    /// The name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Checks that the chart can be installed on its own: libraries cannot.
    ///
    /// # Errors
    /// If its type is another than `application`.
    pub fn check_installable(&self) -> Result<(), LoadError> {
        match self.metadata.kind.as_str() {
            "" | "application" => Ok(()),
            kind => Err(LoadError::NotInstallable(kind.to_owned())),
        }
    }

    /// Checks that every dependency which `Chart.yaml` declares is there. Versions do not count.
    ///
    /// # Errors
    /// Which are missing.
    pub fn check_dependencies(&self) -> Result<(), LoadError> {
        let is_missing = |name: &str| self.dependencies.iter().all(|chart| chart.name() != name);
        let missing: Vec<&str> = self
            .metadata
            .dependencies
            .iter()
            .flatten()
            .map(|dependency| dependency.name.as_str())
            .filter(|name| is_missing(name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(LoadError::MissingDependencies(missing.join(", ")))
    }

    /// The files in `crds/` of this chart and then of the charts inside it.
    ///
    /// Ask a chart whose dependencies have been [processed](crate::process_dependencies): disabled ones
    /// bring nothing.
    pub fn custom_resource_files(&self) -> Vec<CustomResourceFile> {
        let mut found = Vec::new();
        self.collect_custom_resources(self.name(), &mut found);
        found
    }

    fn collect_custom_resources(&self, path: &str, found: &mut Vec<CustomResourceFile>) {
        let is_manifest = |name: &str| {
            let extension = crate::text::extension(name);
            [".yaml", ".yml", ".json"]
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
        };
        let files = self.files.iter();
        found.extend(
            files
                .filter(|file| file.name.starts_with("crds/") && is_manifest(&file.name))
                .map(|file| CustomResourceFile {
                    path: format!("{path}/{}", file.name),
                    data: file.data.clone(),
                }),
        );
        for dependency in &self.dependencies {
            dependency.collect_custom_resources(&format!("{path}/charts/{}", dependency.name()), found);
        }
    }
}
