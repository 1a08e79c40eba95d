//! HelmRepository: the index of a chart repository, or the address of charts in a registry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::{custom_resource, reconciled};
use crate::meta::{AccessFrom, Artifact, Condition, GoDuration, LocalObjectReference};
use crate::resource::{Definition, PrinterColumn};
use crate::source::{CATEGORIES, GROUP, RegistryProvider};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A repository of Helm charts.
    pub struct HelmRepository { spec: HelmRepositorySpec, status: HelmRepositoryStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "HelmRepository",
        plural: "helmrepositories",
        singular: "helmrepository",
        short_names: &["helmrepo"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::text("URL", ".spec.url"),
            PrinterColumn::AGE,
            PrinterColumn::READY,
            PrinterColumn::STATUS,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(HelmRepository);

/// Where the charts are, and how to reach them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmRepositorySpec {
    /// Who outside the namespace may use the repository. Part of the API, but not enforced by any controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_from: Option<AccessFrom>,
    /// A Secret with `ca.crt`, or `tls.crt` and `tls.key`, or all three, for the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// Talk to a registry over HTTP. For the type oci.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub insecure: bool,
    /// How often to look for a new index; one minute when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: Option<GoDuration>,
    /// Send the credentials also to other hosts that the index names for charts.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub pass_credentials: bool,
    /// Which service's way to authenticate to use. For the type oci.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "generic"))]
    pub provider: Option<RegistryProvider>,
    /// A Secret with credentials: `username` and `password`; for the type oci also one of type
    /// `kubernetes.io/dockerconfigjson`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Leave the repository alone until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// How long fetching the index, or a chart from a registry, may take; 60 seconds when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::TIMEOUT))]
    pub timeout: Option<GoDuration>,
    /// What the repository is; default when not given.
    #[serde(
        rename = "type",
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub repository_type: Option<HelmRepositoryType>,
    /// Address of the repository.
    #[schemars(extend("pattern" = "^(http|https|oci)://.*$"))]
    pub url: String,
}

string_enum! {
    /// What a Helm repository is.
    pub enum HelmRepositoryType {
        /// A web server with an index.
        Default = "default",
        /// A registry. The object is then only a description: it has no status and is not reconciled.
        Oci = "oci",
    }
}

/// What was observed of a Helm repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelmRepositoryStatus {
    /// The artifact of the last index that could be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Conditions of the repository.
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
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Address that always leads to the latest index.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
}
