//! Values from ConfigMaps and Secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{omit, string_enum};

/// A ConfigMap or Secret with values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValuesReference {
    /// Secret or ConfigMap.
    pub kind: ValuesReferenceKind,
    /// With `targetPath`: take the value as it is, without reading commas and brackets as structure.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub literal: bool,
    /// Name of the object, in the same namespace.
    #[schemars(extend("maxLength" = 253, "minLength" = 1))]
    pub name: String,
    /// Go on without the object, or without the key in it, if it does not exist.
    #[serde(default, skip_serializing_if = "omit::is_false")]
    pub optional: bool,
    /// Where to put the value, as a path with dots and indexes such as `a.b[0]`. The value is then one value and
    /// not a document, and it wins over inline values. When not given, the document is merged at the root.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 250, "pattern" = r"^([a-zA-Z0-9_\-.\\\/]|\[[0-9]{1,5}\])+$"))]
    pub target_path: Option<String>,
    /// Key of the values in the object; `values.yaml` when not given.
    #[serde(
        default,
        deserialize_with = "omit::empty_text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("maxLength" = 253, "pattern" = r"^[\-._a-zA-Z0-9]+$"))]
    pub values_key: Option<String>,
}

string_enum! {
    /// Kind of an object with values.
    pub enum ValuesReferenceKind {
        /// A Secret.
        Secret = "Secret",
        /// A ConfigMap.
        ConfigMap = "ConfigMap",
    }
}
