//! The wait for what was applied to become healthy. It is state: between two looks nothing runs.

use std::collections::HashSet;
use std::time::Duration;

use sluice_api::conditions::READY;
use sluice_api::conditions::kustomize::HEALTHY;
use sluice_api::kustomize::Kustomization;
use sluice_api::meta::GoDuration;
use sluice_api::reasons::kustomize::{HEALTH_CHECK_CANCELED, HEALTH_CHECK_FAILED};
use sluice_api::reasons::{PROGRESSING, SUCCEEDED};
use sluice_apply::{Action, Applier, ChangeSet, ObjectId, Target};
use sluice_health::{Status, Verdict, WaitSet};
use sluice_runtime::{Cause, Context, Outcome, ReconcileError, Severity, Waiting, conditions};
use tokio::time::Instant;
use tracing::info;

use super::KustomizationReconciler;
use super::status::{self, Attempt};
use super::validate::Plan;

/// The pauses between the first looks; later ones are five seconds, as in Flux.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
];

/// Of how many objects a failed wait says why they are not ready.
const MOST_EXPLAINED: usize = 5;

/// A wait for health, and what is needed to finish the reconcile after it.
pub(crate) struct HealthWait {
    plan: Plan,
    attempt: Attempt,
    applier: Applier,
    targets: Vec<Target>,
    wait: WaitSet,
    began: Instant,
    looks: usize,
    /// Whether a pass is worth an event.
    notable: bool,
}

/// What is known after an apply.
pub(super) struct AfterApply {
    pub(super) plan: Plan,
    pub(super) attempt: Attempt,
    pub(super) applier: Applier,
    pub(super) changes: ChangeSet,
    /// Whether anything was written.
    pub(super) drifted: bool,
    /// The Jobs that are gone once they are done.
    pub(super) vanishing: Vec<ObjectId>,
}

impl KustomizationReconciler {
    /// Looks at the health of what the spec names, if it names anything; the reconcile ends here or waits.
    ///
    /// # Errors
    /// Objects that have failed.
    pub(super) async fn check_health(
        &self,
        context: &mut Context<Kustomization>,
        after: AfterApply,
    ) -> Result<Outcome<HealthWait>, ReconcileError> {
        let AfterApply {
            plan,
            attempt,
            applier,
            changes,
            drifted,
            vanishing,
        } = after;
        let mut targets = targets(&context.object, &changes);
        let current: HashSet<&ObjectId> = changes
            .iter()
            .filter(|change| change.current)
            .map(|change| &change.id)
            .collect();
        if targets.is_empty() {
            conditions::delete(&mut context.object, HEALTHY);
            return Ok(self.succeed(context, &plan, &attempt));
        }
        targets.retain(|target| !is_itself(&target.id, &plan));
        let was_healthy = conditions::is_true(&context.object, HEALTHY);
        let applied = context
            .object
            .status
            .as_ref()
            .and_then(|status| status.last_applied_revision.as_deref());
        let is_new_revision = applied != Some(attempt.revision.name.as_str());
        let mut wait = WaitSet::new();
        for Target { id, .. } in &targets {
            wait.insert(id.to_string(), id.subject(), vanishing.contains(id));
            if current.contains(id) {
                wait.record(&id.to_string(), Status::Current, None);
            }
        }
        // What failed at the first look failed while this was said, too.
        let timeout = plan.timeout;
        status::note_progress(
            &mut context.object,
            "Running health checks",
            &attempt.revision,
            timeout,
        );
        let missing = applier.find_missing_namespace(&targets).await;
        let notable = !was_healthy || (is_new_revision && drifted);
        let state = HealthWait {
            plan,
            attempt,
            applier,
            targets,
            wait,
            began: Instant::now(),
            looks: 0,
            notable,
        };
        if let Some(problem) = missing {
            return Err(self.health_failed(context, &state, &problem, ""));
        }
        self.look(context, state).await
    }

    /// Goes on with a wait: its next look is due, or it is over.
    ///
    /// # Errors
    /// Objects that have failed, or are not healthy in time.
    pub(super) async fn resume_wait(
        &self,
        context: &mut Context<Kustomization>,
        state: HealthWait,
    ) -> Result<Outcome<HealthWait>, ReconcileError> {
        if context.causes().contains(Cause::Source) && self.is_outdated(&state).await {
            return Ok(cancel(context, &state));
        }
        self.look(context, state).await
    }

    /// Whether the source has another revision than the one that is waited for, and that ends the wait. It is read
    /// now: the event that woke the wait may be older than the reconcile that began it.
    async fn is_outdated(&self, state: &HealthWait) -> bool {
        if !self.settings.cancel_waits_on_new_revision {
            return false;
        }
        let source = &state.plan.source;
        match self.shared.sources.artifact(&source.kind, &source.key).await {
            Ok(artifact) => artifact.is_some_and(|artifact| artifact.revision != state.attempt.revision.name),
            Err(_) => false,
        }
    }

    async fn look(
        &self,
        context: &mut Context<Kustomization>,
        mut state: HealthWait,
    ) -> Result<Outcome<HealthWait>, ReconcileError> {
        // The quick looks at the start read only what was not done when the apply or an earlier look read it;
        // every later one reads all, as in Flux.
        if state.looks < PAUSES.len() - 1 {
            state
                .applier
                .refresh_unfinished(&mut state.wait, &state.targets)
                .await;
        } else {
            state.applier.refresh(&mut state.wait, &state.targets).await;
        }
        match state.wait.verdict(self.settings.fail_fast) {
            Verdict::Healthy => return Ok(self.health_passed(context, &state)),
            Verdict::Failed(problem) => {
                let details = self.explain(&state).await;
                return Err(self.health_failed(context, &state, &problem, &details));
            }
            Verdict::Waiting => {}
        }
        let now = Instant::now();
        let end = state.began + state.plan.timeout;
        if now >= end {
            let problem = state.wait.timeout_message().unwrap_or_default();
            let details = self.explain(&state).await;
            return Err(self.health_failed(context, &state, &problem, &details));
        }
        let message = status::progress_message(
            "Running health checks",
            &state.attempt.revision,
            state.plan.timeout,
        );
        status::announce(&mut context.object);
        conditions::mark_reconciling(&mut context.object, PROGRESSING, message.clone());
        conditions::mark_unknown(&mut context.object, HEALTHY, PROGRESSING, message);
        let pause = PAUSES[state.looks.min(PAUSES.len() - 1)];
        state.looks += 1;
        let open = state.wait.unfinished().count();
        let waiting_for = format!("the health of {open} of {} objects", state.wait.len());
        let waiting = Waiting::new(waiting_for, (now + pause).min(end), state).waking_on(Cause::Drift);
        let cancels = self.settings.cancel_waits_on_new_revision;
        Ok(Outcome::Waiting(if cancels {
            waiting.waking_on(Cause::Source)
        } else {
            waiting
        }))
    }

    fn health_passed(&self, context: &mut Context<Kustomization>, state: &HealthWait) -> Outcome<HealthWait> {
        let message = format!(
            "Health check passed in {}",
            GoDuration::from(state.began.elapsed())
        );
        if state.notable {
            context.emit(
                state
                    .attempt
                    .revision
                    .event(Severity::Info, PROGRESSING, message.clone()),
            );
        }
        conditions::mark_true(&mut context.object, HEALTHY, SUCCEEDED, message);
        self.succeed(context, &state.plan, &state.attempt)
    }

    /// Why the objects that a wait has failed for are not ready, a line for each, those that have failed first;
    /// empty if nobody wants to know.
    async fn explain(&self, state: &HealthWait) -> String {
        if !self.settings.explain_health_failures {
            return String::new();
        }
        let status = |target: &Target| state.wait.status(&target.id.to_string());
        let mut unready: Vec<&Target> = state
            .targets
            .iter()
            .filter(|target| status(target) != Some(Status::Current))
            .collect();
        unready.sort_by_key(|target| status(target) != Some(Status::Failed));
        let explanations = unready
            .iter()
            .take(MOST_EXPLAINED)
            .map(|target| state.applier.explain(target));
        let mut lines: Vec<String> = futures::future::join_all(explanations)
            .await
            .iter()
            .map(|explanation| format!("\n{explanation}"))
            .collect();
        if unready.len() > MOST_EXPLAINED {
            lines.push(format!("\nand {} more", unready.len() - MOST_EXPLAINED));
        }
        lines.concat()
    }

    fn health_failed(
        &self,
        context: &mut Context<Kustomization>,
        state: &HealthWait,
        problem: &str,
        details: &str,
    ) -> ReconcileError {
        conditions::mark_false(&mut context.object, HEALTHY, HEALTH_CHECK_FAILED, problem);
        let elapsed = context.started().elapsed();
        let history = &mut status::of(&mut context.object).history;
        status::record(history, &state.attempt, HEALTH_CHECK_FAILED, elapsed);
        let took = GoDuration::from(state.began.elapsed());
        let message = format!("health check failed after {took}: {problem}{details}");
        state.attempt.revision.annotate(ReconcileError::retry_after(
            state.plan.retry_interval,
            HEALTH_CHECK_FAILED,
            message,
        ))
    }
}

/// Ends a wait because there is a newer revision, which is reconciled at once.
fn cancel(context: &mut Context<Kustomization>, state: &HealthWait) -> Outcome<HealthWait> {
    let trigger = state.plan.source.to_string();
    info!(trigger, "New reconciliation triggered, canceling health checks");
    let message = format!("New reconciliation triggered by {trigger}");
    conditions::mark_false(&mut context.object, READY, HEALTH_CHECK_CANCELED, message);
    let message = format!("Health checks canceled due to new reconciliation triggered by {trigger}");
    let revision = &state.attempt.revision;
    context.emit(revision.event(Severity::Info, HEALTH_CHECK_CANCELED, message));
    Outcome::RetryAfter(Duration::ZERO)
}

/// The objects to look at: with `wait` everything that was applied and not skipped, else what `healthChecks`
/// names.
fn targets(object: &Kustomization, changes: &ChangeSet) -> Vec<Target> {
    if object.spec.wait {
        let applied = changes.iter().filter(|change| change.action != Action::Skipped);
        return applied
            .map(|change| Target {
                id: change.id.clone(),
                version: change.version.clone(),
            })
            .collect();
    }
    let named = object.spec.health_checks.iter().map(|check| {
        let api_version = check.api_version.as_deref().unwrap_or("apps/v1");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Target {
            id: ObjectId {
                namespace: check.namespace.clone().unwrap_or_default(),
                name: check.name.clone(),
                group: group.to_owned(),
                kind: check.kind.clone(),
            },
            version: version.to_owned(),
        }
    });
    named.collect()
}

/// Whether the object is the Kustomization itself, which would wait for itself for ever.
fn is_itself(id: &ObjectId, plan: &Plan) -> bool {
    id.kind == "Kustomization" && id.name == plan.key.name && id.namespace == plan.key.namespace
}
