//! HelmChart: an artifact for each new version of a chart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::{custom_resource, reconciled};
use crate::meta::{Artifact, Condition, GoDuration, LocalObjectReference};
use crate::resource::{Definition, PrinterColumn};
use crate::source::{
    CATEGORIES, ChartSourceKind, GROUP, OidcIdentityMatch, ReconcileStrategy, SignatureProvider,
};
use crate::{omit, schema};

custom_resource! {
    /// A chart in a source, and the artifact made from it.
    pub struct HelmChart { spec: HelmChartSpec, status: HelmChartStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "HelmChart",
        plural: "helmcharts",
        singular: "helmchart",
        short_names: &["hc"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::text("Chart", ".spec.chart"),
            PrinterColumn::text("Version", ".spec.version"),
            PrinterColumn::text("Source Kind", ".spec.sourceRef.kind"),
            PrinterColumn::text("Source Name", ".spec.sourceRef.name"),
            PrinterColumn::AGE,
            PrinterColumn::READY,
            PrinterColumn::STATUS,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(HelmChart);

/// Which chart to make an artifact from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::rule(
    "!has(self.verify) || self.sourceRef.kind == 'HelmRepository'",
    "spec.verify is only supported when spec.sourceRef.kind is 'HelmRepository'",
)]))]
pub struct HelmChartSpec {
    /// Name of the chart in a Helm repository, or path of the chart in the artifact of another source.
    pub chart: String,
    /// Pass over values files that do not exist, instead of failing.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub ignore_missing_values_files: bool,
    /// How often to look for a new version. Some jitter is added to spread the load.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// What makes a new artifact.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "ChartVersion"))]
    pub reconcile_strategy: Option<ReconcileStrategy>,
    /// The source that the chart is in.
    pub source_ref: LocalHelmChartSourceReference,
    /// Leave the chart alone until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
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
    pub verify: Option<HelmChartVerification>,
    /// A version or a range of semantic versions. Not looked at for charts in Git repositories and buckets.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "*"))]
    pub version: Option<String>,
}

/// A source of charts in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalHelmChartSourceReference {
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
    pub name: String,
}

/// Which signatures must be there, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartVerification {
    /// Identities that may have signed without a key of their own; one match is enough.
    #[serde(
        rename = "matchOIDCIdentity",
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_oidc_identity: Vec<OidcIdentityMatch>,
    /// The technology of the signatures.
    #[schemars(extend("default" = "cosign"))]
    pub provider: SignatureProvider,
    /// A Secret with the public keys, or the trust policy and certificates, of trusted publishers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
}

/// What was observed of a chart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmChartStatus {
    /// The artifact of the last version that could be built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Conditions of the chart.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// The last reconcile request that was answered, so that a new one is seen as a change.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reconcile_at: Option<String>,
    /// Name of the chart that the artifact was made from.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_chart_name: Option<String>,
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Revision of the source's artifact that the chart was taken from.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_source_artifact_revision: Option<String>,
    /// The values files that were there and were merged. Kept only where missing ones may be passed over.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub observed_values_files: Vec<String>,
    /// Address that always leads to the latest artifact.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
}
