//! What a reconcile that did not fail comes to.

use std::time::Duration;

use tokio::time::Instant;

use crate::events::Event;
use crate::queue::{Cause, Causes};

/// The outcome of a reconcile.
#[derive(Debug)]
pub enum Outcome<W> {
    /// The object is as its spec wants it.
    Done(Done),
    /// Not a success and not a failure: run again after this time, without back-off and without jitter. Zero means at once.
    RetryAfter(Duration),
    /// The reconcile waits for something. Its slot is freed; it is re-entered through
    /// [`Reconciler::resume`](super::Reconciler::resume).
    Waiting(Waiting<W>),
}

impl<W> Outcome<W> {
    /// Success, with the next run after `interval` (jitter is added by the outer reconcile).
    pub fn done(interval: Duration) -> Self {
        Self::Done(Done {
            requeue_after: Some(interval),
            event: None,
        })
    }

    /// Success without a next run: only a change starts another reconcile.
    pub fn done_for_good() -> Self {
        Self::Done(Done {
            requeue_after: None,
            event: None,
        })
    }

    /// Success, with an event that is emitted after the final status patch.
    pub fn done_with(interval: Duration, event: Event) -> Self {
        Self::Done(Done {
            requeue_after: Some(interval),
            event: Some(event),
        })
    }
}

/// A success.
#[derive(Debug, Default)]
pub struct Done {
    /// Time to the next run, before jitter; `None`: no run is planned.
    pub requeue_after: Option<Duration>,
    /// An event to emit after the final status patch.
    pub event: Option<Event>,
}

/// A wait as state: what is waited for, until when, and what the reconcile needs to go on.
///
/// The wait ends without a call to `resume` when the object is deleted or suspended, when its generation or its reconcile
/// request changes, and when the process ends: then a new reconcile starts from the beginning.
#[derive(Debug)]
pub struct Waiting<W> {
    /// What is waited for, for the log.
    pub waiting_for: String,
    /// When to re-enter at the latest: the end of the wait, or the next poll.
    pub deadline: Instant,
    /// What re-enters the wait before the deadline. Any other cause that arrives meanwhile is kept and starts a new reconcile
    /// once the wait is over.
    pub wakes_on: Causes,
    /// What the reconcile needs to go on.
    pub state: W,
}

impl<W> Waiting<W> {
    /// A wait until `deadline` that changes of managed objects and of dependencies re-enter earlier.
    pub fn new(waiting_for: impl Into<String>, deadline: Instant, state: W) -> Self {
        Self {
            waiting_for: waiting_for.into(),
            deadline,
            wakes_on: Causes::from(Cause::Managed).with(Cause::Dependency),
            state,
        }
    }

    /// Also re-enters on this cause.
    #[must_use]
    pub fn waking_on(mut self, cause: Cause) -> Self {
        self.wakes_on = self.wakes_on.with(cause);
        self
    }
}

/// What the clean-up of a deleted object comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalized {
    /// Nothing is left: the finalizer is taken off.
    Done,
    /// Something is still there; look again after this time.
    RetryAfter(Duration),
}
