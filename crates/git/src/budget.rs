//! Bounds of one operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{Error, ErrorKind};

/// How long an operation may take and how much it may move. Cheap to clone; a clone shares the same end.
#[derive(Debug, Clone)]
pub struct Budget {
    deadline: Instant,
    cancelled: Arc<AtomicBool>,
    transfer_bytes: u64,
    object_bytes: u64,
    entries: usize,
}

impl Budget {
    /// Bytes received from the remote in one operation, unless changed.
    pub const DEFAULT_TRANSFER_BYTES: u64 = 4 << 30;
    /// Size of one object when unpacked, unless changed.
    pub const DEFAULT_OBJECT_BYTES: u64 = 512 << 20;
    /// Entries met in walking one tree, unless changed.
    pub const DEFAULT_ENTRIES: usize = 2_000_000;

    /// A budget that ends `timeout` from now, with the default limits.
    pub fn new(timeout: Duration) -> Self {
        let now = Instant::now();
        // A timeout beyond what the clock can express means "very long".
        let deadline = now
            .checked_add(timeout)
            .unwrap_or(now + Duration::from_secs(86_400));
        Self {
            deadline,
            cancelled: Arc::default(),
            transfer_bytes: Self::DEFAULT_TRANSFER_BYTES,
            object_bytes: Self::DEFAULT_OBJECT_BYTES,
            entries: Self::DEFAULT_ENTRIES,
        }
    }

    /// Ends the operation early, within a fraction of a second, once `flag` is true.
    #[must_use]
    pub fn with_cancellation(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancelled = flag;
        self
    }

    /// Limits the bytes received from the remote over the whole operation.
    #[must_use]
    pub fn with_transfer_bytes(mut self, bytes: u64) -> Self {
        self.transfer_bytes = bytes;
        self
    }

    /// Limits the unpacked size of a single object, so that a small pack cannot fill the memory.
    #[must_use]
    pub fn with_object_bytes(mut self, bytes: u64) -> Self {
        self.object_bytes = bytes;
        self
    }

    /// Limits how many entries walking a tree may meet.
    #[must_use]
    pub fn with_entries(mut self, entries: usize) -> Self {
        self.entries = entries;
        self
    }

    pub(crate) fn transfer_bytes(&self) -> u64 {
        self.transfer_bytes
    }

    pub(crate) fn object_bytes(&self) -> u64 {
        self.object_bytes
    }

    /// The flag that long computations look at.
    pub(crate) fn interrupt(&self) -> &AtomicBool {
        &self.cancelled
    }

    pub(crate) fn entries(&self) -> usize {
        self.entries
    }

    /// The time that is left.
    ///
    /// # Errors
    /// [`ErrorKind::Timeout`] or [`ErrorKind::Cancelled`] if the operation must end now.
    pub(crate) fn remaining(&self) -> Result<Duration, Error> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "operation cancelled"));
        }
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return Err(Error::new(ErrorKind::Timeout, "context deadline exceeded"));
        }
        Ok(remaining)
    }
}
