//! One controller process per test, in a namespace of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Secret};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use sluice_api::meta::{Artifact, Condition};
use sluice_api::source::GitRepository;
use sluice_testbed::control_plane::{ControlPlane, Namespace};
use sluice_testbed::process::{Process, Program, free_port};
use sluice_testbed::{tools, wait};

/// How long anything may take on a machine that is busy compiling.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A controller with its storage, and the means to give it work.
pub(crate) struct Bench {
    pub(crate) controller: Option<Process>,
    pub(crate) api: Api<GitRepository>,
    pub(crate) client: Client,
    pub(crate) storage: tempfile::TempDir,
    pub(crate) http: reqwest::Client,
    kubeconfig: PathBuf,
    scratch: tempfile::TempDir,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    metrics: u16,
    namespace: Namespace,
}

impl Bench {
    /// Starts a controller, or says that the test is skipped.
    pub(crate) async fn start(arguments: &[&str]) -> Option<Self> {
        Self::start_with(arguments, &[]).await
    }

    /// Starts a controller with further variables in its environment, or says that the test is skipped.
    pub(crate) async fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Option<Self> {
        let plane = tools::require_or_skip(ControlPlane::shared())?;
        apply_definition(plane).await;
        let namespace = plane.namespace("source").await.unwrap();
        let client = plane.client().await.unwrap();
        let mut bench = Self {
            controller: None,
            api: Api::namespaced(client.clone(), namespace.name()),
            client,
            storage: tempfile::tempdir().unwrap(),
            http: reqwest::Client::builder().timeout(PATIENCE).build().unwrap(),
            kubeconfig: plane.kubeconfig().to_owned(),
            scratch: tempfile::tempdir().unwrap(),
            arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            metrics: 0,
            namespace,
        };
        bench.restart();
        Some(bench)
    }

    /// Starts the controller, on new ports; one that runs is ended first.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let ports: Vec<u16> = (0..3).map(|_| free_port().unwrap()).collect();
        let mut controller = self
            .program()
            .argument(format!("--metrics-addr=127.0.0.1:{}", ports[0]))
            .argument(format!("--health-addr=127.0.0.1:{}", ports[1]))
            .argument(format!("--storage-addr=127.0.0.1:{}", ports[2]))
            .start()
            .unwrap();
        controller
            .wait_for_http(&format!("http://127.0.0.1:{}/readyz", ports[1]), PATIENCE)
            .unwrap();
        controller
            .wait_for_http(&format!("http://127.0.0.1:{}/", ports[2]), PATIENCE)
            .unwrap();
        self.controller = Some(controller);
        self.metrics = ports[0];
    }

    /// The controller's metrics.
    pub(crate) async fn metrics(&self) -> String {
        let url = format!("http://127.0.0.1:{}/metrics", self.metrics);
        self.http.get(url).send().await.unwrap().text().await.unwrap()
    }

    /// The controller's program without addresses.
    pub(crate) fn program(&self) -> Program {
        let program = Program::new(env!("CARGO_BIN_EXE_source-controller"));
        let variables = self.environment.iter();
        variables
            .fold(program, |program, (name, value)| program.environment(name, value))
            .argument("--kubeconfig")
            .argument(&self.kubeconfig)
            .argument("--watch-all-namespaces=false")
            .argument("--log-level=debug")
            .argument("--storage-path")
            .argument(self.storage.path())
            .arguments(&self.arguments)
            .environment("RUNTIME_NAMESPACE", self.namespace())
            .environment("TMPDIR", self.scratch.path())
    }

    /// Ends the controller in good order.
    pub(crate) fn stop(&mut self) {
        if let Some(mut controller) = self.controller.take() {
            controller.terminate(PATIENCE).unwrap();
        }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.namespace.name()
    }

    /// The directory for fetched objects.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// The controller's log so far.
    pub(crate) fn log(&self) -> String {
        self.controller.as_ref().map(Process::log).unwrap_or_default()
    }

    /// Creates a GitRepository that is looked at every hour, with further fields of the spec.
    pub(crate) async fn create(&self, name: &str, url: &str, spec: Value) -> GitRepository {
        let mut whole = json!({"url": url, "interval": "1h", "ref": {"branch": "main"}});
        whole
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        let object: GitRepository = serde_json::from_value(json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": {"name": name},
            "spec": whole,
        }))
        .unwrap();
        self.api.create(&PostParams::default(), &object).await.unwrap()
    }

    pub(crate) async fn create_secret(&self, name: &str, data: &[(&str, &str)]) {
        let data: BTreeMap<&str, &str> = data.iter().copied().collect();
        let secret: Secret =
            serde_json::from_value(json!({"metadata": {"name": name}, "stringData": data})).unwrap();
        let api = Api::<Secret>::namespaced(self.client.clone(), self.namespace());
        api.create(&PostParams::default(), &secret).await.unwrap();
    }

    /// Changes the spec; `null` removes a field.
    pub(crate) async fn patch_spec(&self, name: &str, spec: Value) -> GitRepository {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.api
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap()
    }

    pub(crate) async fn ready(&self, name: &str) -> GitRepository {
        match wait::until_ready(&self.api, name, PATIENCE).await {
            Ok(object) => object,
            Err(error) => panic!("{error}\n{}", self.log()),
        }
    }

    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        condition: impl FnMut(&GitRepository) -> bool,
    ) -> GitRepository {
        match wait::until(&self.api, name, PATIENCE, what, condition).await {
            Ok(object) => object,
            Err(error) => panic!("{error}\n{}", self.log()),
        }
    }

    /// Waits until the artifact is of this revision.
    pub(crate) async fn until_revision(&self, name: &str, revision: &str) -> GitRepository {
        self.until(name, revision, |object| {
            object
                .status
                .as_ref()
                .and_then(|status| status.artifact.as_ref())
                .is_some_and(|artifact| artifact.revision == revision)
        })
        .await
    }

    /// Asks for a reconcile and waits until it was answered.
    pub(crate) async fn reconcile(&self, name: &str) -> GitRepository {
        let request = self.request(name).await;
        self.until(name, "the request is answered", |object| {
            object
                .status
                .as_ref()
                .and_then(|status| status.last_handled_reconcile_at.as_deref())
                == Some(request.as_str())
        })
        .await
    }

    /// Asks for a reconcile, with a text that was not used before.
    pub(crate) async fn request(&self, name: &str) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let request = format!("request-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": request}}});
        self.api
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
        request
    }

    /// Waits for an event about an object.
    pub(crate) async fn event(&self, name: &str, reason: &str) -> Event {
        let api = Api::<Event>::namespaced(self.client.clone(), self.namespace());
        let matches = |event: &&Event| {
            event.involved_object.name.as_deref() == Some(name) && event.reason.as_deref() == Some(reason)
        };
        let all = wait::until_all(&api, PATIENCE, &format!("event {reason}"), |events| {
            events.iter().any(|event| matches(&event))
        })
        .await;
        match all {
            Ok(events) => events.iter().find(matches).unwrap().clone(),
            Err(error) => panic!("{error}\n{}", self.log()),
        }
    }

    /// How many different events of a reason there are about an object by now.
    pub(crate) async fn count_events(&self, name: &str, reason: &str) -> usize {
        let api = Api::<Event>::namespaced(self.client.clone(), self.namespace());
        let fields = format!("involvedObject.name={name},reason={reason}");
        api.list(&kube::api::ListParams::default().fields(&fields))
            .await
            .unwrap()
            .items
            .len()
    }

    /// Downloads an artifact from where its status says it is.
    pub(crate) async fn download(&self, artifact: &Artifact) -> Vec<u8> {
        let response = self.http.get(&artifact.url).send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", artifact.url);
        response.bytes().await.unwrap().to_vec()
    }

    /// The entries of an artifact with mode and contents; directories end in a slash.
    pub(crate) async fn entries(&self, artifact: &Artifact) -> BTreeMap<String, (u32, String)> {
        let bytes = self.download(artifact).await;
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let mut entries = BTreeMap::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header().clone();
            assert_eq!(
                (
                    header.uid().unwrap(),
                    header.gid().unwrap(),
                    header.mtime().unwrap()
                ),
                (0, 0, 0)
            );
            let mut name = String::from_utf8(entry.path_bytes().to_vec()).unwrap();
            if header.entry_type().is_dir() {
                name.push('/');
            } else {
                assert!(header.entry_type().is_file(), "{name}");
            }
            let mut contents = String::new();
            std::io::Read::read_to_string(&mut entry, &mut contents).unwrap();
            entries.insert(name, (header.mode().unwrap(), contents));
        }
        entries
    }

    /// The names of an artifact's files.
    pub(crate) async fn files(&self, artifact: &Artifact) -> Vec<String> {
        let entries = self.entries(artifact).await;
        entries.into_keys().filter(|name| !name.ends_with('/')).collect()
    }

    /// The directory of an object's artifacts.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        self.storage
            .path()
            .join("gitrepository")
            .join(self.namespace())
            .join(name)
    }

    /// The names of the files stored for an object.
    pub(crate) fn stored(&self, name: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory(name)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
    }
}

async fn apply_definition(plane: &ControlPlane) {
    let file = "source.toolkit.fluxcd.io_gitrepositories.yaml";
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(
        tools::workspace().join("config/crd").join(file),
        directory.path().join(file),
    )
    .unwrap();
    plane.apply_crds(directory.path()).await.unwrap();
}

pub(crate) fn artifact(object: &GitRepository) -> Artifact {
    object
        .status
        .clone()
        .unwrap()
        .artifact
        .unwrap_or_else(|| panic!("{} has no artifact", object.name_any()))
}

pub(crate) fn condition<'o>(object: &'o GitRepository, kind: &str) -> Option<&'o Condition> {
    object
        .status
        .as_ref()?
        .conditions
        .iter()
        .find(|condition| condition.condition_type == kind)
}

/// All conditions as `Type=Status Reason message`, in their order.
pub(crate) fn conditions(object: &GitRepository) -> Vec<String> {
    let conditions = object.status.iter().flat_map(|status| &status.conditions);
    let text = |condition: &Condition| {
        let status = serde_json::to_value(&condition.status).unwrap();
        let status = status.as_str().unwrap().to_owned();
        format!(
            "{}={status} {} {}",
            condition.condition_type, condition.reason, condition.message
        )
    };
    conditions.map(text).collect()
}
