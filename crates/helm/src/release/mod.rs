//! Release records: what Helm keeps of every revision of a release, in its own form.
//!
//! A record is JSON, packed into a Secret of the release's namespace ([`Release::to_secret`],
//! [`Release::from_secret`]). Records of ours are read by Helm, and Helm's by us; a record that was read is
//! written as Helm writes it, to the byte of its JSON.

mod chart;
mod hook;
mod json;
mod secret;
mod status;
mod time;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use chart::{StoredChart, StoredFile, StoredLock};
pub use hook::{HookExecution, ReleaseHook};
pub use secret::{
    MAX_RECORD_BYTES, RecordError, ReleaseSecret, SECRET_KEY, SECRET_TYPE, SYSTEM_LABELS, SecretChange,
    secret_name,
};
pub use status::Status;
pub use time::{Time, TimeError};

use crate::render::{Rendered, Target};
use crate::values::Values;

/// What is known of a revision beside its objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Info {
    /// When the first revision was deployed.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time::read_optional"
    )]
    pub first_deployed: Option<Time>,
    /// When this revision was deployed.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time::read_optional"
    )]
    pub last_deployed: Option<Time>,
    /// When the release was uninstalled.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time::read_optional"
    )]
    pub deleted: Option<Time>,
    /// What happened last, such as `Install complete`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The state.
    #[serde(skip_serializing_if = "Status::is_empty")]
    pub status: Status,
    /// The rendered `NOTES.txt`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notes: String,
}

/// How the objects of a revision were written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ApplyMethod {
    /// Nothing is said, as in records of Helm 3: as [`Self::Client`].
    #[default]
    Unset,
    /// Patches computed by the client, `csa`.
    Client,
    /// Server-side apply, `ssa`.
    Server,
    /// Something else.
    Other(String),
}

impl ApplyMethod {
    /// The method in the words of a record; empty for [`Self::Unset`].
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unset => "",
            Self::Client => "csa",
            Self::Server => "ssa",
            Self::Other(method) => method,
        }
    }

    fn is_unset(&self) -> bool {
        self.as_str().is_empty()
    }
}

impl From<String> for ApplyMethod {
    fn from(method: String) -> Self {
        match method.as_str() {
            "" => Self::Unset,
            "csa" => Self::Client,
            "ssa" => Self::Server,
            _ => Self::Other(method),
        }
    }
}

impl From<ApplyMethod> for String {
    fn from(method: ApplyMethod) -> Self {
        method.as_str().to_owned()
    }
}

/// A revision of a release. Printing it for debugging shows neither values nor manifests: both hold secrets.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Release {
    /// The release's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// State and times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Info>,
    /// The chart, without the charts inside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chart: Option<StoredChart>,
    /// The user's values.
    #[serde(
        skip_serializing_if = "chart::is_blank",
        deserialize_with = "chart::read_values"
    )]
    pub config: Option<Values>,
    /// The rendered objects, each with its source.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manifest: String,
    /// The hooks.
    #[serde(skip_serializing_if = "hook::are_absent")]
    pub hooks: Option<Vec<ReleaseHook>>,
    /// The revision, counted from 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub version: i64,
    /// The namespace of the release.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The labels of the Secret, Helm's own among them. They are no part of the record.
    #[serde(skip)]
    pub labels: BTreeMap<String, String>,
    /// How the objects were written.
    #[serde(skip_serializing_if = "ApplyMethod::is_unset")]
    pub apply_method: ApplyMethod,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl fmt::Debug for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Release")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("version", &self.version)
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl Release {
    /// The record of what was rendered, before anything is done with it.
    ///
    /// First and last deployment are `now`; the state is `unknown` until the caller sets another one.
    pub fn new(rendered: &Rendered, config: &Values, target: &Target, now: Time) -> Self {
        Self {
            name: target.name.clone(),
            info: Some(Info {
                first_deployed: Some(now),
                last_deployed: Some(now),
                status: Status::Unknown,
                notes: rendered.notes.clone(),
                ..Info::default()
            }),
            chart: Some(StoredChart::from(&rendered.chart)),
            config: Some(config.clone()),
            manifest: rendered.manifest(false),
            hooks: Some(rendered.hooks.iter().map(ReleaseHook::from).collect()),
            version: target.revision,
            namespace: target.namespace.clone(),
            labels: BTreeMap::new(),
            apply_method: ApplyMethod::Unset,
        }
    }

    /// The state; `unknown` if the record has none.
    pub fn status(&self) -> Status {
        self.info
            .as_ref()
            .map_or(Status::Unknown, |info| info.status.clone())
    }

    /// Sets the state and what led to it.
    pub fn set_status(&mut self, status: Status, description: impl Into<String>) {
        let info = self.info.get_or_insert_default();
        info.status = status;
        info.description = description.into();
    }

    /// The record as the JSON that Helm writes.
    ///
    /// # Errors
    /// If a value has no form in JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, RecordError> {
        json::to_vec(self).map_err(RecordError::Json)
    }
}
