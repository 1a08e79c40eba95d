//! What others do to managed objects, and when it is put right. Intervals are an hour, so nothing here is the
//! interval's doing.

use std::time::{Duration, Instant};

use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use sluice_api::kustomize::Kustomization;
use sluice_testbed::wait;

use crate::harness::{Cluster, PATIENCE, config_map};

const ON: [&str; 1] = ["--watch-managed-objects"];

/// How often a Kustomization was reconciled with success.
fn reconciles(object: &Kustomization) -> i64 {
    let history = &object.status.as_ref().unwrap().history;
    history.iter().map(|entry| entry.total_reconciliations).sum()
}

/// Changes `data.key` of a ConfigMap as another manager.
async fn write(cluster: &Cluster, name: &str, value: &str, manager: &str) {
    let parameters = PatchParams {
        field_manager: Some(manager.to_owned()),
        ..PatchParams::default()
    };
    let patch = json!({"data": {"key": value}});
    let api = cluster.config_maps();
    api.patch(name, &parameters, &Patch::Merge(&patch)).await.unwrap();
}

/// Waits until `data.key` of a ConfigMap is as it is in the source.
async fn corrected(cluster: &Cluster, name: &str) {
    let what = "the correction";
    let is_right = |object: &k8s_openapi::api::core::v1::ConfigMap| {
        object
            .data
            .as_ref()
            .and_then(|data| data.get("key"))
            .map(String::as_str)
            == Some("1")
            && object.labels().contains_key("kustomize.toolkit.fluxcd.io/name")
    };
    if let Err(error) = wait::until(&cluster.config_maps(), name, PATIENCE, what, is_right).await {
        panic!("{error}\n{}", cluster.log());
    }
}

/// A Kustomization `barrier` with a ConfigMap of that name: once that is corrected, what was done before to
/// others and is not corrected stays as it is.
async fn create_barrier(cluster: &Cluster) {
    let files = [("barrier.yaml", config_map("barrier", "1"))];
    let borrowed = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    cluster.push("barrier", "main@sha1:1", &borrowed).await;
    let source = json!({"kind": "GitRepository", "name": "barrier"});
    let spec = json!({"sourceRef": source, "targetNamespace": cluster.namespace()});
    cluster.create("barrier", spec).await;
    cluster.ready("barrier").await;
}

async fn pass_barrier(cluster: &Cluster) {
    write(cluster, "barrier", "changed", "other").await;
    corrected(cluster, "barrier").await;
}

async fn push(cluster: &Cluster, revision: &str, names: &[&str]) {
    let files: Vec<(String, String)> = names
        .iter()
        .map(|name| (format!("{name}.yaml"), config_map(name, "1")))
        .collect();
    let borrowed: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    cluster.push("source", revision, &borrowed).await;
}

/// Edits, deletions and lost labels.
#[tokio::test]
async fn what_is_changed_by_hand_is_put_right_at_once() {
    let Some(cluster) = Cluster::with_flags("drift", &ON).await else {
        return;
    };
    push(&cluster, "main@sha1:1", &["a", "b"]).await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let mut slowest = Duration::ZERO;
    let mut measure = |begun: Instant| slowest = slowest.max(begun.elapsed());
    // By a manager whose fields are taken over, and by any other.
    let patch = r#"{"data":{"key":"by hand"}}"#;
    cluster.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", patch]);
    let begun = Instant::now();
    corrected(&cluster, "a").await;
    measure(begun);
    let begun = Instant::now();
    write(&cluster, "b", "changed", "other").await;
    corrected(&cluster, "b").await;
    measure(begun);
    cluster.kubectl(&["delete", "configmap", "a"]);
    let begun = Instant::now();
    corrected(&cluster, "a").await;
    measure(begun);
    cluster.kubectl(&["label", "configmap", "a", "kustomize.toolkit.fluxcd.io/name-"]);
    let begun = Instant::now();
    corrected(&cluster, "a").await;
    measure(begun);
    // A field that nobody has but kubectl goes.
    let patch = r#"{"data":{"more":"by hand"}}"#;
    cluster.kubectl(&["patch", "configmap", "b", "--type=merge", "-p", patch]);
    let gone = |object: &k8s_openapi::api::core::v1::ConfigMap| {
        !object.data.as_ref().is_some_and(|data| data.contains_key("more"))
    };
    wait::until(&cluster.config_maps(), "b", PATIENCE, "the correction", gone)
        .await
        .unwrap();
    let text = format!("ConfigMap/{}/a configured", cluster.namespace());
    cluster.event("apps", &text).await;
    println!("slowest correction: {slowest:?}");
}

/// The status of objects, what others own of them, and what the controller itself writes start nothing.
#[tokio::test]
async fn status_writes_and_own_writes_start_no_reconcile() {
    let Some(cluster) = Cluster::with_flags("quiet", &ON).await else {
        return;
    };
    create_barrier(&cluster).await;
    let web = |replicas: u8| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n  selector:\n    \
             matchLabels: {{app: web}}\n  template:\n    metadata:\n      labels: {{app: web}}\n    spec:\n      containers:\n      \
             - {{name: web, image: app}}\n"
        )
    };
    cluster
        .push("source", "main@sha1:1", &[("web.yaml", &web(1))])
        .await;
    let spec = json!({"targetNamespace": cluster.namespace(), "wait": true});
    cluster.create("apps", spec).await;
    cluster.ready("apps").await;
    cluster
        .push("source", "main@sha1:2", &[("web.yaml", &web(2))])
        .await;
    cluster.applied("apps", "main@sha1:2").await;
    let annotation = "example.com/checked=yes";
    cluster.kubectl(&[
        "annotate",
        "deployment",
        "web",
        annotation,
        "--field-manager=somebody",
    ]);
    let condition = r#"{"status":{"conditions":[{"type":"Checked","status":"True","reason":"Test","message":"checked"}]}}"#;
    cluster.kubectl(&[
        "patch",
        "deployment",
        "web",
        "--subresource=status",
        "--type=strategic",
        "-p",
        condition,
    ]);
    pass_barrier(&cluster).await;
    let object = cluster.kustomizations().get("apps").await.unwrap();
    assert_eq!(reconciles(&object), 2, "{}", cluster.log());
    // The watch on that kind is at work all the same.
    cluster.kubectl(&["scale", "deployment", "web", "--replicas=3"]);
    let api: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(cluster.client.clone(), cluster.namespace());
    let right = |object: &k8s_openapi::api::apps::v1::Deployment| object.spec.replicas == Some(2);
    wait::until(&api, "web", PATIENCE, "the correction", right)
        .await
        .unwrap();
    cluster
        .until("apps", "the third reconcile", |object| reconciles(object) == 3)
        .await;
}

/// Suspension, the switches on objects, rules of what to ignore, and the annotation that switches the watch off.
#[tokio::test]
async fn what_is_not_to_be_touched_is_not_touched() {
    let Some(cluster) = Cluster::with_flags("spared", &ON).await else {
        return;
    };
    create_barrier(&cluster).await;
    let annotated = |name: &str, annotation: &str| {
        config_map(name, "1").replace(
            "metadata:\n",
            &format!("metadata:\n  annotations: {{{annotation}}}\n"),
        )
    };
    let files = [
        ("plain.yaml", config_map("plain", "1")),
        ("ignored.yaml", config_map("ignored", "1")),
        (
            "once.yaml",
            annotated("once", "kustomize.toolkit.fluxcd.io/ssa: IfNotPresent"),
        ),
        (
            "unwatched.yaml",
            annotated("unwatched", "sluice.dev/watch-managed-objects: disabled"),
        ),
    ];
    let borrowed = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    cluster.push("source", "main@sha1:1", &borrowed).await;
    let rule = json!({"paths": ["/data/key"], "target": {"kind": "ConfigMap", "name": "ignored"}});
    let spec = json!({"targetNamespace": cluster.namespace(), "ignore": [rule]});
    cluster.create("apps", spec).await;
    cluster.ready("apps").await;
    for name in ["ignored", "once", "unwatched"] {
        write(&cluster, name, "theirs", "other").await;
    }
    cluster.kubectl(&[
        "annotate",
        "configmap",
        "plain",
        "kustomize.toolkit.fluxcd.io/reconcile=disabled",
    ]);
    write(&cluster, "plain", "theirs", "other").await;
    pass_barrier(&cluster).await;
    for name in ["ignored", "once"] {
        assert_eq!(
            cluster.data(name, "key").await.as_deref(),
            Some("theirs"),
            "{name}"
        );
    }
    let before = reconciles(&cluster.kustomizations().get("apps").await.unwrap());
    // An object that is skipped can be changed without a reconcile, and comes back when it is deleted.
    write(&cluster, "once", "again", "other").await;
    pass_barrier(&cluster).await;
    assert_eq!(
        reconciles(&cluster.kustomizations().get("apps").await.unwrap()),
        before
    );
    cluster.kubectl(&["delete", "configmap", "once"]);
    corrected(&cluster, "once").await;

    // Suspended, and switched off.
    push(&cluster, "main@sha1:2", &["plain", "ignored"]).await;
    cluster.kubectl(&[
        "annotate",
        "configmap",
        "plain",
        "kustomize.toolkit.fluxcd.io/reconcile-",
    ]);
    corrected(&cluster, "plain").await;
    cluster.edit("apps", json!({"suspend": true})).await;
    write(&cluster, "plain", "suspended", "other").await;
    pass_barrier(&cluster).await;
    assert_eq!(cluster.data("plain", "key").await.as_deref(), Some("suspended"));
    cluster.edit("apps", json!({"suspend": false})).await;
    corrected(&cluster, "plain").await;
    cluster.kubectl(&[
        "annotate",
        "kustomization",
        "apps",
        "sluice.dev/watch-managed-objects=Disabled",
    ]);
    cluster.reconcile("apps").await;
    write(&cluster, "plain", "unwatched", "other").await;
    pass_barrier(&cluster).await;
    assert_eq!(cluster.data("plain", "key").await.as_deref(), Some("unwatched"));
}

/// Without the flag only Kustomizations that ask for it are watched for.
#[tokio::test]
async fn an_annotation_switches_the_watch_on() {
    let Some(cluster) = Cluster::with_flags("asked", &[]).await else {
        return;
    };
    push(&cluster, "main@sha1:1", &["a"]).await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    create_barrier(&cluster).await;
    cluster.ready("apps").await;
    let annotation = "sluice.dev/watch-managed-objects=Enabled";
    cluster.kubectl(&["annotate", "kustomization", "barrier", annotation]);
    cluster.reconcile("barrier").await;
    write(&cluster, "a", "theirs", "other").await;
    pass_barrier(&cluster).await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("theirs"));
}

/// What the watch rings for is done by the Kustomization's own identity, with its rights and no others.
#[tokio::test]
async fn corrections_are_made_by_the_identity_of_the_kustomization() {
    let Some(cluster) = Cluster::with_flags("tenant", &ON).await else {
        return;
    };
    push(&cluster, "main@sha1:1", &["a"]).await;
    cluster.kubectl(&["create", "serviceaccount", "tenant"]);
    cluster.kubectl(&["create", "role", "tenant", "--verb=*", "--resource=configmaps"]);
    let subject = format!("--serviceaccount={}:tenant", cluster.namespace());
    cluster.kubectl(&["create", "rolebinding", "tenant", "--role=tenant", &subject]);
    let spec = json!({"targetNamespace": cluster.namespace(), "serviceAccountName": "tenant"});
    cluster.create("apps", spec).await;
    cluster.ready("apps").await;
    write(&cluster, "a", "theirs", "other").await;
    corrected(&cluster, "a").await;
    cluster.kubectl(&["delete", "rolebinding", "tenant"]);
    write(&cluster, "a", "theirs", "other").await;
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    assert!(crate::harness::message(&object).contains("forbidden"));
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("theirs"));
}

/// Another controller that does not give in: corrections become rare, and that is said once.
#[tokio::test]
async fn a_fight_over_a_field_ends_in_a_truce() {
    let Some(cluster) = Cluster::with_flags("fight", &ON).await else {
        return;
    };
    push(&cluster, "main@sha1:1", &["a"]).await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let mut corrections = 0;
    let limit = Duration::from_secs(8);
    // The other one writes as soon as it is corrected. The fifth correction is the last that comes at once.
    loop {
        write(&cluster, "a", "theirs", "other-controller").await;
        let right = |object: &k8s_openapi::api::core::v1::ConfigMap| {
            object.data.as_ref().is_some_and(|data| data["key"] == "1")
        };
        if wait::until(&cluster.config_maps(), "a", limit, "the correction", right)
            .await
            .is_err()
        {
            break;
        }
        corrections += 1;
        assert!(corrections < 20, "the fight does not end");
    }
    assert!(corrections >= 3, "{corrections}");
    let text = "was changed by other-controller and corrected";
    let event = cluster.event("apps", text).await;
    assert_eq!(event.reason.as_deref(), Some("DriftCorrectionDelayed"));
    let api: Api<k8s_openapi::api::core::v1::Event> =
        Api::namespaced(cluster.client.clone(), cluster.namespace());
    let events = api.list(&ListParams::default()).await.unwrap();
    let about = events.iter().filter(|event| {
        event
            .message
            .as_deref()
            .is_some_and(|message| message.contains(text))
    });
    assert_eq!(about.count(), 1);
    // Rare is not never.
    corrected(&cluster, "a").await;
}

/// Watches come and go with the kinds that are managed.
#[tokio::test]
async fn watches_follow_the_kinds_that_are_managed() {
    let Some(cluster) = Cluster::with_flags("kinds", &ON).await else {
        return;
    };
    push(&cluster, "main@sha1:1", &["a"]).await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n";
    cluster
        .push("source", "main@sha1:2", &[("web.yaml", account)])
        .await;
    cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(cluster.data("a", "key").await, None);
    cluster.kubectl(&["delete", "serviceaccount", "web"]);
    let api: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::namespaced(cluster.client.clone(), cluster.namespace());
    wait::until(&api, "web", PATIENCE, "the correction", |_| true)
        .await
        .unwrap();
    let watched = async |count: f64| (cluster.metric("sluice_watched_kinds").await == count).then_some(());
    wait::until_some(PATIENCE, "one watch", || watched(1.0))
        .await
        .unwrap();
    cluster.delete("apps").await;
    wait::until_some(PATIENCE, "no watch", || watched(0.0))
        .await
        .unwrap();
    assert_eq!(cluster.metric("sluice_watched_objects").await, 0.0);
}
