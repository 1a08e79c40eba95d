//! The work queue: keyed, deduplicating, fair, with per-object back-off, deadlines and bounded concurrency.
//!
//! [`Queue`] is a pure state machine over a clock that its caller supplies; [`WorkQueue`] drives it with tasks.

mod cause;
mod driver;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

pub use cause::{Cause, Causes};
pub use driver::{QueueObserver, WorkQueue};

/// The bounds of the exponential back-off of an object that keeps failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure; each further one doubles it.
    pub min: Duration,
    /// The longest delay.
    pub max: Duration,
}

impl Default for Backoff {
    /// Flux's defaults: 750 ms to 15 min.
    fn default() -> Self {
        Self {
            min: Duration::from_millis(750),
            max: Duration::from_secs(15 * 60),
        }
    }
}

impl Backoff {
    /// The delay after this many failures in a row (from 1).
    pub fn delay(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.min.saturating_mul(1 << doublings).min(self.max)
    }
}

/// A run to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<K> {
    /// The object.
    pub key: K,
    /// Everything that asked for the run since the last one began.
    pub causes: Causes,
    /// How many runs have failed in a row before this one.
    pub failures: u32,
}

/// What follows a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The object is gone; nothing is kept of it.
    Forget,
    /// No run is planned. Failures are forgotten.
    Idle,
    /// Run again at this time. Failures are forgotten.
    At(Instant, Cause),
    /// Run again at once, behind those that are ready already. Failures are kept.
    Now(Causes),
    /// The run failed: run again after the back-off.
    Backoff,
}

/// The queue of one kind as a pure state machine.
///
/// - A key is in one of three states: idle (perhaps with one timer), ready, or running. It is never ready twice and never runs twice
///   at once.
/// - Ready keys run in the order in which they became ready.
/// - An event makes an idle key ready and takes its timer off: the run that follows plans anew.
/// - An event during a run makes the key ready again when the run ends, whatever the run came to.
#[derive(Debug)]
pub struct Queue<K> {
    backoff: Backoff,
    entries: HashMap<K, Entry>,
    ready: VecDeque<K>,
    timers: BinaryHeap<Reverse<(Instant, u64, OrderKey<K>)>>,
    running: usize,
    sequence: u64,
}

#[derive(Debug, Default)]
struct Entry {
    phase: Phase,
    causes: Causes,
    failures: u32,
    timer: Option<(u64, Cause)>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Idle,
    Ready,
    Running,
}

/// A key that takes no part in the order of the timer heap.
#[derive(Debug)]
struct OrderKey<K>(K);

impl<K> PartialEq for OrderKey<K> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl<K> Eq for OrderKey<K> {}
impl<K> PartialOrd for OrderKey<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for OrderKey<K> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            entries: HashMap::new(),
            ready: VecDeque::new(),
            timers: BinaryHeap::new(),
            running: 0,
            sequence: 0,
        }
    }

    /// Something asks for a run of this key. Returns whether the key became ready by it.
    pub fn add(&mut self, key: K, causes: Causes) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        entry.causes = entry.causes.union(causes);
        if entry.phase != Phase::Idle {
            return false;
        }
        entry.phase = Phase::Ready;
        entry.timer = None;
        self.ready.push_back(key);
        true
    }

    /// What kept the failed runs from succeeding may be over: makes ready whose last run failed, and keeps their failures, so that
    /// the back-off goes on if they fail again. Returns them in the order of their timers.
    pub fn wake_failed(&mut self) -> Vec<K> {
        let mut failed: Vec<(u64, K)> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.phase == Phase::Idle && entry.failures > 0)
            .filter_map(|(key, entry)| entry.timer.as_ref().map(|(sequence, _)| (*sequence, key.clone())))
            .collect();
        failed.sort_unstable_by_key(|(sequence, _)| *sequence);
        let woken: Vec<K> = failed.into_iter().map(|(_, key)| key).collect();
        for key in &woken {
            self.add(key.clone(), Cause::Retry.into());
        }
        woken
    }

    /// The next run to be made, if a key is ready at `now`.
    pub fn start(&mut self, now: Instant) -> Option<Job<K>> {
        self.promote(now);
        let key = self.ready.pop_front()?;
        let entry = self.entries.get_mut(&key)?;
        entry.phase = Phase::Running;
        self.running += 1;
        Some(Job {
            key,
            causes: std::mem::take(&mut entry.causes),
            failures: entry.failures,
        })
    }

    /// A run has ended. Returns the time of the planned next run, if it is not at once.
    pub fn finish(&mut self, key: &K, next: Next, now: Instant) -> Option<Instant> {
        let entry = self
            .entries
            .get_mut(key)
            .filter(|entry| entry.phase == Phase::Running)?;
        self.running -= 1;
        entry.phase = Phase::Idle;
        match next {
            Next::Forget | Next::Idle | Next::At(..) => entry.failures = 0,
            Next::Backoff => entry.failures = entry.failures.saturating_add(1),
            Next::Now(causes) => entry.causes = entry.causes.union(causes),
        }
        if !entry.causes.is_empty() || matches!(next, Next::Now(_)) {
            entry.phase = Phase::Ready;
            self.ready.push_back(key.clone());
            return None;
        }
        let (at, cause) = match next {
            Next::Forget => {
                self.entries.remove(key);
                return None;
            }
            Next::Idle | Next::Now(_) => return None,
            Next::At(at, cause) => (at, cause),
            Next::Backoff => (now + self.backoff.delay(entry.failures), Cause::Retry),
        };
        self.sequence += 1;
        entry.timer = Some((self.sequence, cause));
        self.timers
            .push(Reverse((at, self.sequence, OrderKey(key.clone()))));
        Some(at)
    }

    /// When the earliest timer fires.
    pub fn next_timer(&mut self) -> Option<Instant> {
        while let Some(Reverse((at, sequence, OrderKey(key)))) = self.timers.peek() {
            if self.is_live(key, *sequence) {
                return Some(*at);
            }
            self.timers.pop();
        }
        None
    }

    /// How many keys are ready.
    pub fn depth(&self) -> usize {
        self.ready.len()
    }

    /// How many keys run.
    pub fn running(&self) -> usize {
        self.running
    }

    /// How many keys are known, in whatever state.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Makes ready whose timers have fired.
    fn promote(&mut self, now: Instant) {
        while let Some(at) = self.next_timer() {
            if at > now {
                break;
            }
            let Some(Reverse((_, _, OrderKey(key)))) = self.timers.pop() else {
                break;
            };
            if let Some(entry) = self.entries.get_mut(&key)
                && let Some((_, cause)) = entry.timer.take()
            {
                entry.causes = entry.causes.with(cause);
                entry.phase = Phase::Ready;
                self.ready.push_back(key);
            }
        }
    }

    fn is_live(&self, key: &K, sequence: u64) -> bool {
        self.entries.get(key).is_some_and(|entry| {
            entry
                .timer
                .as_ref()
                .is_some_and(|(current, _)| *current == sequence)
        })
    }
}
