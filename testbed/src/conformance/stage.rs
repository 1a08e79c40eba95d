//! Where scenarios are played: a control plane, a Git server, and controllers that see all of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;

use crate::control_plane::ControlPlane;
use crate::git::GitServer;
use crate::process::{Process, Program, Signal, free_port};
use crate::proxy::FaultProxy;
use crate::{Error, Result, tools};

use super::requests::CONTROLLERS;

/// How long a controller may take to start or to end, on a machine that is busy.
const PROCESS_LIMIT: Duration = Duration::from_secs(60);

/// The namespace in which the controllers believe to run.
const HOME: &str = "conformance-home";

/// A set of controller binaries: the folder that holds `source-controller` and `kustomize-controller`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controllers(PathBuf);

impl Controllers {
    /// Those in a folder.
    pub fn in_directory(directory: &Path) -> Result<Self> {
        for name in CONTROLLERS {
            if !directory.join(name).is_file() {
                return Err(Error::Missing {
                    what: format!("program {name}"),
                    path: directory.to_owned(),
                    remedy: "build the controllers, and name the folder that holds them",
                });
            }
        }
        // Processes have working directories of their own.
        let directory = std::path::absolute(directory)
            .map_err(Error::io(format!("find the folder {}", directory.display())))?;
        Ok(Self(directory))
    }
}

struct Running {
    program: Program,
    process: Process,
    health: u16,
}

/// A control plane with the custom resource definitions, a proxy before its API server, a Git server, and at
/// most one set of controllers at a time.
pub struct Stage {
    running: Mutex<BTreeMap<String, Running>>,
    proxy: FaultProxy,
    git: GitServer,
    artifacts: String,
    plane: ControlPlane,
    directory: tempfile::TempDir,
}

impl Stage {
    /// Starts everything but controllers.
    pub async fn start() -> Result<Self> {
        let plane = ControlPlane::start()?;
        plane.apply_crds(&tools::workspace().join("config/crd")).await?;
        let stage = Self {
            running: Mutex::default(),
            proxy: FaultProxy::start(&plane)?,
            git: GitServer::start()?,
            artifacts: format!("127.0.0.1:{}", free_port()?),
            plane,
            directory: tempfile::tempdir().map_err(Error::io("make a temporary directory"))?,
        };
        stage.plane.kubectl(&["create", "namespace", HOME])?;
        std::fs::create_dir_all(stage.storage()).map_err(Error::io("create the storage of artifacts"))?;
        Ok(stage)
    }

    /// Starts the controllers of a set, with further flags by controller, and waits until they are ready.
    pub fn start_controllers(
        &self,
        controllers: &Controllers,
        flags: &BTreeMap<String, Vec<String>>,
    ) -> Result<()> {
        for name in CONTROLLERS {
            let further = flags.get(name).cloned().unwrap_or_default();
            let running = self.start_controller(&controllers.0, name, &further)?;
            self.running().insert(name.to_owned(), running);
        }
        Ok(())
    }

    fn start_controller(&self, directory: &Path, name: &str, further: &[String]) -> Result<Running> {
        let (health, metrics) = (free_port()?, free_port()?);
        let home = self.directory.path().join(name);
        std::fs::create_dir_all(&home).map_err(Error::io(format!("create {}", home.display())))?;
        let mut program = Program::new(directory.join(name))
            .argument(format!("--health-addr=127.0.0.1:{health}"))
            .argument(format!("--metrics-addr=127.0.0.1:{metrics}"))
            .arguments([
                "--events-addr=",
                "--concurrent=10",
                "--interval-jitter-percentage=0",
                // Flux looks at dependencies again at this interval.
                "--requeue-dependency=2s",
            ]);
        if name == "source-controller" {
            program = program
                .argument(format!("--storage-path={}", self.storage().display()))
                .argument(format!("--storage-addr={}", self.artifacts))
                .argument(format!("--storage-adv-addr={}", self.artifacts));
        }
        let program = program
            .arguments(further)
            .environment("KUBECONFIG", self.proxy.kubeconfig())
            .environment("RUNTIME_NAMESPACE", HOME)
            .environment("TMPDIR", &home)
            .environment("HOME", &home)
            .log(self.log_file(name));
        let process = program.clone().start()?;
        let mut running = Running {
            program,
            process,
            health,
        };
        running.wait_until_ready()?;
        Ok(running)
    }

    /// Ends the controllers in order.
    pub fn stop_controllers(&self) -> Result<()> {
        for (_, mut running) in std::mem::take(&mut *self.running()) {
            running.process.terminate(PROCESS_LIMIT)?;
        }
        Ok(())
    }

    /// Ends one controller, by SIGKILL or in order.
    pub(super) fn end(&self, name: &str, kill: bool) -> Result<()> {
        let mut running = self.running();
        let controller = known(&mut running, name)?;
        if kill {
            controller.process.signal(Signal::Kill)?;
            controller.process.wait(PROCESS_LIMIT)?;
        } else {
            controller.process.terminate(PROCESS_LIMIT)?;
        }
        Ok(())
    }

    /// Starts a controller that was ended.
    pub(super) fn start_again(&self, name: &str) -> Result<()> {
        let mut running = self.running();
        let controller = known(&mut running, name)?;
        controller.process = controller.program.clone().start()?;
        controller.wait_until_ready()
    }

    /// Removes the files of all artifacts.
    pub fn empty_storage(&self) -> Result<()> {
        let storage = self.storage();
        std::fs::remove_dir_all(&storage).map_err(Error::io(format!("remove {}", storage.display())))?;
        std::fs::create_dir_all(&storage).map_err(Error::io(format!("create {}", storage.display())))
    }

    /// The file that holds what a controller of that name writes.
    pub fn log_file(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.log"))
    }

    /// The folder below which the controllers keep what they unpack.
    pub(super) fn home(&self) -> String {
        self.directory.path().display().to_string()
    }

    /// Where artifacts are served, such as `127.0.0.1:PORT`.
    pub(super) fn artifacts(&self) -> &str {
        &self.artifacts
    }

    /// The Git server.
    pub fn git(&self) -> &GitServer {
        &self.git
    }

    /// The proxy between controllers and API server.
    pub fn proxy(&self) -> &FaultProxy {
        &self.proxy
    }

    /// The control plane.
    pub fn plane(&self) -> &ControlPlane {
        &self.plane
    }

    /// A client that does not go through the proxy.
    pub async fn client(&self) -> Result<Client> {
        self.plane.client().await
    }

    fn storage(&self) -> PathBuf {
        self.directory.path().join("artifacts")
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn wait_until_ready(&mut self) -> Result<()> {
        let address = format!("http://127.0.0.1:{}/readyz", self.health);
        self.process.wait_for_http(&address, PROCESS_LIMIT)
    }
}

fn known<'a>(running: &'a mut BTreeMap<String, Running>, name: &str) -> Result<&'a mut Running> {
    running.get_mut(name).ok_or_else(|| Error::Failed {
        what: format!("find controller {name}"),
        output: "it does not run".to_owned(),
    })
}
