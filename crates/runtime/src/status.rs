//! Status patches: a merge patch with the differences only, in which the conditions of others survive.
//!
//! `status.conditions` is one atomic list in Flux's schemas, so a patch replaces all of it. It therefore carries the version of the
//! object that the list was made from; on a conflict the newest object is read and the list is made anew.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Map, Value, json};
use sluice_api::meta::Condition;

use crate::conditions;
use crate::object::Object;
use crate::store::Store;

/// How often a patch is tried while others keep changing the object.
const ATTEMPTS: u32 = 6;

/// The pause before a patch is tried again after a conflict; it doubles.
const CONFLICT_PAUSE: Duration = Duration::from_millis(50);

/// Writes the status of objects of one kind, and lays what came back over the store.
pub struct StatusWriter<K: Object> {
    client: Client,
    store: Store<K>,
    field_manager: String,
    owned: &'static [&'static str],
}

impl<K: Object> fmt::Debug for StatusWriter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StatusWriter")
            .field("field_manager", &self.field_manager)
            .finish_non_exhaustive()
    }
}

impl<K: Object> Clone for StatusWriter<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            store: self.store.clone(),
            field_manager: self.field_manager.clone(),
            owned: self.owned,
        }
    }
}

impl<K: Object> StatusWriter<K> {
    /// A writer under the given field manager that owns the given condition types.
    pub fn new(
        client: Client,
        store: Store<K>,
        field_manager: impl Into<String>,
        owned: &'static [&'static str],
    ) -> Self {
        Self {
            client,
            store,
            field_manager: field_manager.into(),
            owned,
        }
    }

    /// Writes what differs between the status of `base` (as the API server returned it) and of `working`.
    ///
    /// Returns the object that came back, or `None` if there was nothing to write, or nothing to write it to because the object was
    /// deleted and made anew.
    ///
    /// # Errors
    /// The API server's answer, where it is not a conflict that goes away. One stays: somebody else (such as a leader whose place was
    /// taken) has written fields that are to be written now. They may hold what the caller has not seen, so it has to begin anew, from
    /// the newest object, which the store has by then.
    pub async fn patch(&self, base: &Arc<K>, working: &K) -> Result<Option<Arc<K>>, kube::Error> {
        let api: Api<K> = Api::namespaced(self.client.clone(), &base.namespace().unwrap_or_default());
        let name = base.name_any();
        let changes = status_changes(base.as_ref(), working)?;
        let mut latest = Arc::clone(base);
        let mut attempt = 0;
        loop {
            let Some(body) = self.body(base, working, &latest, &changes) else {
                return Ok(None);
            };
            let parameters = PatchParams {
                field_manager: Some(self.field_manager.clone()),
                ..PatchParams::default()
            };
            match api.patch_status(&name, &parameters, &Patch::Merge(&body)).await {
                Ok(patched) => return Ok(Some(self.store.overlay(patched))),
                Err(kube::Error::Api(status)) if status.code == 409 && attempt + 1 < ATTEMPTS => {
                    attempt += 1;
                    if attempt > 1 {
                        tokio::time::sleep(CONFLICT_PAUSE * 2u32.pow(attempt - 2)).await;
                    }
                    latest = self.store.overlay(api.get(&name).await?);
                    if latest.uid() != base.uid() {
                        return Ok(None);
                    }
                    if has_moved(&changes, base.as_ref(), working, latest.as_ref())? {
                        return Err(kube::Error::Api(status));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The patch against `latest`, or `None` if there is nothing to write.
    fn body(&self, base: &K, working: &K, latest: &K, changes: &Map<String, Value>) -> Option<Value> {
        let mut status = changes.clone();
        let conditions = merge_conditions(
            base.conditions(),
            working.conditions(),
            latest.conditions(),
            self.owned,
        );
        if conditions != latest.conditions() {
            status.insert("conditions".to_owned(), json!(conditions));
        }
        if status.is_empty() {
            return None;
        }
        Some(json!({
            "metadata": { "resourceVersion": latest.resource_version(), "uid": latest.uid() },
            "status": status,
        }))
    }
}

/// Whether somebody has given any of the fields to be changed a value that is neither the one in `base` nor the one in `working` (which
/// it has if an earlier try came through and its answer did not).
fn has_moved<K: Object>(
    changes: &Map<String, Value>,
    base: &K,
    working: &K,
    latest: &K,
) -> Result<bool, kube::Error> {
    let moved = status_changes(base, latest)?;
    let missing = status_changes(latest, working)?;
    Ok(changes
        .keys()
        .any(|field| moved.contains_key(field) && missing.contains_key(field)))
}

/// The merge patch from one status to another, conditions left out.
fn status_changes<K: Object>(base: &K, working: &K) -> Result<Map<String, Value>, kube::Error> {
    let status = |object: &K| -> Result<Value, kube::Error> {
        let mut value = serde_json::to_value(object).map_err(kube::Error::SerdeError)?;
        Ok(value.get_mut("status").map(Value::take).unwrap_or_default())
    };
    let mut changes = match merge_patch(&status(base)?, &status(working)?) {
        Some(Value::Object(changes)) => changes,
        _ => Map::new(),
    };
    changes.remove("conditions");
    Ok(changes)
}

/// The conditions to write: those of others as they are in `latest`, those that are owned or that the reconcile changed as they are
/// in `working`.
fn merge_conditions(
    base: &[Condition],
    working: &[Condition],
    latest: &[Condition],
    owned: &[&str],
) -> Vec<Condition> {
    let ours =
        |kind: &str| owned.contains(&kind) || conditions::find(base, kind) != conditions::find(working, kind);
    let mut merged: Vec<Condition> = latest
        .iter()
        .filter(|condition| !ours(&condition.condition_type))
        .cloned()
        .collect();
    merged.extend(
        working
            .iter()
            .filter(|condition| ours(&condition.condition_type))
            .cloned(),
    );
    conditions::sort(&mut merged);
    let unordered_equal =
        merged.len() == latest.len() && merged.iter().all(|condition| latest.contains(condition));
    if unordered_equal { latest.to_vec() } else { merged }
}

/// The JSON merge patch (RFC 7386) that turns `from` into `to`, or `None` if they are equal.
pub fn merge_patch(from: &Value, to: &Value) -> Option<Value> {
    match (from, to) {
        (from, to) if from == to => None,
        (Value::Object(from), Value::Object(to)) => {
            let removed = from
                .keys()
                .filter(|key| !to.contains_key(*key))
                .map(|key| (key.clone(), Value::Null));
            let changed = to.iter().filter_map(|(key, value)| match from.get(key) {
                Some(before) => merge_patch(before, value).map(|patch| (key.clone(), patch)),
                None => Some((key.clone(), value.clone())),
            });
            Some(Value::Object(removed.chain(changed).collect()))
        }
        (_, to) => Some(to.clone()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sluice_api::meta::ConditionStatus;

    use super::*;

    fn condition(kind: &str, message: &str) -> Condition {
        Condition::new(kind, ConditionStatus::True, "Because", message)
    }

    #[test]
    fn a_patch_holds_only_what_differs() {
        let from = json!({"a": 1, "b": {"c": 1, "d": 2}, "e": [1, 2], "gone": true, "same": {"x": []}});
        let to = json!({"a": 1, "b": {"c": 3, "d": 2}, "e": [1], "new": {"y": null}, "same": {"x": []}});
        let patch = merge_patch(&from, &to);
        assert_eq!(
            patch,
            Some(json!({"b": {"c": 3}, "e": [1], "gone": null, "new": {"y": null}}))
        );
        assert_eq!(merge_patch(&from, &from), None);
    }

    #[test]
    fn conditions_of_others_survive_and_own_ones_are_replaced() {
        // COM-031
        let base = [condition("Ready", "old"), condition("Custom", "theirs")];
        let working = [condition("Ready", "new")];
        let latest = [
            condition("Custom", "theirs, changed"),
            condition("Late", "theirs too"),
        ];
        let merged = merge_conditions(&base, &working, &latest, &["Ready"]);
        let texts: Vec<(&str, &str)> = merged
            .iter()
            .map(|c| (c.condition_type.as_str(), c.message.as_str()))
            .collect();
        // "Custom" is missing from the working copy, so the reconcile has taken it out on purpose.
        assert_eq!(texts, [("Ready", "new"), ("Late", "theirs too")]);
        let working = [condition("Ready", "new"), condition("Custom", "theirs")];
        let merged = merge_conditions(&base, &working, &latest, &["Ready"]);
        let texts: Vec<(&str, &str)> = merged
            .iter()
            .map(|c| (c.condition_type.as_str(), c.message.as_str()))
            .collect();
        assert_eq!(
            texts,
            [
                ("Ready", "new"),
                ("Custom", "theirs, changed"),
                ("Late", "theirs too")
            ]
        );
    }

    #[test]
    fn equal_conditions_in_another_order_are_not_written() {
        let latest = [condition("B", ""), condition("Ready", "")];
        let working = [condition("Ready", ""), condition("B", "")];
        assert_eq!(merge_conditions(&latest, &working, &latest, &["Ready"]), latest);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..4).prop_map(Value::from),
            "[ab]".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[a-d]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// RFC 7386, as the API server applies it.
    fn apply(target: &mut Value, patch: &Value) {
        let Value::Object(changes) = patch else {
            *target = patch.clone();
            return;
        };
        if !target.is_object() {
            *target = json!({});
        }
        let map = target.as_object_mut().unwrap();
        for (key, change) in changes {
            if change.is_null() {
                map.remove(key);
            } else {
                apply(map.entry(key.clone()).or_insert(Value::Null), change);
            }
        }
    }

    proptest! {
        #[test]
        fn applying_a_patch_gives_the_wanted_value(
            from in proptest::collection::btree_map("[a-d]", value(), 0..4),
            to in proptest::collection::btree_map("[a-d]", value(), 0..4),
        ) {
            let from = Value::Object(from.into_iter().collect());
            let to = Value::Object(to.into_iter().collect());
            let mut patched = from.clone();
            if let Some(patch) = merge_patch(&from, &to) {
                apply(&mut patched, &patch);
            }
            prop_assert_eq!(patched, to);
        }
    }
}
