//! The Secrets that hold records.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::{Release, Time};

/// The type of the Secrets.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";

/// The key under which the record stands in a Secret.
pub const SECRET_KEY: &str = "release";

/// The labels that Helm sets itself, and no user may.
pub const SYSTEM_LABELS: [&str; 6] = ["name", "owner", "status", "version", "createdAt", "modifiedAt"];

/// How many bytes of JSON a record may have: 128 MiB. A Secret holds 1 MiB of it, packed.
pub const MAX_RECORD_BYTES: u64 = 128 << 20;

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The text in the Secret is not base64.
    #[error("the release record is not base64: {0}")]
    Base64(#[source] base64::DecodeError),
    /// The record cannot be unpacked.
    #[error("the release record cannot be unpacked: {0}")]
    Gzip(#[source] std::io::Error),
    /// The record is larger than what is taken.
    #[error("the release record has more than {0} bytes")]
    TooLarge(u64),
    /// The record is no JSON, or of another shape.
    #[error("the release record cannot be read: {0}")]
    Json(#[source] serde_json::Error),
}

/// The name of the Secret of a revision.
pub fn secret_name(release: &str, version: i64) -> String {
    format!("sh.helm.release.v1.{release}.v{version}")
}

/// How a Secret comes to be written: its labels tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SecretChange {
    /// It is new.
    Created(Time),
    /// It replaces what is there.
    Modified(Time),
}

/// A Secret that holds a record; its type is [`SECRET_TYPE`]. Printing it does not show the record.
#[derive(Clone, PartialEq, Eq)]
pub struct ReleaseSecret {
    /// The name.
    pub name: String,
    /// The namespace of the release; where the Secret goes may be decided otherwise.
    pub namespace: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The text under [`SECRET_KEY`], before the base64 that all Secrets have.
    pub record: String,
}

impl fmt::Debug for ReleaseSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReleaseSecret")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("labels", &self.labels)
            .finish_non_exhaustive()
    }
}

impl Release {
    /// The name of its Secret.
    pub fn secret_name(&self) -> String {
        secret_name(&self.name, self.version)
    }

    /// The Secret that keeps the record. The same record gives the same text.
    ///
    /// # Errors
    /// If the record cannot be written as JSON.
    pub fn to_secret(&self, change: SecretChange) -> Result<ReleaseSecret, RecordError> {
        let mut labels = self.labels.clone();
        // What Helm replaces goes: an update loses the label of the creation.
        labels.retain(|name, _| !SYSTEM_LABELS.contains(&name.as_str()));
        let (label, time) = match change {
            SecretChange::Created(time) => ("createdAt", time),
            SecretChange::Modified(time) => ("modifiedAt", time),
        };
        for (name, value) in [
            (label, time.unix_seconds().to_string()),
            ("name", self.name.clone()),
            ("owner", "helm".to_owned()),
            ("status", self.status().to_string()),
            ("version", self.version.to_string()),
        ] {
            labels.insert(name.to_owned(), value);
        }
        Ok(ReleaseSecret {
            name: self.secret_name(),
            namespace: self.namespace.clone(),
            labels,
            record: pack(&self.to_json()?)?,
        })
    }

    /// Reads the record of a Secret: the text under [`SECRET_KEY`] without the base64 that all Secrets have,
    /// and the labels.
    ///
    /// # Errors
    /// If the text is no record, or unpacks to more than [`MAX_RECORD_BYTES`].
    pub fn from_secret(record: &[u8], labels: BTreeMap<String, String>) -> Result<Self, RecordError> {
        let json = unpack(record)?;
        let mut release: Self = serde_json::from_slice(&json).map_err(RecordError::Json)?;
        release.labels = labels;
        Ok(release)
    }
}

fn pack(json: &[u8]) -> Result<String, RecordError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(json).map_err(RecordError::Gzip)?;
    Ok(STANDARD.encode(encoder.finish().map_err(RecordError::Gzip)?))
}

/// Very old records are not packed.
fn unpack(record: &[u8]) -> Result<Vec<u8>, RecordError> {
    const GZIP: &[u8] = b"\x1F\x8B\x08";
    let plain: Vec<u8> = record
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    let bytes = STANDARD.decode(plain).map_err(RecordError::Base64)?;
    if bytes.len() <= GZIP.len() || !bytes.starts_with(GZIP) {
        return Ok(bytes);
    }
    let mut json = Vec::new();
    let mut unpacked = MultiGzDecoder::new(&*bytes).take(MAX_RECORD_BYTES + 1);
    unpacked.read_to_end(&mut json).map_err(RecordError::Gzip)?;
    if json.len() as u64 > MAX_RECORD_BYTES {
        return Err(RecordError::TooLarge(MAX_RECORD_BYTES));
    }
    Ok(json)
}
