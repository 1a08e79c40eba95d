//! Receiver: a webhook that asks for reconciles.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::macros::{custom_resource, reconciled};
use crate::meta::{Condition, GoDuration, LocalObjectReference};
use crate::notification::{CATEGORIES, GROUP, ObjectKind};
use crate::resource::{Definition, PrinterColumn};
use crate::{omit, schema, string_enum};

custom_resource! {
    /// A webhook, and the objects that are reconciled when it is called.
    pub struct Receiver { spec: ReceiverSpec, status: ReceiverStatus }
    definition: Definition {
        group: GROUP,
        version: "v1",
        kind: "Receiver",
        plural: "receivers",
        singular: "receiver",
        short_names: &[],
        categories: CATEGORIES,
        columns: &[PrinterColumn::AGE, PrinterColumn::READY, PrinterColumn::STATUS],
        status_subresource: true,
        status_default: true,
        substitute_disabled: true,
    };
}

reconciled!(Receiver);

/// Who may call, and what is reconciled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    schema::rule(
        "self.type != 'generic-oidc' || (has(self.oidcProviders) && size(self.oidcProviders) > 0)",
        "generic-oidc receivers must define at least one oidcProvider",
    ),
    schema::rule(
        "self.type == 'generic-oidc' || !has(self.oidcProviders) || size(self.oidcProviders) == 0",
        "oidcProviders can only be set when type is generic-oidc",
    ),
    schema::rule(
        "self.type != 'generic-oidc' || !has(self.secretRef)",
        "secretRef cannot be set when type is generic-oidc",
    ),
    schema::rule(
        "self.type == 'generic-oidc' || has(self.secretRef)",
        "secretRef is required when type is not generic-oidc",
    ),
]))]
pub struct ReceiverSpec {
    /// Events of the sender to act on, such as `push`; all when not given.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub events: Vec<String>,
    /// How often to look at the Secret.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("default" = "10m", "pattern" = schema::INTERVAL))]
    pub interval: Option<GoDuration>,
    /// Issuers of tokens that callers identify themselves with. For the type generic-oidc.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["issuerURL"]))]
    pub oidc_providers: Vec<OidcProvider>,
    /// A CEL expression over `res` (the metadata of an object), `req` (the body of the call) and, for
    /// generic-oidc, `claims`, that tells whether the object is reconciled.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub resource_filter: Option<String>,
    /// Objects to reconcile.
    #[serde(deserialize_with = "omit::null")]
    pub resources: Vec<ReceiverResource>,
    /// A Secret with `token`, by which a call is checked; for the type gcr also with `email` and `audience`. For
    /// all types but generic-oidc.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<LocalObjectReference>,
    /// Refuse calls until this is taken back.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub suspend: bool,
    /// Who calls, and so how a call is checked and read.
    #[serde(rename = "type")]
    pub receiver_type: ReceiverType,
}

string_enum! {
    /// Who calls a webhook.
    pub enum ReceiverType {
        /// Anyone who knows the path.
        Generic = "generic",
        /// Anyone who can sign the body.
        GenericHmac = "generic-hmac",
        /// Anyone with a token of a trusted issuer.
        GenericOidc = "generic-oidc",
        /// GitHub.
        GitHub = "github",
        /// GitLab.
        GitLab = "gitlab",
        /// Bitbucket Server.
        Bitbucket = "bitbucket",
        /// Harbor.
        Harbor = "harbor",
        /// Docker Hub.
        DockerHub = "dockerhub",
        /// Quay.
        Quay = "quay",
        /// Google Container Registry.
        Gcr = "gcr",
        /// Nexus.
        Nexus = "nexus",
        /// Azure Container Registry.
        Acr = "acr",
        /// A sender of CDEvents.
        CdEvents = "cdevents",
    }
}

/// An issuer of tokens, and what its tokens must say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcProvider {
    /// Whom the token must be meant for; `notification-controller` when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub audience: Option<String>,
    /// Address of the issuer; it must equal the claim `iss` of the token.
    #[serde(rename = "issuerURL")]
    #[schemars(extend("pattern" = "^https?://"))]
    pub issuer_url: String,
    /// What must be true of the token's claims. Public issuers give tokens to anyone, so a good signature alone
    /// says nothing about who calls.
    #[schemars(extend("minItems" = 1))]
    pub validations: Vec<OidcValidation>,
    /// Names for parts of the validations, computed in this order.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub variables: Vec<OidcVariable>,
}

/// Something that must be true of a token's claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcValidation {
    /// A CEL expression over `claims` and `vars`.
    pub expression: String,
    /// What the caller is told when it is not true.
    pub message: String,
}

/// A name for the value of an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcVariable {
    /// A CEL expression over `claims` and the `vars` before it.
    pub expression: String,
    /// The name, used as `vars.<name>`.
    pub name: String,
}

/// One object or several to reconcile, in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverResource {
    /// API group and version of the objects.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub api_version: Option<String>,
    /// A CEL expression like that of the receiver; both must be true.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub filter: Option<String>,
    /// Kind of the objects.
    pub kind: ObjectKind,
    /// Labels that the objects must have with exactly these values. The name must then be `*`.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub match_labels: BTreeMap<String, String>,
    /// Name of the object, or `*` for all that have the labels.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
    /// Namespace of the objects. When not given, the namespace of the receiver.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub namespace: Option<String>,
}

/// What was observed of a receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReceiverStatus {
    /// Conditions of the receiver.
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
    /// Path of the webhook on the receiver's server.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub webhook_path: Option<String>,
}
