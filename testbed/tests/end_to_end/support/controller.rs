//! Running the controllers as processes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sluice_testbed::process::{End, Process, Program, free_port};

use super::LIMIT;

/// The program of that name, beside this test.
pub(crate) fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let directory = test.parent().and_then(Path::parent).unwrap();
    let file = directory.join(name);
    assert!(
        file.is_file(),
        "{} is missing: cargo build -p source-controller -p kustomize-controller -p sluice",
        file.display()
    );
    file
}

/// Where controllers work.
#[derive(Clone)]
pub(crate) struct Settings {
    kubeconfig: PathBuf,
    namespace: String,
    everywhere: bool,
}

impl Settings {
    /// Controllers that see one namespace only, so that many tests can share a control plane.
    pub(crate) fn within(kubeconfig: &Path, namespace: &str) -> Self {
        Self {
            kubeconfig: kubeconfig.to_owned(),
            namespace: namespace.to_owned(),
            everywhere: false,
        }
    }

    /// Controllers that see all namespaces and run as if in the given one.
    pub(crate) fn everywhere(kubeconfig: &Path, namespace: &str) -> Self {
        Self {
            everywhere: true,
            ..Self::within(kubeconfig, namespace)
        }
    }
}

/// A controller, over all the times that it is started: same ports, same log, and for source-controller the
/// same storage.
pub(crate) struct Controller {
    name: &'static str,
    program: Program,
    process: Process,
    health: u16,
    log: PathBuf,
    _directory: Option<tempfile::TempDir>,
}

impl Controller {
    /// Starts a source-controller that keeps its artifacts in `storage`, with further flags.
    pub(crate) fn source(settings: &Settings, storage: &Path, flags: &[&str]) -> Self {
        let address = format!("127.0.0.1:{}", free_port().unwrap());
        let program = Program::new(program("source-controller"))
            .argument(format!("--storage-path={}", storage.display()))
            .argument(format!("--storage-addr={address}"))
            .argument(format!("--storage-adv-addr={address}"));
        Self::start("source-controller", program, settings, flags)
    }

    /// Starts a kustomize-controller with further flags.
    pub(crate) fn kustomize(settings: &Settings, flags: &[&str]) -> Self {
        Self::start(
            "kustomize-controller",
            Program::new(program("kustomize-controller")),
            settings,
            flags,
        )
    }

    fn start(name: &'static str, program: Program, settings: &Settings, flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let (health, metrics) = (free_port().unwrap(), free_port().unwrap());
        let program = program
            .argument(format!("--health-addr=127.0.0.1:{health}"))
            .argument(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .argument(format!("--watch-all-namespaces={}", settings.everywhere))
            .arguments(flags.iter().copied())
            .environment("KUBECONFIG", &settings.kubeconfig)
            .environment("RUNTIME_NAMESPACE", &settings.namespace)
            .log(&log);
        let process = program.clone().start().unwrap();
        let mut controller = Self {
            name,
            program,
            process,
            health,
            log,
            _directory: Some(directory),
        };
        controller.wait_until_ready();
        controller
    }

    fn wait_until_ready(&mut self) {
        let address = format!("http://127.0.0.1:{}/readyz", self.health);
        self.process.wait_for_http(&address, LIMIT).unwrap();
    }

    /// Ends it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        assert_eq!(self.process.kill().unwrap(), End::Signal(9));
    }

    /// Starts it again after its end.
    pub(crate) fn restart(&mut self) {
        self.process = self.program.clone().start().unwrap();
        self.wait_until_ready();
    }

    /// Asks it to end, which must succeed.
    pub(crate) fn stop(mut self) {
        assert_eq!(
            self.process.terminate(Duration::from_secs(60)).unwrap(),
            End::Code(0),
            "{}",
            self.name
        );
    }

    /// What it wrote, over all its starts.
    pub(crate) fn log(&self) -> String {
        std::fs::read(&self.log)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(40)..];
            eprintln!("the last of {}'s log:\n{}\n", self.name, last.join("\n"));
        }
    }
}
