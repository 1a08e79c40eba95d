//! Where the chart of a release comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{CommonMetadata, GoDuration, LocalObjectReference};
use crate::source::{ChartSourceKind, ReconcileStrategy, SignatureProvider};
use crate::{omit, schema, string_enum};

/// A HelmChart that is created for a release, in the namespace of the chart's source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartTemplate {
    /// Labels and annotations of the HelmChart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<CommonMetadata>,
    /// Spec of the HelmChart.
    pub spec: HelmChartTemplateSpec,
}

/// Spec of a HelmChart that is created for a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartTemplateSpec {
    /// Name of the chart in a Helm repository, or path of the chart in the artifact of another source.
    #[schemars(extend("maxLength" = 2048, "minLength" = 1))]
    pub chart: String,
    /// Pass over values files that do not exist, instead of failing.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub ignore_missing_values_files: bool,
    /// How often to look for a new version; the interval of the release when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: Option<GoDuration>,
    /// What makes a new artifact.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "ChartVersion"))]
    pub reconcile_strategy: Option<ReconcileStrategy>,
    /// The source that the chart is in.
    pub source_ref: CrossNamespaceChartSourceReference,
    /// Files to merge, in this order, into the chart's values instead of its values.yaml. Paths are relative to
    /// the chart in a Helm repository, else to the root of the source's artifact.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub values_files: Vec<String>,
    /// Signatures to require. For charts in a registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<HelmChartTemplateVerification>,
    /// A version or a range of semantic versions. Not looked at for charts in Git repositories and buckets.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "*"))]
    pub version: Option<String>,
}

/// A source of charts, in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrossNamespaceChartSourceReference {
    /// API group and version of the source.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// Kind of the source.
    pub kind: ChartSourceKind,
    /// Name of the source.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
    /// Namespace of the source. When not given, the namespace of the release.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 63, "minLength" = 1))]
    pub namespace: Option<String>,
}

/// Which signatures must be there, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartTemplateVerification {
    /// The technology of the signatures.
    #[schemars(extend("default" = "cosign"))]
    pub provider: SignatureProvider,
    /// A Secret with the public keys, or the trust policy and certificates, of trusted publishers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
}

/// An existing source whose artifact is a chart, in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrossNamespaceObjectReference {
    /// API group and version of the source.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// Kind of the source.
    pub kind: ChartReferenceKind,
    /// Name of the source.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
    /// Namespace of the source. When not given, the namespace of the release.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 63, "minLength" = 1))]
    pub namespace: Option<String>,
}

string_enum! {
    /// Kind of a source whose artifact is a chart.
    pub enum ChartReferenceKind {
        /// A chart in a registry.
        OciRepository = "OCIRepository",
        /// A chart from a source.
        HelmChart = "HelmChart",
        /// A chart that another controller made.
        ExternalArtifact = "ExternalArtifact",
    }
}
