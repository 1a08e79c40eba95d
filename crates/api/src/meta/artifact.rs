//! What sources produce and other controllers consume.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::meta::Timestamp;
use crate::omit;

/// A file that a source controller made from one revision of a source, and where to fetch it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Checksum of the file's bytes as `<algorithm>:<hexadecimal>`, for instance `sha256:0f3a...`.
    #[schemars(extend("pattern" = r"^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$"))]
    pub digest: String,
    /// When the file was last written.
    pub last_update_time: Timestamp,
    /// Facts from upstream, such as the annotations of an OCI artifact.
    #[serde(
        default,
        deserialize_with = "omit::null",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub metadata: BTreeMap<String, String>,
    /// Where the file lies, relative to the root of the storage of the controller that made it.
    pub path: String,
    /// What the artifact was made from, in the words of the source: `main@sha1:<commit>` for a Git branch,
    /// the version of a chart, and so on.
    pub revision: String,
    /// Number of bytes in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// HTTP address at which the controller that made the artifact serves it.
    pub url: String,
}
