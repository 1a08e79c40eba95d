//! Every command of the command line on a real API server, and what needs none.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod act;
mod bootstrap;
mod completion;
mod delivery;
mod documentation;
mod get;
mod helm;
mod kubelet;
mod lifecycle;
mod local;
mod logs;
mod manifests;
mod objects;
mod reading;
mod remote_bases;
mod site;
mod ssh_keys;
mod support;
