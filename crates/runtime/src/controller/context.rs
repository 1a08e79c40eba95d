//! What a running reconcile has in hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::ReconcileError;
use crate::events::{Event, Recorder};
use crate::object::{self, Object, ObjectKey};
use crate::queue::Causes;
use crate::status::StatusWriter;

/// One reconcile of one object: the object with its working status, and the means to report.
///
/// Change `object`'s status freely; it is written by [`Context::patch_status`] and at the end. Changes of anything else in it are
/// never written.
#[derive(Debug)]
pub struct Context<K: Object> {
    /// The object as it was when the reconcile began, with the status that the reconcile works on.
    pub object: K,
    pub(crate) base: Arc<K>,
    pub(crate) key: ObjectKey,
    pub(crate) id: String,
    pub(crate) started: Instant,
    pub(crate) causes: Causes,
    pub(crate) deferred: Causes,
    pub(crate) failures: u32,
    pub(crate) shutdown: CancellationToken,
    pub(crate) writer: StatusWriter<K>,
    pub(crate) recorder: Recorder,
}

impl<K: Object> Context<K> {
    /// Namespace and name of the object.
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The identity of this reconcile in the log.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When the reconcile began, waits included.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Why it runs. After a wait: why it goes on.
    pub fn causes(&self) -> Causes {
        self.causes
    }

    /// How many reconciles of this object have failed in a row before this one.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The object as the API server last returned it in this reconcile.
    pub fn stored(&self) -> &K {
        &self.base
    }

    /// The reconcile request of the object, if it has one.
    pub fn requested_at(&self) -> Option<&str> {
        object::requested_at(&self.object)
    }

    /// Whether the object carries a reconcile request that no finished reconcile has answered yet.
    pub fn is_requested(&self) -> bool {
        self.requested_at()
            .is_some_and(|value| self.object.last_handled_reconcile_at() != Some(value))
    }

    /// Whether the spec has changed since it was last observed.
    pub fn is_new_generation(&self) -> bool {
        self.object.observed_generation() != self.object.meta().generation
    }

    /// Cancelled when the process is told to stop: long work should end soon, leaving nothing half done.
    pub fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// Emits an event on the object at once, with the object's own event annotations added to its metadata.
    pub fn emit(&self, event: Event) {
        self.recorder.emit(&self.object, event);
    }

    /// Emits an event with metadata.
    pub fn emit_with(&self, event: Event, metadata: BTreeMap<String, String>) {
        self.recorder
            .emit(&self.object, event.with_all_metadata(metadata));
    }

    /// Writes the working status now, in the middle of a reconcile: only what differs from the stored one, foreign conditions
    /// kept, conflicts resolved. Does nothing where nothing differs.
    ///
    /// # Errors
    /// A [`Class::Backoff`](crate::error::Class::Backoff) error if the API server refuses or cannot be reached.
    pub async fn patch_status(&mut self) -> Result<(), ReconcileError> {
        let patched = self
            .writer
            .patch(&self.base, &self.object)
            .await
            .map_err(|error| {
                ReconcileError::backoff(
                    "PatchOperationFailed",
                    format!("failed to update status: {error}"),
                )
                .without_event()
                .with_source(error)
            })?;
        if let Some(patched) = patched {
            self.adopt(patched);
        }
        Ok(())
    }

    /// Takes over what the API server returned: its version and the conditions of others. The spec stays as it was when the
    /// reconcile began.
    pub(crate) fn adopt(&mut self, patched: Arc<K>) {
        self.object
            .meta_mut()
            .resource_version
            .clone_from(&patched.meta().resource_version);
        *self.object.conditions_mut() = patched.conditions().to_vec();
        self.base = patched;
    }
}
