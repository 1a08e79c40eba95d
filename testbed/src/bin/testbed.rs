//! Runs a command against a control plane that lives as long as the command.
//!
//! `testbed run -- COMMAND...` starts a control plane, installs the custom resource definitions of
//! `config/crd`, sets `SLUICE_TESTBED` and `KUBECONFIG`, runs the command, ends everything, and exits with
//! the command's code. With it, one control plane serves all the test binaries of a `cargo test`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sluice_testbed::control_plane::{ControlPlane, TESTBED_VARIABLE};
use sluice_testbed::{Error, Result, tools};

#[derive(Parser)]
#[command(about = "Runs commands against a local Kubernetes control plane")]
struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start a control plane, run a command with SLUICE_TESTBED and KUBECONFIG set, end everything
    Run {
        /// Custom resource definitions to install first [default: config/crd of the workspace, if there]
        #[arg(long, value_name = "DIRECTORY")]
        crds: Option<PathBuf>,
        /// The command and its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<String>,
    },
}

fn main() -> ExitCode {
    let Action::Run { crds, command } = Arguments::parse().command;
    match run(crds, &command) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "testbed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(crds: Option<PathBuf>, command: &[String]) -> Result<ExitCode> {
    let plane = ControlPlane::start()?;
    let default = tools::workspace().join("config/crd");
    if let Some(directory) = crds.or_else(|| default.is_dir().then_some(default)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("make a tokio runtime"))?;
        runtime.block_on(plane.apply_crds(&directory))?;
    }
    let program = PathBuf::from(&command[0]);
    // The wrapper ends the command when this process is killed; the control plane notices by itself.
    let mut wrapped = std::process::Command::new(tools::tool("control-plane")?)
        .args(["exec", "--"])
        .args(command)
        .env(TESTBED_VARIABLE, &plane.state().dir)
        .env("KUBECONFIG", plane.kubeconfig())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .map_err(|source| Error::Start {
            program: program.clone(),
            source,
        })?;
    // Child::wait would close the input, which is how the wrapper is told to end the command.
    let input = wrapped.stdin.take();
    let status = wrapped
        .wait()
        .map_err(Error::io(format!("wait for {}", program.display())))?;
    drop(input);
    plane.stop()?;
    // The wrapper exits with 128 plus the signal's number where a signal ended the command.
    Ok(ExitCode::from(
        status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .unwrap_or(1),
    ))
}
