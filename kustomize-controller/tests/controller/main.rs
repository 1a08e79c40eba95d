//! The controller against a real API server. The source of the artifacts is played by the tests: a file
//! server, and GitRepository objects whose status they write.
#![allow(clippy::unwrap_used, clippy::panic)]

mod applying;
mod bad_inputs;
mod building;
mod cancelling;
mod deletion;
mod dependencies;
mod drift;
mod expressions;
mod flags;
mod harness;
mod health;
mod pruning;
mod remote;
mod remote_bases;
mod reports;
mod requests;
mod server;
mod sources;
mod tenants;
