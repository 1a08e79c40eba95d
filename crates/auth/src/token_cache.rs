//! Tokens that are used more than once: bounded in number, each kept for a part of its life only.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// The longest time for which a token is kept, whatever the flag says.
pub const LONGEST_DURATION: Duration = Duration::from_secs(60 * 60);

/// The part of a token's life for which it is kept, as the kubelet does with tokens of service accounts.
const KEPT_PART: (i32, i32) = (8, 10);

const HIT: &str = "cache_hit";
const MISS: &str = "cache_miss";

/// Something secret that is good for a limited time.
pub trait Token: Any + Send + Sync {
    /// When it ends; `None` if nothing is known about that. Such a token is not kept.
    fn expires_at(&self) -> Option<Timestamp>;
}

/// For which object, and for which kind of work, a token is asked for; what the metrics name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvolvedObject {
    /// The object's kind.
    pub kind: &'static str,
    /// The object's name.
    pub name: String,
    /// The object's namespace.
    pub namespace: String,
    /// What the token is for, such as [`operations::RECONCILE`].
    pub operation: &'static str,
}

/// The values of [`InvolvedObject::operation`].
pub mod operations {
    /// The reconcile of an object.
    pub const RECONCILE: &str = "reconcile";
}

/// The clocks by which a cache judges age. A machine that sleeps stops one of them, and setting the time moves
/// the other: a token is good only while both say so.
pub trait Clock: Send + Sync {
    /// Time since some fixed moment.
    fn monotonic(&self) -> Duration;
    /// The time of day.
    fn wall(&self) -> Timestamp;
}

/// The clocks of the machine.
#[derive(Debug)]
struct SystemClock(Instant);

impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.0.elapsed()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A cache of tokens of all kinds. Clones share their contents.
///
/// A token is kept for four fifths of the life that it has left, at most for the given duration. Of several
/// callers that ask for the same key one fetches, the others wait for it. Where the cache is full, the token
/// that was used least recently goes.
#[derive(Clone)]
pub struct TokenCache(Arc<Inner>);

struct Inner {
    capacity: usize,
    longest: Duration,
    clock: Box<dyn Clock>,
    state: Mutex<State>,
    metrics: Option<CacheMetrics>,
}

#[derive(Default)]
struct State {
    entries: HashMap<String, Entry>,
    flights: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
    uses: u64,
}

struct Entry {
    token: Arc<dyn Any + Send + Sync>,
    monotonic_end: Duration,
    wall_end: Timestamp,
    last_use: u64,
}

impl fmt::Debug for TokenCache {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TokenCache")
            .field("capacity", &self.0.capacity)
            .field("longest", &self.0.longest)
            .finish_non_exhaustive()
    }
}

impl TokenCache {
    /// A cache of at most `capacity` tokens (`--token-cache-max-size`), each kept for at most `longest`
    /// (`--token-cache-max-duration`, itself at most an hour). `None` for a capacity of zero: nothing is kept
    /// then. Its metrics, `gotk_token_…`, are registered where a registry is given.
    ///
    /// # Errors
    /// The registry has such metrics already.
    pub fn new(
        capacity: usize,
        longest: Duration,
        registry: Option<&Registry>,
    ) -> Result<Option<Self>, prometheus::Error> {
        Self::with_clock(capacity, longest, registry, Box::new(SystemClock(Instant::now())))
    }

    /// Like [`new`](Self::new), by given clocks.
    ///
    /// # Errors
    /// The registry has such metrics already.
    pub fn with_clock(
        capacity: usize,
        longest: Duration,
        registry: Option<&Registry>,
        clock: Box<dyn Clock>,
    ) -> Result<Option<Self>, prometheus::Error> {
        if capacity == 0 {
            return Ok(None);
        }
        Ok(Some(Self(Arc::new(Inner {
            capacity,
            longest: longest.min(LONGEST_DURATION),
            clock,
            state: Mutex::default(),
            metrics: registry.map(CacheMetrics::register).transpose()?,
        }))))
    }

    /// The token of a key: the one that is kept if it is still good, else what `fetch` brings, which is then
    /// kept. `fetch` is not polled otherwise. Failures are not kept.
    ///
    /// # Errors
    /// Those of `fetch`.
    pub async fn get_or_fetch<T: Token, E>(
        &self,
        key: &str,
        involved: Option<&InvolvedObject>,
        fetch: impl Future<Output = Result<T, E>>,
    ) -> Result<Arc<T>, E> {
        if let Some(token) = self.0.get(key) {
            self.0.count(involved, HIT, true);
            return Ok(token);
        }
        let flight = Flight::new(&self.0, key);
        let _turn = flight.turn.lock().await;
        if let Some(token) = self.0.get(key) {
            self.0.count(involved, HIT, true);
            return Ok(token);
        }
        let fetched = fetch.await;
        self.0.count(involved, MISS, fetched.is_ok());
        let token = Arc::new(fetched?);
        self.0.insert(key, token.clone());
        Ok(token)
    }

    /// Drops the metric series of an object that is gone. What is kept stays: others may use it.
    pub fn forget(&self, involved: &InvolvedObject) {
        if let Some(metrics) = &self.0.metrics {
            for event in [HIT, MISS] {
                // An object that never asked for a token has no series.
                let _ = metrics.events.remove_label_values(&labels(involved, event));
            }
        }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get<T: Token>(&self, key: &str) -> Option<Arc<T>> {
        let (monotonic, wall) = (self.clock.monotonic(), self.clock.wall());
        let mut state = self.state();
        state.uses += 1;
        let uses = state.uses;
        let entry = state.entries.get_mut(key)?;
        if monotonic >= entry.monotonic_end || wall >= entry.wall_end {
            state.entries.remove(key);
            self.show_size(&state);
            return None;
        }
        entry.last_use = uses;
        entry.token.clone().downcast().ok()
    }

    fn insert<T: Token>(&self, key: &str, token: Arc<T>) {
        let Some(kept) = self.kept(token.expires_at()) else {
            return;
        };
        let Ok(wall_end) = self.clock.wall().checked_add(kept) else {
            return;
        };
        let mut state = self.state();
        state.uses += 1;
        let entry = Entry {
            token,
            monotonic_end: self.clock.monotonic().saturating_add(kept),
            wall_end,
            last_use: state.uses,
        };
        state.entries.insert(key.to_owned(), entry);
        while state.entries.len() > self.capacity {
            let oldest = state.entries.iter().min_by_key(|(_, entry)| entry.last_use);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            state.entries.remove(&oldest);
            if let Some(metrics) = &self.metrics {
                metrics.evictions.inc();
            }
        }
        self.show_size(&state);
    }

    /// For how long a token is kept from now on.
    fn kept(&self, expires_at: Option<Timestamp>) -> Option<Duration> {
        let left = expires_at?.duration_since(self.clock.wall());
        let (numerator, denominator) = KEPT_PART;
        let part: SignedDuration = left.checked_mul(numerator)?.checked_div(denominator)?;
        let part = Duration::try_from(part).ok()?;
        (!part.is_zero()).then(|| part.min(self.longest))
    }

    fn show_size(&self, state: &State) {
        if let Some(metrics) = &self.metrics {
            metrics
                .items
                .set(i64::try_from(state.entries.len()).unwrap_or(i64::MAX));
        }
    }

    fn count(&self, involved: Option<&InvolvedObject>, event: &str, success: bool) {
        let Some(metrics) = &self.metrics else { return };
        let status = if success { "success" } else { "failure" };
        metrics.requests.with_label_values(&[status]).inc();
        if let Some(involved) = involved {
            metrics.events.with_label_values(&labels(involved, event)).inc();
        }
    }
}

fn labels<'l>(involved: &'l InvolvedObject, event: &'l str) -> [&'l str; 5] {
    [
        event,
        involved.kind,
        &involved.name,
        &involved.namespace,
        involved.operation,
    ]
}

/// One's place in the line of those who ask for a key. The line is forgotten with the last of them, also when
/// they are dropped in the middle.
struct Flight<'c> {
    cache: &'c Inner,
    key: &'c str,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl<'c> Flight<'c> {
    fn new(cache: &'c Inner, key: &'c str) -> Self {
        let turn = cache.state().flights.entry(key.to_owned()).or_default().clone();
        Self { cache, key, turn }
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.state();
        // The line itself and this place in it.
        if Arc::strong_count(&self.turn) <= 2 {
            state.flights.remove(self.key);
        }
    }
}

struct CacheMetrics {
    events: IntCounterVec,
    items: IntGauge,
    requests: IntCounterVec,
    evictions: IntCounter,
}

impl CacheMetrics {
    fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            events: IntCounterVec::new(
                Opts::new(
                    "gotk_token_cache_events_total",
                    "Total number of cache retrieval events for a Gitops Toolkit resource reconciliation.",
                ),
                &["event_type", "kind", "name", "namespace", "operation"],
            )?,
            items: IntGauge::new("gotk_token_cached_items", "Total number of items in the cache.")?,
            requests: IntCounterVec::new(
                Opts::new(
                    "gotk_token_cache_requests_total",
                    "Total number of cache requests partioned by success or failure.",
                ),
                &["status"],
            )?,
            evictions: IntCounter::new(
                "gotk_token_cache_evictions_total",
                "Total number of cache evictions.",
            )?,
        };
        registry.register(Box::new(metrics.events.clone()))?;
        registry.register(Box::new(metrics.items.clone()))?;
        registry.register(Box::new(metrics.requests.clone()))?;
        registry.register(Box::new(metrics.evictions.clone()))?;
        Ok(metrics)
    }
}

/// The key of what is described by `parts`: the digest of its lines.
pub(crate) fn cache_key<P: AsRef<str>>(parts: &[P]) -> String {
    let lines: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    hex::encode(ring::digest::digest(
        &ring::digest::SHA256,
        lines.join("\n").as_bytes(),
    ))
}

#[cfg(test)]
mod tests;
