//! ImagePolicy: a choice among the tags of an image.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::image::{CATEGORIES, GROUP};
use crate::macros::{custom_resource, reconciled};
use crate::meta::{Condition, GoDuration, NamespacedObjectReference};
use crate::resource::{Definition, PrinterColumn};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// The tag of an image that a rule chooses.
    pub struct ImagePolicy { spec: ImagePolicySpec, status: ImagePolicyStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "ImagePolicy",
        plural: "imagepolicies",
        singular: "imagepolicy",
        short_names: &["imgpol", "imagepol"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::text("Image", ".status.latestRef.name"),
            PrinterColumn::text("Tag", ".status.latestRef.tag"),
            PrinterColumn::READY,
            PrinterColumn::STATUS,
            PrinterColumn::AGE,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: false,
    };
}

reconciled!(ImagePolicy);

/// Which image's tags to choose from, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    schema::rule(
        "!has(self.interval) || (has(self.digestReflectionPolicy) && self.digestReflectionPolicy == 'Always')",
        "spec.interval is only accepted when spec.digestReflectionPolicy is set to 'Always'",
    ),
    schema::rule(
        "has(self.interval) || !has(self.digestReflectionPolicy) || self.digestReflectionPolicy != 'Always'",
        "spec.interval must be set when spec.digestReflectionPolicy is set to 'Always'",
    ),
]))]
pub struct ImagePolicySpec {
    /// When the digest of the chosen tag is looked up.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "Never"))]
    pub digest_reflection_policy: Option<DigestReflectionPolicy>,
    /// Which tags to look at, and which part of them; all, whole, when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter_tags: Option<TagFilter>,
    /// The ImageRepository with the tags.
    pub image_repository_ref: NamespacedObjectReference,
    /// How often to look up the digest. Given exactly when the digest is always looked up.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: Option<GoDuration>,
    /// How to choose.
    pub policy: ImagePolicyChoice,
    /// Choose no more until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
}

string_enum! {
    /// When the digest of the chosen tag is looked up.
    pub enum DigestReflectionPolicy {
        /// Each time.
        Always = "Always",
        /// When the tag changes.
        IfNotPresent = "IfNotPresent",
        /// Not at all.
        Never = "Never",
    }
}

/// Which tags to look at, and which part of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TagFilter {
    /// What to compare in place of the tag: a text with groups of the pattern, such as `$ts`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub extract: Option<String>,
    /// A regular expression that tags must match.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub pattern: Option<String>,
}

/// How to choose: one of the three ways.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePolicyChoice {
    /// By the alphabet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alphabetical: Option<AlphabeticalPolicy>,
    /// By number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numerical: Option<NumericalPolicy>,
    /// By semantic version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub semver: Option<SemverPolicy>,
}

/// Chooses by the alphabet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlphabeticalPolicy {
    /// Whether the tag that comes last (asc) or first (desc) in the alphabet is taken.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "asc"))]
    pub order: Option<PolicyOrder>,
}

/// Chooses by number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NumericalPolicy {
    /// Whether the largest (asc) or smallest (desc) number is taken.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "asc"))]
    pub order: Option<PolicyOrder>,
}

string_enum! {
    /// How tags are sorted before the last one is taken.
    pub enum PolicyOrder {
        /// Upwards.
        Ascending = "asc",
        /// Downwards.
        Descending = "desc",
    }
}

/// Chooses the highest version in a range.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SemverPolicy {
    /// A range of semantic versions.
    pub range: String,
}

/// What was observed of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImagePolicyStatus {
    /// Conditions of the policy.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// The last reconcile request that was answered, so that a new one is seen as a change.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reconcile_at: Option<String>,
    /// The image that is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_ref: Option<ImageReference>,
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The image that was chosen before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_previous_ref: Option<ImageReference>,
}

/// An image with its tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageReference {
    /// Digest that the tag pointed to.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub digest: Option<String>,
    /// Name of the image.
    pub name: String,
    /// Tag of the image.
    pub tag: String,
}
