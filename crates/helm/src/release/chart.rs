//! Charts in records.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::time::{self, Time};
use crate::chart::{Chart, Dependency, File, Metadata};
use crate::values::{Values, with_go_numbers};

/// A chart as records hold it: without the charts inside it.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredChart {
    /// What `Chart.yaml` says, after dependencies were processed.
    pub metadata: Option<Metadata>,
    /// What `Chart.lock` says.
    pub lock: Option<StoredLock>,
    /// The templates.
    pub templates: Option<Vec<StoredFile>>,
    /// The default values.
    #[serde(deserialize_with = "read_values")]
    pub values: Option<Values>,
    /// The contents of `values.schema.json`.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    pub schema: Option<Bytes>,
    /// When the schema was last changed.
    #[serde(
        rename = "schemamodtime",
        serialize_with = "time::write_always",
        deserialize_with = "time::read_optional"
    )]
    pub schema_modified: Option<Time>,
    /// The other files.
    pub files: Option<Vec<StoredFile>>,
    /// When `Chart.yaml` was last changed.
    #[serde(
        rename = "modtime",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time::read_optional"
    )]
    pub modified: Option<Time>,
}

/// The contents of `Chart.lock`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredLock {
    /// When it was made.
    #[serde(
        serialize_with = "time::write_always",
        deserialize_with = "time::read_optional"
    )]
    pub generated: Option<Time>,
    /// The digest of the dependencies that it answers.
    pub digest: String,
    /// The dependencies, each with one version.
    pub dependencies: Option<Vec<Dependency>>,
}

/// A file of a chart.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredFile {
    /// The path below the chart.
    pub name: String,
    /// The contents.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    pub data: Option<Bytes>,
    /// When it was last changed.
    #[serde(
        rename = "modtime",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time::read_optional"
    )]
    pub modified: Option<Time>,
}

impl std::fmt::Debug for StoredChart {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StoredChart")
            .field("metadata", &self.metadata)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for StoredFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StoredFile")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Whether there are no values, or none in them.
pub(super) fn is_blank(values: &Option<Values>) -> bool {
    values.as_ref().is_none_or(Values::is_empty)
}

/// Values that may be null. Go reads all numbers as floats.
pub(super) fn read_values<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Values>, D::Error> {
    let values = Option::<Values>::deserialize(deserializer)?;
    Ok(values.map(with_go_numbers))
}

fn write_bytes<S: Serializer>(bytes: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
    match bytes {
        Some(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
        None => serializer.serialize_none(),
    }
}

fn read_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
    Ok(Some(bytes.into()))
}

fn from_seconds(seconds: Option<i64>) -> Option<Time> {
    seconds.and_then(|seconds| Time::from_unix(seconds, 0))
}

impl From<&File> for StoredFile {
    fn from(file: &File) -> Self {
        Self {
            name: file.name.clone(),
            data: Some(file.data.clone()),
            modified: from_seconds(file.modified),
        }
    }
}

impl From<&StoredFile> for File {
    fn from(file: &StoredFile) -> Self {
        Self {
            name: file.name.clone(),
            data: file.data.clone().unwrap_or_default(),
            modified: file.modified.map(|time| time.unix_seconds()),
        }
    }
}

impl From<&Chart> for StoredChart {
    fn from(chart: &Chart) -> Self {
        let files = |files: &[File]| {
            let files: Vec<StoredFile> = files.iter().map(StoredFile::from).collect();
            Some(files).filter(|files| !files.is_empty())
        };
        // The lock was made by our own reader.
        let lock = chart.lock.clone().map(serde_json::from_value);
        Self {
            metadata: Some(chart.metadata.clone()),
            lock: lock.and_then(Result::ok),
            templates: files(&chart.templates),
            values: chart.values.as_deref().cloned(),
            schema: chart.schema.clone(),
            schema_modified: from_seconds(chart.schema_modified),
            files: files(&chart.files),
            modified: from_seconds(chart.modified),
        }
    }
}
