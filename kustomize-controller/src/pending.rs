//! What is remembered of objects between reconciles and lives nowhere else.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluice_apply::Entry;
use sluice_runtime::ObjectKey;
use tokio::time::Instant;

/// Notes on Kustomizations, dropped with them. Losing them in a restart costs time, not objects.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    /// Those that wait for a dependency.
    waiting: HashSet<ObjectKey>,
    /// Deletions that wait for the end of the objects.
    terminating: HashMap<ObjectKey, Termination>,
    /// Deletions that wait for others to take the objects over, and until when.
    handing_over: HashMap<ObjectKey, Instant>,
}

/// A deletion that waits.
#[derive(Clone, Debug)]
pub(crate) struct Termination {
    /// The objects that were deleted.
    pub(crate) deleted: Vec<Entry>,
    /// When the wait is given up.
    pub(crate) deadline: Instant,
}

impl Notes {
    /// Notes that `key` looks at its dependencies. Called before they are read, so that a change in between
    /// is not missed.
    pub(crate) fn await_dependencies(&self, key: &ObjectKey) {
        self.tables().waiting.insert(key.clone());
    }

    /// The dependencies of `key` are ready.
    pub(crate) fn has_dependencies(&self, key: &ObjectKey) {
        self.tables().waiting.remove(key);
    }

    /// Whether `key` waits for a dependency.
    pub(crate) fn awaits_dependencies(&self, key: &ObjectKey) -> bool {
        self.tables().waiting.contains(key)
    }

    /// Notes that a deletion waits.
    pub(crate) fn begin_termination(&self, key: &ObjectKey, termination: Termination) {
        self.tables().terminating.insert(key.clone(), termination);
    }

    /// The deletion that waits, if one does.
    pub(crate) fn termination(&self, key: &ObjectKey) -> Option<Termination> {
        self.tables().terminating.get(key).cloned()
    }

    /// Notes that a deletion waits for another to take the objects over. Returns until when: `limit` after the first
    /// time that it was asked.
    pub(crate) fn begin_handover(&self, key: &ObjectKey, limit: Duration) -> Instant {
        let mut tables = self.tables();
        let deadline = tables.handing_over.entry(key.clone());
        *deadline.or_insert_with(|| Instant::now() + limit)
    }

    /// Forgets everything about `key`.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        let mut tables = self.tables();
        tables.waiting.remove(key);
        tables.terminating.remove(key);
        tables.handing_over.remove(key);
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
