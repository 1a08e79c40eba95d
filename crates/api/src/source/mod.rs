//! Group `source.toolkit.fluxcd.io`: where desired state comes from.

mod bucket;
mod external_artifact;
mod git_repository;
mod helm_chart;
mod helm_repository;
mod oci_repository;
mod verification;

pub use bucket::{Bucket, BucketProvider, BucketSpec, BucketStatus, BucketSts, StsProvider};
pub use external_artifact::{ExternalArtifact, ExternalArtifactSpec, ExternalArtifactStatus};
pub use git_repository::{
    GitProvider, GitRepository, GitRepositoryInclude, GitRepositoryReference, GitRepositorySpec,
    GitRepositoryStatus, GitVerification, GitVerificationMode,
};
pub use helm_chart::{
    HelmChart, HelmChartSpec, HelmChartStatus, HelmChartVerification, LocalHelmChartSourceReference,
};
pub use helm_repository::{HelmRepository, HelmRepositorySpec, HelmRepositoryStatus, HelmRepositoryType};
pub use oci_repository::{
    LayerOperation, LayerSelector, OciRepository, OciRepositoryReference, OciRepositorySpec,
    OciRepositoryStatus, OciVerification,
};
pub use verification::{OidcIdentityMatch, SignatureProvider};

use crate::string_enum;

/// The API group of all kinds in this module.
pub const GROUP: &str = "source.toolkit.fluxcd.io";

/// The sets of kinds that `kubectl get` knows sources by.
pub(crate) const CATEGORIES: &[&str] = &["all", "fluxcd", "fluxcd-sources"];

string_enum! {
    /// Kind of a source that a chart can come from.
    pub enum ChartSourceKind {
        /// A Helm repository.
        HelmRepository = "HelmRepository",
        /// A Git repository.
        GitRepository = "GitRepository",
        /// A bucket of an object store.
        Bucket = "Bucket",
    }
}

string_enum! {
    /// What makes a new artifact of a chart.
    pub enum ReconcileStrategy {
        /// A new version of the chart.
        ChartVersion = "ChartVersion",
        /// A new revision of the source that the chart is in.
        Revision = "Revision",
    }
}

string_enum! {
    /// Whose way to authenticate is used for a registry.
    pub enum RegistryProvider {
        /// Any registry, with the credentials of the Secret.
        Generic = "generic",
        /// AWS Elastic Container Registry.
        Aws = "aws",
        /// Azure Container Registry.
        Azure = "azure",
        /// Google Artifact Registry.
        Gcp = "gcp",
    }
}
