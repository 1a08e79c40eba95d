//! Field managers: who owns which fields of an object.

/// Status of sources, and what source-controller writes.
pub const SOURCE_CONTROLLER: &str = "source-controller";
/// Objects applied by Kustomizations, and their owner group.
pub const KUSTOMIZE_CONTROLLER: &str = "kustomize-controller";
/// Status of Kustomizations.
pub const KUSTOMIZE_CONTROLLER_STATUS: &str = "gotk-kustomize-controller";
/// Objects of Helm releases, and status of HelmReleases.
pub const HELM_CONTROLLER: &str = "helm-controller";
/// Status of Receivers, and what notification-controller writes.
pub const NOTIFICATION_CONTROLLER: &str = "notification-controller";
/// Status of ImageRepositories and ImagePolicies.
pub const IMAGE_REFLECTOR_CONTROLLER: &str = "image-reflector-controller";
/// Status of ImageUpdateAutomations.
pub const IMAGE_AUTOMATION_CONTROLLER: &str = "image-automation-controller";
/// Status of ArtifactGenerators, and ExternalArtifacts.
pub const SOURCE_WATCHER: &str = "source-watcher";
/// Prefix of the managers of `kubectl`, whose fields are taken over.
pub const KUBECTL_PREFIX: &str = "kubectl";
/// Manager that the API server gives to fields that were there before the first apply; taken over too.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";
