//! Annotations that controllers read or write.

/// Asks for a reconcile now; any new value counts, tools write the time.
pub const RECONCILE_REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";
/// Asks a HelmRelease to upgrade even if nothing changed. Honoured when equal to the value of
/// [`RECONCILE_REQUESTED_AT`].
pub const RECONCILE_FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";
/// Asks a HelmRelease to forget its failures. Honoured when equal to the value of
/// [`RECONCILE_REQUESTED_AT`].
pub const RECONCILE_RESET_AT: &str = "reconcile.fluxcd.io/resetAt";
/// Prefix of annotations that are copied into the metadata of every event of the object.
pub const EVENT_PREFIX: &str = "event.toolkit.fluxcd.io/";
/// Last configuration that `kubectl apply` wrote; removed from applied objects.
pub const KUBECTL_LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Prefix of annotations of this product that have no counterpart in the API it is compatible with.
pub const SLUICE_PREFIX: &str = "sluice.dev/";

/// On an applier's object: `enabled` or `disabled`, in place of what its flag says about watching the objects that it
/// manages. On a managed object, `disabled` keeps changes of that one from starting a reconcile.
pub const WATCH_MANAGED_OBJECTS: &str = "sluice.dev/watch-managed-objects";

/// Keys of event metadata, after the group of the object that the event is about and a slash.
pub mod event {
    /// Revision that the event is about.
    pub const REVISION: &str = "revision";
    /// Revision at the origin of an artifact.
    pub const ORIGIN_REVISION: &str = "originRevision";
    /// Digest of an artifact.
    pub const DIGEST: &str = "digest";
    /// Old name of [`DIGEST`].
    pub const CHECKSUM: &str = "checksum";
    /// Identity of the state that the event is about, for those who count events.
    pub const TOKEN: &str = "token";
    /// Tells that the event is meant for commit statuses.
    pub const COMMIT_STATUS: &str = "commit_status";
}

/// Annotations, also read as labels, by which one object changes how it is applied. Values are compared
/// without regard to case.
pub mod kustomize {
    /// `disabled`: do not touch the object at all.
    pub const RECONCILE: &str = "kustomize.toolkit.fluxcd.io/reconcile";
    /// How the object is applied: Override, Merge, IfNotPresent or Ignore.
    pub const SSA: &str = "kustomize.toolkit.fluxcd.io/ssa";
    /// `enabled`: delete and create anew when a field is immutable.
    pub const FORCE: &str = "kustomize.toolkit.fluxcd.io/force";
    /// `disabled`: keep the object when it is no longer built.
    pub const PRUNE: &str = "kustomize.toolkit.fluxcd.io/prune";
    /// `disabled`: do not substitute variables in the object.
    pub const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";
    /// `disabled`: do not decrypt the object.
    pub const DECRYPT: &str = "kustomize.toolkit.fluxcd.io/decrypt";
    /// Written by old versions; removed from applied objects.
    pub const OLD_CHECKSUM: &str = "kustomize.toolkit.fluxcd.io/checksum";
    /// Written by the first generation of the toolkit; removed from applied objects.
    pub const OLD_SYNC_CHECKSUM: &str = "fluxcd.io/sync-checksum";
    /// The value that switches something off.
    pub const DISABLED: &str = "disabled";
    /// The value that switches something on.
    pub const ENABLED: &str = "enabled";
}

/// Annotations on ArtifactGenerators.
pub mod extensions {
    /// `disabled`: leave the object alone.
    pub const RECONCILE: &str = "source.extensions.fluxcd.io/reconcile";
    /// The value that switches something off.
    pub const DISABLED: &str = "disabled";
}

/// Annotations on objects of Helm releases.
pub mod helm {
    /// `disabled`, also as a label: do not look for drift of the object.
    pub const DRIFT_DETECTION: &str = "helm.toolkit.fluxcd.io/driftDetection";
    /// Name of the release that the object belongs to, written by Helm.
    pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";
    /// Namespace of the release that the object belongs to, written by Helm.
    pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
}
