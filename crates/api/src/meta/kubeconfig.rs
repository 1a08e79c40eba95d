//! How to reach another cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::LocalObjectReference;
use crate::omit;
use crate::schema::rule;

/// What both rules of a kubeconfig reference answer.
const EXACTLY_ONE: &str =
    "exactly one of spec.kubeConfig.configMapRef or spec.kubeConfig.secretRef must be specified";

/// Where the access to a remote cluster is described: exactly one of a ConfigMap and a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    rule("has(self.configMapRef) || has(self.secretRef)", EXACTLY_ONE),
    rule("!has(self.configMapRef) || !has(self.secretRef)", EXACTLY_ONE),
]))]
pub struct KubeConfigReference {
    /// A ConfigMap with `provider` (aws, azure, gcp or generic) and, depending on it, `cluster`, `address`,
    /// `ca.crt`, `audiences` and `serviceAccountName`: access with an identity instead of a stored secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<LocalObjectReference>,
    /// A Secret that holds a kubeconfig. Executables that it names are not run, files that it names are not
    /// read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretKeyReference>,
}

/// A Secret in the same namespace, and which of its values is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyReference {
    /// Key of the value. When not given, `value`, and then `value.yaml`, is read.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub key: Option<String>,
    /// Name of the Secret.
    pub name: String,
}
