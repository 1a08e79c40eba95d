//! The source-controller against a real API server and a real Git server.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod artifacts;
mod clouds;
mod failures;
mod hostile;
mod lifecycle;
mod process;
mod references;
mod signatures;
mod ssh;
mod support;
