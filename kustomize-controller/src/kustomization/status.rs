//! What the status says.

use std::time::Duration;

use sluice_api::conditions::READY;
use sluice_api::kustomize::{Kustomization, KustomizationStatus};
use sluice_api::meta::{self, GoDuration, HistoryEntry, InventoryEntry, Timestamp};
use sluice_api::reasons::PROGRESSING;
use sluice_apply::{Entry, IdError, Inventory};
use sluice_runtime::conditions;

use super::revision::Revision;

/// How many states the history keeps.
const HISTORY_LENGTH: usize = 5;

/// The status, made if it is missing.
pub(crate) fn of(object: &mut Kustomization) -> &mut KustomizationStatus {
    object.status.get_or_insert_default()
}

/// Says in Reconciling what is being done: `what for revision R with a timeout of T`. Ready is left alone, so
/// that a reconcile that changes nothing does not flicker.
pub(crate) fn note_progress(object: &mut Kustomization, what: &str, revision: &Revision, timeout: Duration) {
    let message = progress_message(what, revision, timeout);
    conditions::mark_reconciling(object, PROGRESSING, message);
}

/// `what for revision R with a timeout of T`.
pub(crate) fn progress_message(what: &str, revision: &Revision, timeout: Duration) -> String {
    format!(
        "{what} for revision {} with a timeout of {}",
        revision.name,
        GoDuration::from(timeout)
    )
}

/// Says in Ready that work has begun.
pub(crate) fn announce(object: &mut Kustomization) {
    conditions::mark_unknown(object, READY, PROGRESSING, "Reconciliation in progress");
}

/// The inventory of the status.
///
/// # Errors
/// An entry that is no object id.
pub(crate) fn inventory(object: &Kustomization) -> Result<Inventory, IdError> {
    let entries = object
        .status
        .as_ref()
        .and_then(|status| status.inventory.as_ref());
    entries
        .map(|inventory| inventory.entries.as_slice())
        .unwrap_or_default()
        .iter()
        .map(|entry| {
            Ok(Entry {
                id: entry.id.parse()?,
                version: entry.version.clone(),
            })
        })
        .collect()
}

/// The inventory as the status holds it.
pub(crate) fn inventory_field(inventory: &Inventory) -> meta::Inventory {
    let entry = |entry: &Entry| InventoryEntry {
        id: entry.id.to_string(),
        version: entry.version.clone(),
    };
    meta::Inventory {
        entries: inventory.entries().iter().map(entry).collect(),
    }
}

/// An attempt to apply a state, for the history.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// The digest of the manifests.
    pub(crate) digest: String,
    /// The revision they were built from.
    pub(crate) revision: Revision,
}

/// Records how an attempt ended: one entry for each digest and status, the newest first.
pub(crate) fn record(history: &mut Vec<HistoryEntry>, attempt: &Attempt, status: &str, duration: Duration) {
    let now = Timestamp::now();
    let known = history
        .iter()
        .position(|entry| entry.digest == attempt.digest && entry.last_reconciled_status == status);
    let mut entry = known.map_or_else(
        || HistoryEntry {
            digest: attempt.digest.clone(),
            first_reconciled: now.clone(),
            last_reconciled_status: status.to_owned(),
            ..HistoryEntry::default()
        },
        |position| history.remove(position),
    );
    entry.last_reconciled = now;
    entry.last_reconciled_duration = GoDuration::from(duration);
    entry.total_reconciliations += 1;
    entry.metadata = attempt.revision.history_metadata();
    history.insert(0, entry);
    history.truncate(HISTORY_LENGTH);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(digest: &str) -> Attempt {
        Attempt {
            digest: digest.into(),
            revision: Revision {
                name: "main@sha1:1".into(),
                origin: None,
            },
        }
    }

    /// KUS-069
    #[test]
    fn history_keeps_five_states_and_counts_repetitions() {
        let mut history = Vec::new();
        for digest in ["a", "b", "c", "d", "e", "f", "b", "b"] {
            record(
                &mut history,
                &attempt(digest),
                "ReconciliationSucceeded",
                Duration::from_millis(1500),
            );
        }
        let seen: Vec<(&str, i64)> = history
            .iter()
            .map(|entry| (entry.digest.as_str(), entry.total_reconciliations))
            .collect();
        assert_eq!(seen, [("b", 3), ("f", 1), ("e", 1), ("d", 1), ("c", 1)]);
        record(
            &mut history,
            &attempt("b"),
            "HealthCheckFailed",
            Duration::from_secs(1),
        );
        assert_eq!(history[0].total_reconciliations, 1);
        assert_eq!(history[1].last_reconciled_duration.as_str(), "1.5s");
        assert_eq!(history[1].metadata["revision"], "main@sha1:1");
        assert_eq!(history.len(), 5);
    }
}
