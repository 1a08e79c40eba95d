//! Limits the rate of requests.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// A token bucket; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Throttle(Option<Arc<Bucket>>);

#[derive(Debug)]
struct Bucket {
    per_second: f64,
    burst: f64,
    state: Mutex<(f64, Instant)>,
}

impl Throttle {
    /// No limit.
    pub(super) fn unlimited() -> Self {
        Self(None)
    }

    /// `per_second` requests per second, `burst` at once; no limit if `per_second` is not above zero.
    pub(super) fn new(per_second: f64, burst: u32) -> Self {
        if per_second <= 0.0 {
            return Self::unlimited();
        }
        let burst = f64::from(burst.max(1));
        Self(Some(Arc::new(Bucket {
            per_second,
            burst,
            state: Mutex::new((burst, Instant::now())),
        })))
    }

    /// Returns when one more request may be sent. Requests are let through in the order in which they asked.
    pub(super) async fn acquire(&self) {
        if let Some(bucket) = &self.0 {
            let wait = bucket.reserve(Instant::now());
            if !wait.is_zero() {
                sleep(wait).await;
            }
        }
    }
}

impl Bucket {
    fn reserve(&self, now: Instant) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, since) = *state;
        let refilled = (tokens + now.duration_since(since).as_secs_f64() * self.per_second).min(self.burst);
        *state = (refilled - 1.0, now);
        Duration::from_secs_f64(((1.0 - refilled) / self.per_second).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_and_the_rest_follows_at_the_rate() {
        let throttle = Throttle::new(10.0, 3);
        let start = Instant::now();
        for _ in 0..3 {
            throttle.acquire().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
        for _ in 0..10 {
            throttle.acquire().await;
        }
        assert!(
            start.elapsed() >= Duration::from_millis(990),
            "{:?}",
            start.elapsed()
        );
        assert!(
            start.elapsed() <= Duration::from_millis(1100),
            "{:?}",
            start.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_nothing_waits() {
        let throttle = Throttle::new(-1.0, 0);
        let start = Instant::now();
        for _ in 0..1000 {
            throttle.acquire().await;
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
