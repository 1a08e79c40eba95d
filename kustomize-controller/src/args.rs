//! The flags, with Flux's names and defaults.

use std::time::Duration;

use clap::{ArgAction, Parser};
use sluice_artifact::ArchiveLimits;
use sluice_runtime::CommonArgs;
use sluice_runtime::flags::{parse_bool, parse_duration};

/// The flags of kustomize-controller.
#[derive(Clone, Debug, Parser)]
#[command(name = crate::NAME, version, about = "Builds Kustomizations from artifacts and applies them")]
pub struct Args {
    /// The flags that all controllers share.
    #[command(flatten)]
    pub common: CommonArgs,
    /// The number of concurrent server-side apply operations.
    #[arg(long, default_value_t = 4)]
    pub concurrent_ssa: usize,
    /// The interval at which failing dependencies are reevaluated.
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    pub requeue_dependency: Duration,
    /// Disallow remote bases usage in Kustomize overlays. When this flag is enabled, all resources must refer to local files included in the source artifact.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub no_remote_bases: bool,
    /// The maximum number of retries when failing to fetch artifacts over HTTP.
    #[arg(long, default_value_t = 9)]
    pub http_retry: u32,
    /// Default service account used for impersonation.
    #[arg(long, default_value = "")]
    pub default_service_account: String,
    /// Default service account used for decryption.
    #[arg(long, default_value = "")]
    pub default_decryption_service_account: String,
    /// Default service account used for kubeconfig.
    #[arg(long, default_value = "")]
    pub default_kubeconfig_service_account: String,
    /// The name of a Secret in the controller's namespace with a SOPS age key for fallback usage.
    #[arg(long, default_value = "")]
    pub sops_age_secret: String,
    /// The name of a ConfigMap in the controller's namespace with the Vault instances trusted for SOPS.
    #[arg(long, default_value = "")]
    pub sops_vault_configmap: String,
    /// Field manager disallowed to perform changes on managed resources; may be given several times.
    #[arg(long)]
    pub override_manager: Vec<String>,
    /// A comma-separated list of group/Kind to be applied in a stage of their own before all other resources.
    #[arg(long, default_value = "")]
    pub custom_apply_stage_kinds: String,
    /// When set, references between custom resources of different namespaces are denied.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub no_cross_namespace_refs: bool,
    /// Watch for ConfigMaps and Secrets with matching labels.
    #[arg(long, default_value = "reconcile.fluxcd.io/watch=Enabled")]
    pub watch_configs_label_selector: String,
    /// Allow use of the user.exec section in kubeconfigs provided for remote apply.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub insecure_kubeconfig_exec: bool,
    /// Allow that kubeconfigs provided for remote apply disable TLS verification.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub insecure_kubeconfig_tls: bool,
    /// The maximum number of tokens kept.
    #[arg(long, default_value_t = 100)]
    pub token_cache_max_size: usize,
    /// The longest time a token is kept.
    #[arg(long, default_value = "1h", value_parser = parse_duration)]
    pub token_cache_max_duration: Duration,
    /// Watch the objects that Kustomizations manage, so that what others change or delete is put right at once instead of at the next interval.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub watch_managed_objects: bool,
    /// Say of each object for which a health check failed what is at fault below it, with the newest warning, after the message of the failure.
    #[arg(long, default_value = "false", default_missing_value = "true", num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = parse_bool)]
    pub explain_health_failures: bool,
    /// The largest artifact that is accepted, in bytes when unpacked.
    #[arg(long, default_value_t = ArchiveLimits::default().bytes)]
    pub artifact_max_size: u64,
    /// The most files and directories that an artifact may hold.
    #[arg(long, default_value_t = ArchiveLimits::default().entries)]
    pub artifact_max_files: usize,
    /// How many bytes of memory artifacts may take that no reconcile uses at the moment.
    #[arg(long, default_value_t = 8 << 20, hide = true)]
    pub artifact_cache_bytes: u64,
    /// How many bytes of memory results of builds may take, which are used again while nothing that they depend on has changed.
    #[arg(long, default_value_t = 8 << 20, hide = true)]
    pub build_cache_bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_ends_before_the_pod_is_killed() {
        let deployment = include_str!("../../config/kustomize-controller/deployment.yaml");
        let (_, rest) = deployment.split_once("terminationGracePeriodSeconds: ").unwrap();
        let seconds = rest.lines().next().unwrap().parse().unwrap();
        let arguments = Args::parse_from(["kustomize-controller"]);
        let needed = arguments.common.graceful_shutdown_timeout + sluice_runtime::ENDING_TIME;
        assert!(needed < Duration::from_secs(seconds), "{needed:?}");
    }
}
