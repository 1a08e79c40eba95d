//! From arguments to a running process.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use sluice_api::managers::SOURCE_CONTROLLER;
use sluice_artifact::{Storage, StorageOptions, server};
use sluice_auth::{Environment, TokenCache, WorkloadIdentity, WorkloadIdentityOptions};
use sluice_runtime::flags::FeatureGates;
use sluice_runtime::{Manager, RuntimeError, launch};
use tracing::info;

use crate::arguments::{Arguments, FEATURE_GATES, OBJECT_LEVEL_WORKLOAD_IDENTITY};
use crate::artifacts::Artifacts;
use crate::git_repository::{GitRepositoryOptions, GitRepositoryReconciler};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the controller as the process's arguments say, until a signal ends it.
pub fn run() -> ExitCode {
    let arguments = Arguments::from_process();
    let common = arguments.common.clone();
    launch(SOURCE_CONTROLLER, VERSION, common, |manager| {
        register(manager, arguments)
    })
}

/// Opens the storage, starts serving it, and registers the controllers.
async fn register(mut manager: Manager, arguments: Arguments) -> Result<Manager, RuntimeError> {
    let gates = FeatureGates::new(FEATURE_GATES)
        .apply(&arguments.common.feature_gates)
        .map_err(|error| invalid("--feature-gates", error))?;
    if !arguments.default_service_account.is_empty() && !gates.is_enabled(OBJECT_LEVEL_WORKLOAD_IDENTITY) {
        let message = format!("needs --feature-gates={OBJECT_LEVEL_WORKLOAD_IDENTITY}=true");
        return Err(invalid("--default-service-account", message));
    }
    let listener = sluice_runtime::server::listen("--storage-addr", &arguments.storage_addr).await?;
    let bound = listener.local_addr().map_err(|source| RuntimeError::Listen {
        flag: "--storage-addr",
        address: arguments.storage_addr.clone(),
        source,
    })?;
    let storage = Storage::open(StorageOptions {
        root: arguments.storage_path.clone(),
        advertised_address: arguments.advertised_address(bound)?,
        retention_ttl: arguments.artifact_retention_ttl,
        retention_records: arguments.artifact_retention_records,
        algorithm: arguments.artifact_digest_algo,
    })
    .map_err(|error| invalid("--storage-path", error))?;
    let swept = storage
        .sweep()
        .map_err(|error| invalid("--storage-path", error))?;
    let scratch = open_scratch(storage.root()).map_err(|error| invalid("TMPDIR", error))?;
    info!(
        files = swept.files.len(),
        bytes = swept.bytes,
        "removed what an earlier process left in the storage"
    );

    let (root, stop) = (storage.root().to_owned(), manager.stop_token().clone());
    manager.service("artifact server", async move {
        let stopped = {
            let stop = stop.clone();
            async move { stop.cancelled().await }
        };
        let served = server::serve(listener, root, stopped).await;
        served.map_err(|source| RuntimeError::Listen {
            flag: "--storage-addr",
            address: bound.to_string(),
            source,
        })?;
        // An orderly end is none that should stop the process.
        stop.cancelled().await;
        std::future::pending().await
    });

    let identity = WorkloadIdentity::new(WorkloadIdentityOptions {
        client: manager.client().clone(),
        object_level: gates.is_enabled(OBJECT_LEVEL_WORKLOAD_IDENTITY),
        default_service_account: Some(arguments.default_service_account.clone())
            .filter(|account| !account.is_empty()),
        cache: TokenCache::new(
            arguments.token_cache_max_size,
            arguments.token_cache_max_duration,
            Some(manager.metrics().registry()),
        )
        .map_err(|error| invalid("--token-cache-max-size", error))?,
        environment: Environment::of_process(),
    });
    let artifacts = Artifacts::new(storage);
    let reconciler = GitRepositoryReconciler::new(GitRepositoryOptions {
        client: manager.client().clone(),
        artifacts: Arc::new(artifacts),
        scratch,
        requeue_dependency: arguments.requeue_dependency,
        limits: arguments.limits(),
        identity,
        object_level_identity: gates.is_enabled(OBJECT_LEVEL_WORKLOAD_IDENTITY),
        ssh_algorithms: sluice_git::SshAlgorithms {
            key_exchange: arguments.ssh_kex_algos.clone(),
            host_key: arguments.ssh_hostkey_algos.clone(),
        },
    });
    reconciler.register(&mut manager);
    Ok(manager)
}

fn invalid(name: &str, error: impl std::fmt::Display) -> RuntimeError {
    RuntimeError::Configuration {
        name: name.to_owned(),
        message: error.to_string(),
    }
}

/// A directory for what fetches bring, below the system's temporary one and swept at start. Its name is made
/// from the storage's: one process works on one storage, so nobody else's fetches are swept.
fn open_scratch(storage: &Path) -> std::io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    storage.canonicalize()?.hash(&mut hasher);
    let scratch = std::env::temp_dir().join(format!("source-controller-{:016x}", hasher.finish()));
    std::fs::create_dir_all(&scratch)?;
    sluice_git::sweep(&scratch)?;
    Ok(scratch)
}
