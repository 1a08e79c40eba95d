//! Selection of objects by their labels.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omit;

/// Selects objects by labels; all conditions must hold. An empty selector selects every object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LabelSelector {
    /// Requirements on labels.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// Labels that an object must have with exactly these values.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub match_labels: BTreeMap<String, String>,
}

/// A requirement on one label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelectorRequirement {
    /// Name of the label.
    pub key: String,
    /// How the label relates to the values: In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// Values for In and NotIn; none for the others.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Vec<String>,
}

/// Who outside the object's own namespace may refer to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessFrom {
    /// Namespaces that may; one match is enough. An empty list admits none.
    #[serde(deserialize_with = "omit::null")]
    pub namespace_selectors: Vec<NamespaceSelector>,
}

/// Selects namespaces by labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceSelector {
    /// Labels that the namespace must have with exactly these values. Empty selects every namespace.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub match_labels: BTreeMap<String, String>,
}
