//! OCIRepository: an artifact for each new manifest that a tag in a registry comes to point to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::{custom_resource, reconciled};
use crate::meta::{Artifact, Condition, GoDuration, LocalObjectReference};
use crate::resource::{Definition, PrinterColumn};
use crate::source::{CATEGORIES, GROUP, OidcIdentityMatch, RegistryProvider, SignatureProvider};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A repository in a registry, a reference in it, and the artifact made from what it points to.
    pub struct OciRepository { spec: OciRepositorySpec, status: OciRepositoryStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "OCIRepository",
        plural: "ocirepositories",
        singular: "ocirepository",
        short_names: &["ocirepo"],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::text("URL", ".spec.url"),
            PrinterColumn::READY,
            PrinterColumn::STATUS,
            PrinterColumn::AGE,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(OciRepository);

/// Which repository and reference to follow, and how to reach and check it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciRepositorySpec {
    /// A Secret with `ca.crt`, or `tls.crt` and `tls.key`, or all three, for the connection to the registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// What to leave out of the artifact, as lines in the syntax of .gitignore. Without it, and without
    /// .sourceignore files, a built-in list of media and build files applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,
    /// Talk to the registry over HTTP.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub insecure: bool,
    /// How often to look for a new manifest. Some jitter is added to spread the load.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// Which layer of the OCI artifact to take, and how; the first one, unpacked, when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer_selector: Option<LayerSelector>,
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
    /// The reference to follow; the tag latest when not given.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<OciRepositoryReference>,
    /// A Secret of type `kubernetes.io/dockerconfigjson` with credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// A ServiceAccount in the same namespace whose image pull secrets, or identity, are used.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub service_account_name: Option<String>,
    /// Leave the repository alone until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// How long an operation may take.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "60s", "pattern" = schema::TIMEOUT))]
    pub timeout: Option<GoDuration>,
    /// Address of the repository, with the scheme `oci://` and without a tag or digest.
    #[schemars(extend("pattern" = "^oci://.*$"))]
    pub url: String,
    /// Signatures to require.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<OciVerification>,
}

/// What to follow. When several fields are given, the order of precedence is digest, semver, tag.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciRepositoryReference {
    /// A digest, such as `sha256:<hexadecimal>`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub digest: Option<String>,
    /// A range of semantic versions; the highest tag in it is taken.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub semver: Option<String>,
    /// A regular expression for the tags that are looked at with `semver`.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub semver_filter: Option<String>,
    /// A tag.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub tag: Option<String>,
}

/// Which layer of an OCI artifact to take, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LayerSelector {
    /// Take the first layer of this media type; the first of all when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub media_type: Option<String>,
    /// What to do with the layer; extract when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub operation: Option<LayerOperation>,
}

string_enum! {
    /// What becomes of a layer.
    pub enum LayerOperation {
        /// It is unpacked, and the artifact made from the files in it.
        Extract = "extract",
        /// It is the artifact, byte for byte.
        Copy = "copy",
    }
}

/// Which signatures must be there, and by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciVerification {
    /// Identities that may have signed without a key of their own; one match is enough.
    #[serde(
        rename = "matchOIDCIdentity",
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub match_oidc_identity: Vec<OidcIdentityMatch>,
    /// The technology of the signatures.
    #[schemars(extend("default" = "cosign"))]
    pub provider: SignatureProvider,
    /// A Secret with the public keys, or the trust policy and certificates, of trusted publishers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// A Secret with `trusted_root.json`: the roots of trust of a private Sigstore installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_root_secret_ref: Option<LocalObjectReference>,
}

/// What was observed of a repository in a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OciRepositoryStatus {
    /// The artifact of the last manifest that could be fetched.
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
    /// The ignore rules that the artifact was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_ignore: Option<String>,
    /// The layer selector that the artifact was made with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_layer_selector: Option<LayerSelector>,
    /// Address that always leads to the latest artifact.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
}
