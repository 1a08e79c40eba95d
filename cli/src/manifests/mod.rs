//! The manifests that an installation consists of: the components, and the objects that make the cluster follow
//! its repository.

pub(crate) mod components;
pub(crate) mod sync;

/// The directory below a cluster's path that holds the toolkit's own manifests.
pub(crate) const DIRECTORY: &str = "flux-system";

/// The components' file.
pub(crate) const COMPONENTS_FILE: &str = "gotk-components.yaml";

/// The file of the objects that follow the repository.
pub(crate) const SYNC_FILE: &str = "gotk-sync.yaml";

/// The kustomization that lists both.
pub(crate) const KUSTOMIZATION_FILE: &str = "kustomization.yaml";
