//! What every controller shares: the client, watches and stores, the queue, the outer reconcile, status patches,
//! conditions, events, logs, metrics, health endpoints, flags and the graceful end.
//!
//! # How to write a controller
//!
//! Implement [`Reconciler`] for a type that holds what the kind needs (clients, stores of other kinds, caches):
//!
//! * [`Reconciler::policy`]: field manager, finalizer, owned conditions, and the rule by which a reconcile's end
//!   becomes conditions ([`Conclusion`]): [`Conclusion::ReadyDriven`] as in kustomize-controller, or
//!   [`Conclusion::Summarized`] as in source-controller.
//! * [`Reconciler::reconcile`]: works on `context.object`'s status with the helpers of [`conditions`], reports with
//!   [`Context::emit`], announces progress with [`Context::patch_status`] (only where Flux does: each call is a
//!   request if something differs), and returns an [`Outcome`] or a [`ReconcileError`].
//! * [`Reconciler::finalize`]: cleans up after a deleted object.
//!
//! ```no_run
//! # use std::time::Duration;
//! # use sluice_api::{conditions::READY, finalizers::FINALIZER, managers, reasons, source::GitRepository};
//! # use sluice_runtime::*;
//! struct Repositories {
//!     policy: Policy,
//! }
//!
//! #[async_trait::async_trait]
//! impl Reconciler for Repositories {
//!     type Object = GitRepository;
//!     type Wait = ();
//!
//!     fn policy(&self) -> &Policy {
//!         &self.policy
//!     }
//!
//!     async fn reconcile(&self, context: &mut Context<GitRepository>) -> Result<Outcome<()>, ReconcileError> {
//!         conditions::mark_progress(&mut context.object, false, reasons::PROGRESSING, "reconciliation in progress");
//!         if context.is_new_generation() || context.is_requested() {
//!             context.patch_status().await?;
//!         }
//!         // dereference, validate, build, apply ...
//!         conditions::mark_true(&mut context.object, READY, reasons::SUCCEEDED, "stored artifact");
//!         Ok(Outcome::done(Duration::from_secs(60)))
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     # #[derive(clap::Parser)] struct Arguments { #[command(flatten)] common: CommonArgs }
//!     let arguments: Arguments = flags::parse(|command| command.mut_arg("concurrent", |arg| arg.default_value("2")));
//!     launch("source-controller", env!("CARGO_PKG_VERSION"), arguments.common, async |mut manager: Manager| {
//!         let policy = Policy {
//!             field_manager: managers::SOURCE_CONTROLLER.to_owned(),
//!             finalizer: Some(FINALIZER),
//!             owned_conditions: &[READY],
//!             conclusion: Conclusion::ReadyDriven,
//!         };
//!         manager.controller(Repositories { policy }).register();
//!         Ok(manager)
//!     })
//! }
//! ```
//!
//! ## What the outer reconcile does, so that a reconciler does not
//!
//! Reading the object from the overlaid [`store`]; adding the finalizer in a step of its own and taking it off;
//! suspension; `status.lastHandledReconcileAt` and `status.observedGeneration` in the final patch; `Ready`,
//! `Stalled` and `ProgressingWithRetry` after an error; the error's log line and event; the duration metric;
//! jitter; back-off; catching panics. Work that panics or fails is tried again after the object's back-off.
//!
//! ## Errors
//!
//! The [`Class`] decides what follows: [`ReconcileError::stalled`] (wait for a change), [`ReconcileError::backoff`],
//! [`ReconcileError::retry_after`] (a retry interval, no back-off), [`ReconcileError::waiting`] (something is not
//! ready yet; no failure, no event). With a summarised Ready name the failing condition with
//! [`ReconcileError::with_condition`].
//!
//! ## Waiting
//!
//! A wait is state: return [`Outcome::Waiting`] with a deadline (the next poll, or the end) and what
//! [`Reconciler::resume`] needs to go on. The slot is free meanwhile. The wait is re-entered at the deadline or when
//! one of its causes rings; it is dropped for a new reconcile when generation or reconcile request change, and on
//! suspension and deletion. Changes of sources, dependencies and configuration that do not end the wait are kept and
//! start a new reconcile after it. An event while the reconciler runs is never lost: it runs again.
//!
//! ## Being woken
//!
//! Declare what an object refers to with [`references`](controller::ControllerBuilder::references), and which changes
//! of which kinds matter with [`wakes`](controller::ControllerBuilder::wakes) over a store from [`Manager::watch`],
//! [`Manager::watch_referenced`] or [`Manager::watch_metadata`]. The object's own kind works too (for `dependsOn`).
//! Own wake-ups go through the [`queue`](controller::Controller::queue) that
//! [`register`](controller::ControllerBuilder::register) returns, with the [`Cause`] of the ring.
//!
//! ## Acting for tenants
//!
//! [`client::impersonating`] gives a view of a client that acts as another identity over the same connections.
//!
//! ## One leader
//!
//! With `--enable-leader-election` controllers and services start once the [`lease`] is held; watches fill their stores
//! before, so that a change of leaders is quick. A process that loses the lease writes nothing more and ends.
//!
//! # Not here yet
//!
//! Watches of managed objects by owner label: they are to use [`watch::watch_metadata`] with a store per client and kind.

pub mod client;
pub mod conditions;
pub mod controller;
pub mod error;
pub mod events;
pub mod flags;
mod jitter;
pub mod lease;
pub mod manager;
pub mod object;
pub mod queue;
pub mod server;
pub mod shutdown;
pub mod status;
pub mod store;
pub mod telemetry;
pub mod watch;

pub use controller::{Conclusion, Context, Done, Finalized, Outcome, Policy, Reconciler, Summary, Waiting};
pub use error::{Class, ReconcileError, RuntimeError};
pub use events::{Event, Severity};
pub use flags::CommonArgs;
pub use jitter::Jitter;
pub use manager::{ENDING_TIME, Manager, launch};
pub use object::{Object, ObjectKey, Reference};
pub use queue::{Cause, Causes};
pub use store::Store;
