//! Which changes of an object ask for its reconcile.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::Resource;

use crate::object::{self, ObjectKey, Watched};
use crate::queue::{Cause, Causes};
use crate::store::Change;

/// Remembers of each object what matters to the decision, apart from the store: a state that one of our own writes returned may
/// contain a change that the watch has not yet delivered, and that change must count once.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    seen: Mutex<HashMap<ObjectKey, Seen>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Seen {
    uid: Option<String>,
    generation: Option<i64>,
    requested_at: Option<String>,
    deleting: bool,
}

impl Triggers {
    /// The causes that a change gives; empty for changes of labels, other annotations and the status.
    pub(crate) fn causes<K: Watched>(&self, change: &Change<K>) -> Causes {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(after) = &change.after else {
            seen.remove(&change.key);
            return Cause::Deleted.into();
        };
        let now = Seen::of(after.as_ref());
        match seen.insert(change.key.clone(), now) {
            None => Cause::Created.into(),
            Some(before) => seen
                .get(&change.key)
                .map(|now| now.causes_since(&before))
                .unwrap_or_default(),
        }
    }
}

impl Seen {
    fn of<K: Resource>(object: &K) -> Self {
        let meta = object.meta();
        Self {
            uid: meta.uid.clone(),
            generation: meta.generation,
            requested_at: object::requested_at(object).map(str::to_owned),
            deleting: object::is_deleting(object),
        }
    }

    fn causes_since(&self, before: &Self) -> Causes {
        let mut causes = Causes::NONE;
        if self.uid != before.uid {
            causes = causes.with(Cause::Created);
        }
        if self.generation != before.generation {
            causes = causes.with(Cause::Spec);
        }
        // Taking the annotation off asks for nothing.
        if self.requested_at.is_some() && self.requested_at != before.requested_at {
            causes = causes.with(Cause::Requested);
        }
        if self.deleting && !before.deleting {
            causes = causes.with(Cause::Deleted);
        }
        causes
    }
}
