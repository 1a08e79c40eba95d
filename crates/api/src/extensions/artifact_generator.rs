//! ArtifactGenerator: artifacts put together from files of other artifacts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::extensions::GROUP;
use crate::macros::custom_resource;
use crate::meta::{CommonMetadata, Condition};
use crate::resource::{Definition, PrinterColumn, Reconciled};
use crate::source::CATEGORIES;
use crate::{annotations, omit, schema, string_enum};

custom_resource! {
    /// Sources, and the artifacts that are put together from their files.
    pub struct ArtifactGenerator { spec: ArtifactGeneratorSpec, status: ArtifactGeneratorStatus }
    definition: Definition {
        group: GROUP,
        version: "v1beta1",
        kind: "ArtifactGenerator",
        plural: "artifactgenerators",
        singular: "artifactgenerator",
        short_names: &["ag"],
        categories: CATEGORIES,
        columns: &[PrinterColumn::AGE, PrinterColumn::READY, PrinterColumn::STATUS],
        status_subresource: true,
        status_default: false,
        substitute_disabled: true,
    };
}

impl Reconciled for ArtifactGenerator {
    /// This kind has no field for it: an annotation suspends.
    fn suspended(&self) -> bool {
        self.metadata.annotations.as_ref().is_some_and(|all| {
            all.get(annotations::extensions::RECONCILE)
                .is_some_and(|value| value.eq_ignore_ascii_case(annotations::extensions::DISABLED))
        })
    }

    fn conditions(&self) -> &[Condition] {
        self.status
            .as_ref()
            .map_or(&[], |status| status.conditions.as_slice())
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.status.get_or_insert_default().conditions
    }

    fn last_handled_reconcile_at(&self) -> Option<&str> {
        self.status
            .as_ref()
            .and_then(|status| status.last_handled_reconcile_at.as_deref())
    }

    fn set_last_handled_reconcile_at(&mut self, request: &str) {
        self.status.get_or_insert_default().last_handled_reconcile_at = Some(request.to_owned());
    }
}

/// What an alias of a source looks like after the `@`.
const ALIAS_REFERENCE: &str = "^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)$";

/// What a path in a source looks like: `@<alias>/<path>`.
const SOURCE_PATH: &str = "^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)/(.*)$";

/// Which artifacts to make, and of what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::rule(
    r"has(self.pathPattern) && size(self.pathPattern) > 0 || self.artifacts.all(a, a.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",
    "artifact names must be valid Kubernetes object names when pathPattern is not set",
)]))]
pub struct ArtifactGeneratorSpec {
    /// The artifacts to make, each an ExternalArtifact in the same namespace.
    #[schemars(extend("maxItems" = 1000, "minItems" = 1))]
    pub artifacts: Vec<OutputArtifact>,
    /// Labels and annotations for every ExternalArtifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// Directories of a source, as `@<alias>/<pattern>` with captures such as `{app}` that each stand for one
    /// part of the path. The artifacts are then templates, made once for each directory that matches.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 1024, "pattern" = SOURCE_PATH))]
    pub path_pattern: Option<String>,
    /// The sources to take files from.
    #[schemars(extend("maxItems" = 1000, "minItems" = 1))]
    pub sources: Vec<SourceReference>,
}

/// An artifact to make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputArtifact {
    /// What to copy into it, in this order; later files overwrite earlier ones.
    #[schemars(extend("minItems" = 1))]
    pub copy: Vec<CopyOperation>,
    /// Name of the ExternalArtifact. With a path pattern it may use captures.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
    /// The source, as `@<alias>`, whose origin revision the artifact passes on in its metadata.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 64, "pattern" = ALIAS_REFERENCE))]
    pub origin_revision: Option<String>,
    /// The source, as `@<alias>`, whose revision the artifact has. When not given, the revision follows from
    /// the content.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 64, "pattern" = ALIAS_REFERENCE))]
    pub revision: Option<String>,
}

/// Files to copy into an artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CopyOperation {
    /// Glob patterns of files and directories to leave out. A pattern without a slash matches names at any
    /// depth.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("maxItems" = 100))]
    pub exclude: Vec<String>,
    /// What to copy, as `@<alias>/<glob pattern>`. With a path pattern it may use captures.
    #[schemars(extend("maxLength" = 1024, "minLength" = 1, "pattern" = SOURCE_PATH))]
    pub from: String,
    /// How to copy; Overwrite when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub strategy: Option<CopyStrategy>,
    /// Where to copy to, as `@artifact/<path>`. With a path pattern it may use captures.
    #[schemars(extend("maxLength" = 1024, "minLength" = 1, "pattern" = "^@(artifact)/(.*)$"))]
    pub to: String,
}

string_enum! {
    /// How files are copied.
    pub enum CopyStrategy {
        /// They replace those that are there.
        Overwrite = "Overwrite",
        /// YAML files are merged into those that are there, as Helm merges values.
        Merge = "Merge",
        /// Archives (`.tar.gz`, `.tgz`) are unpacked, other files matched by a pattern passed over.
        Extract = "Extract",
    }
}

/// A source to take files from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceReference {
    /// Name of the source within the generator.
    #[schemars(extend("maxLength" = 63, "pattern" = "^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$"))]
    pub alias: String,
    /// Kind of the source.
    pub kind: GeneratorSourceKind,
    /// Name of the source.
    #[schemars(extend("maxLength" = 253, "pattern" = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"))]
    pub name: String,
    /// Namespace of the source. When not given, the namespace of the generator.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 63, "minLength" = 1, "pattern" = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: Option<String>,
}

string_enum! {
    /// Kind of a source that a generator can take files from.
    pub enum GeneratorSourceKind {
        /// A bucket of an object store.
        Bucket = "Bucket",
        /// A Git repository.
        GitRepository = "GitRepository",
        /// An OCI artifact.
        OciRepository = "OCIRepository",
        /// A chart.
        HelmChart = "HelmChart",
        /// An artifact that another controller made.
        ExternalArtifact = "ExternalArtifact",
    }
}

/// What was observed of a generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactGeneratorStatus {
    /// Conditions of the generator.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// The artifacts that were made.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub inventory: Vec<GeneratedArtifact>,
    /// The last reconcile request that was answered, so that a new one is seen as a change.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reconcile_at: Option<String>,
    /// Digest of the state of all sources that the artifacts were made from.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_sources_digest: Option<String>,
}

/// An artifact that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedArtifact {
    /// Digest of the file, as `<algorithm>:<hexadecimal>`.
    pub digest: String,
    /// Name of the file in the storage.
    pub filename: String,
    /// Name of the ExternalArtifact.
    pub name: String,
    /// Namespace of the ExternalArtifact.
    pub namespace: String,
}
