//! Runs asynchronous work for callers that block.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::{Budget, Error, ErrorKind};

/// How often a wait looks whether it was cancelled.
const CANCELLATION_CHECK: Duration = Duration::from_millis(200);

/// A runtime of one operation, on the caller's thread. What was spawned runs while the caller waits for
/// something, so a caller that does not read holds up the one that sends.
pub(crate) struct Waiter {
    /// Taken when dropped.
    runtime: Option<Runtime>,
    budget: Budget,
}

impl Waiter {
    pub(crate) fn new(budget: Budget) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::new(ErrorKind::Network, error.to_string()))?;
        Ok(Self {
            runtime: Some(runtime),
            budget,
        })
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Runs `future` until it is done, the time is over, or the operation is cancelled.
    pub(crate) fn wait<F: Future>(&self, future: F) -> Result<F::Output, Error> {
        let ended = || Error::new(ErrorKind::Cancelled, "operation cancelled");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let mut future = pin!(future);
        loop {
            let slice = self.budget.remaining()?.min(CANCELLATION_CHECK);
            let outcome = runtime.block_on(async { tokio::time::timeout(slice, future.as_mut()).await });
            if let Ok(output) = outcome {
                return Ok(output);
            }
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // A resolver that hangs must not hold up the end of an operation.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
