//! A Kubernetes control plane: the API server with the real controllers behind it, and one simulated node
//! on which pods become ready.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::header::USER_AGENT;
use k8s_openapi::api::core::v1::Namespace as NamespaceObject;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde::Deserialize;

use crate::audit::AuditLog;
use crate::server::Server;
use crate::{Error, Result, tools, wait};

/// Names the directory of a running control plane that tests use instead of starting one: `testbed run`
/// sets it.
pub const TESTBED_VARIABLE: &str = "SLUICE_TESTBED";

/// How long a start may take, on a machine that is busy compiling.
const START_TIMEOUT: Duration = Duration::from_secs(240);

/// One process of a control plane.
#[derive(Debug, Clone, Deserialize)]
pub struct ComponentState {
    /// Such as `kube-apiserver`.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// The file that holds what it writes.
    pub log: PathBuf,
}

/// What `control-plane up` says about itself, on its standard output and in `state.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The directory that holds everything.
    pub dir: PathBuf,
    /// The process that supervises the others.
    pub pid: u32,
    /// The API server's address.
    pub server: String,
    /// A kubeconfig of the administrator.
    pub kubeconfig: PathBuf,
    /// The administrator's bearer token.
    pub token: String,
    /// The API server's audit log, if it keeps one.
    pub audit_log: Option<PathBuf>,
    /// All processes but the supervisor.
    pub processes: Vec<ComponentState>,
    /// The time from start to ready.
    pub seconds: f64,
}

/// A running control plane. Dropping one that was started here ends it; one that was attached to stays.
#[derive(Debug)]
pub struct ControlPlane {
    state: State,
    // The temporary directory goes after the server that writes to it.
    server: Option<Server>,
    _directory: Option<tempfile::TempDir>,
}

impl ControlPlane {
    /// Starts one with an audit log. Takes a few seconds.
    pub fn start() -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("sluice-testbed-")
            .tempdir()
            .map_err(Error::io("make a temporary directory"))?;
        let mut command = Command::new(tools::tool("control-plane")?);
        // The supervisor removes the directory too, for when this process does not live to do it.
        command
            .arg("up")
            .arg("--audit")
            .arg("--remove")
            .arg("--dir")
            .arg(directory.path());
        command.arg("--kwok").arg(tools::tool("kwok")?);
        let (server, state) = Server::start(&mut command, START_TIMEOUT)?;
        Ok(Self {
            state,
            server: Some(server),
            _directory: Some(directory),
        })
    }

    /// Uses a control plane that runs in that directory.
    pub fn attach(directory: &Path) -> Result<Self> {
        let path = directory.join("state.json");
        let content = std::fs::read(&path).map_err(Error::io(format!("read {}", path.display())))?;
        let state = serde_json::from_slice(&content).map_err(Error::json(path.display().to_string()))?;
        Ok(Self {
            state,
            server: None,
            _directory: None,
        })
    }

    /// Uses the one that `SLUICE_TESTBED` names, or starts one.
    pub fn obtain() -> Result<Self> {
        match std::env::var_os(TESTBED_VARIABLE).filter(|value| !value.is_empty()) {
            Some(directory) => Self::attach(Path::new(&directory)),
            None => Self::start(),
        }
    }

    /// The one control plane of this test process: the first call [obtains](Self::obtain) it, and it ends
    /// with the process.
    pub fn shared() -> Result<&'static Self, &'static Error> {
        static SHARED: OnceLock<Result<ControlPlane>> = OnceLock::new();
        SHARED.get_or_init(Self::obtain).as_ref()
    }

    /// What is known about it.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A kubeconfig of the administrator, for other programs.
    pub fn kubeconfig(&self) -> &Path {
        &self.state.kubeconfig
    }

    /// A client of the administrator with the user agent `sluice-testbed`. A client belongs to the tokio
    /// runtime in which it was made, so every test makes its own.
    pub async fn client(&self) -> Result<Client> {
        self.client_with_user_agent("sluice-testbed").await
    }

    /// As [`Self::client`], with a user agent by which the audit log can tell its requests from others.
    pub async fn client_with_user_agent(&self, user_agent: &str) -> Result<Client> {
        client_from(self.kubeconfig(), user_agent).await
    }

    /// The audit log as a request counter.
    pub async fn audit_log(&self) -> Result<AuditLog> {
        let path = self.state.audit_log.clone().ok_or_else(|| Error::Failed {
            what: "open the audit log".to_owned(),
            output: "this control plane was started without --audit".to_owned(),
        })?;
        Ok(AuditLog::new(
            path,
            self.client_with_user_agent(crate::audit::MARKER_USER_AGENT)
                .await?,
        ))
    }

    /// Creates a namespace for one test, called `PREFIX-...`, which is deleted when the value is dropped.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let serial = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{prefix}-{}-{serial}", std::process::id());
        let namespace = NamespaceObject {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                ..ObjectMeta::default()
            },
            ..NamespaceObject::default()
        };
        let client = self.client().await?;
        Api::<NamespaceObject>::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .map_err(Error::kubernetes(format!("create namespace {name}")))?;
        Ok(Namespace {
            name,
            kubeconfig: self.kubeconfig().to_owned(),
        })
    }

    /// Applies the custom resource definitions of a directory (its kustomization, or else all its manifests),
    /// and waits until the API server serves them. May be called by many tests at once.
    pub async fn apply_crds(&self, directory: &Path) -> Result<()> {
        let directory_text = directory.display().to_string();
        let option = if directory.join("kustomization.yaml").exists() {
            "-k"
        } else {
            "-f"
        };
        let names = self.kubectl(&[
            "apply",
            "--server-side",
            "--force-conflicts",
            "--field-manager=testbed",
            "--output=name",
            option,
            &directory_text,
        ])?;
        let client = self.client().await?;
        let api = Api::<CustomResourceDefinition>::all(client);
        for name in names
            .lines()
            .filter_map(|line| line.split_once('/'))
            .map(|(_, name)| name)
        {
            wait::until(
                &api,
                name,
                Duration::from_secs(60),
                "condition Established=True",
                |definition| wait::has_condition(definition, "Established", "True"),
            )
            .await?;
        }
        Ok(())
    }

    /// Runs kubectl as the administrator and returns its standard output.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl_with_input(arguments, "")
    }

    /// As [`Self::kubectl`], with standard input, such as a manifest for `apply -f -`.
    pub fn kubectl_with_input(&self, arguments: &[&str], input: &str) -> Result<String> {
        let mut command = Command::new(tools::system("kubectl")?);
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        // Discovery is cached per server address, and addresses come back with other contents.
        command
            .arg("--cache-dir")
            .arg(self.state.dir.join("kubectl-cache"));
        let output = tools::pipe(&mut command, input.as_bytes().to_vec())?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }

    /// Ends a control plane that was started here and waits until all its processes are gone; one that was
    /// attached to goes on.
    pub fn stop(mut self) -> Result<()> {
        if let Some(mut server) = self.server.take() {
            let status = server.end()?;
            if !status.success() {
                let what = "control-plane up".to_owned();
                return Err(Error::Failed {
                    what,
                    output: status.to_string(),
                });
            }
        }
        Ok(())
    }
}

/// A client for a kubeconfig, with the given user agent. Installs the process's TLS provider if none is yet.
pub async fn client_from(kubeconfig: &Path, user_agent: &str) -> Result<Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let fail = |reason: String| Error::Kubeconfig {
        path: kubeconfig.to_owned(),
        reason,
    };
    let parsed = Kubeconfig::read_from(kubeconfig).map_err(|error| fail(error.to_string()))?;
    let mut config = Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default())
        .await
        .map_err(|error| fail(error.to_string()))?;
    let value = user_agent
        .parse()
        .map_err(|_| fail(format!("{user_agent:?} cannot be a user agent")))?;
    config.headers.push((USER_AGENT, value));
    Client::try_from(config).map_err(Error::kubernetes("make a client"))
}

/// The namespace of one test. Dropping it asks the API server to delete it, without waiting for the end.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    kubeconfig: PathBuf,
}

impl Namespace {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Deletes it and waits until it and everything in it is gone.
    pub async fn delete(self, timeout: Duration) -> Result<()> {
        let client = client_from(&self.kubeconfig, "sluice-testbed").await?;
        let api = Api::<NamespaceObject>::all(client);
        delete_namespace(&api, &self.name).await?;
        wait::until_gone(&api, &self.name, timeout).await
    }
}

async fn delete_namespace(api: &Api<NamespaceObject>, name: &str) -> Result<()> {
    match api.delete(name, &DeleteParams::background()).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
        Err(error) => Err(Error::kubernetes(format!("delete namespace {name}"))(error)),
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let (name, kubeconfig) = (
            std::mem::take(&mut self.name),
            std::mem::take(&mut self.kubeconfig),
        );
        // A runtime of its own: the test's may be the one that is just ending.
        let deletion = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .ok()?;
            runtime.block_on(async {
                let client = client_from(&kubeconfig, "sluice-testbed").await.ok()?;
                let api = Api::<NamespaceObject>::all(client);
                tokio::time::timeout(Duration::from_secs(10), delete_namespace(&api, &name))
                    .await
                    .ok()
            })
        });
        let _ = deletion.join();
    }
}
