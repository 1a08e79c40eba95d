//! The toolkit as a whole on a real control plane: the programs as they are deployed, Git repositories,
//! commits, and what the cluster looks like afterwards.
//!
//! The programs are the ones beside this test's own build (`cargo build -p source-controller
//! -p kustomize-controller -p sluice`). `RUST_LOG` and the like are not needed to see why a test failed: the
//! last lines of every controller's log are printed with it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail by panicking and say what they measured"
)]

mod bad_inputs;
mod bootstrap;
mod chain;
mod delayed_watch;
mod documentation;
mod failed_apply;
mod faults;
mod hardening;
mod kills;
mod requests;
mod support;
