//! The reconciler of Kustomizations.

mod apply;
mod dereference;
mod expressions;
mod finalize;
mod health;
mod revision;
mod status;
mod validate;

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;
use sluice_api::conditions::kustomize::HEALTHY;
use sluice_api::conditions::{READY, RECONCILING, STALLED};
use sluice_api::finalizers::FINALIZER;
use sluice_api::kustomize::{GROUP, Kustomization};
use sluice_api::managers::KUSTOMIZE_CONTROLLER_STATUS;
use sluice_api::meta::{Artifact, GoDuration};
use sluice_api::reasons::kustomize::{BUILD_FAILED, RECONCILIATION_FAILED, RECONCILIATION_SUCCEEDED};
use sluice_apply::{Discovery, Object, ObjectId};
use sluice_artifact::Fetcher;
use sluice_kustomization::{BuildCache, BuildInput, Built};
use sluice_runtime::client::RemoteClusters;
use sluice_runtime::{
    Cause, Conclusion, Context, Finalized, ObjectKey, Outcome, Policy, ReconcileError, Reconciler, Severity,
    Store, conditions,
};
use tokio::sync::Semaphore;
use tracing::debug;

use crate::drift::{DriftWatch, Reconciling};
use crate::metrics::{OwnMetrics, gauge};
use crate::pending::Notes;
use crate::remote_bases::RemoteAccess;
use crate::settings::Settings;
use crate::sources::Sources;
use apply::Desired;
use health::{AfterApply, HealthWait};
use revision::Revision;
use status::Attempt;
use validate::Plan;

pub(crate) use apply::taken_over;
pub(crate) use validate::source_of;

/// The condition types that belong to this controller.
const OWNED_CONDITIONS: [&str; 4] = [READY, RECONCILING, STALLED, HEALTHY];

/// Brings Kustomizations into the cluster.
pub(crate) struct KustomizationReconciler {
    policy: Policy,
    settings: Settings,
    /// The controller's own identity.
    client: Client,
    discovery: Arc<Discovery>,
    shared: Shared,
    /// Builds that run at a time: they keep a processor busy each.
    builders: Arc<Semaphore>,
    /// What the last builds came to.
    builds: Arc<BuildCache>,
}

/// What the reconciler shares with what wakes its objects, and with the process.
pub(crate) struct Shared {
    /// The clusters that kubeconfigs lead to.
    pub(crate) remote: RemoteClusters<Arc<Discovery>>,
    pub(crate) fetcher: Fetcher,
    /// None where remote bases are not allowed.
    pub(crate) remote_bases: Option<RemoteAccess>,
    pub(crate) sources: Sources,
    pub(crate) notes: Arc<Notes>,
    pub(crate) metrics: OwnMetrics,
    pub(crate) drift: Arc<DriftWatch>,
    /// All Kustomizations that this process sees.
    pub(crate) siblings: Store<Kustomization>,
}

impl KustomizationReconciler {
    /// A reconciler that acts as `client`.
    pub(crate) fn new(client: Client, settings: Settings, shared: Shared) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            policy: Policy {
                field_manager: KUSTOMIZE_CONTROLLER_STATUS.to_owned(),
                finalizer: Some(FINALIZER),
                owned_conditions: &OWNED_CONDITIONS,
                conclusion: Conclusion::ReadyDriven,
            },
            discovery: Arc::new(Discovery::new(client.clone())),
            builders: Arc::new(Semaphore::new(processors)),
            builds: Arc::new(BuildCache::new(settings.build_cache_bytes)),
            settings,
            client,
            shared,
        }
    }

    /// The steps that concern one revision.
    async fn reconcile_revision(
        &self,
        context: &mut Context<Kustomization>,
        plan: Plan,
        artifact: &Artifact,
        drift: &mut Reconciling,
    ) -> Result<Outcome<HealthWait>, ReconcileError> {
        let revision = Revision::of(artifact);
        let timeout = plan.timeout;
        status::note_progress(&mut context.object, "Fetching manifests", &revision, timeout);
        let path = context.object.spec.path.clone().unwrap_or_default();
        let (archive, directory) = self.open_artifact(&plan, &path, artifact).await?;
        let before = status::of(&mut context.object)
            .last_attempted_revision
            .replace(revision.name.clone());
        let is_news = before.as_ref() != Some(&revision.name) || context.is_new_generation();
        status::note_progress(&mut context.object, "Building manifests", &revision, timeout);
        let applier = self.applier(&plan).await?;
        let references = context
            .object
            .spec
            .post_build
            .as_ref()
            .map(|build| build.substitute_from.as_slice());
        let variables = sluice_kustomization::load_variables(
            &self.client,
            &plan.key.namespace,
            references.unwrap_or_default(),
        )
        .await;
        let input = BuildInput {
            files: archive,
            directory,
            spec: context.object.spec.clone(),
            variables,
            strict: self.settings.strict_substitution,
            owner_labels: sluice_kustomization::owner_labels(&plan.key.namespace, &plan.key.name),
            ignored: None,
            remote: self
                .shared
                .remote_bases
                .as_ref()
                .map(|access| access.open(std::time::Instant::now() + timeout)),
            deadline: std::time::Instant::now() + timeout,
        };
        let built = self.run_build(&plan, &artifact.digest, input).await?;
        let attempt = Attempt {
            digest: built.digest.clone(),
            revision,
        };
        if let Some(secret) = built.encrypted_secret() {
            let problem =
                "is SOPS encrypted, configuring decryption is required for this secret to be reconciled";
            let elapsed = context.started().elapsed();
            let history = &mut status::of(&mut context.object).history;
            status::record(history, &attempt, RECONCILIATION_FAILED, elapsed);
            let message = format!("{secret} {problem}");
            return Err(
                ReconcileError::retry_after(plan.retry_interval, RECONCILIATION_FAILED, message)
                    .with_object(secret),
            );
        }
        status::note_progress(&mut context.object, "Detecting drift", &attempt.revision, timeout);
        let objects = built.into_applicable(&context.object.spec);
        let vanishing = vanishing_jobs(&objects);
        let desired = Desired { objects, is_news };
        let applied = self
            .apply(context, &plan, &applier, &attempt, desired, drift)
            .await?;
        let (changes, drifted) = (applied.changes, applied.drifted);
        self.check_health(
            context,
            AfterApply {
                plan,
                attempt,
                applier,
                changes,
                drifted,
                vanishing,
            },
        )
        .await
    }

    /// Builds on a thread that may block, when one of the processors is free, unless the last result still holds.
    async fn run_build(
        &self,
        plan: &Plan,
        artifact: &str,
        input: BuildInput,
    ) -> Result<Built, ReconcileError> {
        let failed =
            |message: String| ReconcileError::retry_after(plan.retry_interval, BUILD_FAILED, message);
        let permit = Arc::clone(&self.builders).acquire_owned().await;
        let permit = permit.map_err(|error| failed(error.to_string()))?;
        let (builds, key, artifact) = (
            Arc::clone(&self.builds),
            plan.key.to_string(),
            artifact.to_owned(),
        );
        let built = tokio::task::spawn_blocking(move || {
            let built = builds.build(&key, &artifact, input);
            drop(permit);
            built
        });
        let built = built.await;
        self.shared.metrics.cached_bytes.set(gauge(self.builds.bytes()));
        match built {
            Ok(Ok((built, skipped))) => {
                if skipped {
                    debug!("build skipped: nothing that it depends on has changed");
                    self.shared.metrics.skipped.inc();
                } else {
                    self.shared.metrics.built.inc();
                }
                Ok(built)
            }
            Ok(Err(problem)) => {
                self.shared.metrics.built.inc();
                let mut error = failed(problem.to_string()).with_object(plan.source.to_string());
                error.place.clone_from(&problem.place);
                error.remedy.clone_from(&problem.remedy);
                Err(error)
            }
            Err(panic) => Err(failed(format!("recovered from kustomize build panic: {panic}"))),
        }
    }

    /// Records that everything is as the spec wants it.
    fn succeed(
        &self,
        context: &mut Context<Kustomization>,
        plan: &Plan,
        attempt: &Attempt,
    ) -> Outcome<HealthWait> {
        let revision = &attempt.revision;
        let elapsed = context.started().elapsed();
        let status = status::of(&mut context.object);
        status.last_applied_revision = Some(revision.name.clone());
        status.last_applied_origin_revision.clone_from(&revision.origin);
        status::record(&mut status.history, attempt, RECONCILIATION_SUCCEEDED, elapsed);
        let message = format!("Applied revision: {}", revision.name);
        conditions::delete(&mut context.object, STALLED);
        conditions::mark_true(&mut context.object, READY, RECONCILIATION_SUCCEEDED, message);
        let message = format!(
            "Reconciliation finished in {}, next run in {}",
            GoDuration::from(elapsed),
            GoDuration::from(plan.interval)
        );
        let event = revision
            .event(Severity::Info, RECONCILIATION_SUCCEEDED, message)
            .with_metadata(
                format!("{GROUP}/{}", sluice_api::annotations::event::COMMIT_STATUS),
                "update",
            );
        Outcome::done_with(plan.interval, event)
    }
}

#[async_trait]
impl Reconciler for KustomizationReconciler {
    type Object = Kustomization;
    type Wait = HealthWait;

    fn policy(&self) -> &Policy {
        &self.policy
    }

    async fn reconcile(
        &self,
        context: &mut Context<Kustomization>,
    ) -> Result<Outcome<HealthWait>, ReconcileError> {
        let mut drift = self.shared.drift.begin(&context.object);
        let plan = validate::validate(&context.object, &self.settings)?;
        let artifact = self.find_artifact(&plan).await?;
        let revision = Revision::of(&artifact);
        self.check_dependencies(&context.object, &plan, &artifact)
            .await
            .map_err(|error| revision.annotate(error))?;
        self.reconcile_revision(context, plan, &artifact, &mut drift)
            .await
            .map_err(|error| revision.annotate(error))
    }

    async fn resume(
        &self,
        context: &mut Context<Kustomization>,
        wait: HealthWait,
    ) -> Result<Outcome<HealthWait>, ReconcileError> {
        if context.causes().contains(Cause::Drift) {
            // What is waited for may be what was changed: it is put right first, and waited for anew.
            drop(wait);
            return self.reconcile(context).await;
        }
        self.resume_wait(context, wait).await
    }

    async fn finalize(&self, context: &mut Context<Kustomization>) -> Result<Finalized, ReconcileError> {
        self.clean_up(context).await
    }

    fn forget(&self, key: &ObjectKey) {
        self.builds.forget(&key.to_string());
        self.shared.drift.forget(key);
        self.shared.notes.forget(key);
    }
}

/// The Jobs that are deleted once they are done.
fn vanishing_jobs(objects: &[Object]) -> Vec<ObjectId> {
    objects
        .iter()
        .filter(|object| {
            object.kind() == "Job"
                && object.group() == "batch"
                && object
                    .field(&["spec", "ttlSecondsAfterFinished"])
                    .is_some_and(serde_json::Value::is_i64)
        })
        .map(Object::id)
        .collect()
}
