//! Limits of a render and its state.

use std::any::Any;
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::error::{Failure, LimitError};
use crate::value::{Map, WeakMap};

/// How many steps go by between two looks at the clock.
const STEPS_PER_LOOK: u64 = 256;

/// What one render may use. The defaults are far above what charts need and far below what hurts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// When the render must be over.
    pub deadline: Option<Instant>,
    /// How many actions may be executed.
    pub steps: u64,
    /// How many bytes may be written, those of templates executed by functions included.
    pub output_bytes: u64,
    /// How many bytes of text functions may produce, all results of the render added up.
    pub produced_bytes: u64,
    /// How deep functions that execute templates may nest.
    pub depth: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            deadline: None,
            steps: 100_000_000,
            output_bytes: 512 << 20,
            produced_bytes: 2 << 30,
            depth: 10_000,
        }
    }
}

/// One render: its budget, what is used of it, and the engine's own state.
///
/// All templates of a chart are executed within one run. At its end the maps that functions have changed are
/// emptied, because such maps may contain themselves and would never be freed: values taken out of a run
/// must be converted before it ends.
pub struct Run {
    budget: Budget,
    steps: u64,
    written: u64,
    produced: u64,
    depth: usize,
    state: Option<Box<dyn Any>>,
    changed: HashMap<usize, WeakMap>,
    time: Option<Duration>,
    random: Option<StdRng>,
}

impl Default for Run {
    fn default() -> Self {
        Self::new(Budget::default())
    }
}

impl Run {
    /// A run within a budget.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            steps: 0,
            written: 0,
            produced: 0,
            depth: 0,
            state: None,
            changed: HashMap::new(),
            time: None,
            random: None,
        }
    }

    /// Adds what the engine's functions want to find again with [`Self::state`].
    #[must_use]
    pub fn with_state<T: Any>(mut self, state: T) -> Self {
        self.state = Some(Box::new(state));
        self
    }

    /// Makes all functions see the same time, so long after 1970.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Makes the random functions give the same in every run with this seed; not for anything that must be
    /// kept secret.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.random = Some(StdRng::seed_from_u64(seed));
        self
    }

    /// The time since 1970.
    pub fn now(&self) -> Duration {
        self.time.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            now.unwrap_or_default()
        })
    }

    /// The source of random numbers: the system's, unless there is a seed.
    ///
    /// # Errors
    /// If the system has none.
    pub fn random(&mut self) -> Result<&mut StdRng, Failure> {
        if self.random.is_none() {
            let random = StdRng::try_from_os_rng();
            self.random = Some(random.map_err(|error| Failure::new(error.to_string()))?);
        }
        self.random.as_mut().ok_or_else(|| "no random numbers".into())
    }

    /// The engine's state, if it is of this type.
    pub fn state<T: Any>(&mut self) -> Option<&mut T> {
        self.state.as_mut()?.downcast_mut()
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Counts a step.
    ///
    /// # Errors
    /// If there were too many, or the deadline has passed.
    pub fn step(&mut self) -> Result<(), LimitError> {
        self.steps += 1;
        if self.steps > self.budget.steps {
            return Err(LimitError::Steps(self.budget.steps));
        }
        if self.steps.is_multiple_of(STEPS_PER_LOOK) {
            self.look_at_clock()?;
        }
        Ok(())
    }

    /// Looks at the clock now; for functions that take long themselves.
    ///
    /// # Errors
    /// If the deadline has passed.
    pub fn look_at_clock(&self) -> Result<(), LimitError> {
        match self.budget.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(LimitError::Deadline),
            _ => Ok(()),
        }
    }

    /// Counts bytes that a function is about to produce, or has produced.
    ///
    /// # Errors
    /// If they are too many.
    pub fn produce(&mut self, bytes: usize) -> Result<(), LimitError> {
        self.produced = self.produced.saturating_add(bytes as u64);
        if self.produced > self.budget.produced_bytes {
            return Err(LimitError::Produced);
        }
        Ok(())
    }

    /// How many bytes functions may still produce.
    pub fn producible(&self) -> usize {
        let left = self.budget.produced_bytes.saturating_sub(self.produced);
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Tells the run that a function has put something into a map, which may have made a cycle.
    pub fn map_changed(&mut self, map: &Map) {
        self.changed
            .entry(map.identity())
            .or_insert_with(|| map.downgrade());
    }

    pub(crate) fn write(&mut self, bytes: usize) -> Result<(), LimitError> {
        self.written += bytes as u64;
        if self.written > self.budget.output_bytes {
            return Err(LimitError::Output(self.budget.output_bytes));
        }
        Ok(())
    }

    /// Enters a nested execution; [`Self::leave`] must follow.
    pub(crate) fn enter(&mut self) -> Result<(), LimitError> {
        if self.depth >= self.budget.depth {
            return Err(LimitError::Depth(self.budget.depth));
        }
        self.depth += 1;
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for map in self.changed.values() {
            map.clear();
        }
    }
}
