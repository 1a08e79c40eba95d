//! Everything that the object refers to, read as it is now.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use sluice_api::conditions::READY;
use sluice_api::kustomize::Kustomization;
use sluice_api::meta::{Artifact, GoDuration};
use sluice_api::reasons;
use sluice_api::reasons::kustomize::ARTIFACT_FAILED;
use sluice_apply::Applier;
use sluice_artifact::{Archive, FetchError};
use sluice_runtime::client::{self, Identity};
use sluice_runtime::{ReconcileError, Severity};
use sluice_vfs::{FileSystem, VirtualPath};

use super::KustomizationReconciler;
use super::expressions;
use super::validate::{Plan, source_of};
use crate::sources::SourceError;

impl KustomizationReconciler {
    /// The artifact of the source.
    ///
    /// # Errors
    /// Waiting while source or artifact are missing, a back-off if the source cannot be read.
    pub(super) async fn find_artifact(&self, plan: &Plan) -> Result<Artifact, ReconcileError> {
        match self
            .shared
            .sources
            .artifact(&plan.source.kind, &plan.source.key)
            .await
        {
            Ok(Some(artifact)) => Ok(artifact),
            Ok(None) => {
                let interval = self.settings.dependency_interval;
                let message = format!(
                    "Source artifact not found, retrying in {}",
                    GoDuration::from(interval)
                );
                Err(ReconcileError::waiting(interval, ARTIFACT_FAILED, message)
                    .with_object(plan.source.to_string())
                    .with_remedy("the source makes one as soon as it has fetched a revision"))
            }
            Err(error @ SourceError::NotFound { .. }) => {
                Err(
                    ReconcileError::waiting(plan.retry_interval, ARTIFACT_FAILED, error.to_string())
                        .with_object(plan.source.to_string())
                        .with_remedy("create the source, or correct spec.sourceRef"),
                )
            }
            Err(error @ SourceError::UnknownKind { .. }) => {
                Err(ReconcileError::backoff(ARTIFACT_FAILED, error.to_string()).without_event())
            }
            Err(error) => Err(ReconcileError::backoff(ARTIFACT_FAILED, error.to_string())
                .without_event()
                .with_source(error)),
        }
    }

    /// Whether all dependencies are ready for this artifact, read from the API server. Whoever waits is noted
    /// before, so that a dependency that becomes ready meanwhile wakes it.
    ///
    /// # Errors
    /// Waiting for the first that is not ready; stalled by an expression that is none.
    pub(super) async fn check_dependencies(
        &self,
        object: &Kustomization,
        plan: &Plan,
        artifact: &Artifact,
    ) -> Result<(), ReconcileError> {
        if plan.dependencies.is_empty() {
            return Ok(());
        }
        self.shared.notes.await_dependencies(&plan.key);
        for (position, dependency) in plan.dependencies.iter().enumerate() {
            let key = &dependency.key;
            let api: Api<Kustomization> = Api::namespaced(self.client.clone(), &key.namespace);
            let problem = match api.get(&key.name).await {
                Ok(found) => {
                    self.judge_dependency(object, plan, artifact, position, &found)
                        .await?
                }
                Err(kube::Error::Api(status)) => {
                    Some(format!("dependency '{key}' not found: {}", status.message))
                }
                Err(error) => Some(format!("dependency '{key}' not found: {error}")),
            };
            if let Some(message) = problem {
                let interval = self.settings.dependency_interval;
                let event = format!(
                    "Dependencies do not meet ready condition, retrying in {}",
                    GoDuration::from(interval)
                );
                return Err(
                    ReconcileError::waiting(interval, reasons::DEPENDENCY_NOT_READY, message)
                        .with_object(format!("Kustomization/{key}"))
                        .with_event_message(Severity::Info, event),
                );
            }
        }
        self.shared.notes.has_dependencies(&plan.key);
        Ok(())
    }

    /// Why a dependency that is there does not count as ready, if it does not: first by its expression, and
    /// without one, or where the gate adds the one to the other, by its status.
    ///
    /// # Errors
    /// Stalled: an expression that is none.
    async fn judge_dependency(
        &self,
        object: &Kustomization,
        plan: &Plan,
        artifact: &Artifact,
        position: usize,
        found: &Kustomization,
    ) -> Result<Option<String>, ReconcileError> {
        let dependency = &plan.dependencies[position];
        let key = &dependency.key;
        if let Some(text) = &dependency.ready_expression {
            let expression = expressions::ready_expression(text, &key.name, position)?;
            match expressions::evaluate_readiness(expression, object, found).await {
                Ok(true) if !self.settings.additive_ready_expressions => return Ok(None),
                Ok(true) => {}
                Ok(false) => {
                    let message = format!("dependency '{key}' is not ready according to readyExpr eval");
                    return Ok(Some(message));
                }
                Err(problem) => return Ok(Some(problem)),
            }
        }
        let problem = find_unreadiness(found, plan, artifact);
        Ok(problem.map(|problem| format!("dependency '{key}' {problem}")))
    }

    /// The artifact's files, and the directory in them.
    ///
    /// # Errors
    /// Waiting while the server does not have it; else what is wrong with it or with the path.
    pub(super) async fn open_artifact(
        &self,
        plan: &Plan,
        path: &str,
        artifact: &Artifact,
    ) -> Result<(Arc<Archive>, VirtualPath), ReconcileError> {
        let failed =
            |message: String| ReconcileError::retry_after(plan.retry_interval, ARTIFACT_FAILED, message);
        let archive = match self.shared.fetcher.fetch(&artifact.url, &artifact.digest).await {
            Ok(archive) => archive,
            Err(FetchError::NotFound) => {
                let interval = self.settings.dependency_interval;
                let retry = GoDuration::from(interval);
                let message = format!("Source is not ready, artifact not found, retrying in {retry}");
                return Err(ReconcileError::waiting(interval, ARTIFACT_FAILED, message)
                    .with_object(plan.source.to_string())
                    .with_place(artifact.url.clone()));
            }
            Err(error) => {
                return Err(failed(error.to_string())
                    .with_object(plan.source.to_string())
                    .with_place(artifact.url.clone())
                    .with_source(error));
            }
        };
        let directory = confine(path);
        match archive.kind(&directory) {
            Ok(Some(_)) => Ok((archive, directory)),
            Ok(None) => {
                let message =
                    format!("kustomization path not found: stat {directory}: no such file or directory");
                Err(failed(message)
                    .with_object(plan.source.to_string())
                    .with_place("spec.path")
                    .with_remedy("correct spec.path, or commit the directory"))
            }
            Err(error) => Err(failed(error.to_string()).with_place("spec.path")),
        }
    }

    /// Where to apply and who does: in the controller's own cluster or in a remote one, as the identity that
    /// is known there or as the service account.
    ///
    /// # Errors
    /// A remote cluster that is not described as it should be, a name that cannot be sent.
    pub(super) async fn applier(&self, plan: &Plan) -> Result<Applier, ReconcileError> {
        let failed = |text: String, place: &str| {
            let event = format!("failed to build kube client: {text}");
            let reason = reasons::kustomize::RECONCILIATION_FAILED;
            ReconcileError::retry_after(plan.retry_interval, reason, text)
                .with_event_message(Severity::Error, event)
                .with_place(place)
        };
        let (mut client, discovery) = match &plan.kube_config {
            None => (self.client.clone(), Arc::clone(&self.discovery)),
            Some(reference) => self
                .shared
                .remote
                .open(&plan.key.namespace, reference)
                .await
                .map_err(|error| failed(error.to_string(), "spec.kubeConfig"))?,
        };
        if let Some(account) = &plan.service_account {
            let identity = Identity::service_account(&plan.key.namespace, account);
            client = client::impersonating(&client, &identity)
                .map_err(|error| failed(error.to_string(), "spec.serviceAccountName"))?;
        }
        let rules = Arc::clone(&plan.health_rules);
        Ok(Applier::new(client, discovery).with_health_rules(rules))
    }

    /// Whether the service account that applied the objects is still there, so that it can delete them.
    pub(super) async fn can_impersonate(&self, plan: &Plan) -> bool {
        let Some(account) = &plan.service_account else {
            return true;
        };
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &plan.key.namespace);
        api.get(account).await.is_ok()
    }
}

/// Why a dependency does not count as ready, if it does not.
fn find_unreadiness(dependency: &Kustomization, plan: &Plan, artifact: &Artifact) -> Option<&'static str> {
    let status = dependency.status.as_ref();
    let conditions = status
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let observed = status.and_then(|status| status.observed_generation);
    let ready = conditions
        .iter()
        .any(|condition| condition.condition_type == READY && condition.is_true());
    if observed != dependency.metadata.generation || !ready {
        return Some("is not ready");
    }
    let applied = status.and_then(|status| status.last_applied_revision.as_deref());
    let outdated = source_of(dependency) == plan.source && applied != Some(artifact.revision.as_str());
    outdated.then_some("revision is not up to date")
}

/// A path in the artifact; `..` stops at its root.
pub(super) fn confine(path: &str) -> VirtualPath {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    VirtualPath::parse(&parts.join("/")).unwrap_or_else(|_| VirtualPath::root())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KUS-020
    #[test]
    fn a_path_cannot_leave_the_artifact() {
        assert_eq!(confine("./apps/../web/").as_str(), "web");
        assert_eq!(confine("../../etc").as_str(), "etc");
        assert!(confine("").is_root() && confine("/").is_root());
    }
}
