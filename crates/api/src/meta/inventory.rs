//! What an applier has put into the cluster, and how it went.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::{GoDuration, Timestamp};
use crate::omit;

/// The objects that were applied and are to be pruned when they are no longer wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// One entry for each object.
    #[serde(deserialize_with = "omit::null")]
    pub entries: Vec<InventoryEntry>,
}

/// One object in an inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InventoryEntry {
    /// Identity as `<namespace>_<name>_<group>_<kind>`. Parts that do not apply are empty; a colon in the
    /// name of an RBAC object is written as two underscores.
    pub id: String,
    /// API version of the object's kind, without the group.
    #[serde(rename = "v")]
    pub version: String,
}

/// Attempts to reconcile one state, told by its digest and outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Checksum of what was built, as `<algorithm>:<hexadecimal>`.
    pub digest: String,
    /// When this state was first reconciled.
    pub first_reconciled: Timestamp,
    /// When this state was last reconciled.
    pub last_reconciled: Timestamp,
    /// How long the last attempt took.
    pub last_reconciled_duration: GoDuration,
    /// Reason of the Ready condition that the last attempt ended with.
    pub last_reconciled_status: String,
    /// Further facts, such as `revision` and `originRevision`.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub metadata: BTreeMap<String, String>,
    /// Number of attempts that had this digest and this outcome.
    pub total_reconciliations: i64,
}
