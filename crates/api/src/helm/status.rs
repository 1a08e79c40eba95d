//! What was observed of a HelmRelease.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{Condition, GoDuration, Inventory, Timestamp};
use crate::{omit, schema, string_enum};

/// What was observed of a HelmRelease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmReleaseStatus {
    /// Conditions of the release.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// Failed reconciles since the last success or change.
    #[serde(default, skip_serializing_if = "omit::is_zero")]
    #[schemars(with = "Option<i64>")]
    pub failures: i64,
    /// The HelmChart that was created for the release, as `<namespace>/<name>`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub helm_chart: Option<String>,
    /// Revisions of the release, newest first, back to the last successful one before the current.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub history: Vec<ReleaseSnapshot>,
    /// Failed installs since the last success or change.
    #[serde(default, skip_serializing_if = "omit::is_zero")]
    #[schemars(with = "Option<i64>")]
    pub install_failures: i64,
    /// The objects of the release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Digest of the values that were last tried.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_attempted_config_digest: Option<String>,
    /// Generation of the spec that was last tried.
    #[serde(default, skip_serializing_if = "omit::is_zero")]
    #[schemars(with = "Option<i64>")]
    pub last_attempted_generation: i64,
    /// The action that was last tried.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_attempted_release_action: Option<ReleaseAction>,
    /// How long that action took.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_attempted_release_action_duration: Option<GoDuration>,
    /// Version of the chart that was last tried, with the start of its digest where it came from a registry.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_attempted_revision: Option<String>,
    /// Digest of the artifact that was last tried, for charts from registries.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_attempted_revision_digest: Option<String>,
    /// Old form of `lastAttemptedConfigDigest`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_attempted_values_checksum: Option<String>,
    /// The last request for a forced release that was answered.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_force_at: Option<String>,
    /// The last reconcile request that was answered, so that a new one is seen as a change.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reconcile_at: Option<String>,
    /// The last request to forget failures that was answered.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reset_at: Option<String>,
    /// Old form of what `history` says.
    #[serde(default, skip_serializing_if = "omit::is_zero")]
    #[schemars(with = "Option<schema::Integer>")]
    pub last_release_revision: i64,
    /// Digest of the common metadata that the release was made with.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_common_metadata_digest: Option<String>,
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Digest of the post renderers that the release was made with.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub observed_post_renderers_digest: Option<String>,
    /// Namespace that the records of the release are in.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 63, "minLength" = 1))]
    pub storage_namespace: Option<String>,
    /// Failed upgrades since the last success or change.
    #[serde(default, skip_serializing_if = "omit::is_zero")]
    #[schemars(with = "Option<i64>")]
    pub upgrade_failures: i64,
}

string_enum! {
    /// An action that makes a revision of a release.
    pub enum ReleaseAction {
        /// Install.
        Install = "install",
        /// Upgrade.
        Upgrade = "upgrade",
    }
}

/// One revision of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseSnapshot {
    /// The action that made the revision.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub action: Option<String>,
    /// Version of this record's form.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// Version of what the chart installs.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub app_version: Option<String>,
    /// Name of the chart.
    pub chart_name: String,
    /// Version of the chart.
    pub chart_version: String,
    /// Digest of the values, as `<algorithm>:<hexadecimal>`.
    pub config_digest: String,
    /// When the release was uninstalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
    /// Digest of the release as it was observed, as `<algorithm>:<hexadecimal>`.
    pub digest: String,
    /// When the release was first installed.
    pub first_deployed: Timestamp,
    /// When this revision was installed.
    pub last_deployed: Timestamp,
    /// Name of the release.
    pub name: String,
    /// Namespace of the release.
    pub namespace: String,
    /// Digest of the OCI artifact that the chart came from.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub oci_digest: Option<String>,
    /// State of the revision in Helm's words: deployed, superseded, failed and so on.
    pub status: String,
    /// Tests of the revision by name. An empty map says that tests ran and there were none; no map, that none
    /// have run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_hooks: Option<BTreeMap<String, TestHookStatus>>,
    /// Number of the revision.
    #[schemars(with = "schema::Integer")]
    pub version: i64,
}

/// How a test went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestHookStatus {
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_completed: Option<Timestamp>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_started: Option<Timestamp>,
    /// How it ended, in Helm's words: Succeeded, Failed, Running or Unknown.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub phase: Option<String>,
}
