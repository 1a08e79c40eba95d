//! Group `helm.toolkit.fluxcd.io`: releases of charts.

mod actions;
mod chart;
mod release;
mod status;
mod values;

pub use actions::{
    ChartNameChangeStrategy, CrdsPolicy, DeletionPropagation, Install, InstallRemediation, InstallStrategy,
    RemediationStrategy, Rollback, ServerSideApplyMode, StrategyName, Test, TestFilter, Uninstall, Upgrade,
    UpgradeRemediation, UpgradeStrategy,
};
pub use chart::{
    ChartReferenceKind, CrossNamespaceChartSourceReference, CrossNamespaceObjectReference, HelmChartTemplate,
    HelmChartTemplateSpec, HelmChartTemplateVerification,
};
pub use release::{
    DriftDetection, DriftDetectionMode, HelmRelease, HelmReleaseSpec, KustomizePostRenderer,
    PostRenderStrategy, PostRenderer, WaitStrategy, WaitStrategyName,
};
pub use status::{HelmReleaseStatus, ReleaseAction, ReleaseSnapshot, TestHookStatus};
pub use values::{ValuesReference, ValuesReferenceKind};

/// The API group of all kinds in this module.
pub const GROUP: &str = "helm.toolkit.fluxcd.io";
