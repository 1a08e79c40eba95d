//! How a release is installed, upgraded, tested, rolled back and uninstalled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::GoDuration;
use crate::{omit, schema, string_enum};

string_enum! {
    /// What happens to custom resource definitions in a chart's `crds` directory.
    pub enum CrdsPolicy {
        /// They are left out.
        Skip = "Skip",
        /// Those that are missing are created.
        Create = "Create",
        /// Those that are missing are created, the others replaced.
        CreateReplace = "CreateReplace",
    }
}

string_enum! {
    /// What to do after an action has failed.
    pub enum StrategyName {
        /// Roll back or uninstall, then try again as far as retries go.
        RemediateOnFailure = "RemediateOnFailure",
        /// Leave the release as it is and try again after a while.
        RetryOnFailure = "RetryOnFailure",
    }
}

string_enum! {
    /// Whether an action applies objects on the server's side.
    pub enum ServerSideApplyMode {
        /// It does.
        Enabled = "enabled",
        /// It does not.
        Disabled = "disabled",
        /// It does what the previous revision did.
        Auto = "auto",
    }
}

/// How to install a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Install {
    /// What happens to the chart's custom resource definitions; Create when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub crds: Option<CrdsPolicy>,
    /// Create the target namespace if it does not exist.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub create_namespace: bool,
    /// Leave out hooks.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_hooks: bool,
    /// Do not check manifests against the API server's schemas.
    #[serde(
        rename = "disableOpenAPIValidation",
        default,
        skip_serializing_if = "omit::is_false"
    )]
    pub disable_open_api_validation: bool,
    /// Do not check values against the chart's schema.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_schema_validation: bool,
    /// Fail on objects that exist and belong to no release, instead of taking them over.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_take_ownership: bool,
    /// Do not wait until objects are ready.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_wait: bool,
    /// Do not wait until jobs are complete.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_wait_for_jobs: bool,
    /// What to do after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<InstallRemediation>,
    /// Use a name again whose release was uninstalled with its history kept.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub replace: bool,
    /// Whether objects are applied on the server's side; true when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_side_apply: Option<bool>,
    /// Old way to say `crds: Skip`.
    #[serde(rename = "skipCRDs", default, skip_serializing_if = "omit::is_false")]
    pub skip_crds: bool,
    /// What to do after a failure; RemediateOnFailure when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<InstallStrategy>,
    /// How long it may take; the timeout of the release when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub timeout: Option<GoDuration>,
}

/// What to do after a failed install.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::rule(
    "!has(self.retryInterval) || self.name != 'RemediateOnFailure'",
    ".retryInterval cannot be set when .name is 'RemediateOnFailure'",
)]))]
pub struct InstallStrategy {
    /// Which of the ways.
    pub name: StrategyName,
    /// With RetryOnFailure: how long to wait before the next attempt; five minutes when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub retry_interval: Option<GoDuration>,
}

/// How often a failed install is tried again, and what becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallRemediation {
    /// Whether a failed test counts as success here; as the test's own setting says when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_test_failures: Option<bool>,
    /// Whether the last failed attempt is uninstalled too; false when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediate_last_failure: Option<bool>,
    /// How often to try again after uninstalling; -1 is without end.
    #[serde(default, skip_serializing_if = "omit::is_zero")]
    #[schemars(with = "Option<schema::Integer>")]
    pub retries: i64,
}

/// How to upgrade a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// What to do when the chart's name has changed; Reinstall when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub chart_name_change_strategy: Option<ChartNameChangeStrategy>,
    /// Delete objects that a failed upgrade created.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub cleanup_on_fail: bool,
    /// What happens to the chart's custom resource definitions.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub crds: Option<CrdsPolicy>,
    /// Leave out hooks.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_hooks: bool,
    /// Do not check manifests against the API server's schemas.
    #[serde(
        rename = "disableOpenAPIValidation",
        default,
        skip_serializing_if = "omit::is_false"
    )]
    pub disable_open_api_validation: bool,
    /// Do not check values against the chart's schema.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_schema_validation: bool,
    /// Fail on objects that exist and belong to no release, instead of taking them over.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_take_ownership: bool,
    /// Do not wait until objects are ready.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_wait: bool,
    /// Do not wait until jobs are complete.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_wait_for_jobs: bool,
    /// Replace objects instead of patching them. Only without server-side apply.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub force: bool,
    /// Start from the values of the previous revision.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub preserve_values: bool,
    /// What to do after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediation: Option<UpgradeRemediation>,
    /// Whether objects are applied on the server's side; auto when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub server_side_apply: Option<ServerSideApplyMode>,
    /// What to do after a failure; RemediateOnFailure when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<UpgradeStrategy>,
    /// How long it may take; the timeout of the release when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub timeout: Option<GoDuration>,
}

string_enum! {
    /// What to do when the name of a release's chart has changed.
    pub enum ChartNameChangeStrategy {
        /// Upgrade to the other chart.
        InPlaceUpdate = "InPlaceUpdate",
        /// Uninstall the release and install the other chart.
        Reinstall = "Reinstall",
    }
}

/// What to do after a failed upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [schema::rule(
    "!has(self.retryInterval) || self.name == 'RetryOnFailure'",
    ".retryInterval can only be set when .name is 'RetryOnFailure'",
)]))]
pub struct UpgradeStrategy {
    /// Which of the ways.
    pub name: StrategyName,
    /// With RetryOnFailure: how long to wait before the next attempt; five minutes when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub retry_interval: Option<GoDuration>,
}

/// How often a failed upgrade is tried again, and what becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeRemediation {
    /// Whether a failed test counts as success here; as the test's own setting says when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore_test_failures: Option<bool>,
    /// Whether the last failed attempt is remedied too; true when not given and there are retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remediate_last_failure: Option<bool>,
    /// How often to try again after remediation; -1 is without end.
    #[serde(default, skip_serializing_if = "omit::is_zero")]
    #[schemars(with = "Option<schema::Integer>")]
    pub retries: i64,
    /// What to do; rollback when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub strategy: Option<RemediationStrategy>,
}

string_enum! {
    /// How a failed upgrade is remedied.
    pub enum RemediationStrategy {
        /// By going back to the previous revision.
        Rollback = "rollback",
        /// By uninstalling the release.
        Uninstall = "uninstall",
    }
}

/// How to test a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Test {
    /// Whether to run tests after an install or upgrade.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub enable: bool,
    /// Which tests to run; all when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filters: Option<Vec<TestFilter>>,
    /// Whether failed tests leave the release a success.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub ignore_failures: bool,
    /// How long it may take; the timeout of the release when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub timeout: Option<GoDuration>,
}

/// A test to run, or not to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestFilter {
    /// Whether the test is left out instead of chosen.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub exclude: bool,
    /// Name of the test's hook.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
}

/// How to roll a release back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// Delete objects that a failed rollback created.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub cleanup_on_fail: bool,
    /// Leave out hooks.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_hooks: bool,
    /// Do not wait until objects are ready.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_wait: bool,
    /// Do not wait until jobs are complete.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_wait_for_jobs: bool,
    /// Replace objects instead of patching them. Only without server-side apply.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub force: bool,
    /// Of no effect; Helm no longer restarts pods.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub recreate: bool,
    /// Whether objects are applied on the server's side; auto when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub server_side_apply: Option<ServerSideApplyMode>,
    /// How long it may take; the timeout of the release when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub timeout: Option<GoDuration>,
}

/// How to uninstall a release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uninstall {
    /// How dependants of deleted objects are deleted.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "background"))]
    pub deletion_propagation: Option<DeletionPropagation>,
    /// Leave out hooks.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_hooks: bool,
    /// Do not wait until objects are gone.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub disable_wait: bool,
    /// Keep the records of the release, marked as uninstalled.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub keep_history: bool,
    /// How long it may take; the timeout of the release when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub timeout: Option<GoDuration>,
}

string_enum! {
    /// How dependants of a deleted object are deleted.
    pub enum DeletionPropagation {
        /// After it.
        Background = "background",
        /// Before it.
        Foreground = "foreground",
        /// Not at all.
        Orphan = "orphan",
    }
}
