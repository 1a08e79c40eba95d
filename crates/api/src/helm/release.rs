//! HelmRelease: a chart with values, installed, upgraded, tested and remedied.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::helm::{
    CrossNamespaceObjectReference, GROUP, HelmChartTemplate, HelmReleaseStatus, Install, Rollback, Test,
    Uninstall, Upgrade, ValuesReference,
};
use crate::macros::{custom_resource, reconciled};
use crate::meta::{
    CommonMetadata, CustomHealthCheck, DependencyReference, GoDuration, IgnoreRule, Image,
    KubeConfigReference, Patch,
};
use crate::resource::{Definition, PrinterColumn};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A release of a chart in a cluster, kept in the state that it asks for.
    pub struct HelmRelease { spec: HelmReleaseSpec, status: HelmReleaseStatus }
    definition: Definition {
        group: GROUP,
        version: "v2",
        kind: "HelmRelease",
        plural: "helmreleases",
        singular: "helmrelease",
        short_names: &["hr"],
        categories: &["all", "fluxcd", "fluxcd-appliers"],
        columns: &[PrinterColumn::AGE, PrinterColumn::READY, PrinterColumn::STATUS],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(HelmRelease);

/// Which chart to release, with which values, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::rule(
    "(has(self.chart) && !has(self.chartRef)) || (!has(self.chart) && has(self.chartRef))",
    "either chart or chartRef must be set",
)]))]
pub struct HelmReleaseSpec {
    /// A HelmChart to create for this release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<HelmChartTemplate>,
    /// An existing source of the chart. Exactly one of this and `chart` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_ref: Option<CrossNamespaceObjectReference>,
    /// Labels and annotations for every object of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_metadata: Option<CommonMetadata>,
    /// HelmReleases that must be ready before this one is installed or upgraded.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub depends_on: Vec<DependencyReference>,
    /// What to do about objects that were changed in the cluster; nothing when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_detection: Option<DriftDetection>,
    /// CEL expressions for the health of kinds that have no readiness of their own.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub health_check_exprs: Vec<CustomHealthCheck>,
    /// How to install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<Install>,
    /// How often to reconcile. Some jitter is added to spread the load.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// Access to the cluster of the release; the controller's own when not given. `serviceAccountName` then
    /// means an account in that cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<KubeConfigReference>,
    /// How many revisions of the release to keep; 5 when not given, 0 keeps all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Integer>")]
    pub max_history: Option<i64>,
    /// Whether one client serves the whole reconcile; true when not given. False helps where hooks create the
    /// definitions of kinds that follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_client: Option<bool>,
    /// Which parts of the release post renderers see; combined when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub post_render_strategy: Option<PostRenderStrategy>,
    /// Changes to rendered manifests, in this order.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub post_renderers: Vec<PostRenderer>,
    /// Name of the release. When not given, the target namespace, a dash and the object's name, or the object's
    /// name alone if there is no target namespace.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 53, "minLength" = 1))]
    pub release_name: Option<String>,
    /// How to roll back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Rollback>,
    /// A ServiceAccount in the same namespace whose rights limit what can be released.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub service_account_name: Option<String>,
    /// Namespace for the records of the release; the object's own when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 63, "minLength" = 1))]
    pub storage_namespace: Option<String>,
    /// Leave the release alone until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// Namespace of the release; the object's own when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 63, "minLength" = 1))]
    pub target_namespace: Option<String>,
    /// How to test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<Test>,
    /// How long one action may take; five minutes when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub timeout: Option<GoDuration>,
    /// How to uninstall.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uninstall: Option<Uninstall>,
    /// How to upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// Values for the chart. They win over those of `valuesFrom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Anything>")]
    pub values: Option<Value>,
    /// ConfigMaps and Secrets with values; later ones win.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub values_from: Vec<ValuesReference>,
    /// How to wait for objects of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_strategy: Option<WaitStrategy>,
}

/// What to do about objects that were changed in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriftDetection {
    /// Fields whose drift is not looked at.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub ignore: Vec<IgnoreRule>,
    /// What to do; nothing when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub mode: Option<DriftDetectionMode>,
}

string_enum! {
    /// What to do about drift.
    pub enum DriftDetectionMode {
        /// Correct it.
        Enabled = "enabled",
        /// Report it.
        Warn = "warn",
        /// Do not look for it.
        Disabled = "disabled",
    }
}

string_enum! {
    /// Which parts of a release post renderers see.
    pub enum PostRenderStrategy {
        /// The manifest, and not the hooks.
        NoHooks = "nohooks",
        /// The manifest and the hooks in one pass.
        Combined = "combined",
        /// The manifest and the hooks, each in a pass of its own.
        Separate = "separate",
    }
}

/// A change to rendered manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostRenderer {
    /// A change by kustomize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kustomize: Option<KustomizePostRenderer>,
}

/// A change to rendered manifests by kustomize.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KustomizePostRenderer {
    /// Container images to replace.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub images: Vec<Image>,
    /// Patches to apply.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub patches: Vec<Patch>,
}

/// How to wait for objects of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitStrategy {
    /// Which of the ways.
    pub name: WaitStrategyName,
}

string_enum! {
    /// A way to wait for objects of a release.
    pub enum WaitStrategyName {
        /// By their status, as for Kustomizations.
        Poller = "poller",
        /// As Helm 3 did.
        Legacy = "legacy",
    }
}
