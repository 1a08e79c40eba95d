//! Alert: which events go to which provider.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::custom_resource;
use crate::meta::LocalObjectReference;
use crate::notification::{CATEGORIES, GROUP, ObjectKind};
use crate::resource::{Definition, PrinterColumn};
use crate::{omit, string_enum};

custom_resource! {
    /// Objects whose events are sent to a provider. It has no status.
    pub struct Alert { spec: AlertSpec }
    definition: Definition {
        group: GROUP,
        version: "v1beta3",
        kind: "Alert",
        plural: "alerts",
        singular: "alert",
        short_names: &[],
        categories: CATEGORIES,
        columns: &[PrinterColumn::AGE],
        status_subresource: false,
        status_default: false,
        substitute_disabled: true,
    };
}

/// Which events to send, and where to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertSpec {
    /// Facts to add to the metadata of events. What the controller says wins.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub event_metadata: BTreeMap<String, String>,
    /// The least severity of events to send.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "info"))]
    pub event_severity: Option<EventSeverity>,
    /// Objects whose events are sent.
    #[serde(deserialize_with = "omit::null")]
    pub event_sources: Vec<CrossNamespaceObjectReference>,
    /// Regular expressions for messages of events that are not sent.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub exclusion_list: Vec<String>,
    /// Regular expressions, one of which must match the message of an event that is sent.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub inclusion_list: Vec<String>,
    /// The Provider to send to.
    pub provider_ref: LocalObjectReference,
    /// Old way to set the key `summary` in `eventMetadata`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 255))]
    pub summary: Option<String>,
    /// Send nothing until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
}

string_enum! {
    /// Severity of an event.
    pub enum EventSeverity {
        /// All is well, or was noted.
        Info = "info",
        /// Something failed.
        Error = "error",
    }
}

/// One object or several, in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrossNamespaceObjectReference {
    /// API group and version of the objects.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// Kind of the objects.
    pub kind: ObjectKind,
    /// Labels that the objects must have with exactly these values. The name must then be `*`.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub match_labels: BTreeMap<String, String>,
    /// Name of the object, or `*` for all.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
    /// Namespace of the objects. When not given, the namespace of the object that refers to them.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub namespace: Option<String>,
}
