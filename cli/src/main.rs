//! `sluice`: the command line of the Sluice GitOps toolkit.

use std::process::ExitCode;

use clap::Parser as _;

mod arguments;
mod cluster;
mod command;
mod error;
mod kind;
mod manifests;
mod output;

#[tokio::main]
async fn main() -> ExitCode {
    // An error means that a provider stands already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = arguments::Arguments::parse();
    let console = output::Console::new();
    match command::run(arguments, &console).await {
        Ok(code) => code,
        Err(error) => {
            console.failure(&error);
            ExitCode::FAILURE
        }
    }
}
