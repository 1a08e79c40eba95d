//! A Kubernetes object of any kind.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::ObjectId;

/// A Kubernetes object as JSON, with access to its metadata.
///
/// Its `Debug` output names the object and hides the content, which may be secret.
#[derive(Clone, PartialEq)]
pub struct Object(Map<String, Value>);

/// A document that is not a Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The document is not a mapping.
    #[error("a Kubernetes object must be a mapping")]
    NotMapping,
    /// A required field is missing, empty or not a text.
    #[error("the Kubernetes object has no {0}")]
    Missing(&'static str),
}

impl Object {
    /// Takes a document as an object.
    ///
    /// # Errors
    /// If it is not a mapping, or lacks `apiVersion`, `kind` or `metadata.name`.
    pub fn from_value(value: Value) -> Result<Self, ObjectError> {
        let Value::Object(content) = value else {
            return Err(ObjectError::NotMapping);
        };
        let object = Self(content);
        for (field, text) in [
            ("apiVersion", object.api_version()),
            ("kind", object.kind()),
            ("metadata.name", object.name()),
        ] {
            if text.is_empty() {
                return Err(ObjectError::Missing(field));
            }
        }
        Ok(object)
    }

    /// An object of which only the identity is known.
    pub fn from_id(id: &ObjectId, version: &str) -> Self {
        let api_version = if id.group.is_empty() {
            version.to_owned()
        } else {
            format!("{}/{version}", id.group)
        };
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), id.name.clone().into());
        if !id.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), id.namespace.clone().into());
        }
        let mut content = Map::new();
        content.insert("apiVersion".to_owned(), api_version.into());
        content.insert("kind".to_owned(), id.kind.clone().into());
        content.insert("metadata".to_owned(), metadata.into());
        Self(content)
    }

    /// `apiVersion`: `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> &str {
        self.0
            .get("apiVersion")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The API group, empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// The API version without the group.
    pub fn version(&self) -> &str {
        let api_version = self.api_version();
        api_version
            .split_once('/')
            .map_or(api_version, |(_, version)| version)
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        self.0.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.metadata_text("name")
    }

    /// The namespace, empty if there is none.
    pub fn namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    /// `metadata.uid`, empty for an object that was never stored.
    pub fn uid(&self) -> &str {
        self.metadata_text("uid")
    }

    /// `metadata.resourceVersion`, empty for an object that was never stored.
    pub fn resource_version(&self) -> &str {
        self.metadata_text("resourceVersion")
    }

    /// What names the object in an inventory.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            namespace: self.namespace().to_owned(),
            name: self.name().to_owned(),
            group: self.group().to_owned(),
            kind: self.kind().to_owned(),
        }
    }

    /// How messages call the object: `Kind/namespace/name`.
    pub fn subject(&self) -> String {
        self.id().subject()
    }

    /// The value of a label, empty if it is not set.
    pub fn label(&self, key: &str) -> &str {
        self.metadata_entry("labels", key)
    }

    /// The value of an annotation, empty if it is not set.
    pub fn annotation(&self, key: &str) -> &str {
        self.metadata_entry("annotations", key)
    }

    /// Sets labels, overriding those that are there.
    pub fn set_labels<'a>(&mut self, labels: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.merge_metadata("labels", labels);
    }

    /// Sets annotations, overriding those that are there.
    pub fn set_annotations<'a>(&mut self, annotations: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.merge_metadata("annotations", annotations);
    }

    /// Sets labels and annotations from maps, as `spec.commonMetadata` does.
    pub fn set_common_metadata(
        &mut self,
        labels: &BTreeMap<String, String>,
        annotations: &BTreeMap<String, String>,
    ) {
        let pairs = |(key, value): (&'_ String, &'_ String)| (key.clone(), value.clone());
        for (field, entries) in [("labels", labels), ("annotations", annotations)] {
            let entries: Vec<(String, String)> = entries.iter().map(pairs).collect();
            self.merge_metadata(
                field,
                entries.iter().map(|(key, value)| (key.as_str(), value.as_str())),
            );
        }
    }

    /// A field by path, `None` where a part is missing.
    pub fn field(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter()
            .try_fold(self.0.get(*first)?, |value, part| value.get(*part))
    }

    /// The content.
    pub fn content(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The content, to be changed in place.
    pub fn content_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }

    /// The object as a JSON value.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// The object as a JSON value, copied.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// `metadata` as a mapping, made if it is missing.
    pub(crate) fn metadata_mut(&mut self) -> Option<&mut Map<String, Value>> {
        self.0
            .entry("metadata")
            .or_insert_with(|| Map::new().into())
            .as_object_mut()
    }

    fn metadata_text(&self, field: &str) -> &str {
        self.field(&["metadata", field])
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn metadata_entry(&self, field: &str, key: &str) -> &str {
        self.field(&["metadata", field, key])
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn merge_metadata<'a>(&mut self, field: &str, entries: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let mut entries = entries.into_iter().peekable();
        if entries.peek().is_none() {
            return;
        }
        let Some(metadata) = self.metadata_mut() else {
            return;
        };
        let slot = metadata.entry(field).or_insert(Value::Null);
        if !slot.is_object() {
            *slot = Map::new().into();
        }
        if let Some(map) = slot.as_object_mut() {
            map.extend(entries.map(|(key, value)| (key.to_owned(), value.into())));
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Object({} {})", self.api_version(), self.subject())
    }
}
