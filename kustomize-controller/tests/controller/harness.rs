//! A cluster with the controller at work on it, and what tests do to it.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Event};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sluice_api::annotations::RECONCILE_REQUESTED_AT;
use sluice_api::kustomize::Kustomization;
use sluice_api::meta::Condition;
use sluice_api::source::GitRepository;
use sluice_artifact::write_gzip;
use sluice_testbed::audit::{AuditLog, Mark, Requests};
use sluice_testbed::control_plane::{ControlPlane, Namespace};
use sluice_testbed::process::{Process, Program, free_port};
use sluice_testbed::{tools, wait};

use crate::server::FileServer;

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A namespace of one test, watched by the controller.
pub(crate) struct Cluster {
    pub(crate) plane: &'static ControlPlane,
    namespace: Namespace,
    /// A controller with flags of its own, which sees only the Kustomizations of this namespace.
    own: Option<Controller>,
    pub(crate) client: Client,
}

/// A process under test.
struct Controller {
    process: Mutex<Process>,
    /// The port of its metrics.
    metrics: u16,
}

/// The label that says which controller works on an object.
const SHARD: &str = "sharding.fluxcd.io/key";

/// The controller of this test process, started with the first test and ended with the process.
fn controller(plane: &'static ControlPlane) -> &'static Controller {
    static SHARED: OnceLock<Controller> = OnceLock::new();
    SHARED.get_or_init(|| {
        let selector = format!("--watch-label-selector=!{SHARD}");
        start(plane, &[&selector, "--custom-apply-stage-kinds=Secret"])
    })
}

fn start(plane: &ControlPlane, flags: &[&str]) -> Controller {
    let (metrics, health) = (free_port().unwrap(), free_port().unwrap());
    let process = Program::new(env!("CARGO_BIN_EXE_kustomize-controller"))
        .arguments([
            "--concurrent=8",
            "--http-retry=0",
            "--interval-jitter-percentage=0",
        ])
        .arguments(flags.iter().copied())
        .argument(format!("--kubeconfig={}", plane.kubeconfig().display()))
        .argument(format!("--metrics-addr=127.0.0.1:{metrics}"))
        .argument(format!("--health-addr=127.0.0.1:{health}"))
        .environment("RUNTIME_NAMESPACE", "flux-system")
        .start()
        .unwrap();
    Controller {
        process: Mutex::new(process),
        metrics,
    }
}

/// Installs the definitions once.
async fn install(plane: &'static ControlPlane) {
    static DONE: tokio::sync::OnceCell<()> = tokio::sync::OnceCell::const_new();
    DONE.get_or_init(|| async {
        let directory = tempfile::tempdir().unwrap();
        let definitions = tools::workspace().join("config/crd");
        for name in [
            "kustomize.toolkit.fluxcd.io_kustomizations.yaml",
            "source.toolkit.fluxcd.io_gitrepositories.yaml",
            "source.toolkit.fluxcd.io_ocirepositories.yaml",
            "source.toolkit.fluxcd.io_buckets.yaml",
            "source.toolkit.fluxcd.io_externalartifacts.yaml",
        ] {
            std::fs::copy(definitions.join(name), directory.path().join(name)).unwrap();
        }
        plane.apply_crds(directory.path()).await.unwrap();
    })
    .await;
}

impl Cluster {
    /// A namespace in the shared control plane; `None` (said on standard error) where its tools are missing.
    pub(crate) async fn new(prefix: &str) -> Option<Self> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let plane = tools::require_or_skip(ControlPlane::shared())?;
        install(plane).await;
        controller(plane);
        let namespace = plane.namespace(prefix).await.unwrap();
        Some(Self {
            plane,
            client: plane.client().await.unwrap(),
            namespace,
            own: None,
        })
    }

    /// A namespace with a controller of its own, which has these flags.
    pub(crate) async fn with_flags(prefix: &str, flags: &[&str]) -> Option<Self> {
        let mut cluster = Self::new(prefix).await?;
        let selector = format!("--watch-label-selector={SHARD}={}", cluster.namespace());
        let flags: Vec<&str> = flags.iter().copied().chain([selector.as_str()]).collect();
        cluster.own = Some(start(cluster.plane, &flags));
        Some(cluster)
    }

    /// The name of the namespace.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.name()
    }

    /// Kustomizations of the namespace.
    pub(crate) fn kustomizations(&self) -> Api<Kustomization> {
        Api::namespaced(self.client.clone(), self.namespace())
    }

    /// ConfigMaps of the namespace.
    pub(crate) fn config_maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), self.namespace())
    }

    /// Runs kubectl in the namespace.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.kubectl_with(arguments, "")
    }

    /// Runs kubectl in the namespace with standard input.
    pub(crate) fn kubectl_with(&self, arguments: &[&str], input: &str) -> String {
        let all: Vec<&str> = ["-n", self.namespace()]
            .iter()
            .chain(arguments)
            .copied()
            .collect();
        self.plane.kubectl_with_input(&all, input).unwrap()
    }

    /// Everything the controller has logged.
    pub(crate) fn log(&self) -> String {
        self.own
            .as_ref()
            .unwrap_or_else(|| controller(self.plane))
            .process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .log()
    }

    /// The value of a series of the controller's metrics, as it stands in the text; 0 if it is not there.
    pub(crate) async fn metric(&self, series: &str) -> f64 {
        let port = self
            .own
            .as_ref()
            .unwrap_or_else(|| controller(self.plane))
            .metrics;
        let url = format!("http://127.0.0.1:{port}/metrics");
        let text = reqwest::get(url).await.unwrap().text().await.unwrap();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    /// The audit log.
    pub(crate) async fn audit(&self) -> AuditLog {
        self.plane.audit_log().await.unwrap()
    }

    /// Creates the source, or gives it a new artifact with these files.
    pub(crate) async fn push(&self, name: &str, revision: &str, files: &[(&str, &str)]) {
        self.push_bytes(name, revision, archive(files), None).await;
    }

    /// As [`Self::push`], with the bytes of the artifact and, if they are to lie, another digest.
    pub(crate) async fn push_bytes(&self, name: &str, revision: &str, bytes: Vec<u8>, digest: Option<&str>) {
        let real = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
        let path = self.artifact_path(name, revision);
        let url = FileServer::shared().put(&path, bytes);
        self.create_source(name).await;
        let artifact = json!({
            "digest": digest.unwrap_or(&real), "url": url, "path": path.trim_start_matches('/'),
            "revision": revision, "lastUpdateTime": Timestamp::now().to_string(),
        });
        self.set_artifact(name, artifact).await;
    }

    /// Where the artifact of a revision is served.
    pub(crate) fn artifact_path(&self, name: &str, revision: &str) -> String {
        format!(
            "/gitrepository/{}/{name}/{}.tar.gz",
            self.namespace(),
            revision.replace([':', '@'], "-")
        )
    }

    /// Creates a source without an artifact, unless it exists.
    pub(crate) async fn create_source(&self, name: &str) {
        let api: Api<GitRepository> = Api::namespaced(self.client.clone(), self.namespace());
        let spec = json!({"interval": "1h", "url": "https://git.example.com/repository"});
        let source = GitRepository::new(name, serde_json::from_value(spec).unwrap());
        match api.create(&PostParams::default(), &source).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{error}"),
        }
    }

    async fn set_artifact(&self, name: &str, artifact: Value) {
        let api: Api<GitRepository> = Api::namespaced(self.client.clone(), self.namespace());
        let status = json!({"status": {"artifact": artifact}});
        api.patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
    }

    /// Creates a Kustomization of the source `source`; `spec` overrides what is given here.
    pub(crate) async fn create(&self, name: &str, spec: Value) {
        let mut merged = json!({
            "interval": "1h", "retryInterval": "1h", "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "source"},
        });
        merged
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().cloned().unwrap());
        let mut object = Kustomization::new(name, serde_json::from_value(merged).unwrap());
        if self.own.is_some() {
            object.metadata.labels = Some([(SHARD.to_owned(), self.namespace().to_owned())].into());
        }
        self.kustomizations()
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    /// Changes the spec with a merge patch.
    pub(crate) async fn edit(&self, name: &str, spec: Value) {
        let patch = json!({"spec": spec});
        self.kustomizations()
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
    }

    /// Asks for a reconcile and waits until it has ended.
    pub(crate) async fn reconcile(&self, name: &str) -> Kustomization {
        let token = Timestamp::now().to_string();
        let patch = json!({"metadata": {"annotations": {RECONCILE_REQUESTED_AT: token}}});
        self.kustomizations()
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
        self.until(name, "the request to be answered", |object| {
            let status = object.status.as_ref();
            status.and_then(|status| status.last_handled_reconcile_at.as_deref()) == Some(&token)
        })
        .await
    }

    /// Waits until a Kustomization is as the condition says.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        condition: impl FnMut(&Kustomization) -> bool,
    ) -> Kustomization {
        match wait::until(&self.kustomizations(), name, PATIENCE, what, condition).await {
            Ok(object) => object,
            Err(error) => panic!("{error}\n{}", self.log_of(name)),
        }
    }

    /// Waits until the Kustomization is Ready for its present generation.
    pub(crate) async fn ready(&self, name: &str) -> Kustomization {
        self.until(name, "Ready=True", |object| {
            ready(object).is_some_and(Condition::is_true)
                && object
                    .status
                    .as_ref()
                    .and_then(|status| status.observed_generation)
                    == object.metadata.generation
        })
        .await
    }

    /// Waits until the Kustomization is Ready with this revision applied.
    pub(crate) async fn applied(&self, name: &str, revision: &str) -> Kustomization {
        self.until(name, revision, |object| {
            ready(object).is_some_and(Condition::is_true)
                && object
                    .status
                    .as_ref()
                    .and_then(|status| status.last_applied_revision.as_deref())
                    == Some(revision)
        })
        .await
    }

    /// Waits until the Kustomization is not Ready for this reason.
    pub(crate) async fn failed(&self, name: &str, reason: &str) -> Kustomization {
        self.until(name, reason, |object| {
            ready(object).is_some_and(|condition| condition.is_false() && condition.reason == reason)
        })
        .await
    }

    /// Deletes a Kustomization and waits until it is gone.
    pub(crate) async fn delete(&self, name: &str) {
        self.kustomizations()
            .delete(name, &DeleteParams::default())
            .await
            .unwrap();
        wait::until_gone(&self.kustomizations(), name, PATIENCE)
            .await
            .unwrap();
    }

    /// Waits for an event on a Kustomization whose message contains the text.
    pub(crate) async fn event(&self, name: &str, text: &str) -> Event {
        let api: Api<Event> = Api::namespaced(self.client.clone(), self.namespace());
        let what = format!("an event on {name} with {text:?}");
        wait::until_some(PATIENCE, &what, || async {
            let events = api.list(&ListParams::default()).await.unwrap();
            events.into_iter().find(|event| {
                event.involved_object.name.as_deref() == Some(name)
                    && event
                        .message
                        .as_deref()
                        .is_some_and(|message| message.contains(text))
            })
        })
        .await
        .unwrap()
    }

    /// The value of a key in a ConfigMap; `None` if there is no such ConfigMap or key.
    pub(crate) async fn data(&self, name: &str, key: &str) -> Option<String> {
        self.config_maps().get_opt(name).await.unwrap()?.data?.remove(key)
    }

    /// The controller's requests among these that concern this namespace.
    pub(crate) fn own_requests(&self, requests: &Requests) -> Requests {
        requests
            .by_user_agent("kustomize-controller/")
            .in_namespace(self.namespace())
    }

    /// The controller's own requests since a mark, with so many patches of a status.
    pub(crate) async fn own_requests_since(&self, audit: &AuditLog, mark: Mark, patches: usize) -> Requests {
        let patched = |requests: &Requests| {
            let requests = self.own_requests(requests);
            requests.on("kustomizations/status").count() >= patches
        };
        self.own_requests(&audit.since_with(mark, patched).await.unwrap())
    }

    fn log_of(&self, name: &str) -> String {
        let lines = self.log();
        let namespace = self.namespace();
        let about = |line: &&str| line.contains(namespace) && line.contains(name);
        lines
            .lines()
            .filter(about)
            .rev()
            .take(12)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// The Ready condition.
pub(crate) fn ready(object: &Kustomization) -> Option<&Condition> {
    condition(object, "Ready")
}

/// A condition.
pub(crate) fn condition<'a>(object: &'a Kustomization, kind: &str) -> Option<&'a Condition> {
    object
        .status
        .as_ref()?
        .conditions
        .iter()
        .find(|condition| condition.condition_type == kind)
}

/// The message of the Ready condition.
pub(crate) fn message(object: &Kustomization) -> &str {
    ready(object)
        .map(|condition| condition.message.as_str())
        .unwrap_or_default()
}

/// The ids in the inventory.
pub(crate) fn inventory(object: &Kustomization) -> Vec<String> {
    let inventory = object
        .status
        .as_ref()
        .and_then(|status| status.inventory.as_ref());
    inventory
        .into_iter()
        .flat_map(|inventory| inventory.entries.iter().map(|entry| entry.id.clone()))
        .collect()
}

/// The resource version of an object.
pub(crate) fn version(object: &ConfigMap) -> String {
    object.resource_version().unwrap_or_default()
}

/// A ConfigMap manifest with one key.
pub(crate) fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  key: '{value}'\n")
}

/// An artifact with these files.
pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_gzip(&mut bytes, |tar| -> std::io::Result<()> {
        tar.directory("")?;
        for (path, content) in files {
            let mut above = Vec::new();
            for directory in Path::new(path)
                .ancestors()
                .skip(1)
                .filter(|path| !path.as_os_str().is_empty())
            {
                above.push(directory.display().to_string());
            }
            for directory in above.iter().rev() {
                tar.directory(directory)?;
            }
            tar.file(path, false, content.len() as u64, &mut content.as_bytes())?;
        }
        Ok(())
    })
    .unwrap();
    bytes
}
