//! Controllers: the trait that a kind's reconciler implements, and the outer reconcile around it.
//!
//! The outer reconcile does for every kind what must always happen, whatever path a reconcile takes: it reads the object from the
//! overlaid store, adds the finalizer in a first step of its own, heeds suspension, runs the clean-up of deleted objects, writes
//! the final status (conditions, observed generation, answered request), records metrics, emits events, catches panics and plans
//! the next run.

mod builder;
mod conclusion;
mod context;
mod metadata;
mod outcome;
pub(crate) mod worker;

use async_trait::async_trait;

pub(crate) use builder::Run;
pub use builder::{Controller, ControllerBuilder, kind_of};
pub use conclusion::{Conclusion, Ending, Summary};
pub use context::Context;
pub use outcome::{Done, Finalized, Outcome, Waiting};

use crate::error::ReconcileError;
use crate::object::{Object, ObjectKey};

/// The reconciler of one kind.
///
/// An object is never reconciled twice at once; different objects are, up to the configured concurrency.
#[async_trait]
pub trait Reconciler: Send + Sync + 'static {
    /// The kind.
    type Object: Object;
    /// What a wait needs to go on; `()` for kinds that never wait.
    type Wait: Send + 'static;

    /// What the outer reconcile has to know of this kind.
    fn policy(&self) -> &Policy;

    /// Brings the world to what the object's spec wants, and the object's status (in `context.object`) to what the world is.
    ///
    /// # Errors
    /// Any failure, with its class, reason and message. The outer reconcile sets the conditions that follow from it.
    async fn reconcile(
        &self,
        context: &mut Context<Self::Object>,
    ) -> Result<Outcome<Self::Wait>, ReconcileError>;

    /// Goes on with a reconcile that waits: something it waits for changed, or its deadline has come
    /// ([`Context::causes`] tells). By default a new reconcile starts.
    ///
    /// # Errors
    /// As [`Reconciler::reconcile`].
    async fn resume(
        &self,
        context: &mut Context<Self::Object>,
        wait: Self::Wait,
    ) -> Result<Outcome<Self::Wait>, ReconcileError> {
        drop(wait);
        self.reconcile(context).await
    }

    /// Cleans up after an object that is being deleted; also for suspended ones.
    ///
    /// # Errors
    /// Any failure; the finalizer stays on and the clean-up runs again.
    async fn finalize(&self, context: &mut Context<Self::Object>) -> Result<Finalized, ReconcileError> {
        let _ = context;
        Ok(Finalized::Done)
    }

    /// The object is gone: drops what is kept in memory for it.
    fn forget(&self, key: &ObjectKey) {
        let _ = key;
    }
}

/// What the outer reconcile has to know of a kind.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The field manager of status and metadata patches (`source-controller`, `gotk-kustomize-controller`).
    pub field_manager: String,
    /// The finalizer; `None` for kinds that carry none.
    pub finalizer: Option<&'static str>,
    /// The condition types that belong to this controller. All others survive every status patch.
    pub owned_conditions: &'static [&'static str],
    /// How a reconcile's end becomes conditions.
    pub conclusion: Conclusion,
}
