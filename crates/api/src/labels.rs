//! Labels that controllers read or write.

/// Assigns an object to the controllers that watch this shard.
pub const SHARD_KEY: &str = "sharding.fluxcd.io/key";
/// On a ConfigMap or Secret: changes of it cause a reconcile of the objects that refer to it.
pub const WATCH: &str = "reconcile.fluxcd.io/watch";
/// The value of [`WATCH`] that the controllers select by default.
pub const WATCH_ENABLED: &str = "Enabled";
/// Name of the Kustomization that applied the object.
pub const KUSTOMIZE_NAME: &str = "kustomize.toolkit.fluxcd.io/name";
/// Namespace of the Kustomization that applied the object.
pub const KUSTOMIZE_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";
/// Name of the HelmRelease that the object belongs to.
pub const HELM_NAME: &str = "helm.toolkit.fluxcd.io/name";
/// Namespace of the HelmRelease that the object belongs to.
pub const HELM_NAMESPACE: &str = "helm.toolkit.fluxcd.io/namespace";
/// What the object is a part of; [`PART_OF_VALUE`] for the toolkit's own objects.
pub const PART_OF: &str = "app.kubernetes.io/part-of";
/// The value of [`PART_OF`] by which tools find the toolkit.
pub const PART_OF_VALUE: &str = "flux";
/// Which installation the object belongs to: the namespace of the toolkit.
pub const INSTANCE: &str = "app.kubernetes.io/instance";
/// Version of the installation.
pub const VERSION: &str = "app.kubernetes.io/version";
/// Which controller the object belongs to.
pub const COMPONENT: &str = "app.kubernetes.io/component";
/// What manages the object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Written by the first generation of the toolkit; removed from applied objects.
pub const OLD_SYNC_GC_MARK: &str = "fluxcd.io/sync-gc-mark";
/// Unique identifier of the ArtifactGenerator that made an ExternalArtifact.
pub const GENERATOR: &str = "source.extensions.fluxcd.io/generator";
