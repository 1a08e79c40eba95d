//! What Kustomization and HelmRelease have in common.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::omit;

/// Labels and annotations for every object that is applied; they override what the objects say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommonMetadata {
    /// Annotations to set.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub annotations: BTreeMap<String, String>,
    /// Labels to set.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub labels: BTreeMap<String, String>,
}

/// An object of the same kind that must be ready first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyReference {
    /// Name of the object.
    pub name: String,
    /// Namespace of the object. When not given, the namespace of the object that refers to it.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
    /// A CEL expression over `self` (the dependent object) and `dep` (the dependency) that tells whether the
    /// dependency is ready. It stands in place of the built-in check.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub ready_expr: Option<String>,
}

/// CEL expressions that tell the health of objects of one kind. They are tried in the order in progress,
/// failed, current.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomHealthCheck {
    /// API group and version of the objects.
    pub api_version: String,
    /// True when the object has reached the state that its spec asks for.
    pub current: String,
    /// True when the object has failed.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub failed: Option<String>,
    /// True while the object is on its way.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub in_progress: Option<String>,
    /// Kind of the objects.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<String>,
}

/// Fields whose drift is not corrected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IgnoreRule {
    /// JSON pointers (RFC 6901) of the fields.
    #[serde(deserialize_with = "omit::null")]
    pub paths: Vec<String>,
    /// Objects that the rule is for. When not given, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PatchTarget>,
}

/// Selects built objects. What is not given matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchTarget {
    /// Label selector syntax, applied to annotations.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub annotation_selector: Option<String>,
    /// API group, as a regular expression for the whole text.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub group: Option<String>,
    /// Kind, as a regular expression for the whole text.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<String>,
    /// Label selector syntax, applied to labels.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub label_selector: Option<String>,
    /// Name, as a regular expression for the whole text.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// Namespace, as a regular expression for the whole text.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub namespace: Option<String>,
    /// API version, as a regular expression for the whole text.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub version: Option<String>,
}

/// A change to built objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// A strategic merge patch, or a JSON 6902 patch as a list of operations; both in YAML or JSON.
    pub patch: String,
    /// Objects to change. A strategic merge patch without one finds its object by kind and name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<PatchTarget>,
}

/// A replacement of a container image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Digest to pin the image to. It wins over `newTag`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub digest: Option<String>,
    /// Image to replace, without a tag.
    pub name: String,
    /// Name to use instead.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub new_name: Option<String>,
    /// Tag to use instead.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub new_tag: Option<String>,
}
