//! What was observed of a Kustomization.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{Condition, HistoryEntry, Inventory};
use crate::omit;

/// What was observed of a Kustomization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KustomizationStatus {
    /// Conditions of the Kustomization.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<Condition>,
    /// The last attempts, newest first: at most five states, each with how often it was reached.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub history: Vec<HistoryEntry>,
    /// The objects that are managed. An inventory without entries says that there are none; no inventory says
    /// that nothing was applied yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// The revision at the origin of the artifact that was last applied with success, where the source knows
    /// it: for an OCI artifact the value of `org.opencontainers.image.revision`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_applied_origin_revision: Option<String>,
    /// The revision of the artifact that was last applied with success.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_applied_revision: Option<String>,
    /// The revision of the artifact that was last tried.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_attempted_revision: Option<String>,
    /// The last reconcile request that was answered, so that a new one is seen as a change.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub last_handled_reconcile_at: Option<String>,
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}
