//! When a Kustomization is built, and when what was built before is applied again.

use serde_json::json;

use crate::harness::{Cluster, config_map, inventory, message, ready};

const BUILT: &str = "sluice_builds_total{result=\"built\"}";
const SKIPPED: &str = "sluice_builds_total{result=\"skipped\"}";

/// A commit that touches the files of one of a hundred Kustomizations costs one build; all the others apply
/// what they have, and say that they have applied the new revision.
#[tokio::test]
async fn a_commit_that_concerns_one_of_a_hundred_is_built_once() {
    const COUNT: usize = 100;
    let Some(cluster) = Cluster::with_flags("hundred", &[]).await else {
        return;
    };
    let name = |index: usize| format!("k{index:02}");
    let files = |touched: &str| -> Vec<(String, String)> {
        (0..COUNT)
            .map(|index| {
                let value = if index == 42 { touched } else { "1" };
                let path = format!("apps/{}/config.yaml", name(index));
                (path, config_map(&name(index), value))
            })
            .collect()
    };
    let push = async |revision: &str, touched: &str| {
        let files = files(touched);
        let borrowed: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, content)| (path.as_str(), content.as_str()))
            .collect();
        cluster.push("source", revision, &borrowed).await;
    };
    push("main@sha1:1", "1").await;
    for index in 0..COUNT {
        let path = format!("./apps/{}", name(index));
        let spec = json!({"path": path, "targetNamespace": cluster.namespace()});
        cluster.create(&name(index), spec).await;
    }
    for index in 0..COUNT {
        cluster.applied(&name(index), "main@sha1:1").await;
    }
    assert_eq!(cluster.metric(BUILT).await, COUNT as f64);

    push("main@sha1:2", "2").await;
    for index in 0..COUNT {
        let object = cluster.applied(&name(index), "main@sha1:2").await;
        let history = &object.status.as_ref().unwrap().history;
        let entries = if index == 42 { 2 } else { 1 };
        assert_eq!(history.len(), entries, "{}", name(index));
        assert_eq!(history[0].metadata["revision"], "main@sha1:2");
        assert_eq!(message(&object), "Applied revision: main@sha1:2");
        assert_eq!(inventory(&object).len(), 1);
    }
    assert_eq!(cluster.data("k42", "key").await.as_deref(), Some("2"));
    assert_eq!(cluster.metric(BUILT).await, COUNT as f64 + 1.0);
    assert!(cluster.metric(SKIPPED).await >= COUNT as f64 - 1.0);
    assert!(cluster.metric("sluice_build_cache_bytes").await > 0.0);
}

/// What is not built anew is applied nevertheless: an object that was changed by hand is corrected, and one that
/// was deleted comes back.
#[tokio::test]
async fn a_skipped_build_is_applied_all_the_same() {
    let Some(cluster) = Cluster::with_flags("skipped", &[]).await else {
        return;
    };
    let files = [
        ("a/a.yaml", config_map("a", "1")),
        ("a/b.yaml", config_map("b", "1")),
    ];
    let push = async |revision: &str, other: &str| {
        let mut all: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        all.push(("other.yaml", other));
        cluster.push("source", revision, &all).await;
    };
    push("main@sha1:1", "one").await;
    let spec = json!({"path": "./a", "targetNamespace": cluster.namespace()});
    cluster.create("apps", spec).await;
    cluster.ready("apps").await;
    let patch = r#"{"data":{"key":"by hand"}}"#;
    cluster.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", patch]);
    cluster.kubectl(&["delete", "configmap", "b"]);
    push("main@sha1:2", "two").await;
    let object = cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("1"));
    assert_eq!(cluster.data("b", "key").await.as_deref(), Some("1"));
    assert_eq!(
        object.status.as_ref().unwrap().history[0].total_reconciliations,
        2
    );
    cluster
        .event("apps", &format!("ConfigMap/{}/a configured", cluster.namespace()))
        .await;
    assert_eq!(cluster.metric(BUILT).await, 1.0);
    assert_eq!(cluster.metric(SKIPPED).await, 1.0);

    // A failure is never kept, and what failed is built anew.
    cluster
        .push("source", "main@sha1:3", &[("a/a.yaml", "a: [")])
        .await;
    cluster.failed("apps", "BuildFailed").await;
    cluster
        .push("source", "main@sha1:4", &[("a/a.yaml", &files[0].1)])
        .await;
    let object = cluster.applied("apps", "main@sha1:4").await;
    assert!(ready(&object).unwrap().is_true());
    assert_eq!(inventory(&object).len(), 1);
}
