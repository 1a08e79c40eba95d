//! Events: each becomes a Kubernetes Event on the object and, unless it is only a trace, a JSON document posted to
//! notification-controller's address.
//!
//! Emitting never waits: events go through a bounded queue, and what does not fit is counted and dropped.

mod kubernetes;
mod recorder;
#[cfg(test)]
mod tests;
mod webhook;

use std::collections::BTreeMap;

pub(crate) use recorder::host_name;
pub use recorder::{Recorder, RecorderOptions, RecorderTasks};
pub use webhook::EventDocument;

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Of interest in the cluster only: a Normal Kubernetes Event, never posted.
    Trace,
    /// A Normal Kubernetes Event, posted with severity `info`.
    Info,
    /// A Warning Kubernetes Event, posted with severity `error`.
    Error,
}

/// An event to be emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// How grave it is.
    pub severity: Severity,
    /// Its CamelCase reason.
    pub reason: String,
    /// Its text. Posted texts are cut at 39,000 characters, those of Kubernetes Events at 1,024 bytes.
    pub message: String,
    /// Its metadata (annotations of the Kubernetes Event), such as `<group>/revision`.
    pub metadata: BTreeMap<String, String>,
}

impl Event {
    /// An event without metadata.
    pub fn new(severity: Severity, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity,
            reason: reason.into(),
            message: message.into(),
            metadata: BTreeMap::new(),
        }
    }

    /// An event of severity [`Severity::Trace`].
    pub fn trace(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Trace, reason, message)
    }

    /// An event of severity [`Severity::Info`].
    pub fn info(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Info, reason, message)
    }

    /// An event of severity [`Severity::Error`].
    pub fn error(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, reason, message)
    }

    /// Adds one entry of metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds entries of metadata.
    #[must_use]
    pub fn with_all_metadata(mut self, metadata: impl IntoIterator<Item = (String, String)>) -> Self {
        self.metadata.extend(metadata);
        self
    }
}
