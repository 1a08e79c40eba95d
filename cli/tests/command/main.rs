//! Every command of the command line on a real API server, and what needs none.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod act;
mod delivery;
mod documentation;
mod bootstrap;
mod get;
mod helm;
mod kubelet;
mod lifecycle;
mod local;
mod logs;
mod manifests;
mod objects;
mod reading;
mod site;
mod remote_bases;
mod support;
