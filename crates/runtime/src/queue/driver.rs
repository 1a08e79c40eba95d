//! Drives a [`Queue`] with tasks.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Backoff, Causes, Job, Next, Queue};

/// Told about what happens in a queue; for metrics.
pub trait QueueObserver: Send + Sync {
    /// A key became ready; so many are.
    fn added(&self, depth: usize);
    /// A run began after its key was ready for `waited`; so many are ready and running.
    fn started(&self, waited: Duration, depth: usize, running: usize);
    /// A run ended after `took`; so many run.
    fn finished(&self, took: Duration, retried: bool, running: usize);
}

/// A [`Queue`] that runs its jobs as tasks. Clones share the queue.
#[derive(Debug)]
pub struct WorkQueue<K> {
    inner: Arc<Inner<K>>,
}

struct Inner<K> {
    state: Mutex<State<K>>,
    changed: Notify,
    observer: Option<Box<dyn QueueObserver>>,
}

struct State<K> {
    queue: Queue<K>,
    ready_since: HashMap<K, Instant>,
}

impl<K> Debug for Inner<K> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WorkQueue").finish_non_exhaustive()
    }
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<K: Clone + Debug + Eq + Hash + Send + Sync + 'static> WorkQueue<K> {
    /// An empty queue with these back-off bounds.
    pub fn new(backoff: Backoff, observer: Option<Box<dyn QueueObserver>>) -> Self {
        let state = State {
            queue: Queue::new(backoff),
            ready_since: HashMap::new(),
        };
        Self {
            inner: Arc::new(Inner {
                state: Mutex::new(state),
                changed: Notify::new(),
                observer,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a run of this key.
    pub fn add(&self, key: K, causes: impl Into<Causes>) {
        let mut state = self.state();
        if state.queue.add(key.clone(), causes.into()) {
            state.ready_since.insert(key, Instant::now());
            let depth = state.queue.depth();
            drop(state);
            if let Some(observer) = &self.inner.observer {
                observer.added(depth);
            }
            self.inner.changed.notify_one();
        }
    }

    /// Runs those again at once whose last run failed.
    pub fn wake_failed(&self) {
        let mut state = self.state();
        let woken = state.queue.wake_failed();
        if woken.is_empty() {
            return;
        }
        let now = Instant::now();
        state.ready_since.extend(woken.into_iter().map(|key| (key, now)));
        let depth = state.queue.depth();
        drop(state);
        if let Some(observer) = &self.inner.observer {
            observer.added(depth);
        }
        self.inner.changed.notify_one();
    }

    /// How many keys are ready, and how many run.
    pub fn load(&self) -> (usize, usize) {
        let state = self.state();
        (state.queue.depth(), state.queue.running())
    }

    /// Runs jobs, at most `concurrency` at once, until `stop` is cancelled. Then no job starts any more; those under way have until
    /// `grace` has passed to end, and are dropped after it. Returns how many were dropped.
    ///
    /// A job that panics counts as failed.
    pub async fn run<W, F>(
        &self,
        concurrency: usize,
        stop: CancellationToken,
        grace: Duration,
        work: W,
    ) -> usize
    where
        W: Fn(Job<K>) -> F,
        F: Future<Output = Next> + Send + 'static,
    {
        let concurrency = concurrency.max(1);
        let mut tasks = JoinSet::new();
        loop {
            while tasks.len() < concurrency
                && let Some(job) = self.start()
            {
                tasks.spawn(guarded(job.key.clone(), work(job)));
            }
            let timer = if tasks.len() < concurrency {
                self.state().queue.next_timer()
            } else {
                None
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                Some(ended) = tasks.join_next() => self.settle(ended),
                () = self.inner.changed.notified() => {}
                () = sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => {}
            }
        }
        let deadline = Instant::now() + grace;
        while let Ok(Some(ended)) = timeout_at(deadline, tasks.join_next()).await {
            self.settle(ended);
        }
        let dropped = tasks.len();
        tasks.shutdown().await;
        dropped
    }

    fn start(&self) -> Option<Job<K>> {
        let now = Instant::now();
        let mut state = self.state();
        let job = state.queue.start(now)?;
        let since = state.ready_since.remove(&job.key).unwrap_or(now);
        let (depth, running) = (state.queue.depth(), state.queue.running());
        drop(state);
        if let Some(observer) = &self.inner.observer {
            observer.started(now.duration_since(since), depth, running);
        }
        Some(job)
    }

    fn settle(&self, ended: Result<(K, Next, Duration), tokio::task::JoinError>) {
        // Panics are caught inside the task and nothing aborts one, so a task always comes back with its key.
        let Ok((key, next, took)) = ended else { return };
        let now = Instant::now();
        let mut state = self.state();
        let planned = state.queue.finish(&key, next, now);
        let (depth, running) = (state.queue.depth(), state.queue.running());
        if planned.is_none() && depth > 0 {
            state.ready_since.entry(key).or_insert(now);
        }
        drop(state);
        if let Some(observer) = &self.inner.observer {
            observer.finished(took, next == Next::Backoff, running);
        }
    }
}

async fn guarded<K, F>(key: K, work: F) -> (K, Next, Duration)
where
    F: Future<Output = Next>,
{
    let started = Instant::now();
    let next = AssertUnwindSafe(work)
        .catch_unwind()
        .await
        .unwrap_or(Next::Backoff);
    (key, next, started.elapsed())
}
