//! References to other objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omit;

/// An object in the namespace of the one that refers to it; its kind follows from the field.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocalObjectReference {
    /// Name of the object.
    pub name: String,
}

impl LocalObjectReference {
    /// A reference to the object of that name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
        }
    }
}

/// An object in any namespace; its kind follows from the field.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespacedObjectReference {
    /// Name of the object.
    pub name: String,
    /// Namespace of the object. When not given, the namespace of the object that refers to it.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
}

/// An object of any kind in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespacedObjectKindReference {
    /// API group and version of the object. When not given, the group and version that the field implies.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Namespace of the object. When not given, the namespace of the object that refers to it.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
}
