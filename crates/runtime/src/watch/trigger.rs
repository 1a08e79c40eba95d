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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use k8s_openapi::jiff::Timestamp;
    use sluice_api::annotations::RECONCILE_REQUESTED_AT;
    use sluice_api::source::GitRepository;

    use super::*;

    fn causes(triggers: &Triggers, object: Option<&GitRepository>) -> Causes {
        let after = object.map(|object| Arc::new(object.clone()));
        triggers.causes(&Change {
            key: ObjectKey::new("ns", "a"),
            before: None,
            after,
            initial: false,
        })
    }

    fn request(object: &mut GitRepository, value: &str) {
        let annotations = object.metadata.annotations.get_or_insert_default();
        annotations.insert(RECONCILE_REQUESTED_AT.to_owned(), value.to_owned());
    }

    #[test]
    fn only_changes_that_matter_ask_for_a_reconcile() {
        let triggers = Triggers::default();
        let mut object = GitRepository::default();
        object.metadata.generation = Some(1);
        assert_eq!(causes(&triggers, Some(&object)), Cause::Created.into());
        // COM-007: labels, other annotations and the status.
        object.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        object.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
        object.status.get_or_insert_default().observed_generation = Some(1);
        object.metadata.finalizers = Some(vec!["finalizers.fluxcd.io".to_owned()]);
        assert!(causes(&triggers, Some(&object)).is_empty());
        object.metadata.generation = Some(2);
        assert_eq!(causes(&triggers, Some(&object)), Cause::Spec.into());
        assert!(causes(&triggers, Some(&object)).is_empty());
        // COM-006: the same request does not count twice.
        request(&mut object, "x");
        assert_eq!(causes(&triggers, Some(&object)), Cause::Requested.into());
        assert!(causes(&triggers, Some(&object)).is_empty());
        object.metadata.annotations = None;
        assert!(
            causes(&triggers, Some(&object)).is_empty(),
            "taking the request back asks for nothing"
        );
        object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(causes(&triggers, Some(&object)), Cause::Deleted.into());
        assert_eq!(causes(&triggers, None), Cause::Deleted.into());
        assert_eq!(causes(&triggers, Some(&object)), Cause::Created.into());
    }

    #[test]
    fn an_object_made_anew_under_its_name_is_new() {
        let triggers = Triggers::default();
        let mut object = GitRepository::default();
        object.metadata.uid = Some("1".to_owned());
        causes(&triggers, Some(&object));
        object.metadata.uid = Some("2".to_owned());
        assert_eq!(causes(&triggers, Some(&object)), Cause::Created.into());
    }
}
