//! What the flags come to.

use std::collections::HashSet;
use std::time::Duration;

use sluice_runtime::RuntimeError;
use sluice_runtime::client::RemotePolicy;
use sluice_runtime::flags::FeatureGates;

use crate::Args;

/// The gates and their defaults.
const GATES: [(&str, bool); 12] = [
    ("AdditiveCELDependencyCheck", false),
    ("CacheSecretsAndConfigMaps", false),
    ("CancelHealthCheckOnNewRevision", false),
    ("DirectSourceFetch", false),
    ("DisableConfigWatchers", false),
    ("DisableFailFastBehavior", false),
    ("DisableStatusPollerCache", true),
    ("ExternalArtifact", false),
    ("GroupChangeLog", false),
    ("MigrateAPIVersion", false),
    ("ObjectLevelWorkloadIdentity", false),
    ("StrictPostBuildSubstitutions", true),
];

/// The settings of the process.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) concurrent_apply: usize,
    pub(crate) dependency_interval: Duration,
    pub(crate) default_service_account: Option<String>,
    pub(crate) no_cross_namespace_references: bool,
    pub(crate) override_managers: Vec<String>,
    pub(crate) custom_stage_kinds: HashSet<(String, String)>,
    /// Labels of the ConfigMaps and Secrets that are watched; `None` switches that off.
    pub(crate) watched_configuration: Option<String>,
    /// The namespace the controllers run in, which is never pruned; empty if it is not known.
    pub(crate) runtime_namespace: String,
    pub(crate) strict_substitution: bool,
    pub(crate) fail_fast: bool,
    /// Whether a dependency with a `readyExpr` must also be ready by its status.
    pub(crate) additive_ready_expressions: bool,
    pub(crate) external_artifacts: bool,
    pub(crate) cancel_waits_on_new_revision: bool,
    pub(crate) migrate_api_version: bool,
    pub(crate) group_change_log: bool,
    pub(crate) direct_source_reads: bool,
    pub(crate) object_identities: bool,
    pub(crate) remote: RemotePolicy,
    /// Whether managed objects are watched where a Kustomization does not say.
    pub(crate) watch_managed_objects: bool,
    /// Whether a failed health check says why objects are not ready.
    pub(crate) explain_health_failures: bool,
    /// How many bytes results of builds may take.
    pub(crate) build_cache_bytes: usize,
}

impl Settings {
    /// Reads the flags.
    ///
    /// # Errors
    /// Unknown feature gates, and defaults for identities that the gates do not allow.
    pub(crate) fn new(args: &Args) -> Result<Self, RuntimeError> {
        let invalid = |name: &str, message: String| RuntimeError::Configuration {
            name: name.to_owned(),
            message,
        };
        let gates = FeatureGates::new(&GATES)
            .apply(&args.common.feature_gates)
            .map_err(|error| invalid("--feature-gates", error.to_string()))?;
        let identities = [
            &args.default_decryption_service_account,
            &args.default_kubeconfig_service_account,
        ];
        if identities.iter().any(|name| !name.is_empty()) && !gates.is_enabled("ObjectLevelWorkloadIdentity")
        {
            return Err(invalid(
                "--default-decryption-service-account",
                "a default identity needs the feature gate ObjectLevelWorkloadIdentity".to_owned(),
            ));
        }
        let watched = !gates.is_enabled("DisableConfigWatchers");
        Ok(Self {
            concurrent_apply: args.concurrent_ssa,
            dependency_interval: args.requeue_dependency,
            default_service_account: Some(args.default_service_account.clone())
                .filter(|name| !name.is_empty()),
            no_cross_namespace_references: args.no_cross_namespace_refs,
            override_managers: args.override_manager.clone(),
            custom_stage_kinds: sluice_apply::parse_group_kinds(&args.custom_apply_stage_kinds),
            watched_configuration: watched.then(|| args.watch_configs_label_selector.clone()),
            runtime_namespace: args.common.runtime_namespace.clone(),
            strict_substitution: gates.is_enabled("StrictPostBuildSubstitutions"),
            additive_ready_expressions: gates.is_enabled("AdditiveCELDependencyCheck"),
            fail_fast: !gates.is_enabled("DisableFailFastBehavior"),
            external_artifacts: gates.is_enabled("ExternalArtifact"),
            cancel_waits_on_new_revision: gates.is_enabled("CancelHealthCheckOnNewRevision"),
            migrate_api_version: gates.is_enabled("MigrateAPIVersion"),
            group_change_log: gates.is_enabled("GroupChangeLog"),
            direct_source_reads: gates.is_enabled("DirectSourceFetch"),
            object_identities: gates.is_enabled("ObjectLevelWorkloadIdentity"),
            remote: RemotePolicy {
                allow_exec: args.insecure_kubeconfig_exec,
                allow_insecure_tls: args.insecure_kubeconfig_tls,
                allow_object_identities: gates.is_enabled("ObjectLevelWorkloadIdentity"),
                default_service_account: Some(args.default_kubeconfig_service_account.clone())
                    .filter(|name| !name.is_empty()),
            },
            watch_managed_objects: args.watch_managed_objects,
            explain_health_failures: args.explain_health_failures,
            build_cache_bytes: args.build_cache_bytes,
        })
    }
}
