//! Rendering a chart: from values to manifests.

mod engine;
mod failure;
mod files;
mod functions;
mod objects;
mod output;
mod post;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sluice_gotemplate::Budget;

pub use output::{OutputDocument, OutputOptions, TemplateNotFound};
pub use post::{PostRenderError, PostRenderStrategy, PostRendering};

use crate::capabilities::Capabilities;
use crate::chart::{Chart, CustomResourceFile};
use crate::dependencies::{Branch, is_in_range, process};
use crate::log::Log;
use crate::manifest::{Hook, Manifest, ManifestError, sort_manifests};
use crate::schema::{SchemaError, validate};
use crate::values::{TypeMismatch, Values, coalesce_values, from_template_map, to_template_map};

/// A cluster could not be asked. The text reaches the user as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LookupError(pub String);

/// What the template function `lookup` asks.
pub trait Lookup {
    /// One object, or, if `name` is empty, the list of all. None if there is no such object.
    ///
    /// # Errors
    /// If the kind is unknown, access is denied, or the server fails.
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<serde_json::Value>, LookupError>;
}

/// What the template function `getHostByName` asks.
pub trait Resolver {
    /// An address of the host; None if there is none.
    fn resolve(&self, host: &str) -> Option<String>;
}

/// Changes manifests after rendering.
pub trait PostRenderer {
    /// Gets a stream of documents and gives back another.
    ///
    /// # Errors
    /// Whatever went wrong, as text.
    fn run(&self, stream: &str) -> Result<String, String>;
}

/// The release that a chart is rendered for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its revision, counted from 1.
    pub revision: i64,
    /// Whether an earlier revision exists.
    pub is_upgrade: bool,
}

impl Target {
    /// The first revision of a release.
    pub fn install(name: &str, namespace: &str) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            revision: 1,
            is_upgrade: false,
        }
    }
}

/// How a chart is rendered.
#[derive(Clone, Default)]
pub struct RenderOptions {
    /// What charts learn of the cluster.
    pub capabilities: Capabilities,
    /// Answers `lookup`; without it everything is missing.
    pub lookup: Option<Arc<dyn Lookup + Send + Sync>>,
    /// Answers `getHostByName`; without it every answer is empty.
    pub resolver: Option<Arc<dyn Resolver + Send + Sync>>,
    /// Changes manifests after rendering.
    pub post_rendering: Option<PostRendering>,
    /// Whether values are not held against the schemas of the charts.
    pub skip_schema: bool,
    /// What the render may use.
    pub budget: Budget,
    /// The time that templates see, so long after 1970; the clock if absent.
    pub time: Option<Duration>,
    /// Makes what is random in templates the same every time; for tests, not for secrets.
    pub seed: Option<u64>,
}

/// Why a chart cannot be rendered. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// Dependencies cannot be processed.
    #[error("chart dependencies processing failed: {0}")]
    Dependencies(TypeMismatch),
    /// Values do not fit the charts.
    #[error(transparent)]
    Values(TypeMismatch),
    /// Values do not fit the schemas of the charts.
    #[error(transparent)]
    Schema(SchemaError),
    /// The chart does not accept the version of Kubernetes.
    #[error("chart requires kubeVersion: {wanted} which is incompatible with Kubernetes {found}")]
    KubeVersion {
        /// The range.
        wanted: String,
        /// The version.
        found: String,
    },
    /// A template cannot be parsed or executed.
    #[error("{message}")]
    Template {
        /// Where and why.
        message: String,
        /// The limit that ended the render, if one did.
        limit: Option<sluice_gotemplate::LimitError>,
    },
    /// What was rendered is no YAML.
    #[error(transparent)]
    Manifest(ManifestError),
    /// What was rendered cannot be post-rendered.
    #[error(transparent)]
    PostRender(PostRenderError),
}

impl RenderError {
    /// Whether Helm had a release at hand when it met this error, which it then offers to show.
    pub fn has_release(&self) -> bool {
        !matches!(self, Self::Dependencies(_) | Self::Values(_) | Self::Schema(_))
    }
}

/// What a render gives.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// The chart with its dependencies processed.
    pub chart: Chart,
    /// The values as the root chart saw them at first.
    pub values: Values,
    /// The files in `crds/` of all charts that are switched on.
    pub custom_resources: Vec<CustomResourceFile>,
    /// The objects in the order of installation.
    pub manifests: Vec<Manifest>,
    /// The hooks, sorted by kind.
    pub hooks: Vec<Hook>,
    /// The root chart's `NOTES.txt`, rendered; empty if it has none.
    pub notes: String,
    /// Warnings.
    pub log: Log,
}

/// Renders a chart with a user's values.
///
/// # Errors
/// See [`RenderError`].
pub fn render(
    chart: &Chart,
    values: &Values,
    target: &Target,
    options: &RenderOptions,
) -> Result<Rendered, RenderError> {
    let mut log = Log::default();
    let given = to_template_map(values);
    let mut branch = Branch::new(chart);
    process(&mut branch, &given, &mut log).map_err(RenderError::Dependencies)?;
    let computed = coalesce_values(&branch, &given, &mut log).map_err(RenderError::Values)?;
    let seen = from_template_map(&computed);
    if !options.skip_schema {
        validate(&branch, &seen).map_err(RenderError::Schema)?;
    }
    check_kube_version(&branch, &options.capabilities)?;
    let mut files = engine::execute(&branch, computed, target, options, &mut log)?;
    let notes = take_notes(&mut files, branch.name());
    if let Some(rendering) = &options.post_rendering {
        files = post::post_render(&files, rendering).map_err(RenderError::PostRender)?;
    }
    let (hooks, manifests) = sort_manifests(&files).map_err(RenderError::Manifest)?;
    let chart = branch.into_chart();
    Ok(Rendered {
        custom_resources: chart.custom_resource_files(),
        values: seen,
        chart,
        manifests,
        hooks,
        notes,
        log,
    })
}

fn check_kube_version(branch: &Branch, capabilities: &Capabilities) -> Result<(), RenderError> {
    let wanted = &branch.chart.metadata.kube_version;
    let version = &capabilities.kube_version;
    if wanted.is_empty() || is_in_range(wanted, &version.compared) {
        return Ok(());
    }
    Err(RenderError::KubeVersion {
        wanted: wanted.clone(),
        found: version.version.clone(),
    })
}

/// Takes all notes out of the files; those of the root chart count.
fn take_notes(files: &mut BTreeMap<String, String>, chart: &str) -> String {
    let own = format!("{chart}/templates/NOTES.txt");
    let mut notes = String::new();
    files.retain(|path, text| {
        if *path == own {
            notes = std::mem::take(text);
        }
        !path.ends_with("NOTES.txt")
    });
    notes
}

impl Rendered {
    /// The text of a release's manifest: each document with its source.
    pub fn manifest(&self, with_custom_resources: bool) -> String {
        let mut text = String::new();
        if with_custom_resources {
            for file in &self.custom_resources {
                push_document(&mut text, &file.path, &String::from_utf8_lossy(&file.data));
            }
        }
        for manifest in &self.manifests {
            push_document(&mut text, &manifest.path, &manifest.content);
        }
        text
    }
}

/// Appends a document with its source, as release manifests have them.
pub(crate) fn push_document(text: &mut String, path: &str, content: &str) {
    text.push_str("---\n# Source: ");
    text.push_str(path);
    text.push('\n');
    text.push_str(content);
    text.push('\n');
}
