//! The objects that controllers reconcile, and the names by which they are known.

use std::fmt;

use kube::core::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_api::Reconciled;
use sluice_api::annotations::RECONCILE_REQUESTED_AT;

/// A namespaced Kubernetes object that can be decoded, stored and watched.
///
/// Implemented for every type that qualifies; nothing is to be written by hand.
pub trait Watched:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + fmt::Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Watched for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + fmt::Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// A custom resource with the status contract that all reconciled kinds share; see [`Reconciled`].
///
/// Implemented for every type that qualifies; nothing is to be written by hand.
pub trait Object: Watched + Reconciled + Serialize {}

impl<K: Watched + Reconciled + Serialize> Object for K {}

/// Namespace and name of one object; the kind is known from where the key is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// A key from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of an object.
    pub fn of<K: Resource>(object: &K) -> Self {
        let meta = object.meta();
        Self {
            namespace: meta.namespace.clone().unwrap_or_default(),
            name: meta.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for ObjectKey {
    /// Writes `namespace/name`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// An object of any kind that another object refers to: the key of an [`Index`](crate::watch::Index).
///
/// The kind is the bare kind, as references in specs carry it (`GitRepository`, `Secret`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    /// The kind, without group.
    pub kind: String,
    /// Namespace and name.
    pub key: ObjectKey,
}

impl Reference {
    /// A reference from its parts.
    pub fn new(kind: impl Into<String>, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            key: ObjectKey::new(namespace, name),
        }
    }
}

impl fmt::Display for Reference {
    /// Writes `Kind/namespace/name`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kind, self.key)
    }
}

/// The value of the reconcile request annotation, if the object carries one.
pub fn requested_at<K: Resource>(object: &K) -> Option<&str> {
    object
        .annotations()
        .get(RECONCILE_REQUESTED_AT)
        .map(String::as_str)
}

/// Whether the object is being deleted.
pub fn is_deleting<K: Resource>(object: &K) -> bool {
    object.meta().deletion_timestamp.is_some()
}
