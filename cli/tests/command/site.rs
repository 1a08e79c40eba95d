//! Controllers that reconcile a repository of a test.

use kube::Client;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use sluice_testbed::control_plane::{ControlPlane, Namespace};
use sluice_testbed::git::{GitServer, Repository};
use sluice_testbed::process::{Process, free_port};

use crate::objects::{GIT, KUSTOMIZATION, api, create};
use crate::support::{Sluice, start_controller};

const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// A repository that a Kustomization applies, with the controllers that do it.
pub(crate) struct Site {
    pub(crate) sluice: Sluice,
    pub(crate) client: Client,
    pub(crate) repository: Repository,
    _controllers: [Process; 2],
    _storage: tempfile::TempDir,
    _git: GitServer,
    pub(crate) namespace: Namespace,
}

impl Site {
    /// Controllers and a repository, and nothing that would bring them together.
    pub(crate) async fn empty(plane: &'static ControlPlane, prefix: &str) -> Self {
        let namespace = plane.namespace(prefix).await.unwrap();
        let client = plane.client().await.unwrap();
        let storage = tempfile::tempdir().unwrap();
        let address = format!("127.0.0.1:{}", free_port().unwrap());
        let flags = [
            format!("--storage-path={}", storage.path().display()),
            format!("--storage-addr={address}"),
            format!("--storage-adv-addr={address}"),
        ];
        let controllers = [
            start_controller("source-controller", plane, namespace.name(), &flags),
            start_controller("kustomize-controller", plane, namespace.name(), &[]),
        ];
        let git = GitServer::start().unwrap();
        let repository = git.create_repository("fleet").unwrap();
        Self {
            sluice: Sluice::within(plane, namespace.name()),
            client,
            repository,
            _controllers: controllers,
            _storage: storage,
            _git: git,
            namespace,
        }
    }

    /// A repository whose one ConfigMap is applied.
    pub(crate) async fn start(plane: &'static ControlPlane) -> Self {
        let mut site = Self::empty(plane, "act").await;
        site.commit("one");
        let spec = json!({"url": site.repository.url(), "interval": "1h", "ref": {"branch": "main"}});
        create(&site.api(GIT), GIT, "fleet", spec, Value::Null).await;
        let spec = json!({"interval": "1h", "prune": true, "targetNamespace": site.namespace.name(),
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
        create(&site.api(KUSTOMIZATION), KUSTOMIZATION, "apps", spec, Value::Null).await;
        site
    }

    pub(crate) fn api(&self, kind: (&str, &str, &str)) -> Api<DynamicObject> {
        api(&self.client, self.namespace.name(), kind)
    }

    /// Commits a ConfigMap with this value, and returns the revision.
    pub(crate) fn commit(&mut self, value: &str) -> String {
        let manifest = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  value: \"{value}\"\n"
        );
        self.commit_manifest(&manifest)
    }

    pub(crate) fn commit_manifest(&mut self, manifest: &str) -> String {
        self.repository.write("settings.yaml", manifest).unwrap();
        format!("main@sha1:{}", self.repository.commit("A change").unwrap())
    }

    pub(crate) async fn applied_value(&self) -> Value {
        let settings = self
            .api(("v1", "ConfigMap", "configmaps"))
            .get("settings")
            .await
            .unwrap();
        settings.data["data"]["value"].clone()
    }

    pub(crate) async fn request(&self, kind: (&str, &str, &str), name: &str) -> Option<String> {
        let object = self.api(kind).get(name).await.unwrap();
        object.metadata.annotations?.get(REQUESTED_AT).cloned()
    }

    pub(crate) async fn is_suspended(&self, kind: (&str, &str, &str), name: &str) -> bool {
        self.api(kind).get(name).await.unwrap().data["spec"]["suspend"] == true
    }
}
