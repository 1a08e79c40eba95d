//! Bucket: an artifact for each new state of a bucket in an object store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::{custom_resource, reconciled};
use crate::meta::{Artifact, Condition, GoDuration, LocalObjectReference};
use crate::resource::{Definition, PrinterColumn};
use crate::source::{CATEGORIES, GROUP};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A bucket of an object store, and the artifact made from the objects in it.
    pub struct Bucket { spec: BucketSpec, status: BucketStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "Bucket",
        plural: "buckets",
        singular: "bucket",
        short_names: &[],
        categories: CATEGORIES,
        columns: &[
            PrinterColumn::text("Endpoint", ".spec.endpoint"),
            PrinterColumn::AGE,
            PrinterColumn::READY,
            PrinterColumn::STATUS,
        ],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(Bucket);

/// Which bucket to follow, and how to reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    schema::rule(
        "self.provider == 'aws' || self.provider == 'generic' || !has(self.sts)",
        "STS configuration is only supported for the 'aws' and 'generic' Bucket providers",
    ),
    schema::rule(
        "self.provider != 'aws' || !has(self.sts) || self.sts.provider == 'aws'",
        "'aws' is the only supported STS provider for the 'aws' Bucket provider",
    ),
    schema::rule(
        "self.provider != 'generic' || !has(self.sts) || self.sts.provider == 'ldap'",
        "'ldap' is the only supported STS provider for the 'generic' Bucket provider",
    ),
    schema::rule(
        "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.secretRef)",
        "spec.sts.secretRef is not required for the 'aws' STS provider",
    ),
    schema::rule(
        "!has(self.sts) || self.sts.provider != 'aws' || !has(self.sts.certSecretRef)",
        "spec.sts.certSecretRef is not required for the 'aws' STS provider",
    ),
    schema::rule(
        "self.provider != 'generic' || !has(self.serviceAccountName)",
        "ServiceAccountName is not supported for the 'generic' Bucket provider",
    ),
    schema::rule(
        "!has(self.secretRef) || !has(self.serviceAccountName)",
        "cannot set both .spec.secretRef and .spec.serviceAccountName",
    ),
]))]
pub struct BucketSpec {
    /// Name of the bucket.
    pub bucket_name: String,
    /// A Secret with `ca.crt`, or `tls.crt` and `tls.key`, or all three, for the connection to the endpoint.
    /// For the providers generic and aws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// Host of the object store.
    pub endpoint: String,
    /// What to leave out of the artifact, as lines in the syntax of .gitignore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<String>,
    /// Talk to the endpoint over HTTP.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub insecure: bool,
    /// How often to look for changes. Some jitter is added to spread the load.
    #[schemars(extend("pattern" = schema::INTERVAL))]
    pub interval: GoDuration,
    /// Take only objects whose key begins with this text.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub prefix: Option<String>,
    /// Which service's way to authenticate to use.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "generic"))]
    pub provider: Option<BucketProvider>,
    /// A Secret with the proxy to use: `address` and, if needed, `username` and `password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_secret_ref: Option<LocalObjectReference>,
    /// Region of the bucket.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub region: Option<String>,
    /// A Secret with credentials: `accesskey` and `secretkey`, or what the provider calls for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// A ServiceAccount in the same namespace whose identity is used.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub service_account_name: Option<String>,
    /// Where to get short-lived credentials. For the providers generic and aws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sts: Option<BucketSts>,
    /// Leave the bucket alone until this is taken back.
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
}

string_enum! {
    /// Whose object store a bucket is in.
    pub enum BucketProvider {
        /// Any store that speaks S3, with the credentials of the Secret.
        Generic = "generic",
        /// AWS S3.
        Aws = "aws",
        /// Google Cloud Storage.
        Gcp = "gcp",
        /// Azure Blob Storage.
        Azure = "azure",
    }
}

/// A security token service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BucketSts {
    /// A Secret with `ca.crt`, or `tls.crt` and `tls.key`, or all three, for the connection to the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_secret_ref: Option<LocalObjectReference>,
    /// Address of the service.
    #[schemars(extend("pattern" = "^(http|https)://.*$"))]
    pub endpoint: String,
    /// What the service is.
    pub provider: StsProvider,
    /// A Secret with `username` and `password` for the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
}

string_enum! {
    /// Kind of a security token service.
    pub enum StsProvider {
        /// AWS.
        Aws = "aws",
        /// A service in front of an LDAP directory.
        Ldap = "ldap",
    }
}

/// What was observed of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BucketStatus {
    /// The artifact of the last state that could be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Artifact>,
    /// Conditions of the bucket.
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
    /// Address that always leads to the latest artifact.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub url: Option<String>,
}
