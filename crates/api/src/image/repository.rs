//! ImageRepository: the tags of an image.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::image::{CATEGORIES, GROUP};
use crate::macros::{custom_resource, reconciled};
use crate::meta::{AccessFrom, Condition, GoDuration, LocalObjectReference, Timestamp};
use crate::resource::{Definition, PrinterColumn};
use crate::source::RegistryProvider;
use crate::{omit, schema};

custom_resource! {
    /// An image in a registry whose tags are scanned.
    pub struct ImageRepository { spec: ImageRepositorySpec, status: ImageRepositoryStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "ImageRepository",
        plural: "imagerepositories",
        singular: "imagerepository",
        short_names: &["imgrepo", "imagerepo"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::text("Image", ".spec.image"),
            PrinterColumn::text("Tags", ".status.lastScanResult.tagCount"),
            PrinterColumn::READY,
            PrinterColumn::STATUS,
            PrinterColumn::wide("Last scan", ".status.lastScanResult.scanTime"),
            PrinterColumn::AGE,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: false,
    };
}

reconciled!(ImageRepository);

/// Which image to scan, and how to reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageRepositorySpec {
    /// Who outside the namespace may use the image's tags; nobody when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_from: Option<AccessFrom>,
    /// A Secret with `ca.crt`, or `tls.crt` and `tls.key`, or all three, for the connection to the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// Regular expressions for tags to leave out. An empty list leaves out none, no list those of signatures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = [r"^.*\.sig$"], "maxItems" = 25))]
    pub exclusion_list: Option<Vec<String>>,
    /// Name of the image, without a scheme, tag or digest.
    pub image: String,
    /// Talk to the registry over HTTP.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub insecure: bool,
    /// How often to scan.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// Which service's way to authenticate to use.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "generic"))]
    pub provider: Option<RegistryProvider>,
    /// A Secret with the proxy to use: `address` and, if needed, `username` and `password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// A Secret of type `kubernetes.io/dockerconfigjson` with credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// A ServiceAccount in the same namespace whose image pull secrets, or identity, are used.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 253))]
    pub service_account_name: Option<String>,
    /// Scan no more until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// How long a scan may take; `interval` when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("pattern" = schema::TIMEOUT))]
    pub timeout: Option<GoDuration>,
}

/// What was observed of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageRepositoryStatus {
    /// Full name of the image that was scanned, with the registry.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub canonical_image_name: Option<String>,
    /// Conditions of the image.
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
    /// What the last scan found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scan_result: Option<ScanResult>,
    /// The exclusion list that was scanned with.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub observed_exclusion_list: Vec<String>,
    /// The generation of the spec that was last reconciled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What a scan found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScanResult {
    /// The ten tags that come last in the alphabet, last first.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub latest_tags: Vec<String>,
    /// Checksum over all tags.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub revision: Option<String>,
    /// When the scan was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scan_time: Option<Timestamp>,
    /// Number of tags.
    #[schemars(with = "schema::Integer")]
    pub tag_count: i64,
}
