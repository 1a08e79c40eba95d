//! The command line of the source-controller: Flux's flags, defaults and environment variables.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use sluice_artifact::Algorithm;
use sluice_runtime::flags::parse_duration;
use sluice_runtime::{CommonArgs, RuntimeError};

use crate::git_repository::Limits;

/// Whether an object may name a ServiceAccount whose identity is used with a cloud provider.
pub const OBJECT_LEVEL_WORKLOAD_IDENTITY: &str = "ObjectLevelWorkloadIdentity";
/// Whether Secrets and ConfigMaps are read from a cache. Accepted for compatibility: they never are.
pub const CACHE_SECRETS_AND_CONFIG_MAPS: &str = "CacheSecretsAndConfigMaps";

/// The feature gates with their defaults.
pub const FEATURE_GATES: &[(&str, bool)] = &[
    (CACHE_SECRETS_AND_CONFIG_MAPS, false),
    (OBJECT_LEVEL_WORKLOAD_IDENTITY, false),
];

/// The flags of the source-controller.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "source-controller",
    version,
    about = "Makes artifacts from sources and serves them."
)]
pub struct Arguments {
    /// The flags that all controllers share.
    #[command(flatten)]
    pub common: CommonArgs,

    /// The path to the directory where artifacts will be stored.
    #[arg(long, env = "STORAGE_PATH", default_value = "/data")]
    pub storage_path: PathBuf,
    /// The address the artifact server will bind to.
    #[arg(long, env = "STORAGE_ADDRESS", default_value = ":9090")]
    pub storage_addr: String,
    /// The in-cluster address the artifact server will advertise to clients.
    #[arg(long, env = "STORAGE_ADV_ADDR", default_value = "")]
    pub storage_adv_addr: String,
    /// The duration after which stale artifacts are garbage collected.
    #[arg(long, default_value = "1m", value_parser = parse_duration)]
    pub artifact_retention_ttl: Duration,
    /// The maximum number of artifacts to be kept in storage after a garbage collection.
    #[arg(long, default_value_t = 2)]
    pub artifact_retention_records: usize,
    /// The hashing algorithm used to calculate the digest of artifacts.
    #[arg(long, default_value = "sha256", value_parser = parse_algorithm)]
    pub artifact_digest_algo: Algorithm,

    /// The duration between checks for dependencies that are not ready.
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    pub requeue_dependency: Duration,

    /// The maximum number of bytes that one Git fetch may receive.
    #[arg(long, default_value_t = sluice_git::Budget::DEFAULT_TRANSFER_BYTES)]
    pub git_max_transfer_size: u64,
    /// The maximum number of files and directories of a commit that are looked at.
    #[arg(long, default_value_t = sluice_git::Budget::DEFAULT_ENTRIES)]
    pub git_max_tree_entries: usize,
    /// The maximum number of bytes of one file in a Git repository.
    #[arg(long, default_value_t = sluice_git::Budget::DEFAULT_OBJECT_BYTES)]
    pub git_max_file_size: u64,
    /// The maximum number of bytes of all files of one Git artifact together, before they are compressed.
    #[arg(long, default_value_t = 8 << 30)]
    pub git_max_checkout_size: u64,

    /// The max allowed size in bytes of a Helm repository index file.
    #[arg(long, default_value_t = 50 << 20)]
    pub helm_index_max_size: u64,
    /// The max allowed size in bytes of a Helm chart file.
    #[arg(long, default_value_t = 10 << 20)]
    pub helm_chart_max_size: u64,
    /// The max allowed size in bytes of a file in a Helm chart.
    #[arg(long, default_value_t = 5 << 20)]
    pub helm_chart_file_max_size: u64,
    /// The maximum size of the cache in number of indexes.
    #[arg(long, default_value_t = 0)]
    pub helm_cache_max_size: u64,
    /// The TTL of an index in the cache.
    #[arg(long, default_value = "15m", value_parser = parse_duration)]
    pub helm_cache_ttl: Duration,
    /// The interval at which the cache is purged.
    #[arg(long, default_value = "1m", value_parser = parse_duration)]
    pub helm_cache_purge_interval: Duration,

    /// The list of key exchange algorithms to use for SSH connections, arranged from most preferred to the
    /// least.
    #[arg(long, value_delimiter = ',')]
    pub ssh_kex_algos: Vec<String>,
    /// The list of hostkey algorithms to use for SSH connections, arranged from most preferred to the least.
    #[arg(long, value_delimiter = ',')]
    pub ssh_hostkey_algos: Vec<String>,

    /// Default service account to use for workload identity when not specified in resources.
    #[arg(long, default_value = "")]
    pub default_service_account: String,
    /// The maximum size of the cache in number of tokens.
    #[arg(long, default_value_t = 100)]
    pub token_cache_max_size: usize,
    /// The maximum duration a token is cached.
    #[arg(long, default_value = "1h", value_parser = parse_duration)]
    pub token_cache_max_duration: Duration,
}

fn parse_algorithm(name: &str) -> Result<Algorithm, String> {
    name.parse()
        .map_err(|error: sluice_artifact::DigestError| error.to_string())
}

impl Arguments {
    /// Parses the process's arguments; ends the process on those that cannot be used.
    pub fn from_process() -> Self {
        sluice_runtime::flags::parse(adjust)
    }

    /// Parses given arguments; the first is the program's name.
    ///
    /// # Errors
    /// They cannot be used.
    pub fn from_list<T: Into<std::ffi::OsString> + Clone>(
        arguments: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        sluice_runtime::flags::parse_from(adjust, arguments)
    }

    /// How much one Git repository may bring.
    pub fn limits(&self) -> Limits {
        Limits {
            transfer_bytes: self.git_max_transfer_size,
            tree_entries: self.git_max_tree_entries,
            file_bytes: self.git_max_file_size,
            checkout_bytes: self.git_max_checkout_size,
        }
    }

    /// The `host:port` in artifact URLs: the advertised address, else derived from the address that the
    /// server bound to. Without a host that is `localhost`; on `0.0.0.0` it is the host's own name.
    ///
    /// # Errors
    /// `0.0.0.0` is served but the host's name cannot be found out.
    pub fn advertised_address(&self, bound: SocketAddr) -> Result<String, RuntimeError> {
        if !self.storage_adv_addr.is_empty() {
            return Ok(self.storage_adv_addr.clone());
        }
        let host = self.storage_addr.rsplit_once(':').map_or("", |(host, _)| host);
        let host = match host {
            "" => "localhost".to_owned(),
            "0.0.0.0" => host_name()?,
            host => host.to_owned(),
        };
        Ok(format!("{host}:{}", bound.port()))
    }
}

/// Two reconciles at once, where the other controllers have four. And little time to end: the Deployment that
/// Flux ships gives the pod 10 seconds, in which the last events are sent as well. What is broken off is fetched
/// again.
fn adjust(command: clap::Command) -> clap::Command {
    command
        .mut_arg("concurrent", |argument| argument.default_value("2"))
        .mut_arg("graceful_shutdown_timeout", |argument| {
            argument.default_value("3s")
        })
}

fn host_name() -> Result<String, RuntimeError> {
    if let Some(name) = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty()) {
        return Ok(name);
    }
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() || (name, 0).to_socket_addrs().is_err() {
        return Err(RuntimeError::Configuration {
            name: "--storage-addr".to_owned(),
            message: "0.0.0.0 specified in storage addr but hostname is invalid: set --storage-adv-addr"
                .to_owned(),
        });
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Arguments {
        Arguments::from_list([&["source-controller"], arguments].concat()).unwrap()
    }

    #[test]
    fn defaults_are_flux_s() {
        // COM-028
        let arguments = parse(&[]);
        assert_eq!(arguments.common.concurrent, 2);
        assert_eq!(arguments.artifact_retention_ttl, Duration::from_secs(60));
        assert_eq!(arguments.artifact_retention_records, 2);
        assert_eq!(arguments.artifact_digest_algo, Algorithm::Sha256);
        assert_eq!(arguments.requeue_dependency, Duration::from_secs(30));
        assert_eq!(
            (
                arguments.helm_index_max_size,
                arguments.helm_chart_max_size,
                arguments.helm_chart_file_max_size
            ),
            (52_428_800, 10_485_760, 5_242_880)
        );
        assert_eq!(
            (
                arguments.helm_cache_max_size,
                arguments.helm_cache_ttl,
                arguments.helm_cache_purge_interval
            ),
            (0, Duration::from_secs(900), Duration::from_secs(60))
        );
    }

    #[test]
    fn the_process_ends_before_the_pod_is_killed() {
        let deployment = include_str!("../../config/source-controller/deployment.yaml");
        let (_, rest) = deployment.split_once("terminationGracePeriodSeconds: ").unwrap();
        let seconds = rest.lines().next().unwrap().parse().unwrap();
        let needed = parse(&[]).common.graceful_shutdown_timeout + sluice_runtime::ENDING_TIME;
        assert!(needed < Duration::from_secs(seconds), "{needed:?}");
    }

    #[test]
    fn every_flag_of_flux_s_manifests_is_accepted() {
        let arguments = parse(&[
            "--events-addr=http://notification-controller.flux-system.svc.cluster.local./",
            "--watch-all-namespaces=true",
            "--log-level=info",
            "--log-encoding=json",
            "--enable-leader-election",
            "--storage-path=/data",
            "--storage-adv-addr=source-controller.flux-system.svc.cluster.local.",
            "--artifact-digest-algo=blake3",
            "--ssh-kex-algos=curve25519-sha256,ecdh-sha2-nistp256",
            "--ssh-hostkey-algos=ssh-ed25519",
            "--token-cache-max-size=10",
            "--feature-gates=ObjectLevelWorkloadIdentity=true",
        ]);
        assert_eq!(arguments.artifact_digest_algo, Algorithm::Blake3);
        assert_eq!(
            arguments.ssh_kex_algos,
            ["curve25519-sha256", "ecdh-sha2-nistp256"]
        );
        let bound = "0.0.0.0:9090".parse().unwrap();
        assert_eq!(
            arguments.advertised_address(bound).unwrap(),
            "source-controller.flux-system.svc.cluster.local."
        );
        assert!(Arguments::from_list(["x", "--artifact-digest-algo=md5"]).is_err());
    }

    #[test]
    fn the_advertised_address_follows_from_the_served_one() {
        let bound = "127.0.0.1:41234".parse().unwrap();
        let advertised = |address: &str| {
            parse(&["--storage-addr", address])
                .advertised_address(bound)
                .unwrap()
        };
        assert_eq!(advertised(":0"), "localhost:41234");
        assert_eq!(advertised("127.0.0.1:0"), "127.0.0.1:41234");
    }
}
