//! What a reconcile costs when nothing has changed: KUS-005, COM-005, COM-006.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use sluice_testbed::audit::Requests;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::{GitServer, Operation};
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;

/// The managed objects, one of each kind.
const MANIFESTS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: value}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: secret}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: worker}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: example.com/web:1, ports: [{containerPort: 80}]}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: job, image: example.com/job:1}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: worker}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {}, policyTypes: [Ingress]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 1
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}}]
"#;

/// How many objects that is.
const MANAGED: usize = 10;

/// Plural names of the managed kinds, and what makes an API of them.
const KINDS: [(&str, &str, &str); MANAGED] = [
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Secret", "secrets"),
    ("v1", "ServiceAccount", "serviceaccounts"),
    ("v1", "Service", "services"),
    ("apps/v1", "Deployment", "deployments"),
    ("batch/v1", "CronJob", "cronjobs"),
    ("rbac.authorization.k8s.io/v1", "Role", "roles"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    ),
];

/// Requests of one reconcile beside those about the managed objects: the status patch, and the event, which
/// is sent aside and may come late.
const CONSTANT: usize = 2;

/// Two reconciles are watched, so that all of the first lies between the marks: an object is never reconciled
/// twice at a time.
const RECONCILES: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_kustomization_costs_two_requests_for_each_object_and_one_status_patch() {
    // A control plane of its own, so that requests without a namespace can be attributed.
    let Some(plane) = require_or_skip(ControlPlane::start()) else {
        return;
    };
    install_definitions(&plane).await;
    let namespace = plane.namespace("requests").await.unwrap();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("requests").unwrap();
    let commit = repository
        .commit_files("Ten objects", &[("all.yaml", MANIFESTS)])
        .unwrap();
    let settings = Settings::everywhere(plane.kubeconfig(), namespace.name());
    let storage = tempfile::tempdir().unwrap();
    let _source = Controller::source(&settings, storage.path(), &[]);
    let _kustomize = Controller::kustomize(&settings, &[]);
    let sources = git_repositories(&client, namespace.name());
    let objects = kustomizations(&client, namespace.name());
    apply(&sources, &git_repository("requests", repository.url())).await;
    // With the wait, which adds no request for what was found current in place.
    let mut waiting = kustomization("all", "requests", "", namespace.name());
    waiting["spec"]["wait"] = json!(true);
    apply(&objects, &waiting).await;
    let revision = revision(&commit);
    wait::until(&objects, "all", LIMIT, "Ready", |object| {
        has_applied(object, &revision)
    })
    .await
    .unwrap();
    let web = deployments(&client, namespace.name());
    wait::until(&web, "web", LIMIT, "one available replica", |object| {
        object.data["status"]["availableReplicas"] == 1
    })
    .await
    .unwrap();
    // Whatever is looked up once has been looked up after this.
    let ready = reconcile(&objects, "all", LIMIT).await;
    assert_eq!(inventory(&ready).len(), MANAGED);

    let before = states(&client, namespace.name()).await;
    let audit = plane.audit_log().await.unwrap();
    let mark = audit.mark().await.unwrap();
    for _ in 0..RECONCILES {
        let reconciled = reconcile(&objects, "all", LIMIT).await;
        assert!(has_applied(&reconciled, &revision), "{reconciled:?}");
    }
    let ours = |requests: &Requests| requests.by_user_agent("kustomize-controller/");
    let patched = |requests: &Requests| ours(requests).on("kustomizations/status").count() >= RECONCILES;
    let requests = ours(&audit.since_with(mark, patched).await.unwrap());
    assert_eq!(
        states(&client, namespace.name()).await,
        before,
        "no object may be written"
    );

    let table = requests.table();
    eprintln!("two reconciles of {MANAGED} unchanged objects: {table:#?}");
    let plurals: BTreeSet<_> = KINDS.iter().map(|(_, _, plural)| *plural).collect();
    let managed = requests.filter(|request| plurals.contains(request.resource.as_str()));
    assert_eq!(managed.writes().count(), 0, "{table:#?}");
    assert!(managed.count() <= RECONCILES * 2 * MANAGED, "{table:#?}");
    let status = requests.on("kustomizations/status");
    assert_eq!(
        (status.count(), status.of_verb("patch").count()),
        (RECONCILES, RECONCILES),
        "{table:#?}"
    );
    // Watches are renewed now and then.
    let others =
        requests.filter(|request| !plurals.contains(request.resource.as_str()) && request.verb != "watch");
    assert!(others.count() <= RECONCILES * CONSTANT, "{table:#?}");
    assert_eq!(
        others.writes().count() - events_of(&others),
        RECONCILES,
        "nothing is written but status and events: {table:#?}"
    );
}

fn events_of(requests: &Requests) -> usize {
    requests.on("events").count()
}

/// The generation of all managed objects, or the resource version of those that have no generation and
/// therefore no status which others write.
async fn states(client: &kube::Client, namespace: &str) -> BTreeMap<String, String> {
    let mut states = BTreeMap::new();
    for kind in KINDS {
        let selector = "kustomize.toolkit.fluxcd.io/name=all";
        let list = namespaced(client, namespace, kind)
            .list(&ListParams::default().labels(selector))
            .await
            .unwrap();
        for object in list.items {
            let id = format!("{}/{}", kind.1, object.name_any());
            let generation = object.metadata.generation.map(|number| number.to_string());
            let version = object.metadata.resource_version.unwrap_or_default();
            states.insert(id, generation.unwrap_or(version));
        }
    }
    assert_eq!(states.len(), MANAGED, "{states:#?}");
    states
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_requests_labels_and_unchanged_remotes_trigger_nothing() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("triggers").await.unwrap();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("triggers").unwrap();
    repository
        .commit_files("One object", &[("a.yaml", &config_map_yaml("a", 1))])
        .unwrap();
    let settings = Settings::within(plane.kubeconfig(), namespace.name());
    let storage = tempfile::tempdir().unwrap();
    let _source = Controller::source(&settings, storage.path(), &[]);
    let _kustomize = Controller::kustomize(&settings, &[]);
    let sources = git_repositories(&client, namespace.name());
    let objects = kustomizations(&client, namespace.name());
    apply(&sources, &git_repository("triggers", repository.url())).await;
    apply(&objects, &kustomization("all", "triggers", "", namespace.name())).await;
    wait::until_ready(&objects, "all", LIMIT).await.unwrap();
    let fetched = reconcile(&sources, "triggers", LIMIT).await;
    reconcile(&objects, "all", LIMIT).await;

    // SRC-007: the remote is listed, nothing is fetched, and the artifact stays.
    git.reset_requests().unwrap();
    let again = reconcile(&sources, "triggers", LIMIT).await;
    assert_eq!(git.requests(&repository, Operation::Fetch).unwrap(), 0);
    assert!(git.requests(&repository, Operation::Refs).unwrap() > 0);
    assert_eq!(
        again.data["status"]["artifact"],
        fetched.data["status"]["artifact"]
    );

    // COM-006, COM-007: the annotation's value as it is, and labels, wake nobody. The reconcile asked for last
    // comes after whatever they might have caused.
    let audit = plane.audit_log().await.unwrap();
    let mark = audit.mark().await.unwrap();
    for step in 0..3 {
        let patch = json!({"metadata": {"labels": {"step": step.to_string()}}});
        objects
            .patch("all", &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
    }
    reconcile(&objects, "all", LIMIT).await;
    let ours = |requests: &Requests| {
        let requests = requests.by_user_agent("kustomize-controller/");
        requests.in_namespace(namespace.name())
    };
    let patched = |requests: &Requests| ours(requests).on("kustomizations/status").count() > 0;
    let requests = ours(&audit.since_with(mark, patched).await.unwrap());
    assert_eq!(
        requests.on("kustomizations/status").count(),
        1,
        "{:#?}",
        requests.table()
    );
}
