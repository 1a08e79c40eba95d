//! What one evaluation may use.

use std::time::{Duration, Instant};

/// Limits of an evaluation. The defaults are far above what health checks need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Steps: one for each node that is evaluated and for each element or 16 bytes that a function looks at.
    pub steps: u64,
    /// Bytes of all texts, lists and maps that are made, added up.
    pub bytes: u64,
    /// How long the evaluation may take.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 1_000_000,
            bytes: 16 << 20,
            time: Duration::from_secs(1),
        }
    }
}

/// How much of the stack must be left before one more level, and how much is added if it is not.
const RESERVE: usize = 128 << 10;
const GROWTH: usize = 1 << 20;

/// Runs one level of a recursion with enough stack for it, whatever thread this is.
pub(crate) fn with_stack<T>(level: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RESERVE, GROWTH, level)
}

/// How many steps go by between two looks at the clock.
const STEPS_PER_LOOK: u64 = 1024;

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    steps: u64,
    bytes: u64,
    next_look: u64,
    began: Instant,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            steps: 0,
            bytes: 0,
            next_look: STEPS_PER_LOOK,
            began: Instant::now(),
        }
    }

    /// Counts steps.
    ///
    /// # Errors
    /// The limit that is exceeded.
    pub(crate) fn step(&mut self, count: u64) -> Result<(), String> {
        self.steps = self.steps.saturating_add(count);
        if self.steps > self.limits.steps {
            return Err(format!(
                "the evaluation takes more than {} steps",
                self.limits.steps
            ));
        }
        if self.steps >= self.next_look {
            self.next_look = self.steps + STEPS_PER_LOOK;
            if self.began.elapsed() > self.limits.time {
                return Err(format!("the evaluation takes longer than {:?}", self.limits.time));
            }
        }
        Ok(())
    }

    /// Counts bytes that are about to be made.
    ///
    /// # Errors
    /// The limit that is exceeded.
    pub(crate) fn produce(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes > self.limits.bytes {
            return Err(format!(
                "the evaluation makes values of more than {} bytes",
                self.limits.bytes
            ));
        }
        self.step(bytes as u64 / 16)
    }
}
