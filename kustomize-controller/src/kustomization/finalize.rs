//! The end of a Kustomization: what happens to the objects it applied.

use std::time::Duration;

use sluice_api::conditions::READY;
use sluice_api::kustomize::{DeletionPolicy, Kustomization};
use sluice_api::reasons::kustomize::PRUNE_FAILED;
use sluice_apply::{Action, Applier, Entry, Inventory, ObjectId};
use sluice_runtime::{Context, Event, Finalized, ObjectKey, ReconcileError, Severity, conditions};
use tokio::time::Instant;
use tracing::{debug, error, info};

use super::KustomizationReconciler;
use super::dereference::confine;
use super::revision::event_metadata;
use super::status;
use super::validate::{Plan, source_of};
use crate::pending::Termination;

/// How often a wait for another Kustomization to take objects over looks at it.
const HEIR_LOOK: Duration = Duration::from_millis(500);

/// How often a wait for the end of objects looks at them.
const LOOK: Duration = Duration::from_secs(2);

impl KustomizationReconciler {
    /// Deletes the objects of a Kustomization that is being deleted, where its policy says so.
    ///
    /// # Errors
    /// A back-off while objects cannot be deleted.
    pub(super) async fn clean_up(
        &self,
        context: &mut Context<Kustomization>,
    ) -> Result<Finalized, ReconcileError> {
        let plan = Plan::read(&context.object, &self.settings)?;
        if let Some(termination) = self.shared.notes.termination(&plan.key) {
            return self.await_termination(context, &plan, termination).await;
        }
        let inventory = status::inventory(&context.object).unwrap_or_default();
        if !deletes_objects(&context.object, &plan, &inventory) {
            return Ok(Finalized::Done);
        }
        if !self.can_impersonate(&plan).await {
            let subjects: Vec<String> = inventory
                .entries()
                .iter()
                .map(|entry| entry.id.subject())
                .collect();
            let message = format!("unable to prune objects: \n{}", subjects.join("\n"));
            error!(
                error = "skipping pruning, failed to find account to impersonate",
                "{message}"
            );
            emit(context, Severity::Error, message);
            return Ok(Finalized::Done);
        }
        if self.awaits_heir(context, &plan) {
            return Ok(Finalized::RetryAfter(HEIR_LOOK));
        }
        let applier = self.applier_for_end(&plan).await?;
        self.delete_all(context, &plan, &applier, inventory).await
    }

    /// Whether another Kustomization is about to apply the same objects, as after a rename: then they are not
    /// deleted before it has put its labels on them. Nobody waits longer than an apply may take.
    fn awaits_heir(&self, context: &Context<Kustomization>, plan: &Plan) -> bool {
        let others = self.shared.siblings.list();
        let heir = others
            .iter()
            .find(|other| is_heir(&context.object, plan, other.as_ref()));
        let Some(heir) = heir else {
            return false;
        };
        let deadline = self.shared.notes.begin_handover(&plan.key, plan.timeout);
        let waits = Instant::now() < deadline;
        let heir = ObjectKey::of(heir.as_ref());
        if waits {
            debug!(%heir, "another Kustomization is about to take the objects over");
        } else {
            info!(%heir, "the objects were not taken over in time and are deleted");
        }
        waits
    }

    /// As [`Self::applier`]; without a client the end is tried again after a back-off.
    async fn applier_for_end(&self, plan: &Plan) -> Result<Applier, ReconcileError> {
        self.applier(plan).await.map_err(|error| {
            let mut tried_again = ReconcileError::backoff(error.reason, error.message).without_event();
            tried_again.place = error.place;
            tried_again
        })
    }

    async fn delete_all(
        &self,
        context: &mut Context<Kustomization>,
        plan: &Plan,
        applier: &Applier,
        inventory: Inventory,
    ) -> Result<Finalized, ReconcileError> {
        let options = self.prune_options(&plan.key);
        let is_protected = |entry: &Entry| options.protected.contains(&entry.id);
        let (protected, entries): (Vec<Entry>, Vec<Entry>) = inventory.into_iter().partition(is_protected);
        for entry in protected {
            // An error would keep the Kustomization for ever.
            let subject = entry.id.subject();
            let message = format!("{subject} is left as it is: the controllers themselves run in it");
            emit(context, Severity::Error, message);
        }
        let changes = applier.prune(entries, &options).await.map_err(|failure| {
            let culprit = failure
                .changes
                .iter()
                .find(|change| change.action == Action::Unknown);
            let mut error = ReconcileError::backoff(PRUNE_FAILED, failure.to_string())
                .with_event_message(Severity::Error, "pruning for deleted resource failed");
            error.object = culprit.map(|change| change.id.subject());
            error
        })?;
        if changes.is_empty() {
            return Ok(Finalized::Done);
        }
        emit(context, Severity::Info, changes.to_string());
        if plan.deletion_policy != DeletionPolicy::WaitForTermination {
            return Ok(Finalized::Done);
        }
        let deleted = changes
            .iter()
            .filter(|change| change.action == Action::Deleted)
            .map(Entry::from)
            .collect();
        let termination = Termination {
            deleted,
            deadline: Instant::now() + plan.timeout,
        };
        self.shared
            .notes
            .begin_termination(&plan.key, termination.clone());
        self.await_termination(context, plan, termination).await
    }

    /// Ends when all objects are gone or the time is up.
    async fn await_termination(
        &self,
        context: &mut Context<Kustomization>,
        plan: &Plan,
        termination: Termination,
    ) -> Result<Finalized, ReconcileError> {
        let applier = self.applier_for_end(plan).await?;
        let problem = match applier.surviving(&termination.deleted).await {
            Ok(surviving) if surviving.is_empty() => return Ok(Finalized::Done),
            Ok(_) if Instant::now() < termination.deadline => return Ok(Finalized::RetryAfter(LOOK)),
            Ok(surviving) => {
                let subject = surviving
                    .first()
                    .map(|entry| ObjectId::subject(&entry.id))
                    .unwrap_or_default();
                format!("{subject} termination timeout")
            }
            Err(failure) => failure.to_string(),
        };
        let message = "failed to wait for resources termination";
        error!(error = problem, "{message}");
        emit(context, Severity::Error, message.to_owned());
        Ok(Finalized::Done)
    }
}

/// Whether `other` builds the same directory for the same place and has not applied it yet.
fn is_heir(object: &Kustomization, plan: &Plan, other: &Kustomization) -> bool {
    let applied = other
        .status
        .as_ref()
        .and_then(|status| status.last_applied_revision.as_deref());
    let path = |object: &Kustomization| confine(object.spec.path.as_deref().unwrap_or_default());
    ObjectKey::of(other) != plan.key
        && other.metadata.deletion_timestamp.is_none()
        && !other.spec.suspend
        && applied.is_none()
        && source_of(other) == plan.source
        && path(other) == path(object)
        && other.spec.target_namespace == object.spec.target_namespace
        && other.spec.name_prefix == object.spec.name_prefix
        && other.spec.name_suffix == object.spec.name_suffix
        && other.spec.kube_config == object.spec.kube_config
}

/// Whether the policy asks for the objects to be deleted.
fn deletes_objects(object: &Kustomization, plan: &Plan, inventory: &Inventory) -> bool {
    if object.spec.suspend || inventory.is_empty() {
        return false;
    }
    match plan.deletion_policy {
        DeletionPolicy::MirrorPrune => object.spec.prune,
        DeletionPolicy::Delete | DeletionPolicy::WaitForTermination => true,
        DeletionPolicy::Orphan | DeletionPolicy::Other(_) => false,
    }
}

/// Emits an event about the revision that was applied last, with the reason of the Ready condition.
fn emit(context: &Context<Kustomization>, severity: Severity, message: String) {
    let status = context.object.status.as_ref();
    let revision = status.and_then(|status| status.last_applied_revision.as_deref());
    let origin = status.and_then(|status| status.last_applied_origin_revision.as_deref());
    let reason = conditions::get(&context.object, READY).map_or_else(
        || {
            if severity == Severity::Error {
                "error".to_owned()
            } else {
                "info".to_owned()
            }
        },
        |ready| ready.reason.clone(),
    );
    context.emit(Event::new(severity, reason, message).with_all_metadata(event_metadata(revision, origin)));
}
