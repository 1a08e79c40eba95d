//! Conditions as Flux keeps them: always with an observed generation, a transition time that moves when status, reason or
//! message differ, and sorted for people.

use std::cmp::Ordering;

use sluice_api::conditions::{READY, RECONCILING, STALLED};
use sluice_api::meta::{Condition, ConditionStatus};

use crate::object::Object;

/// Longest message that a condition may carry, in bytes.
const MESSAGE_LIMIT: usize = 32768;

/// The condition of the given type.
pub fn get<'a, K: Object>(object: &'a K, kind: &str) -> Option<&'a Condition> {
    find(object.conditions(), kind)
}

/// Whether the condition exists and is True.
pub fn is_true<K: Object>(object: &K, kind: &str) -> bool {
    get(object, kind).is_some_and(|condition| condition.is_true())
}

/// Whether the condition exists and is False.
pub fn is_false<K: Object>(object: &K, kind: &str) -> bool {
    get(object, kind).is_some_and(|condition| condition.is_false())
}

/// Whether the condition is Unknown or absent.
pub fn is_unknown<K: Object>(object: &K, kind: &str) -> bool {
    get(object, kind).is_none_or(|condition| condition.status == ConditionStatus::Unknown)
}

/// Whether the condition exists.
pub fn has<K: Object>(object: &K, kind: &str) -> bool {
    get(object, kind).is_some()
}

/// Whether Ready is True and the object is neither reconciling nor stalled.
pub fn is_ready<K: Object>(object: &K) -> bool {
    !is_true(object, RECONCILING) && !is_true(object, STALLED) && is_true(object, READY)
}

/// Sets a condition to True.
pub fn mark_true<K: Object>(object: &mut K, kind: &str, reason: &str, message: impl Into<String>) {
    set(object, kind, ConditionStatus::True, reason, message.into());
}

/// Sets a condition to False.
pub fn mark_false<K: Object>(object: &mut K, kind: &str, reason: &str, message: impl Into<String>) {
    set(object, kind, ConditionStatus::False, reason, message.into());
}

/// Sets a condition to Unknown.
pub fn mark_unknown<K: Object>(object: &mut K, kind: &str, reason: &str, message: impl Into<String>) {
    set(object, kind, ConditionStatus::Unknown, reason, message.into());
}

/// Sets Reconciling to True and removes Stalled.
pub fn mark_reconciling<K: Object>(object: &mut K, reason: &str, message: impl Into<String>) {
    delete(object, STALLED);
    mark_true(object, RECONCILING, reason, message);
}

/// Sets Stalled to True and removes Reconciling.
pub fn mark_stalled<K: Object>(object: &mut K, reason: &str, message: impl Into<String>) {
    delete(object, RECONCILING);
    mark_true(object, STALLED, reason, message);
}

/// Announces work: Reconciling becomes True, and Ready Unknown, but only where Ready is absent or Unknown already or the work
/// is known to change something (`drift`), so that a routine check does not flicker.
pub fn mark_progress<K: Object>(object: &mut K, drift: bool, reason: &str, message: impl Into<String>) {
    let message = message.into();
    mark_reconciling(object, reason, message.clone());
    if drift || is_unknown(object, READY) {
        mark_unknown(object, READY, reason, message);
    }
}

/// Removes a condition.
pub fn delete<K: Object>(object: &mut K, kind: &str) {
    if has(object, kind) {
        object
            .conditions_mut()
            .retain(|condition| condition.condition_type != kind);
    }
}

/// Sets a condition: its observed generation becomes the object's generation, its transition time moves only if status, reason
/// or message differ from before.
pub fn set<K: Object>(object: &mut K, kind: &str, status: ConditionStatus, reason: &str, message: String) {
    let mut condition = Condition::new(kind, status, reason, cut(message));
    condition.observed_generation = object.meta().generation;
    let conditions = object.conditions_mut();
    match conditions
        .iter_mut()
        .find(|existing| existing.condition_type == kind)
    {
        Some(existing) => {
            if same_state(existing, &condition) {
                condition.last_transition_time = existing.last_transition_time.clone();
            }
            *existing = condition;
        }
        None => conditions.push(condition),
    }
    sort(conditions);
}

/// Sorts conditions as Flux does: Stalled, Reconciling, Ready, then the rest with newer observed generations first, by type.
pub fn sort(conditions: &mut [Condition]) {
    conditions.sort_by(compare);
}

/// The condition of the given type in a list.
pub fn find<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions
        .iter()
        .find(|condition| condition.condition_type == kind)
}

/// Whether two conditions say the same, whenever they were set.
pub fn same_state(left: &Condition, right: &Condition) -> bool {
    left.condition_type == right.condition_type
        && left.status == right.status
        && left.reason == right.reason
        && left.message == right.message
}

fn compare(left: &Condition, right: &Condition) -> Ordering {
    let weight = |condition: &Condition| match condition.condition_type.as_str() {
        STALLED => 0,
        RECONCILING => 1,
        READY => 2,
        _ => 3,
    };
    weight(left)
        .cmp(&weight(right))
        .then_with(|| right.observed_generation.cmp(&left.observed_generation))
        .then_with(|| left.condition_type.cmp(&right.condition_type))
}

fn cut(mut message: String) -> String {
    if message.len() > MESSAGE_LIMIT {
        let end = message.floor_char_boundary(MESSAGE_LIMIT - 3);
        message.truncate(end);
        message.push_str("...");
    }
    message
}

#[cfg(test)]
mod tests {
    use sluice_api::Reconciled;
    use sluice_api::meta::Timestamp;
    use sluice_api::source::GitRepository;

    use super::*;

    fn object(generation: i64) -> GitRepository {
        let mut object = GitRepository::default();
        object.metadata.generation = Some(generation);
        object
    }

    fn age(object: &mut GitRepository) {
        for condition in object.conditions_mut() {
            condition.last_transition_time = Timestamp::default();
        }
    }

    #[test]
    fn every_condition_has_the_objects_generation() {
        // COM-009
        let mut object = object(3);
        mark_false(&mut object, READY, "Failed", "no");
        let ready = get(&object, READY).unwrap();
        assert_eq!(
            (
                ready.observed_generation,
                ready.reason.as_str(),
                ready.message.as_str()
            ),
            (Some(3), "Failed", "no")
        );
    }

    #[test]
    fn the_transition_time_moves_with_status_reason_or_message_only() {
        let mut object = object(1);
        mark_true(&mut object, READY, "Succeeded", "done");
        age(&mut object);
        object.metadata.generation = Some(2);
        mark_true(&mut object, READY, "Succeeded", "done");
        let ready = get(&object, READY).unwrap();
        assert_eq!(
            (ready.observed_generation, &ready.last_transition_time),
            (Some(2), &Timestamp::default())
        );
        mark_true(&mut object, READY, "Succeeded", "done again");
        assert_ne!(
            get(&object, READY).unwrap().last_transition_time,
            Timestamp::default()
        );
    }

    #[test]
    fn conditions_are_sorted_for_people() {
        let mut object = object(1);
        for kind in ["SourceVerified", READY, "ArtifactInStorage", RECONCILING] {
            mark_true(&mut object, kind, "Because", "");
        }
        object.metadata.generation = Some(2);
        mark_true(&mut object, "SourceVerified", "Because", "");
        let order: Vec<&str> = object
            .conditions()
            .iter()
            .map(|c| c.condition_type.as_str())
            .collect();
        assert_eq!(order, [RECONCILING, READY, "SourceVerified", "ArtifactInStorage"]);
    }

    #[test]
    fn an_object_is_never_reconciling_and_stalled_at_once() {
        let mut object = object(1);
        mark_reconciling(&mut object, "Progressing", "");
        mark_stalled(&mut object, "Failed", "");
        assert!(!has(&object, RECONCILING) && is_true(&object, STALLED));
        mark_reconciling(&mut object, "Progressing", "");
        assert!(!has(&object, STALLED) && is_true(&object, RECONCILING));
    }

    #[test]
    fn progress_leaves_a_decided_ready_alone_unless_something_changes() {
        let mut object = object(1);
        mark_progress(&mut object, false, "Progressing", "checking");
        assert!(is_unknown(&object, READY) && has(&object, READY));
        mark_true(&mut object, READY, "Succeeded", "done");
        mark_progress(&mut object, false, "Progressing", "checking");
        assert!(is_true(&object, READY));
        mark_progress(&mut object, true, "Progressing", "new revision");
        assert!(is_unknown(&object, READY));
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut object = object(1);
        mark_true(&mut object, READY, "Succeeded", "é".repeat(MESSAGE_LIMIT));
        let message = &get(&object, READY).unwrap().message;
        assert!(message.len() <= MESSAGE_LIMIT && message.ends_with("é..."));
    }
}
