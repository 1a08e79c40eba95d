//! The runtime against a real API server, with a small reconciler of GitRepositories that each test scripts.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
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
