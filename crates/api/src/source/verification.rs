//! Signatures of artifacts in registries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::string_enum;

string_enum! {
    /// A technology of signatures.
    pub enum SignatureProvider {
        /// Sigstore cosign.
        Cosign = "cosign",
        /// Notary notation.
        Notation = "notation",
    }
}

/// An identity that may have signed without a key of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcIdentityMatch {
    /// The issuer of the identity's token, as a regular expression.
    pub issuer: String,
    /// The subject of the identity's token, as a regular expression.
    pub subject: String,
}
