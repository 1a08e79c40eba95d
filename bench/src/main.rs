//! Measures sets of Flux-compatible controllers side by side on a control plane of their own: time until
//! everything is Ready, CPU time, memory, and requests to the API server. How to read and reproduce the figures
//! is described in `docs/benchmarks.md`.

mod arguments;
mod controllers;
mod error;
mod figures;
mod process_status;
mod readiness;
mod report;
mod run;
mod scenario;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Output};
use crate::error::Result;

#[tokio::main]
async fn main() -> ExitCode {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    // Leaving this way drops, and so ends, everything that was started.
    let outcome = tokio::select! {
        outcome = measure(&arguments) => outcome,
        _ = tokio::signal::ctrl_c() => Err(error::Error::Interrupted),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "sluice-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all scenarios and prints the report of each one as soon as it is complete.
async fn measure(arguments: &Arguments) -> Result<()> {
    for set in &arguments.controllers {
        set.check()?;
    }
    for scenario in arguments.scenarios() {
        let comparison = run::compare(&scenario, arguments).await?;
        let text = match arguments.output {
            Output::Table => report::table(&comparison),
            Output::Json => format!("{:#}\n", report::json(&comparison)),
        };
        let written = writeln!(std::io::stdout(), "{text}");
        written.map_err(error::Error::io("write to standard output"))?;
    }
    Ok(())
}
