//! kustomize-controller: the Kustomization kind of `kustomize.toolkit.fluxcd.io/v1`.
//!
//! A reconcile takes five steps, each in a file of its own: `dereference` reads what the object refers to,
//! `validate` checks the spec, `build` turns the artifact into objects, `apply` brings them to the cluster
//! (with `health` for the wait and `finalize` for the end), and `status` says how it went. `validate` and
//! `build` are pure.

#![expect(
    clippy::result_large_err,
    reason = "one error a reconcile, made once and moved twice"
)]

mod args;
mod controller;
mod drift;
mod kustomization;
mod metrics;
mod pending;
mod remote_bases;
mod settings;
mod sources;

use std::process::ExitCode;

pub use args::Args;

/// The name under which the controller applies objects, holds its lease and is known in events.
pub const NAME: &str = sluice_api::managers::KUSTOMIZE_CONTROLLER;

/// Parses the process's arguments and runs the controller until a signal.
#[must_use]
pub fn run() -> ExitCode {
    let args: Args = sluice_runtime::flags::parse(|command| command);
    sluice_runtime::launch(NAME, env!("CARGO_PKG_VERSION"), args.common.clone(), |manager| {
        controller::register(manager, args)
    })
}
