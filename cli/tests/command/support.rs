//! Running the command line, and the controllers that answer it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::process::{Process, Program, free_port};
use sluice_testbed::tools;

/// How long anything may take on a machine that is busy compiling.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The command line with an environment of its own.
pub(crate) struct Sluice {
    environment: Vec<(&'static str, PathBuf)>,
    namespace: Option<String>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sluice {
    /// Without a cluster.
    pub(crate) fn alone() -> Self {
        Self {
            environment: Vec::new(),
            namespace: None,
        }
    }

    /// Against a cluster.
    pub(crate) fn new(plane: &ControlPlane) -> Self {
        Self::alone().with("KUBECONFIG", plane.kubeconfig())
    }

    /// Against a namespace of a cluster.
    pub(crate) fn within(plane: &ControlPlane, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::new(plane)
        }
    }

    /// With a variable.
    pub(crate) fn with(mut self, name: &'static str, value: &Path) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
        for name in [
            "KUBECONFIG",
            "FLUX_SYSTEM_NAMESPACE",
            "FLUX_NS_FOLLOWS_KUBE_CONTEXT",
        ] {
            command.env_remove(name);
        }
        // No kubeconfig of the person who runs the tests.
        command.env("HOME", "/nonexistent");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(namespace) = &self.namespace {
            command.args(["-n", namespace]);
        }
        command.args(arguments).stdin(Stdio::null());
        command
    }

    /// Starts a command whose output goes to these files.
    pub(crate) fn start(&self, arguments: &[&str], directory: &Path) -> Running {
        let file = |name: &str| std::fs::File::create(directory.join(name)).unwrap();
        let mut command = self.command(arguments);
        command.stdout(file("stdout")).stderr(file("stderr"));
        Running {
            child: command.spawn().unwrap(),
            directory: directory.to_owned(),
        }
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let directory = tempfile::tempdir().unwrap();
        let mut running = self.start(arguments, directory.path());
        let began = Instant::now();
        let status = loop {
            if let Some(status) = running.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "sluice {arguments:?} goes on: {}{}",
                running.read("stdout"),
                running.read("stderr")
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        let code = status.code().unwrap_or(-1);
        let mut ended = Ended {
            code,
            stdout: running.read("stdout"),
            stderr: running.read("stderr"),
        };
        if let Some(namespace) = &self.namespace {
            ended.stdout = ended.stdout.replace(namespace.as_str(), "NS");
            ended.stderr = ended.stderr.replace(namespace.as_str(), "NS");
        }
        ended
    }

    /// Runs a command that must succeed and prints nothing but its result, which is returned.
    pub(crate) fn result(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(
            (ended.code, ended.stderr.as_str()),
            (0, ""),
            "sluice {arguments:?}"
        );
        ended.stdout
    }

    /// Runs a command that must succeed and has no result: what it tells is returned.
    pub(crate) fn told(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        let told = format!("{}\n{}", ended.stdout, ended.stderr);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (0, ""),
            "sluice {arguments:?}: {told}"
        );
        ended.stderr
    }

    /// Runs a command that must fail, with nothing on standard output: what it tells is returned.
    pub(crate) fn failure(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        let told = format!("{}\n{}", ended.stdout, ended.stderr);
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (1, ""),
            "sluice {arguments:?}: {told}"
        );
        ended.stderr
    }
}

/// A command that runs. Dropping it ends it.
pub(crate) struct Running {
    child: Child,
    directory: PathBuf,
}

impl Running {
    /// What it wrote so far.
    pub(crate) fn read(&self, stream: &str) -> String {
        std::fs::read_to_string(self.directory.join(stream)).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a controller of one namespace, and waits until it is ready.
pub(crate) fn start_controller(
    name: &str,
    plane: &ControlPlane,
    namespace: &str,
    flags: &[String],
) -> Process {
    let test = std::env::current_exe().unwrap();
    let file = test.parent().and_then(Path::parent).unwrap().join(name);
    assert!(
        file.is_file(),
        "{} is missing: cargo build -p source-controller -p kustomize-controller",
        file.display()
    );
    let (health, metrics) = (free_port().unwrap(), free_port().unwrap());
    let mut controller = Program::new(file)
        .argument(format!("--health-addr=127.0.0.1:{health}"))
        .argument(format!("--metrics-addr=127.0.0.1:{metrics}"))
        .argument("--watch-all-namespaces=false")
        .arguments(flags)
        .environment("KUBECONFIG", plane.kubeconfig())
        .environment("RUNTIME_NAMESPACE", namespace)
        .start()
        .unwrap();
    controller
        .wait_for_http(&format!("http://127.0.0.1:{health}/readyz"), PATIENCE)
        .unwrap();
    controller
}

/// The shared control plane with all kinds of the toolkit.
pub(crate) async fn shared() -> Option<&'static ControlPlane> {
    let plane = tools::require_or_skip(ControlPlane::shared())?;
    plane
        .apply_crds(&tools::workspace().join("config/crd"))
        .await
        .unwrap();
    Some(plane)
}
