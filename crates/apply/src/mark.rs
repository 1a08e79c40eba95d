//! What of an object's metadata tells whether somebody has touched what an applier manages.
//!
//! A write by somebody else that changes, adds or removes a field of ours shows in `metadata.managedFields`:
//! the field leaves our entry, whatever the other one writes and however. So of all that changes on a live
//! object, its status above all, only our own entry, those of managers whose fields we take over, and the
//! switches that users set on objects have to be watched.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use crate::Object;
use crate::managers::ManagerPattern;

/// What counts on an object.
#[derive(Debug, Clone)]
pub struct MarkRules {
    /// The field manager that applies.
    pub manager: String,
    /// Managers whose fields it takes over.
    pub taken_over: Vec<ManagerPattern>,
    /// The label without which an object is not watched, and so has no mark.
    pub label: String,
    /// How the keys of labels and annotations begin that are switches.
    pub switches: String,
}

/// A state of an object, as far as whoever applies it cares: two states with one content and the same
/// switches need no reconcile in between. Good for comparisons within one process only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The resource version, where it is a number: of two states the one with the greater is the newer.
    pub version: Option<u64>,
    /// A digest of the managed fields; `None` if they do not count because a switch keeps us away.
    pub content: Option<u64>,
    /// A digest of the switches.
    pub switches: u64,
}

impl Mark {
    /// The mark of metadata that a watch has delivered; `None` without the label.
    pub fn of_metadata(metadata: &ObjectMeta, rules: &MarkRules) -> Option<Self> {
        let labels = texts(metadata.labels.as_ref());
        let annotations = texts(metadata.annotations.as_ref());
        let entries = metadata.managed_fields.iter().flatten().map(|entry| Entry {
            manager: entry.manager.as_deref().unwrap_or_default(),
            operation: entry.operation.as_deref().unwrap_or_default(),
            subresource: entry.subresource.as_deref().unwrap_or_default(),
            seconds: entry.time.as_ref().map(|time| time.0.as_second()),
            fields: entry.fields_v1.as_ref().map(|fields| &fields.0),
        });
        let version = metadata.resource_version.as_deref();
        Self::new(
            version,
            metadata.generation,
            &labels,
            &annotations,
            entries,
            rules,
        )
    }

    /// The mark of a live object; `None` without the label.
    pub fn of_object(object: &Object, rules: &MarkRules) -> Option<Self> {
        let texts = |field: &str| -> BTreeMap<&str, &str> {
            let entries = object.field(&["metadata", field]).and_then(Value::as_object);
            entries
                .into_iter()
                .flatten()
                .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
                .collect()
        };
        let (labels, annotations) = (texts("labels"), texts("annotations"));
        let entries = object
            .field(&["metadata", "managedFields"])
            .and_then(Value::as_array);
        let entries = entries.into_iter().flatten().map(|entry| {
            let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
            Entry {
                manager: text("manager"),
                operation: text("operation"),
                subresource: text("subresource"),
                seconds: text("time").parse().ok().map(Timestamp::as_second),
                fields: entry.get("fieldsV1"),
            }
        });
        let generation = object.field(&["metadata", "generation"]).and_then(Value::as_i64);
        let version = Some(object.resource_version());
        Self::new(version, generation, &labels, &annotations, entries, rules)
    }

    fn new<'a>(
        version: Option<&str>,
        generation: Option<i64>,
        labels: &BTreeMap<&str, &str>,
        annotations: &BTreeMap<&str, &str>,
        entries: impl Iterator<Item = Entry<'a>>,
        rules: &MarkRules,
    ) -> Option<Self> {
        labels.get(rules.label.as_str())?;
        let mut entries = entries.peekable();
        let content = if entries.peek().is_some() {
            // The order of the entries says nothing.
            entries
                .filter(|entry| entry.counts(rules))
                .fold(0_u64, |sum, entry| sum.wrapping_add(entry.digest()))
        } else {
            digest(&(generation, labels, annotations))
        };
        let is_switch = |(key, _): &(&&str, &&str)| key.starts_with(&rules.switches);
        let switches: Vec<_> = labels.iter().chain(annotations).filter(is_switch).collect();
        Some(Self {
            version: version.and_then(|version| version.parse().ok()),
            content: Some(content),
            switches: digest(&switches),
        })
    }

    /// The mark of an object that a switch keeps us away from: only the switches count.
    #[must_use]
    pub fn without_content(self) -> Self {
        Self {
            content: None,
            ..self
        }
    }

    /// Whether `seen` is a newer state in which something that counts is different.
    pub fn is_overtaken_by(&self, seen: &Self) -> bool {
        let newer = match (self.version, seen.version) {
            (Some(known), Some(seen)) => seen > known,
            _ => true,
        };
        let content = self.content.is_some() && self.content != seen.content;
        newer && (content || self.switches != seen.switches)
    }
}

/// Who wrote to the object last, apart from whoever applies it and from writers of its status; `None` if
/// nobody did.
pub fn last_writer(metadata: &ObjectMeta, rules: &MarkRules) -> Option<String> {
    let others = metadata.managed_fields.iter().flatten().filter(|entry| {
        let own =
            entry.manager.as_deref() == Some(&rules.manager) && entry.operation.as_deref() == Some("Apply");
        !own && entry.subresource.as_deref() != Some("status")
    });
    others
        .max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?
        .manager
        .clone()
}

/// An entry of `metadata.managedFields`.
struct Entry<'a> {
    manager: &'a str,
    operation: &'a str,
    subresource: &'a str,
    seconds: Option<i64>,
    fields: Option<&'a Value>,
}

impl Entry<'_> {
    fn counts(&self, rules: &MarkRules) -> bool {
        let own = self.manager == rules.manager && self.operation == "Apply";
        let taken_over = |pattern: &ManagerPattern| pattern.fits(self.manager, self.operation);
        self.subresource.is_empty() && (own || rules.taken_over.iter().any(taken_over))
    }

    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.manager, self.operation, self.seconds).hash(&mut hasher);
        if let Some(fields) = self.fields {
            hash_value(fields, &mut hasher);
        }
        hasher.finish()
    }
}

fn texts(map: Option<&BTreeMap<String, String>>) -> BTreeMap<&str, &str> {
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect()
}

fn digest(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hashes a JSON value whatever the order of its keys.
fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            fields.len().hash(hasher);
            let sum = fields.iter().fold(0_u64, |sum, (name, value)| {
                let mut inner = DefaultHasher::new();
                name.hash(&mut inner);
                hash_value(value, &mut inner);
                sum.wrapping_add(inner.finish())
            });
            sum.hash(hasher);
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::String(text) => text.hash(hasher),
        other => other.to_string().hash(hasher),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Operation;

    fn rules() -> MarkRules {
        MarkRules {
            manager: "applier".into(),
            taken_over: vec![ManagerPattern::new("kubectl", Operation::Update)],
            label: "owner".into(),
            switches: "toolkit/".into(),
        }
    }

    fn entry(manager: &str, operation: &str, subresource: &str, second: u8, field: &str) -> Value {
        json!({
            "manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "v1",
            "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {field: {}, ".": {}}},
        })
    }

    /// Both marks of an object, which must be the same.
    fn mark(version: u64, extra: &Value, entries: &[Value]) -> Option<Mark> {
        let mut metadata = json!({
            "name": "a", "resourceVersion": version.to_string(), "labels": {"owner": "k"}, "managedFields": entries,
        });
        metadata
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let object = Object::from_value(object).unwrap();
        let typed: ObjectMeta = serde_json::from_value(metadata).unwrap();
        let mark = Mark::of_object(&object, &rules());
        assert_eq!(mark, Mark::of_metadata(&typed, &rules()));
        mark
    }

    #[test]
    fn only_what_concerns_the_applier_counts() {
        let own = entry("applier", "Apply", "", 1, "f:a");
        let none = json!({});
        let known = mark(5, &none, std::slice::from_ref(&own)).unwrap();
        let overtaken = |version, extra: &Value, entries: &[Value]| {
            known.is_overtaken_by(&mark(version, extra, entries).unwrap())
        };
        let status = entry("applier", "Update", "status", 9, "f:status");
        let foreign = entry("other", "Update", "", 9, "f:b");
        assert!(!overtaken(6, &none, std::slice::from_ref(&own)));
        assert!(!overtaken(6, &none, &[foreign, status, own.clone()]));
        assert!(!overtaken(
            6,
            &json!({"generation": 7, "annotations": {"x": "y"}}),
            std::slice::from_ref(&own)
        ));
        // A field of ours has gone, was written by us again, or by one whose fields are taken over.
        assert!(overtaken(6, &none, &[entry("applier", "Apply", "", 1, "f:c")]));
        assert!(overtaken(6, &none, &[entry("applier", "Apply", "", 2, "f:a")]));
        assert!(overtaken(
            6,
            &none,
            &[own.clone(), entry("kubectl-edit", "Update", "", 3, "f:b")]
        ));
        assert!(overtaken(6, &none, &[]));
        assert!(overtaken(
            6,
            &json!({"annotations": {"toolkit/reconcile": "disabled"}}),
            std::slice::from_ref(&own)
        ));
        // Older states and the same one do not.
        assert!(!overtaken(4, &none, &[]) && !overtaken(5, &none, &[]));
    }

    #[test]
    fn without_content_only_the_switches_count() {
        let (none, own) = (json!({}), entry("applier", "Apply", "", 1, "f:a"));
        let known = mark(
            5,
            &json!({"annotations": {"toolkit/x": "y"}}),
            std::slice::from_ref(&own),
        )
        .unwrap();
        let known = known.without_content();
        assert!(
            !known.is_overtaken_by(
                &mark(
                    6,
                    &json!({"labels": {"owner": "k"}, "annotations": {"toolkit/x": "y"}}),
                    &[]
                )
                .unwrap()
            )
        );
        assert!(known.is_overtaken_by(&mark(6, &none, &[own]).unwrap()));
    }

    #[test]
    fn objects_without_the_label_have_no_mark() {
        assert!(mark(5, &json!({"labels": {"other": "k"}}), &[]).is_none());
    }

    #[test]
    fn without_managed_fields_generation_labels_and_annotations_count() {
        let known = mark(5, &json!({"generation": 1}), &[]).unwrap();
        assert!(!known.is_overtaken_by(&mark(6, &json!({"generation": 1}), &[]).unwrap()));
        assert!(known.is_overtaken_by(&mark(6, &json!({"generation": 2}), &[]).unwrap()));
        assert!(
            known.is_overtaken_by(
                &mark(6, &json!({"generation": 1, "annotations": {"a": "b"}}), &[]).unwrap()
            )
        );
    }

    #[test]
    fn the_last_writer_is_the_newest_that_is_not_us() {
        let metadata = |entries: &[Value]| -> ObjectMeta {
            serde_json::from_value(json!({"managedFields": entries})).unwrap()
        };
        let entries = [
            entry("applier", "Apply", "", 9, "f:a"),
            entry("status-writer", "Update", "status", 8, "f:a"),
            entry("old", "Update", "", 2, "f:a"),
            entry("kubectl-edit", "Update", "", 5, "f:a"),
        ];
        assert_eq!(
            last_writer(&metadata(&entries), &rules()).as_deref(),
            Some("kubectl-edit")
        );
        assert_eq!(last_writer(&metadata(&entries[..2]), &rules()), None);
    }
}
