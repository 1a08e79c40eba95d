//! Group `notification.toolkit.fluxcd.io`: events out, webhooks in.

mod alert;
mod provider;
mod receiver;

pub use alert::{Alert, AlertSpec, CrossNamespaceObjectReference, EventSeverity};
pub use provider::{Provider, ProviderSpec, ProviderType};
pub use receiver::{
    OidcProvider, OidcValidation, OidcVariable, Receiver, ReceiverResource, ReceiverSpec, ReceiverStatus,
    ReceiverType,
};

use crate::string_enum;

/// The API group of all kinds in this module.
pub const GROUP: &str = "notification.toolkit.fluxcd.io";

/// The sets of kinds that `kubectl get` knows notifications by.
const CATEGORIES: &[&str] = &["all", "fluxcd", "fluxcd-notifications"];

string_enum! {
    /// Kind of an object of the toolkit that alerts and receivers can refer to.
    pub enum ObjectKind {
        /// A bucket of an object store.
        Bucket = "Bucket",
        /// A Git repository.
        GitRepository = "GitRepository",
        /// An applied directory of an artifact.
        Kustomization = "Kustomization",
        /// A release of a chart.
        HelmRelease = "HelmRelease",
        /// A chart.
        HelmChart = "HelmChart",
        /// A repository of charts.
        HelmRepository = "HelmRepository",
        /// An image in a registry.
        ImageRepository = "ImageRepository",
        /// A choice among the tags of an image.
        ImagePolicy = "ImagePolicy",
        /// Commits that update images.
        ImageUpdateAutomation = "ImageUpdateAutomation",
        /// An OCI artifact.
        OciRepository = "OCIRepository",
        /// Artifacts made of other artifacts.
        ArtifactGenerator = "ArtifactGenerator",
        /// An artifact that another controller made.
        ExternalArtifact = "ExternalArtifact",
    }
}
