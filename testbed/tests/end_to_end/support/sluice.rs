//! Running the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sluice_testbed::process::{End, Process, Program};

use super::{LIMIT, program};

/// The command line against one cluster.
pub(crate) struct Sluice {
    kubeconfig: PathBuf,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code.
    pub(crate) code: i32,
    /// What it wrote, standard output and standard error together.
    pub(crate) output: String,
}

impl Sluice {
    /// With that kubeconfig.
    pub(crate) fn new(kubeconfig: &Path) -> Self {
        Self {
            kubeconfig: kubeconfig.to_owned(),
        }
    }

    /// Starts a command.
    pub(crate) fn start<Argument: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = Argument>,
    ) -> Process {
        Program::new(program("sluice"))
            .arguments(arguments)
            .environment("KUBECONFIG", &self.kubeconfig)
            .start()
            .unwrap()
    }

    /// Waits for the end of a command.
    pub(crate) fn finish(mut process: Process) -> Ended {
        let end = process
            .wait(3 * LIMIT)
            .unwrap_or_else(|error| panic!("{error}; it wrote:\n{}", process.log()));
        match end {
            End::Code(code) => Ended {
                code,
                output: process.log(),
            },
            End::Signal(signal) => panic!("ended by signal {signal}; it wrote:\n{}", process.log()),
        }
    }

    /// Runs a command and gives its output; it must succeed.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let ended = self.attempt(arguments);
        assert_eq!(ended.code, 0, "sluice {arguments:?} wrote:\n{}", ended.output);
        ended.output
    }

    /// Runs a command that may fail.
    pub(crate) fn attempt(&self, arguments: &[&str]) -> Ended {
        Self::finish(self.start(arguments.iter().copied()))
    }
}
