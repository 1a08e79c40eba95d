//! The end of a Kustomization: what happens to the objects it applied.

use std::time::Duration;

use sluice_api::conditions::READY;
use sluice_api::kustomize::{DeletionPolicy, Kustomization};
use sluice_api::reasons::kustomize::PRUNE_FAILED;
use sluice_apply::{Action, Applier, Entry, Inventory, ObjectId};
use sluice_runtime::{Context, Event, Finalized, ReconcileError, Severity, conditions};
use tokio::time::Instant;
use tracing::error;

use super::KustomizationReconciler;
use super::revision::event_metadata;
use super::status;
use super::validate::Plan;
use crate::pending::Termination;

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
        if let Some(termination) = self.notes.termination(&plan.key) {
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
        let applier = self.applier_for_end(&plan).await?;
        self.delete_all(context, &plan, &applier, inventory).await
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
        let entries: Vec<Entry> = inventory.into_iter().collect();
        let changes = applier
            .prune(entries, &self.prune_options(&plan.key))
            .await
            .map_err(|failure| {
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
        self.notes.begin_termination(&plan.key, termination.clone());
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
