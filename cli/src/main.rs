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
    let arguments = match arguments::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return told(&error),
    };
    let console = output::Console::new();
    match command::run(arguments, &console).await {
        Ok(code) => code,
        Err(error) => {
            console.failure(&error);
            ExitCode::FAILURE
        }
    }
}

/// Prints help to standard output and a wrong use to standard error. Every failure exits with 1, as `flux` does;
/// what parses arguments would exit with 2, which commands keep for their own meaning.
fn told(error: &clap::Error) -> ExitCode {
    // Nobody is left to hear that the terminal is gone.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
