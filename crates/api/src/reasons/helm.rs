//! Reasons of HelmReleases.

/// The release was installed.
pub const INSTALL_SUCCEEDED: &str = "InstallSucceeded";
/// The release could not be installed.
pub const INSTALL_FAILED: &str = "InstallFailed";
/// The release was upgraded.
pub const UPGRADE_SUCCEEDED: &str = "UpgradeSucceeded";
/// The release could not be upgraded.
pub const UPGRADE_FAILED: &str = "UpgradeFailed";
/// The tests passed.
pub const TEST_SUCCEEDED: &str = "TestSucceeded";
/// A test failed.
pub const TEST_FAILED: &str = "TestFailed";
/// The release was rolled back.
pub const ROLLBACK_SUCCEEDED: &str = "RollbackSucceeded";
/// The release could not be rolled back.
pub const ROLLBACK_FAILED: &str = "RollbackFailed";
/// The release was uninstalled.
pub const UNINSTALL_SUCCEEDED: &str = "UninstallSucceeded";
/// The release could not be uninstalled.
pub const UNINSTALL_FAILED: &str = "UninstallFailed";
/// The chart is missing or could not be fetched.
pub const ARTIFACT_FAILED: &str = "ArtifactFailed";
/// The source of the chart is not ready.
pub const SOURCE_NOT_READY: &str = "SourceNotReady";
/// The values could not be read or merged.
pub const VALUES_ERROR: &str = "ValuesError";
/// The version of the chart could not be set.
pub const CHART_MUTATE_ERROR: &str = "ChartMutateError";
/// There is no client for the cluster of the release.
pub const REST_CLIENT_ERROR: &str = "RESTClientError";
/// There is no manager for the objects of the release.
pub const RESOURCE_MANAGER_ERROR: &str = "ResourceManagerError";
/// The actions could not be set up.
pub const FACTORY_ERROR: &str = "FactoryError";
/// The state of the release could not be told.
pub const STATE_ERROR: &str = "StateError";
/// The reconcile failed for a reason without a name of its own.
pub const RECONCILE_ERROR: &str = "ReconcileError";
/// The release waits for its tests.
pub const AWAITING_TESTS: &str = "AwaitingTests";
/// The release was left in the middle of an action.
pub const PENDING_RELEASE: &str = "PendingRelease";
/// No attempts are left.
pub const RETRIES_EXCEEDED: &str = "RetriesExceeded";
/// There is no revision to go back to.
pub const MISSING_ROLLBACK_TARGET: &str = "MissingRollbackTarget";
/// The wait for health was given up for a newer revision.
pub const HEALTH_CHECK_CANCELED: &str = "HealthCheckCanceled";
/// Objects were changed in the cluster.
pub const DRIFT_DETECTED: &str = "DriftDetected";
/// Objects are as they were released.
pub const NO_DRIFT_DETECTED: &str = "NoDriftDetected";
/// Changes in the cluster were undone. Events only.
pub const DRIFT_CORRECTED: &str = "DriftCorrected";
/// Changes in the cluster could not be undone. Events only.
pub const DRIFT_CORRECTION_FAILED: &str = "DriftCorrectionFailed";
/// The HelmChart of the release was created. Events only.
pub const HELM_CHART_CREATED: &str = "HelmChartCreated";
/// The HelmChart of the release was changed. Events only.
pub const HELM_CHART_CONFIGURED: &str = "HelmChartConfigured";
/// The HelmChart of the release was deleted. Events only.
pub const HELM_CHART_DELETED: &str = "HelmChartDeleted";
/// The HelmChart of the release could not be written. Events only.
pub const HELM_CHART_SYNC_ERROR: &str = "HelmChartSyncErr";
/// The inventory of the release could not be made. Events only.
pub const INVENTORY_BUILD_FAILED: &str = "InventoryBuildFailed";
/// It was not checked which namespaces the objects are in. Events only.
pub const NAMESPACE_CHECK_SKIPPED: &str = "NamespaceCheckSkipped";
