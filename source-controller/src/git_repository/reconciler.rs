//! The reconcile of a GitRepository, from step to step.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use sluice_api::conditions::source::{
    ARTIFACT_IN_STORAGE, ARTIFACT_OUTDATED, FETCH_FAILED, INCLUDE_UNAVAILABLE, SOURCE_VERIFIED,
    STORAGE_OPERATION_FAILED,
};
use sluice_api::finalizers::FINALIZER;
use sluice_api::managers::SOURCE_CONTROLLER;
use sluice_api::meta::Artifact;
use sluice_api::reasons::SUCCEEDED;
use sluice_api::reasons::source as reasons;
use sluice_api::source::GitRepository;
use sluice_auth::WorkloadIdentity;
use sluice_git::{Checkout, SshAlgorithms};
use sluice_runtime::conditions::{delete, is_false, is_true};
use sluice_runtime::queue::Cause;
use sluice_runtime::store::Change;
use sluice_runtime::{
    Conclusion, Context, Event, Finalized, Manager, Outcome, Policy, ReconcileError, Reconciler, Reference,
    Store,
};
use tracing::{debug, info, warn};

use super::fetch::{Cancellation, Fetch, FetchError, Limits, check_sparse};
use super::status::{self, Before};
use super::store::{Contents, IncludedArtifact};
use super::validate::{ValidSpec, validate};
use super::{KIND, dereference, login, store, verify};
use crate::artifacts::{Artifacts, Presence, unblock};

/// What the reconciler works with.
#[derive(Clone)]
pub struct GitRepositoryOptions {
    /// The client, as the controller itself.
    pub client: Client,
    /// The storage.
    pub artifacts: Arc<Artifacts>,
    /// A directory for fetched objects.
    pub scratch: PathBuf,
    /// How soon to look again for an artifact to include (`--requeue-dependency`).
    pub requeue_dependency: Duration,
    /// How much one repository may bring.
    pub limits: Limits,
    /// Whether objects may name ServiceAccounts for cloud providers.
    pub object_level_identity: bool,
    /// Gets credentials from clouds.
    pub identity: WorkloadIdentity,
    /// What is offered to SSH servers (`--ssh-kex-algos`, `--ssh-hostkey-algos`).
    pub ssh_algorithms: SshAlgorithms,
}

/// Reconciles GitRepositories.
pub struct GitRepositoryReconciler {
    options: GitRepositoryOptions,
    repositories: Option<Store<GitRepository>>,
    policy: Policy,
}

impl GitRepositoryReconciler {
    /// A reconciler that is not registered yet.
    pub fn new(options: GitRepositoryOptions) -> Self {
        let policy = Policy {
            field_manager: SOURCE_CONTROLLER.to_owned(),
            finalizer: Some(FINALIZER),
            owned_conditions: status::OWNED,
            conclusion: Conclusion::Summarized(status::SUMMARY),
        };
        Self {
            options,
            repositories: None,
            policy,
        }
    }

    /// Registers the controller of the kind. A repository that others include wakes them when its artifact
    /// changes.
    pub fn register(mut self, manager: &mut Manager) {
        let repositories = manager.watch::<GitRepository>();
        self.repositories = Some(repositories.clone());
        manager
            .controller(self)
            .references(|object: &GitRepository| {
                let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
                let includes = object.spec.include.iter();
                includes
                    .map(|include| Reference::new(KIND, namespace, &include.repository.name))
                    .collect()
            })
            .wakes(&repositories, Cause::Dependency, artifact_changed)
            .register();
    }

    /// Removes garbage, and makes sure that the artifact of the status is there, is the right one, and is
    /// named by its present URL.
    async fn examine_storage(&self, context: &mut Context<GitRepository>) -> Result<(), ReconcileError> {
        let artifacts = &self.options.artifacts;
        let mut why = "";
        if let Some(artifact) = status::artifact(&context.object).cloned() {
            self.collect_garbage(context, &artifact).await;
            let presence = artifacts.examine(artifact).await.map_err(|error| {
                let message = format!("failed to remove artifact after digest mismatch: {error}");
                ReconcileError::backoff(sluice_api::reasons::FAILED, message)
                    .without_event()
                    .with_source(error)
            })?;
            if let Presence::Corrupt(reason) = &presence {
                let message = format!("failed to verify integrity of artifact: {reason}");
                warn!("{message}");
                context.emit(Event::error(reasons::ARTIFACT_VERIFICATION_FAILED, message));
            }
            if presence != Presence::Intact {
                context.object.status.get_or_insert_default().artifact = None;
                why = "disappeared from storage";
            }
        }
        match context
            .object
            .status
            .as_mut()
            .and_then(|status| status.artifact.as_mut())
        {
            Some(artifact) => {
                if let Some(url) = artifacts.current_url(artifact) {
                    artifact.url = url;
                }
                Ok(())
            }
            None => {
                delete(&mut context.object, ARTIFACT_IN_STORAGE);
                status::announce_build(context, why).await
            }
        }
    }

    async fn collect_garbage(&self, context: &Context<GitRepository>, artifact: &Artifact) {
        match self.options.artifacts.collect_garbage(artifact).await {
            Ok(removed) if removed.files.is_empty() => {}
            Ok(removed) => {
                let message = format!("garbage collected {} artifacts", removed.files.len());
                info!(bytes = removed.bytes, "{message}");
                context.emit(Event::trace(reasons::GARBAGE_COLLECTION_SUCCEEDED, message));
            }
            // The next reconcile tries again; meanwhile the object itself is none the worse.
            Err(error) => warn!(%error, "garbage collection of artifacts failed"),
        }
    }

    /// The artifacts to include. A difference to those of the status is announced.
    async fn find_includes(
        &self,
        context: &mut Context<GitRepository>,
    ) -> Result<Vec<Artifact>, ReconcileError> {
        let namespace = context.key().namespace.clone();
        let includes = match &self.repositories {
            Some(repositories) => dereference::find_includes(repositories, &namespace, &context.object.spec)
                .map_err(|error| error.into_reconcile_error(self.options.requeue_dependency))?,
            None => Vec::new(),
        };
        delete(&mut context.object, INCLUDE_UNAVAILABLE);
        if status::includes_differ(&includes, context.object.status.as_ref()) {
            const MESSAGE: &str = "included artifacts differ from last observed includes";
            if status::status(&context.object).is_some_and(|status| !status.included_artifacts.is_empty()) {
                status::mark_outdated(&mut context.object, reasons::INCLUDE_CHANGE, MESSAGE);
            }
            status::announce_build(context, MESSAGE).await?;
        }
        delete(&mut context.object, ARTIFACT_OUTDATED);
        Ok(includes)
    }

    /// The revision upstream, if that alone tells that there is nothing to do.
    async fn unchanged_revision(
        &self,
        context: &Context<GitRepository>,
        fetch: &Fetch,
        includes: &[Artifact],
    ) -> Result<Option<String>, ReconcileError> {
        let object = &context.object;
        let Some(artifact) = status::artifact(object).filter(|_| is_true(object, ARTIFACT_IN_STORAGE)) else {
            return Ok(None);
        };
        if status::contents_differ(&object.spec, object.status.as_ref(), includes) {
            return Ok(None);
        }
        let revision = fetch.resolve().await?;
        Ok(revision.filter(|revision| *revision == artifact.revision))
    }

    /// Verifies who signed the commit, if the spec wants that, and says what came out.
    async fn verify(
        &self,
        context: &mut Context<GitRepository>,
        spec: &Arc<ValidSpec>,
        checkout: &Checkout,
    ) -> Result<(), ReconcileError> {
        let Some(verification) = context.object.spec.verify.clone() else {
            status::forget_verification(&mut context.object);
            return Ok(());
        };
        let namespace = context.key().namespace.clone();
        let keys = verify::read_keys(&self.options.client, &namespace, &verification).await?;
        let mode = verify::mode(&verification);
        let message = {
            let (checkout, spec, mode) = (checkout.clone(), spec.clone(), mode.clone());
            unblock(move || verify::verify(&checkout, &spec.reference, &mode, &keys, Timestamp::now()))
                .await
                .map_err(|_| FetchError::BrokenOff)??
        };
        info!("{message}");
        context.emit(Event::trace(SUCCEEDED, message.clone()));
        status::mark_verified(&mut context.object, mode, &message);
        Ok(())
    }

    /// Stores the artifact of a commit, unless the one at hand was made from just that.
    async fn store(
        &self,
        context: &mut Context<GitRepository>,
        spec: &ValidSpec,
        checkout: Checkout,
        includes: Vec<Artifact>,
        cancellation: &Cancellation,
    ) -> Result<(), ReconcileError> {
        let object = &context.object;
        let revision = checkout.revision.to_string();
        let current = status::artifact(object).is_some_and(|artifact| artifact.revision == revision);
        if current
            && !status::includes_differ(&includes, object.status.as_ref())
            && !status::contents_differ(&object.spec, object.status.as_ref(), &includes)
        {
            let message = format!("artifact up-to-date with remote revision: '{revision}'");
            info!("{message}");
            context.emit(Event::trace(reasons::ARTIFACT_UP_TO_DATE, message));
        } else {
            let contents = Contents {
                ignore: object.spec.ignore.clone(),
                sparse: spec.sparse.clone(),
                includes: pair_includes(object, &includes),
                limits: self.options.limits,
            };
            let key = context.key().clone();
            let artifact =
                store::store(&self.options.artifacts, &key, checkout, contents, cancellation).await?;
            status::record(&mut context.object, artifact, includes);
        }
        status::mark_stored(&mut context.object, &revision);
        Ok(())
    }
}

/// The includes of the spec with their artifacts.
fn pair_includes(object: &GitRepository, artifacts: &[Artifact]) -> Vec<IncludedArtifact> {
    object
        .spec
        .include
        .iter()
        .zip(artifacts)
        .map(|(include, artifact)| IncludedArtifact {
            name: include.repository.name.clone(),
            from: include.from_path.clone().unwrap_or_default(),
            to: include
                .to_path
                .clone()
                .unwrap_or_else(|| include.repository.name.clone()),
            artifact: artifact.clone(),
        })
        .collect()
}

fn artifact_changed(change: &Change<GitRepository>) -> bool {
    let digest = |object: &Option<Arc<GitRepository>>| {
        let artifact = object.as_deref().and_then(status::artifact);
        artifact.map(|artifact| (artifact.revision.clone(), artifact.digest.clone()))
    };
    !change.initial && digest(&change.before) != digest(&change.after)
}

#[async_trait]
impl Reconciler for GitRepositoryReconciler {
    type Object = GitRepository;
    type Wait = ();

    fn policy(&self) -> &Policy {
        &self.policy
    }

    async fn reconcile(&self, context: &mut Context<GitRepository>) -> Result<Outcome<()>, ReconcileError> {
        let before = Before::of(&context.object);
        status::announce(context).await?;
        delete(&mut context.object, STORAGE_OPERATION_FAILED);
        self.examine_storage(context).await?;
        if is_false(&context.object, SOURCE_VERIFIED) {
            delete(&mut context.object, SOURCE_VERIFIED);
        }

        let namespace = context.key().namespace.clone();
        let secrets =
            dereference::read_secrets(&self.options.client, &namespace, &context.object.spec).await?;
        let mut spec = validate(
            &namespace,
            &context.object.spec,
            &secrets,
            self.options.object_level_identity,
        )?;
        if let Some(ssh) = &mut spec.remote.ssh {
            ssh.algorithms.clone_from(&self.options.ssh_algorithms);
        }
        login::log_in(
            &mut spec,
            &self.options.identity,
            context.key(),
            context.object.spec.service_account_name.as_deref(),
            secrets.proxy.as_ref(),
        )
        .await?;
        let spec = Arc::new(spec);
        let includes = self.find_includes(context).await?;

        let cancellation = Cancellation::default();
        let fetch = Fetch {
            spec: spec.clone(),
            scratch: self.options.scratch.clone(),
            limits: self.options.limits,
            cancellation: cancellation.clone(),
        };
        if let Some(revision) = self.unchanged_revision(context, &fetch, &includes).await? {
            let message = format!("no changes since last reconciliation: observed revision '{revision}'");
            info!(revision, "{message}");
            context.emit(Event::trace(reasons::GIT_OPERATION_SUCCEEDED, message));
            delete(&mut context.object, FETCH_FAILED);
            status::mark_stored(&mut context.object, &revision);
            return Ok(finish(&before, &context.object, &spec, &revision));
        }

        let checkout = fetch.checkout().await?;
        let revision = checkout.revision.to_string();
        debug!(url = %spec.remote.url, revision, "git repository checked out");
        delete(&mut context.object, FETCH_FAILED);
        check_sparse(checkout.tree(), &context.object.spec.sparse_checkout)?;
        self.verify(context, &spec, &checkout).await?;
        let subject = checkout.commit.short_message();
        let known = status::artifact(&context.object).map(|artifact| artifact.revision == revision);
        if known != Some(true) {
            let message = format!("new upstream revision '{revision}'");
            if known.is_some() {
                status::mark_outdated(&mut context.object, reasons::NEW_REVISION, &message);
            }
            status::announce_build(context, &message).await?;
        }
        self.store(context, &spec, checkout, includes, &cancellation)
            .await?;
        Ok(finish(&before, &context.object, &spec, &subject))
    }

    async fn finalize(&self, context: &mut Context<GitRepository>) -> Result<Finalized, ReconcileError> {
        if let Some(cache) = self.options.identity.cache() {
            cache.forget(&login::involved(context.key()));
        }
        let removed = self
            .options
            .artifacts
            .remove_all(KIND, context.key())
            .await
            .map_err(|error| {
                let message = format!("garbage collection for deleted resource failed: {error}");
                ReconcileError::backoff(reasons::GARBAGE_COLLECTION_FAILED, message).with_source(error)
            })?;
        if removed.is_some() {
            let message = "garbage collected artifacts for deleted resource";
            info!("{message}");
            context.emit(Event::trace(reasons::GARBAGE_COLLECTION_SUCCEEDED, message));
        }
        Ok(Finalized::Done)
    }
}

/// The end of a success, with the event that it is worth.
fn finish(before: &Before, object: &GitRepository, spec: &ValidSpec, about: &str) -> Outcome<()> {
    match before.event(object, about) {
        Some(event) => {
            info!("{}", event.message);
            Outcome::done_with(spec.interval, event)
        }
        None => Outcome::done(spec.interval),
    }
}
