//! From objects to the cluster: announced first, then applied, then freed of what is no longer wanted.

use std::collections::BTreeMap;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use sluice_api::annotations::kustomize::{DISABLED, PRUNE, RECONCILE, SSA};
use sluice_api::kustomize::{Kustomization, KustomizationSpec};
use sluice_api::reasons::PROGRESSING;
use sluice_api::reasons::kustomize::{DRIFT_CORRECTION_DELAYED, PRUNE_FAILED, RECONCILIATION_FAILED};
use sluice_apply::{
    Action, Announcer, Applier, ApplyFailure, ApplyOptions, Change, ChangeSet, Entry, Inventory,
    ManagerPattern, MetadataSelector, Object, ObjectId, Operation, PruneOptions, Unannounced,
};
use sluice_kustomization::owner_labels;
use sluice_runtime::{Context, ObjectKey, ReconcileError, Severity};
use tracing::{info, warn};

use super::KustomizationReconciler;
use super::revision::Revision;
use super::status::{self, Attempt};
use super::validate::Plan;
use crate::drift::{Reconciling, Report, mark_rules};
use crate::settings::Settings;

/// What is to be applied.
pub(super) struct Desired {
    /// The objects.
    pub(super) objects: Vec<Object>,
    /// Whether the revision or the generation is new, which is worth a word in the status.
    pub(super) is_news: bool,
}

/// What an apply and prune came to.
pub(super) struct Applied {
    /// What happened to each built object.
    pub(super) changes: ChangeSet,
    /// Whether any of them was written.
    pub(super) drifted: bool,
}

/// Records in the status what a stage is about to write, so that a process that dies in the middle leaves no
/// object outside the inventory. Entries are those of the dry run: what the API server has accepted in the
/// name of whoever applies, with the scope that the kind really has.
struct Record<'a> {
    context: &'a mut Context<Kustomization>,
    /// Everything that may exist.
    inventory: Inventory,
    /// Whether the revision or the generation is new, which is worth a word in the status.
    is_news: bool,
    /// Why it could not be written.
    problem: Option<ReconcileError>,
}

impl Announcer for Record<'_> {
    fn announce<'a>(&'a mut self, changes: &'a [Change]) -> BoxFuture<'a, Result<(), Unannounced>> {
        async move {
            let adds = self.inventory.merge(changes.iter().map(Entry::from));
            if !adds && !self.is_news {
                return Ok(());
            }
            if adds {
                status::of(&mut self.context.object).inventory =
                    Some(status::inventory_field(&self.inventory));
            }
            self.is_news = false;
            status::announce(&mut self.context.object);
            self.context.patch_status().await.map_err(|problem| {
                self.problem = Some(problem);
                Unannounced
            })
        }
        .boxed()
    }
}

impl KustomizationReconciler {
    /// Applies the objects and deletes the stale ones. The status in `context` follows: before the first
    /// write of a stage it lists every object that may exist afterwards, and it is written if that is news.
    ///
    /// # Errors
    /// With the inventory as it was before and what the failed apply has left in the cluster (apply), or
    /// with what could not be deleted (prune).
    pub(super) async fn apply(
        &self,
        context: &mut Context<Kustomization>,
        plan: &Plan,
        applier: &Applier,
        attempt: &Attempt,
        desired: Desired,
        drift: &mut Reconciling,
    ) -> Result<Applied, ReconcileError> {
        let revision = &attempt.revision;
        let mut options = apply_options(&context.object.spec, &self.settings)
            .map_err(|text| self.apply_failed(context, plan, attempt, text))?;
        if drift.is_watched() {
            options.marks = Some(mark_rules(crate::NAME, options.cleanup.managers.clone()));
        }
        let old = status::inventory(&context.object)
            .map_err(|error| self.apply_failed(context, plan, attempt, error.to_string()))?;
        let is_first = status::of(&mut context.object).inventory.is_none();
        let mut record = Record {
            context,
            inventory: old.clone(),
            is_news: desired.is_news,
            problem: None,
        };
        let outcome = applier
            .apply_announced(desired.objects, &options, &mut record)
            .await;
        let problem = record.problem;
        let changes = match outcome {
            Ok(changes) => changes,
            Err(failure) => {
                let left = inventory_after(&failure, old);
                let left = (!is_first || !left.is_empty()).then(|| status::inventory_field(&left));
                status::of(&mut context.object).inventory = left;
                if let Some(problem) = problem {
                    return Err(problem);
                }
                let object = failure.error.object().map(ObjectId::subject);
                let text = format!("{}\n{}", failure.error, lines(&failure.completed));
                let mut error = self.apply_failed(context, plan, attempt, text);
                error.object = object;
                return Err(error);
            }
        };
        self.report_apply(context, revision, &changes);
        for fight in drift.settle(&changes) {
            report_fight(context, revision, &fight);
        }
        let new = Inventory::from_changes(&changes);
        let stale = old.difference(&new);
        status::of(&mut context.object).inventory = Some(status::inventory_field(&new));
        self.prune(context, plan, applier, attempt, new, stale).await?;
        let drifted = changes.iter().any(|change| change.action.is_change());
        Ok(Applied { changes, drifted })
    }

    fn apply_failed(
        &self,
        context: &mut Context<Kustomization>,
        plan: &Plan,
        attempt: &Attempt,
        message: String,
    ) -> ReconcileError {
        let elapsed = context.started().elapsed();
        status::record(
            &mut status::of(&mut context.object).history,
            attempt,
            RECONCILIATION_FAILED,
            elapsed,
        );
        ReconcileError::retry_after(plan.retry_interval, RECONCILIATION_FAILED, message)
    }

    fn report_apply(&self, context: &Context<Kustomization>, revision: &Revision, changes: &ChangeSet) {
        if !changes.is_empty() {
            let output = summarise(changes, self.settings.group_change_log);
            info!(output, revision = revision.name, "server-side apply completed");
        }
        let text = changes.changed_text();
        if !text.is_empty() {
            context.emit(revision.event(Severity::Info, PROGRESSING, text));
        }
    }

    /// Deletes stale objects, if the spec asks for it. What could not be deleted goes back into the inventory.
    async fn prune(
        &self,
        context: &mut Context<Kustomization>,
        plan: &Plan,
        applier: &Applier,
        attempt: &Attempt,
        mut inventory: Inventory,
        stale: Vec<Entry>,
    ) -> Result<(), ReconcileError> {
        if !context.object.spec.prune || stale.is_empty() {
            return Ok(());
        }
        match applier.prune(stale, &self.prune_options(&plan.key)).await {
            Ok(changes) => {
                info!("garbage collection completed: {changes}");
                context.emit(
                    attempt
                        .revision
                        .event(Severity::Info, PROGRESSING, changes.to_string()),
                );
                Ok(())
            }
            Err(failure) => {
                let survivors = failure
                    .changes
                    .iter()
                    .filter(|change| change.action == Action::Unknown);
                inventory.merge(survivors.map(Entry::from));
                let elapsed = context.started().elapsed();
                let status = status::of(&mut context.object);
                status.inventory = Some(status::inventory_field(&inventory));
                status::record(&mut status.history, attempt, PRUNE_FAILED, elapsed);
                let survivor = failure
                    .changes
                    .iter()
                    .find(|change| change.action == Action::Unknown);
                let mut error =
                    ReconcileError::retry_after(plan.retry_interval, PRUNE_FAILED, failure.to_string());
                error.object = survivor.map(|change| change.id.subject());
                Err(error)
            }
        }
    }

    /// What may be deleted on behalf of a Kustomization.
    pub(super) fn prune_options(&self, key: &ObjectKey) -> PruneOptions {
        let namespace = &self.settings.runtime_namespace;
        let own_namespace = ObjectId {
            namespace: String::new(),
            name: namespace.clone(),
            group: String::new(),
            kind: "Namespace".to_owned(),
        };
        PruneOptions {
            owner_labels: owner_labels(&key.namespace, &key.name),
            exclusions: MetadataSelector::new([(PRUNE, DISABLED), (RECONCILE, DISABLED), (SSA, "Ignore")]),
            protected: if namespace.is_empty() {
                Vec::new()
            } else {
                vec![own_namespace]
            },
        }
    }
}

/// The inventory that is true after a failed apply: the one from before, and the objects that the apply has
/// brought under our labels. In Flux the latter are missing, so that they stay for ever if the next revision
/// does not want them any more.
fn inventory_after(failure: &ApplyFailure, mut inventory: Inventory) -> Inventory {
    let touched = failure.completed.iter().chain(&failure.touched);
    let ours = touched.filter(|change| change.action != Action::Skipped);
    inventory.merge(ours.map(Entry::from));
    inventory
}

/// Says that somebody else does not give in.
fn report_fight(context: &Context<Kustomization>, revision: &Revision, fight: &Report) {
    let (subject, count) = (fight.id.subject(), fight.corrections);
    let manager = fight.manager.as_deref().unwrap_or("another writer");
    let message = format!(
        "{subject} was changed by {manager} and corrected {count} times in a row; corrections now wait longer and \
         longer. Remove the fields from the source, or name them in spec.ignore, if they belong to {manager}"
    );
    warn!(object = subject, manager, corrections = count, "{message}");
    context.emit(revision.event(Severity::Info, DRIFT_CORRECTION_DELAYED, message));
}

/// The managers whose fields are taken over.
pub(crate) fn taken_over(settings: &Settings) -> Vec<ManagerPattern> {
    let mut managers = sluice_kustomization::taken_over();
    for manager in &settings.override_managers {
        managers.push(ManagerPattern::new(manager, Operation::Apply));
        managers.push(ManagerPattern::new(manager, Operation::Update));
    }
    managers
}

/// How the spec and the flags ask for objects to be applied.
fn apply_options(spec: &KustomizationSpec, settings: &Settings) -> Result<ApplyOptions, String> {
    let mut options = sluice_kustomization::apply_options(spec)?;
    options.cleanup.managers = taken_over(settings);
    options.concurrency = settings.concurrent_apply;
    options
        .custom_stage_kinds
        .clone_from(&settings.custom_stage_kinds);
    options.migrate_api_version = settings.migrate_api_version;
    Ok(options)
}

/// The changes of completed stages, each line ended, as Flux appends them to the error.
fn lines(changes: &ChangeSet) -> String {
    let text = changes.changed_text();
    if text.is_empty() {
        text
    } else {
        format!("{text}\n")
    }
}

/// The changes as one JSON text for the log: action by subject, or subjects by action.
fn summarise(changes: &ChangeSet, grouped: bool) -> String {
    if grouped {
        let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for change in changes.iter() {
            groups
                .entry(change.action.as_str())
                .or_default()
                .push(change.id.subject());
        }
        return serde_json::to_string(&groups).unwrap_or_default();
    }
    let subjects: BTreeMap<String, &str> = changes
        .iter()
        .map(|change| (change.id.subject(), change.action.as_str()))
        .collect();
    serde_json::to_string(&subjects).unwrap_or_default()
}
