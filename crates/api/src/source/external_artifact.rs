//! ExternalArtifact: an artifact that another controller made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::custom_resource;
use crate::meta::{Artifact, Condition, NamespacedObjectKindReference};
use crate::omit;
use crate::resource::{Definition, PrinterColumn, Reconciled};
use crate::source::{CATEGORIES, GROUP};

custom_resource! {
    /// An artifact that a controller outside the toolkit, or an ArtifactGenerator, made.
    pub struct ExternalArtifact { spec: ExternalArtifactSpec, status: ExternalArtifactStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "ExternalArtifact",
        plural: "externalartifacts",
        singular: "externalartifact",
        short_names: &["ea"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::AGE,
            PrinterColumn::READY,
            PrinterColumn::STATUS,
            PrinterColumn::text("Source", ".spec.sourceRef.name"),
        ],
        status_subresource: true,
        status_default: false,
        substitute_disabled: true,
    };
}

/// What the artifact was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalArtifactSpec {
    /// The object that the artifact was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<NamespacedObjectKindReference>,
}

/// The artifact, written by the controller that made it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalArtifactStatus {
    /// The artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Conditions of the artifact.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
}

impl Reconciled for ExternalArtifact {
    fn conditions(&self) -> &[Condition] {
        self.status
            .as_ref()
            .map_or(&[], |status| status.conditions.as_slice())
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.status.get_or_insert_default().conditions
    }
}
