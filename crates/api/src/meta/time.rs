//! Points in time.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A point in time, written in UTC with whole seconds: `2026-05-01T12:00:00Z`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub Time);

impl Timestamp {
    /// The present, cut to whole seconds as it will be written.
    #[must_use]
    pub fn now() -> Self {
        Self::from(jiff::Timestamp::now())
    }

    /// The instant as the time library has it.
    #[must_use]
    pub fn instant(&self) -> jiff::Timestamp {
        self.0.0
    }
}

impl Default for Timestamp {
    /// The Unix epoch.
    fn default() -> Self {
        Self(Time(jiff::Timestamp::UNIX_EPOCH))
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(instant: jiff::Timestamp) -> Self {
        let seconds = instant.as_second();
        Self(Time(jiff::Timestamp::from_second(seconds).unwrap_or(instant)))
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self::from(time.0)
    }
}

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}
