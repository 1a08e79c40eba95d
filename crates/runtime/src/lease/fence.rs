//! Keeps a process that has lost its leadership from writing.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A write that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the leader lease could not be renewed in time: nothing more is written")]
pub struct FenceError;

/// Until when the process leads. Clones share it. As long as it has never led, nothing is refused.
#[derive(Clone, Debug, Default)]
pub struct Fence(Arc<Mutex<Option<Instant>>>);

impl Fence {
    /// The process leads until then, unless this is called again.
    pub fn lead_until(&self, deadline: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(deadline);
    }

    /// How long the process still leads; `None` if it never did.
    pub fn remaining(&self) -> Option<Duration> {
        let deadline = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// How long a write may take at most; `None`: no limit.
    ///
    /// # Errors
    /// [`FenceError`] if the process led and leads no more.
    pub fn check(&self) -> Result<Option<Duration>, FenceError> {
        match self.remaining() {
            Some(left) if left.is_zero() => Err(FenceError),
            left => Ok(left),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn writes_are_refused_from_the_deadline_on() {
        let fence = Fence::default();
        assert_eq!(fence.check(), Ok(None));
        fence.lead_until(Instant::now() + Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(29)).await;
        assert_eq!(fence.check(), Ok(Some(Duration::from_secs(1))));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(fence.check(), Err(FenceError));
        fence.lead_until(Instant::now() + Duration::from_secs(30));
        assert!(fence.check().is_ok());
    }
}
