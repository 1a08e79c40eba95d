//! The runtime against a real API server, with a small reconciler of GitRepositories that each test scripts.

#![expect(
    clippy::panic,
    clippy::result_large_err,
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking, and pass on what reconciles return"
)]

mod conditions;
mod events;
mod faults;
mod harness;
mod leadership;
mod lifecycle;
mod process;
mod queueing;
mod watching;
