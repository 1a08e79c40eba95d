//! A live cluster changes from another set of controllers to ours and back, and no workload is written.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_testbed::conformance::{Controllers, Stage};
use sluice_testbed::wait;

use crate::programs;

/// Names the folder of the other set: Flux's `source-controller` and `kustomize-controller`.
const PEERS: &str = "SLUICE_PEER_CONTROLLERS";
const LIMIT: Duration = Duration::from_secs(120);
const NAMESPACE: &str = "change-over";

/// One object of each kind that a fleet has, one of each stage of the apply, and generated and substituted ones.
const MANIFESTS: &str = include_str!("change_over.yaml");

struct Cluster {
    stage: Stage,
    client: Client,
}

#[tokio::test(flavor = "multi_thread")]
async fn change_to_ours_and_back_writes_to_no_workload() {
    let Some(peers) = std::env::var_os(PEERS).filter(|value| !value.is_empty()) else {
        // Not eprintln: the test runner would swallow it.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: change_to_ours_and_back_writes_to_no_workload: {PEERS} names no folder with Flux's controllers"
        );
        return;
    };
    let peers = Controllers::in_directory(Path::new(&peers)).unwrap();
    let ours = Controllers::in_directory(&programs()).unwrap();
    let stage = Stage::start().await.unwrap();
    let client = stage.client().await.unwrap();
    let cluster = Cluster { stage, client };
    cluster.stage.start_controllers(&peers, &BTreeMap::new()).unwrap();
    cluster.deploy().await;
    let before = cluster.reconcile("first").await;
    for (round, controllers) in [("ours", &ours), ("back", &peers)] {
        let audit = cluster.stage.plane().audit_log().await.unwrap();
        let mark = audit.mark().await.unwrap();
        tokio::task::block_in_place(|| {
            cluster.stage.stop_controllers().unwrap();
            // As a new pod begins: without the files of the old one.
            cluster.stage.empty_storage().unwrap();
            cluster
                .stage
                .start_controllers(controllers, &BTreeMap::new())
                .unwrap();
        });
        let after = cluster.reconcile(round).await;
        assert_eq!(after, before, "{round}: the inventory and what was applied");
        let requests = audit.since(mark).await.unwrap();
        let own = ["gitrepositories", "kustomizations", "events", "leases"];
        let writes = requests.writes().filter(|request| {
            request.user_agent.contains("-controller/") && !own.contains(&request.resource.as_str())
        });
        assert_eq!(writes.count(), 0, "{round}: {:#?}", writes.table());
        let dry_runs = requests.filter(|request| request.is_dry_run());
        assert!(dry_runs.count() > 10, "{round}: nothing was reconciled");
    }
}

impl Cluster {
    fn api(&self, group: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }

    fn sources(&self) -> Api<DynamicObject> {
        self.api("source.toolkit.fluxcd.io", "GitRepository", "gitrepositories")
    }

    fn kustomizations(&self) -> Api<DynamicObject> {
        self.api("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations")
    }

    async fn deploy(&self) {
        self.stage
            .plane()
            .kubectl(&["create", "namespace", NAMESPACE])
            .unwrap();
        let mut repository = self.stage.git().create_repository("fleet").unwrap();
        repository
            .commit_files("A fleet", &[("apps/all.yaml", MANIFESTS)])
            .unwrap();
        let source = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "fleet"},
            "spec": {"interval": "10m", "url": repository.url(), "ref": {"branch": "main"}},
        });
        let kustomization = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": "fleet"},
            "spec": {
                "interval": "10m", "retryInterval": "1s", "timeout": "1m", "prune": true, "wait": true,
                "path": "./apps", "sourceRef": {"kind": "GitRepository", "name": "fleet"},
                "targetNamespace": NAMESPACE, "postBuild": {"substitute": {"size": "2"}},
                "commonMetadata": {"labels": {"fleet": "one"}},
            },
        });
        for (api, object) in [(self.sources(), &source), (self.kustomizations(), &kustomization)] {
            let parameters = PatchParams::apply("test").force();
            api.patch("fleet", &parameters, &Patch::Apply(object))
                .await
                .unwrap();
        }
        let ready = wait::until_ready(&self.kustomizations(), "fleet", LIMIT).await;
        ready.unwrap();
    }

    /// Lets both controllers work once, and gives what the Kustomization says of its work.
    async fn reconcile(&self, token: &str) -> Value {
        let patch = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        let mut last = Value::Null;
        for api in [self.sources(), self.kustomizations()] {
            api.patch("fleet", &PatchParams::default(), &Patch::Merge(&patch))
                .await
                .unwrap();
            let done = |object: &DynamicObject| {
                object.data["status"]["lastHandledReconcileAt"] == token && wait::is_ready(object)
            };
            last = wait::until(&api, "fleet", LIMIT, "the request handled", done)
                .await
                .unwrap()
                .data;
        }
        json!({
            "inventory": last["status"]["inventory"],
            "revision": last["status"]["lastAppliedRevision"],
            "manifests": last["status"]["history"][0]["digest"],
        })
    }
}
