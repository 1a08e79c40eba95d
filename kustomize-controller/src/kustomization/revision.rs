//! One revision of a source on its way into the cluster.

use std::collections::BTreeMap;

use sluice_api::annotations::event;
use sluice_api::kustomize::GROUP;
use sluice_api::meta::Artifact;
use sluice_runtime::{Event, ReconcileError, Severity};

/// Where OCI artifacts name the revision that they were made from.
const ORIGIN_REVISION: &str = "org.opencontainers.image.revision";

/// The revision that a reconcile is about.
#[derive(Clone, Debug)]
pub(crate) struct Revision {
    /// The revision of the artifact.
    pub(crate) name: String,
    /// The revision at its origin, where the source knows it.
    pub(crate) origin: Option<String>,
}

impl Revision {
    /// The revision of an artifact.
    pub(crate) fn of(artifact: &Artifact) -> Self {
        let origin = artifact
            .metadata
            .get(ORIGIN_REVISION)
            .filter(|text| !text.is_empty())
            .cloned();
        Self {
            name: artifact.revision.clone(),
            origin,
        }
    }

    /// The metadata of events about it.
    pub(crate) fn event_metadata(&self) -> Vec<(String, String)> {
        event_metadata(Some(&self.name), self.origin.as_deref())
    }

    /// The metadata of its entries in the history.
    pub(crate) fn history_metadata(&self) -> BTreeMap<String, String> {
        let origin = self
            .origin
            .clone()
            .map(|origin| (event::ORIGIN_REVISION.to_owned(), origin));
        [(event::REVISION.to_owned(), self.name.clone())]
            .into_iter()
            .chain(origin)
            .collect()
    }

    /// An event about it.
    pub(crate) fn event(&self, severity: Severity, reason: &str, message: impl Into<String>) -> Event {
        Event::new(severity, reason, message).with_all_metadata(self.event_metadata())
    }

    /// The error with the revision in the metadata of its event.
    pub(crate) fn annotate(&self, mut error: ReconcileError) -> ReconcileError {
        error.metadata.extend(self.event_metadata());
        error
    }
}

/// The metadata of events about a revision, where there is one.
pub(crate) fn event_metadata(revision: Option<&str>, origin: Option<&str>) -> Vec<(String, String)> {
    let entry = |key: &str, value: Option<&str>| Some((format!("{GROUP}/{key}"), value?.to_owned()));
    [
        entry(event::REVISION, revision),
        entry(event::ORIGIN_REVISION, origin),
    ]
    .into_iter()
    .flatten()
    .collect()
}
