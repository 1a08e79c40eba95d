//! `sluice logs` through the API server, from a node that the test plays.

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::kubelet::Kubelet;
use crate::objects::api;
use crate::support::{PATIENCE, Sluice, shared};

const DEPLOYMENT: (&str, &str, &str) = ("apps/v1", "Deployment", "deployments");
const POD: (&str, &str, &str) = ("v1", "Pod", "pods");

fn line(level: &str, kind: &str, name: &str, message: &str) -> String {
    json!({"level": level, "ts": "2026-01-02T03:04:05.678Z", "msg": message, "controller": kind.to_lowercase(),
        "controllerKind": kind, "name": name, "namespace": "shop", "reconcileID": "0"})
    .to_string()
}

/// CLI-016
#[tokio::test(flavor = "multi_thread")]
async fn logs_are_read_from_the_controllers_pods() {
    let Some(plane) = shared().await else { return };
    let namespace = plane.namespace("logs").await.unwrap();
    let own = namespace.name();
    let client = plane.client().await.unwrap();
    let long = "x".repeat(100_000);
    let lines = [
        "I0102 plain text of a library".to_owned(),
        json!({"level": "info", "ts": "2026-01-02T03:04:00.000Z", "msg": "starting manager"}).to_string(),
        line("info", "Kustomization", "apps", "server-side apply completed"),
        line("error", "Kustomization", "apps", "Reconciler error"),
        line("info", "GitRepository", "fleet", &long),
    ];
    let kubelet = Kubelet::start(&lines.each_ref().map(String::as_str));
    serve_logs(&client, own, kubelet.port).await;

    let sluice = Sluice::new(plane);
    let place = format!("--flux-namespace={own}");
    let logs = |flags: &[&str]| sluice.result(&[&["-n", "shop", "logs", place.as_str()], flags].concat());
    let applied = "2026-01-02T03:04:05.678Z info Kustomization/apps.shop - server-side apply completed \n";
    let failed = "2026-01-02T03:04:05.678Z error Kustomization/apps.shop - Reconciler error \n";
    let fetched = format!("2026-01-02T03:04:05.678Z info GitRepository/fleet.shop - {long} \n");
    assert_eq!(logs(&[]), format!("{applied}{failed}{fetched}"));
    assert_eq!(logs(&["--kind=kustomization", "--level=info"]), applied);
    assert_eq!(logs(&["--name=fleet", "--since=1h"]), fetched);
    assert_eq!(logs(&["--tail=2", "--level=error"]), failed);
    assert_eq!(logs(&["--tail=1", "--level=error"]), "");
    let all = logs(&["-A"]);
    assert!(
        all.starts_with("2026-01-02T03:04:00.000Z info  - starting manager \n"),
        "{all}"
    );
    let elsewhere = sluice.result(&["-n", "elsewhere", "logs", &place]);
    assert_eq!(elsewhere, "");

    let directory = tempfile::tempdir().unwrap();
    let running = sluice.start(
        &["-n", "shop", "logs", &place, "-f", "--level=error"],
        directory.path(),
    );
    kubelet.add(&line("error", "Kustomization", "apps", "once more"));
    let seen = tokio::time::timeout(PATIENCE, async {
        while !running.read("stdout").contains("once more") {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    });
    seen.await.unwrap();
    assert!(
        running.read("stdout").starts_with(failed),
        "{}",
        running.read("stdout")
    );

    insta::assert_snapshot!(sluice.failure(&["logs", "--flux-namespace=nowhere"]), @r#"
    ✗ no Flux pods found in namespace "nowhere"
      name the namespace of the controllers with --flux-namespace
    "#);
    let told = sluice.failure(&["logs", &place, "--since=1h", "--since-time=2026-01-02T03:04:05Z"]);
    assert!(told.contains("cannot be used with"), "{told}");
}

/// Makes a Deployment with a pod on a node whose logs that port serves.
async fn serve_logs(client: &kube::Client, namespace: &str, port: u16) {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", "Node"), "nodes");
    let nodes: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let create = |value: Value| serde_json::from_value::<DynamicObject>(value).unwrap();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": namespace},
        "spec": {"unschedulable": true}});
    nodes.create(&PostParams::default(), &create(node)).await.unwrap();
    let labels = json!({"app": "source-controller"});
    let containers = json!([{"name": "manager", "image": "x"}, {"name": "proxy", "image": "x"}]);
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "source-controller",
        "labels": {"app.kubernetes.io/part-of": "flux"}}, "spec": {"replicas": 0, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}});
    api(client, namespace, DEPLOYMENT)
        .create(&PostParams::default(), &create(deployment))
        .await
        .unwrap();
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "source-controller-0", "labels": labels},
        "spec": {"nodeName": namespace, "containers": containers}});
    api(client, namespace, POD)
        .create(&PostParams::default(), &create(pod))
        .await
        .unwrap();
    // Whoever plays the other nodes takes this one for one of them, and writes its address once.
    let status = Patch::Merge(json!({"status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }}));
    sluice_testbed::wait::until_some(PATIENCE, "the node's address", || async {
        let patched = nodes
            .patch_status(namespace, &PatchParams::default(), &status)
            .await
            .ok()?;
        let is_initialised = patched.data["status"]["conditions"].is_array();
        is_initialised.then_some(())
    })
    .await
    .unwrap();
}
