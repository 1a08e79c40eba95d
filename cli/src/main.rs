//! `sluice`: the command line of the Sluice GitOps toolkit.

use std::process::ExitCode;

use tokio::runtime::Runtime;

use arguments::Arguments;
use error::CommandError;

mod arguments;
mod cluster;
mod command;
mod completion;
mod disk;
mod error;
mod kind;
mod local;
mod manifests;
mod output;
mod password;

fn main() -> ExitCode {
    completion::answer();
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => return told(&error),
    };
    let console = output::Console::new();
    let outcome = command::run_offline(&arguments, &console)
        .unwrap_or_else(|| prepare().and_then(|runtime| runtime.block_on(command::run(arguments, &console))));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            console.failure(&error);
            ExitCode::FAILURE
        }
    }
}

/// Sets up what a command runs on that talks to a cluster or a repository.
fn prepare() -> error::Result<Runtime> {
    // An error means that a provider stands already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Runtime::new()
        .map_err(|error| CommandError::new(format!("the threads of the program cannot start: {error}")))
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
