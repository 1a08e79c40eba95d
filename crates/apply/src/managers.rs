//! Taking over fields that others manage.

use serde_json::{Map, Value};

use crate::Object;

/// How a manager wrote its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// With a server-side apply.
    Apply,
    /// With any other write.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Managers whose fields are taken over: those whose name starts with `prefix`, by one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManagerPattern {
    /// How the manager's name starts.
    pub prefix: String,
    /// The operation.
    pub operation: Operation,
}

impl ManagerPattern {
    /// A pattern for names that start with `prefix`.
    pub fn new(prefix: impl Into<String>, operation: Operation) -> Self {
        Self {
            prefix: prefix.into(),
            operation,
        }
    }

    /// Entries of subresources never match.
    fn matches(&self, entry: &Value) -> bool {
        text(entry, "subresource").is_empty() && self.fits(text(entry, "manager"), text(entry, "operation"))
    }

    /// Whether a manager of this name that wrote by this operation is meant.
    pub(crate) fn fits(&self, manager: &str, operation: &str) -> bool {
        operation == self.operation.as_str() && manager.starts_with(&self.prefix)
    }
}

/// The `metadata.managedFields` after the fields of all matching managers have been merged into the Apply
/// entry of `manager`, or `None` if no manager matches.
///
/// If `manager` has no Apply entry yet, the first matching entry becomes it. The merged entry is last.
pub fn take_over(object: &Object, patterns: &[ManagerPattern], manager: &str) -> Option<Vec<Value>> {
    let entries = object.field(&["metadata", "managedFields"])?.as_array()?;
    let own = entries
        .iter()
        .rposition(|entry| text(entry, "manager") == manager && text(entry, "operation") == "Apply");
    let mut merged = own.map(|index| entries[index].clone());
    let mut kept = Vec::with_capacity(entries.len());
    let mut edited = false;
    for (index, entry) in entries.iter().enumerate() {
        if own == Some(index) {
            continue;
        }
        if !patterns.iter().any(|pattern| pattern.matches(entry)) {
            kept.push(entry.clone());
            continue;
        }
        edited = true;
        match &mut merged {
            None => {
                let mut renamed = entry.clone();
                renamed["manager"] = manager.into();
                renamed["operation"] = "Apply".into();
                merged = Some(renamed);
            }
            Some(merged) => merge_entry(merged, entry),
        }
    }
    if !edited {
        return None;
    }
    kept.extend(merged);
    Some(kept)
}

/// The managed fields with every entry moved to `api_version`, or `None` if all are there already.
pub(crate) fn migrate(object: &Object, api_version: &str) -> Option<Vec<Value>> {
    let entries = object.field(&["metadata", "managedFields"])?.as_array()?;
    if entries
        .iter()
        .all(|entry| text(entry, "apiVersion") == api_version)
    {
        return None;
    }
    let mut entries = entries.clone();
    for entry in &mut entries {
        entry["apiVersion"] = api_version.into();
    }
    Some(entries)
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn merge_entry(target: &mut Value, source: &Value) {
    match (target.get_mut("fieldsV1"), source.get("fieldsV1")) {
        (Some(Value::Object(target)), Some(Value::Object(source))) => merge_fields(target, source),
        (None | Some(Value::Null), Some(fields)) => target["fieldsV1"] = fields.clone(),
        _ => {}
    }
}

/// The union of two field sets. An empty mapping is a member without children; a member with children
/// carries `.`, a path that is only passed through does not.
fn merge_fields(target: &mut Map<String, Value>, source: &Map<String, Value>) {
    for (key, value) in source {
        let Some(present) = target.get_mut(key) else {
            target.insert(key.clone(), value.clone());
            continue;
        };
        let (Some(present), Some(added)) = (present.as_object_mut(), value.as_object()) else {
            continue;
        };
        let member = |fields: &Map<String, Value>| fields.is_empty() || fields.contains_key(".");
        let is_member = member(present) || member(added);
        merge_fields(present, added);
        if is_member && !present.is_empty() {
            present.insert(".".to_owned(), Map::new().into());
        }
    }
}
