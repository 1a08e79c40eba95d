//! Every command of the command line on a real API server, and what needs none.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod act;
mod get;
mod helm;
mod lifecycle;
mod local;
mod objects;
mod support;
