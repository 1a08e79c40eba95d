//! What every controller shares: the client, watches and stores, the queue, the outer reconcile, status patches, conditions, events,
//! logs, metrics, health endpoints, flags and the graceful end.

pub mod client;
pub mod conditions;
pub mod controller;
pub mod error;
pub mod events;
pub mod flags;
mod jitter;
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
pub use manager::{Manager, launch};
pub use object::{Object, ObjectKey, Reference};
pub use queue::{Cause, Causes};
pub use store::Store;
