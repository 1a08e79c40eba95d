//! Sets of controllers, and one of them at work.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sluice_testbed::process::{Process, Program, free_port};

use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::figures::Role;
use crate::scenario::NAMESPACE;

/// How long a controller may take until it is ready for work.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// A directory that holds the controllers, and how it is called in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControllerSet {
    /// Its name in the report.
    pub(crate) label: String,
    /// The directory.
    pub(crate) directory: PathBuf,
}

impl FromStr for ControllerSet {
    type Err = Infallible;

    /// Reads `LABEL=DIR` or `DIR`, which is then its own label.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let (label, directory) = text.split_once('=').unwrap_or((text, text));
        Ok(Self {
            label: label.to_owned(),
            directory: directory.into(),
        })
    }
}

impl ControllerSet {
    /// Fails if one of the programs is not there.
    pub(crate) fn check(&self) -> Result<()> {
        let missing = Role::ALL
            .iter()
            .map(|role| self.file(*role))
            .find(|file| !file.is_file());
        missing.map_or(Ok(()), |path| Err(Error::NoController { path }))
    }

    fn file(&self, role: Role) -> PathBuf {
        self.directory.join(role.program())
    }
}

/// Both controllers of a set as processes. Dropping them ends them.
#[derive(Debug)]
pub(crate) struct Running {
    label: String,
    processes: [(Role, Process); 2],
}

impl Running {
    /// Starts both and waits until they are ready. They keep everything below `directory`.
    pub(crate) fn start(
        set: &ControllerSet,
        kubeconfig: &Path,
        directory: &Path,
        run: &str,
        arguments: &Arguments,
    ) -> Result<Self> {
        let artifacts = format!("127.0.0.1:{}", free_port()?);
        let storage = directory.join("artifacts");
        std::fs::create_dir_all(&storage).map_err(Error::io(format!("create {}", storage.display())))?;
        let start = |role: Role| -> Result<(Role, Process)> {
            let metrics = free_port()?;
            let health = free_port()?;
            let temporary = directory.join(role.program());
            std::fs::create_dir_all(&temporary)
                .map_err(Error::io(format!("create {}", temporary.display())))?;
            let log = match &arguments.logs {
                Some(logs) => {
                    std::fs::create_dir_all(logs).map_err(Error::io(format!("create {}", logs.display())))?;
                    logs.join(format!("{}-{run}-{}.log", file_name(&set.label), role.program()))
                }
                None => temporary.join("output.log"),
            };
            let program = Program::new(set.file(role))
                .arguments(flags(role, metrics, health, &artifacts, directory, arguments))
                .arguments(&arguments.controller_argument)
                .environment("KUBECONFIG", kubeconfig)
                .environment("RUNTIME_NAMESPACE", NAMESPACE)
                .environment("TMPDIR", temporary)
                .log(log);
            let mut process = program.start()?;
            process.wait_for_http(&format!("http://127.0.0.1:{health}/readyz"), START_TIMEOUT)?;
            Ok((role, process))
        };
        let [source, kustomize] = Role::ALL;
        Ok(Self {
            label: set.label.clone(),
            processes: [start(source)?, start(kustomize)?],
        })
    }

    /// The process id of each controller. Fails if one has ended.
    pub(crate) fn pids(&mut self) -> Result<[(Role, u32); 2]> {
        for (role, process) in &mut self.processes {
            if !process.is_running() {
                let log = process.log();
                let lines = log.lines().collect::<Vec<_>>();
                let log = lines[lines.len().saturating_sub(30)..].join("\n");
                return Err(Error::Ended {
                    name: role.program(),
                    label: self.label.clone(),
                    log,
                });
            }
        }
        let [source, kustomize] = &self.processes;
        Ok([source, kustomize].map(|(role, process)| (*role, process.pid())))
    }
}

/// The flags, all of them Flux's.
fn flags(
    role: Role,
    metrics: u16,
    health: u16,
    artifacts: &str,
    directory: &Path,
    arguments: &Arguments,
) -> Vec<String> {
    let mut flags = vec![
        format!("--metrics-addr=127.0.0.1:{metrics}"),
        format!("--health-addr=127.0.0.1:{health}"),
        "--events-addr=".to_owned(),
        "--log-level=info".to_owned(),
    ];
    match role {
        Role::Source => flags.extend([
            format!("--storage-path={}", directory.join("artifacts").display()),
            format!("--storage-addr={artifacts}"),
            format!("--storage-adv-addr={artifacts}"),
            format!("--concurrent={}", arguments.concurrent_sources),
        ]),
        Role::Kustomize => flags.push(format!("--concurrent={}", arguments.concurrent_kustomizations)),
    }
    flags
}

/// The label with everything but letters and digits made dashes.
fn file_name(label: &str) -> String {
    let dashed = label.chars().map(|letter| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    });
    dashed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_a_label_or_are_called_by_their_directory() {
        let set = |text: &str| text.parse::<ControllerSet>().unwrap();
        let expected = ControllerSet {
            label: "ours".to_owned(),
            directory: "target/release".into(),
        };
        assert_eq!(set("ours=target/release"), expected);
        assert_eq!(set("target/release").label, "target/release");
    }

    #[test]
    fn a_directory_without_controllers_is_named() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("source-controller"), "").unwrap();
        let set = ControllerSet {
            label: "x".to_owned(),
            directory: directory.path().to_owned(),
        };
        let error = set.check().unwrap_err().to_string();
        assert!(error.contains("kustomize-controller is no program"), "{error}");
    }

    #[test]
    fn labels_make_file_names() {
        assert_eq!(file_name("target/release v1.2"), "target-release-v1-2");
    }
}
