//! The runtime against a real API server, with a small reconciler of GitRepositories that each test scripts.

mod conditions;
mod events;
mod harness;
mod lifecycle;
mod process;
mod queueing;
mod watching;
