//! The spec, checked: after this step nobody looks at its raw fields for what stands here.

use std::sync::Arc;
use std::time::Duration;

use sluice_api::kustomize::{DeletionPolicy, Kustomization, SourceKind};
use sluice_api::meta::{GoDuration, KubeConfigReference};
use sluice_api::reasons;
use sluice_health::CustomRules;
use sluice_runtime::{ObjectKey, ReconcileError};

use super::expressions;
use crate::settings::Settings;

/// The shortest time that applying and waiting may take.
const SHORTEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A source by kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceKey {
    pub(crate) kind: SourceKind,
    pub(crate) key: ObjectKey,
}

impl std::fmt::Display for SourceKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.key)
    }
}

/// What a Kustomization waits for before it is applied.
#[derive(Clone, Debug)]
pub(crate) struct Dependency {
    pub(crate) key: ObjectKey,
    /// The expression that tells whether it is ready.
    pub(crate) ready_expression: Option<String>,
}

/// What a Kustomization asks for.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Namespace and name of the Kustomization.
    pub(crate) key: ObjectKey,
    pub(crate) source: SourceKey,
    pub(crate) interval: Duration,
    pub(crate) retry_interval: Duration,
    pub(crate) timeout: Duration,
    /// Whose rights are used; `None`: the controller's own.
    pub(crate) service_account: Option<String>,
    /// Which cluster is meant; `None`: the controller's own.
    pub(crate) kube_config: Option<KubeConfigReference>,
    pub(crate) dependencies: Vec<Dependency>,
    /// The rules of `spec.healthCheckExprs`.
    pub(crate) health_rules: Arc<CustomRules>,
    pub(crate) deletion_policy: DeletionPolicy,
}

impl Plan {
    /// Reads the spec, without judging what it asks for.
    ///
    /// # Errors
    /// Durations that are none.
    pub(crate) fn read(object: &Kustomization, settings: &Settings) -> Result<Self, ReconcileError> {
        let key = ObjectKey::of(object);
        let spec = &object.spec;
        let interval = duration("spec.interval", &spec.interval)?;
        let retry_interval = spec.retry_interval.as_ref();
        let timeout = match &spec.timeout {
            Some(timeout) => duration("spec.timeout", timeout)?,
            None => interval.saturating_sub(Duration::from_secs(30)),
        };
        let in_namespace = |namespace: &Option<String>, name: &str| {
            ObjectKey::new(namespace.clone().unwrap_or_else(|| key.namespace.clone()), name)
        };
        Ok(Self {
            source: source_of(object),
            interval,
            retry_interval: retry_interval
                .map_or(Ok(interval), |text| duration("spec.retryInterval", text))?,
            timeout: timeout.max(SHORTEST_TIMEOUT),
            service_account: spec
                .service_account_name
                .clone()
                .or_else(|| settings.default_service_account.clone()),
            kube_config: spec.kube_config.clone(),
            dependencies: spec
                .depends_on
                .iter()
                .map(|dependency| Dependency {
                    key: in_namespace(&dependency.namespace, &dependency.name),
                    ready_expression: dependency.ready_expr.clone(),
                })
                .collect(),
            health_rules: Arc::default(),
            deletion_policy: spec
                .deletion_policy
                .clone()
                .unwrap_or(DeletionPolicy::MirrorPrune),
            key,
        })
    }
}

/// Checks what the spec asks for.
///
/// # Errors
/// Stalled: features that this version or its configuration does not have, references that are not allowed.
pub(crate) fn validate(object: &Kustomization, settings: &Settings) -> Result<Plan, ReconcileError> {
    let mut plan = Plan::read(object, settings)?;
    plan.health_rules = expressions::health_rules(object)?;
    let decryption = object.spec.decryption.as_ref();
    if decryption.is_some_and(|decryption| decryption.service_account_name.is_some())
        && !settings.object_identities
    {
        let message = "to use spec.decryption.serviceAccountName for decryption authentication please enable the \
                       ObjectLevelWorkloadIdentity feature gate in the controller";
        return Err(ReconcileError::stalled(reasons::FEATURE_GATE_DISABLED, message)
            .with_place("spec.decryption.serviceAccountName"));
    }
    if let Some((field, what)) = find_unsupported(object) {
        let message = format!(
            "{field} is not supported by this version of {}: {what}",
            crate::NAME
        );
        return Err(ReconcileError::stalled(reasons::FEATURE_GATE_DISABLED, message)
            .with_remedy(format!("remove {field}, or wait for a version that supports it"))
            .with_place(field));
    }
    let denied = |problem: String| {
        let message = format!("can't access '{}', {problem}", plan.source);
        ReconcileError::stalled(reasons::ACCESS_DENIED, message).with_place("spec.sourceRef")
    };
    if settings.no_cross_namespace_references && plan.source.key.namespace != plan.key.namespace {
        return Err(denied("cross-namespace references have been blocked".to_owned()));
    }
    if plan.source.kind == SourceKind::ExternalArtifact && !settings.external_artifacts {
        return Err(denied("ExternalArtifact feature gate is disabled".to_owned()));
    }
    Ok(plan)
}

/// The source that a Kustomization refers to.
pub(crate) fn source_of(object: &Kustomization) -> SourceKey {
    let reference = &object.spec.source_ref;
    let own = || object.metadata.namespace.clone().unwrap_or_default();
    let namespace = reference.namespace.clone().unwrap_or_else(own);
    SourceKey {
        kind: reference.kind.clone(),
        key: ObjectKey::new(namespace, reference.name.clone()),
    }
}

/// The first field that asks for what is not there yet, and what that is.
fn find_unsupported(object: &Kustomization) -> Option<(String, &'static str)> {
    object
        .spec
        .decryption
        .as_ref()
        .map(|_| ("spec.decryption".to_owned(), "decryption of secrets"))
}

fn duration(field: &str, text: &GoDuration) -> Result<Duration, ReconcileError> {
    text.to_std().map_err(|error| {
        ReconcileError::stalled(reasons::kustomize::BUILD_FAILED, format!("{field}: {error}"))
            .with_place(field)
    })
}
