//! The outer reconcile: what always happens, whatever path a kind's reconciler takes.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use kube::{Resource, ResourceExt};
use sluice_api::Reconciled;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, error, info, info_span};

use super::metadata::MetadataWriter;
use super::{Context, Done, Ending, Finalized, Outcome, Reconciler, Waiting};
use crate::conditions;
use crate::error::{Class, ReconcileError};
use crate::events::{Event, Recorder};
use crate::jitter::Jitter;
use crate::object::{self, ObjectKey};
use crate::queue::{Cause, Causes, Job, Next, WorkQueue};
use crate::status::StatusWriter;
use crate::store::Store;
use crate::telemetry::Metrics;

/// Causes that are kept for later while a wait that they do not end goes on.
const DEFERRABLE: [Cause; 4] = [
    Cause::Source,
    Cause::Dependency,
    Cause::Configuration,
    Cause::Drift,
];

/// Reconciles the objects of one kind.
pub(crate) struct Worker<R: Reconciler> {
    pub(crate) reconciler: Arc<R>,
    pub(crate) names: Names,
    pub(crate) store: Store<R::Object>,
    pub(crate) queue: WorkQueue<ObjectKey>,
    pub(crate) status: StatusWriter<R::Object>,
    pub(crate) metadata: MetadataWriter<R::Object>,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Metrics,
    pub(crate) jitter: Jitter,
    pub(crate) shutdown: CancellationToken,
    pub(crate) waits: Mutex<HashMap<ObjectKey, Parked<R::Wait>>>,
}

/// The names of a kind in logs and metrics.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The kind in lower case.
    pub(crate) controller: String,
    pub(crate) group: String,
    pub(crate) kind: String,
}

impl Names {
    pub(crate) fn of<K: Resource<DynamicType = ()>>() -> Self {
        let kind = K::kind(&()).into_owned();
        Self {
            controller: kind.to_lowercase(),
            group: K::group(&()).into_owned(),
            kind,
        }
    }
}

/// A wait, and what it belongs to.
pub(crate) struct Parked<W> {
    wait: Waiting<W>,
    deferred: Causes,
    uid: Option<String>,
    generation: Option<i64>,
    requested_at: Option<String>,
    started: Instant,
    id: String,
}

/// How one run went, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Success,
    Requeue,
    RequeueAfter,
    Error,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Requeue => "requeue",
            Self::RequeueAfter => "requeue_after",
            Self::Error => "error",
        }
    }
}

impl<R: Reconciler> Worker<R> {
    /// Makes one run.
    pub(crate) async fn run(&self, job: Job<ObjectKey>) -> Next {
        let begun = Instant::now();
        let id = self
            .waits()
            .get(&job.key)
            .map_or_else(|| uuid::Uuid::new_v4().to_string(), |parked| parked.id.clone());
        let span = info_span!(
            "reconcile",
            controller = self.names.controller,
            controllerGroup = self.names.group,
            controllerKind = self.names.kind,
            namespace = job.key.namespace,
            name = job.key.name,
            reconcileID = id,
        );
        let step = AssertUnwindSafe(self.step(&job, id))
            .catch_unwind()
            .instrument(span.clone())
            .await;
        let (next, mark) = step.unwrap_or_else(|panic| {
            self.metrics.panicked(&self.names.controller);
            span.in_scope(|| error!(error = panic_text(panic.as_ref()), "Observed a panic"));
            (Next::Backoff, Mark::Error)
        });
        self.metrics
            .ran(&self.names.controller, mark.name(), begun.elapsed());
        next
    }

    fn waits(&self) -> MutexGuard<'_, HashMap<ObjectKey, Parked<R::Wait>>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn step(&self, job: &Job<ObjectKey>, id: String) -> (Next, Mark) {
        let Some(object) = self.store.get(&job.key) else {
            self.waits().remove(&job.key);
            self.metrics.forget(&self.names.kind, &job.key);
            self.reconciler.forget(&job.key);
            return (Next::Forget, Mark::Success);
        };
        debug!(causes = %job.causes, "reconciling");
        let parked = self.waits().remove(&job.key);
        let finalizer = self.reconciler.policy().finalizer;
        let has_finalizer =
            finalizer.is_some_and(|finalizer| object.finalizers().iter().any(|own| own == finalizer));
        if object::is_deleting(object.as_ref()) && !has_finalizer {
            return (Next::Idle, Mark::Success);
        }
        let mut context = self.context(job, &object, id);
        let end = if object::is_deleting(object.as_ref()) {
            self.finalize(&mut context, finalizer.unwrap_or_default()).await
        } else if let Some(finalizer) = finalizer.filter(|_| !has_finalizer) {
            return match self.metadata.add_finalizer(&object, finalizer).await {
                Ok(()) => (Next::Now(job.causes.with(Cause::Continued)), Mark::Requeue),
                Err(failure) => self.write_failed("add the finalizer", &failure),
            };
        } else if object.suspended() {
            info!("Reconciliation is suspended for this object");
            self.end(&mut context, Ending::Suspended, (Next::Idle, Mark::Success))
                .await
        } else {
            match self.enter(job, &mut context, parked).await {
                Some(result) => self.settle(&mut context, result).await,
                None => return (self.deadline(&job.key), Mark::RequeueAfter),
            }
        };
        if !self.waits().contains_key(&job.key) {
            self.metrics
                .reconciled(&self.names.kind, &job.key, context.started.elapsed());
        }
        end
    }

    fn context(&self, job: &Job<ObjectKey>, object: &Arc<R::Object>, id: String) -> Context<R::Object> {
        Context {
            object: object.as_ref().clone(),
            base: Arc::clone(object),
            key: job.key.clone(),
            id,
            started: Instant::now(),
            causes: job.causes,
            deferred: Causes::NONE,
            failures: job.failures,
            shutdown: self.shutdown.clone(),
            writer: self.status.clone(),
            recorder: self.recorder.clone(),
        }
    }

    /// Calls the reconciler, or parks the wait again: `None` if nothing has happened that the wait is for.
    async fn enter(
        &self,
        job: &Job<ObjectKey>,
        context: &mut Context<R::Object>,
        parked: Option<Parked<R::Wait>>,
    ) -> Option<Result<Outcome<R::Wait>, ReconcileError>> {
        let Some(mut parked) = parked.filter(|parked| parked.belongs_to(&context.object)) else {
            return Some(self.reconciler.reconcile(context).await);
        };
        parked.deferred = parked
            .deferred
            .union(deferrable(job.causes, parked.wait.wakes_on));
        let due = Instant::now() >= parked.wait.deadline;
        if !due && !job.causes.intersects(parked.wait.wakes_on) {
            self.waits().insert(job.key.clone(), parked);
            return None;
        }
        debug!(
            waiting_for = parked.wait.waiting_for,
            due, "going on after a wait"
        );
        context.started = parked.started;
        context.deferred = parked.deferred;
        Some(self.reconciler.resume(context, parked.wait.state).await)
    }

    fn deadline(&self, key: &ObjectKey) -> Next {
        match self.waits().get(key) {
            Some(parked) => Next::At(parked.wait.deadline, Cause::Deadline),
            None => Next::Idle,
        }
    }

    /// Turns what the reconciler returned into status, events, log and the next run.
    async fn settle(
        &self,
        context: &mut Context<R::Object>,
        result: Result<Outcome<R::Wait>, ReconcileError>,
    ) -> (Next, Mark) {
        let end = match result {
            Ok(Outcome::Waiting(wait)) => return self.park(context, wait).await,
            Ok(Outcome::Done(done)) => self.succeed(context, done).await,
            Ok(Outcome::RetryAfter(after)) => {
                let next = match after.is_zero() {
                    true => Next::Now(Cause::Continued.into()),
                    false => Next::At(Instant::now() + after, Cause::Retry),
                };
                self.end(context, Ending::Requeued, (next, Mark::RequeueAfter))
                    .await
            }
            Err(failure) => self.fail(context, failure).await,
        };
        if !context.deferred.is_empty() {
            self.queue.add(context.key.clone(), context.deferred);
        }
        end
    }

    async fn park(&self, context: &mut Context<R::Object>, wait: Waiting<R::Wait>) -> (Next, Mark) {
        if let Err(failure) = context.patch_status().await {
            // The wait goes on: its next visit writes the status.
            error!(error = %failure, "unable to update the status while waiting");
        }
        debug!(waiting_for = wait.waiting_for, "waiting");
        let deadline = wait.deadline;
        let parked = Parked {
            wait,
            deferred: context.deferred,
            uid: context.object.uid(),
            generation: context.object.meta().generation,
            requested_at: context.requested_at().map(str::to_owned),
            started: context.started,
            id: context.id.clone(),
        };
        self.waits().insert(context.key.clone(), parked);
        (Next::At(deadline, Cause::Deadline), Mark::RequeueAfter)
    }

    async fn succeed(&self, context: &mut Context<R::Object>, done: Done) -> (Next, Mark) {
        let planned = match done.requeue_after {
            Some(interval) => (
                Next::At(Instant::now() + self.jitter.apply(interval), Cause::Schedule),
                Mark::RequeueAfter,
            ),
            None => (Next::Idle, Mark::Success),
        };
        let end = self.end(context, Ending::Done, planned).await;
        if end.1 == Mark::Error {
            return end;
        }
        if !self.reconciler.policy().conclusion.accepts(&context.object) {
            let message = conditions::get(&context.object, sluice_api::conditions::READY)
                .map(|ready| ready.message.clone())
                .unwrap_or_default();
            error!(error = message, "Reconciler error");
            return (Next::Backoff, Mark::Error);
        }
        if let Some(event) = done.event {
            info!(revision = revision(&event), "{}", event.message);
            context.emit(event);
        }
        end
    }

    async fn fail(&self, context: &mut Context<R::Object>, failure: ReconcileError) -> (Next, Mark) {
        if self.shutdown.is_cancelled() {
            // Most likely the work was cut short; the next process starts it anew from the stored status.
            info!(error = %failure, "reconciliation was interrupted because the process ends");
            return (Next::Backoff, Mark::Error);
        }
        log_failure(context, &failure);
        if let Some(event) = failure_event(&failure) {
            context.emit(event);
        }
        let planned = match failure.class {
            Class::Stalled => (Next::Idle, Mark::Success),
            Class::Backoff => (Next::Backoff, Mark::Error),
            Class::RetryAfter(after) | Class::Waiting(after) => {
                (Next::At(Instant::now() + after, Cause::Retry), Mark::RequeueAfter)
            }
        };
        self.end(context, Ending::Failed(&failure), planned).await
    }

    /// Writes the final status: conditions and observed generation by the kind's rule, and the request that is answered by it.
    async fn end(
        &self,
        context: &mut Context<R::Object>,
        ending: Ending<'_>,
        planned: (Next, Mark),
    ) -> (Next, Mark) {
        self.reconciler
            .policy()
            .conclusion
            .conclude(&mut context.object, ending);
        if let Some(request) = context.requested_at().map(str::to_owned) {
            context.object.set_last_handled_reconcile_at(&request);
        }
        match self.status.patch(&context.base, &context.object).await {
            Ok(Some(patched)) => {
                context.adopt(patched);
                planned
            }
            Ok(None) => planned,
            Err(kube::Error::Api(status)) if status.code == 404 => (Next::Idle, Mark::Success),
            Err(failure) => self.write_failed("update the status", &failure),
        }
    }

    async fn finalize(&self, context: &mut Context<R::Object>, finalizer: &str) -> (Next, Mark) {
        match self.reconciler.finalize(context).await {
            Ok(Finalized::Done) => match self.metadata.remove_finalizer(&context.base, finalizer).await {
                Ok(()) => (Next::Idle, Mark::Success),
                Err(failure) => self.write_failed("remove the finalizer", &failure),
            },
            Ok(Finalized::RetryAfter(after)) => {
                if let Err(failure) = context.patch_status().await {
                    error!(error = %failure, "unable to update the status during deletion");
                }
                (Next::At(Instant::now() + after, Cause::Retry), Mark::RequeueAfter)
            }
            Err(failure) => self.fail(context, failure).await,
        }
    }

    fn write_failed(&self, what: &str, failure: &kube::Error) -> (Next, Mark) {
        error!(error = %failure, "Reconciler error: unable to {what}");
        (Next::Backoff, Mark::Error)
    }
}

impl<W> Parked<W> {
    /// Whether the object is still the one that the wait was begun for.
    fn belongs_to<K: Resource>(&self, object: &K) -> bool {
        self.uid == object.uid()
            && self.generation == object.meta().generation
            && self.requested_at.as_deref() == object::requested_at(object)
    }
}

fn deferrable(causes: Causes, wakes_on: Causes) -> Causes {
    DEFERRABLE
        .into_iter()
        .filter(|cause| causes.contains(*cause) && !wakes_on.contains(*cause))
        .fold(Causes::NONE, Causes::with)
}

fn failure_event(failure: &ReconcileError) -> Option<Event> {
    let event = failure.event.as_ref()?;
    let reason = event.reason.as_ref().unwrap_or(&failure.reason);
    let message = event.message.as_ref().unwrap_or(&failure.message);
    Some(Event::new(event.severity, reason, message).with_all_metadata(failure.metadata.iter().cloned()))
}

fn log_failure<K: crate::object::Object>(context: &Context<K>, failure: &ReconcileError) {
    let (object, place, remedy) = (
        failure.object.as_deref(),
        failure.place.as_deref(),
        failure.remedy.as_deref(),
    );
    let revision = failure
        .metadata
        .iter()
        .find(|(key, _)| key.ends_with("/revision"))
        .map(|(_, value)| value.as_str());
    match failure.class {
        Class::Waiting(after) => {
            info!(
                revision,
                object,
                place,
                remedy,
                reason = failure.reason,
                "{}, looking again in {}",
                failure.message,
                show(after)
            );
        }
        Class::RetryAfter(after) => error!(
            revision, object, place, remedy, error = %failure,
            "Reconciliation failed after {}, next try in {}", show(context.started.elapsed()), show(after)
        ),
        Class::Stalled => {
            error!(revision, object, place, remedy, error = %failure, "Reconciliation stalled until the object is changed");
        }
        Class::Backoff => error!(revision, object, place, remedy, error = %failure, "Reconciler error"),
    }
}

fn show(duration: Duration) -> String {
    crate::flags::format_duration(duration)
}

fn revision(event: &Event) -> Option<&str> {
    event
        .metadata
        .iter()
        .find(|(key, _)| key.ends_with("/revision"))
        .map(|(_, value)| value.as_str())
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without text".to_owned())
}
