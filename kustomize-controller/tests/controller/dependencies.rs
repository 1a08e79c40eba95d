//! Kustomizations that wait for others.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Cluster, config_map, message};

/// KUS-048: a chain of ten is woken link by link, not polled every half minute.
#[tokio::test]
async fn kus_048_a_chain_is_woken_by_events() {
    let Some(cluster) = Cluster::new("chain").await else {
        return;
    };
    cluster
        .push("source", "main@sha1:1", &[("a/a.yaml", &config_map("a", "1"))])
        .await;
    let began = Instant::now();
    for link in (1..=10).rev() {
        let depends_on = if link > 1 {
            json!([{"name": format!("link{}", link - 1)}])
        } else {
            json!([])
        };
        let spec = json!({"targetNamespace": cluster.namespace(), "nameSuffix": format!("-{link}"), "dependsOn": depends_on});
        cluster.create(&format!("link{link}"), spec).await;
    }
    cluster.ready("link10").await;
    // Polling would take nine times thirty seconds.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

/// KUS-048: what a dependant says, and that it follows the revision of its dependency.
#[tokio::test]
async fn kus_048_a_dependant_says_what_it_waits_for() {
    let Some(cluster) = Cluster::new("depends").await else {
        return;
    };
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[
                ("a/a.yaml", &config_map("a", "1")),
                ("b/b.yaml", &config_map("b", "1")),
            ],
        )
        .await;
    let spec = |path: &str| json!({"path": path, "targetNamespace": cluster.namespace()});
    let mut dependant = spec("b");
    dependant["dependsOn"] = json!([{"name": "a"}]);
    cluster.create("b", dependant).await;
    let namespace = cluster.namespace();
    let object = cluster.failed("b", "DependencyNotReady").await;
    let absent = format!(
        "dependency '{namespace}/a' not found: kustomizations.kustomize.toolkit.fluxcd.io \"a\" not found"
    );
    assert_eq!(message(&object), absent);
    let event = cluster
        .event("b", "Dependencies do not meet ready condition, retrying in 30s")
        .await;
    assert_eq!(event.reason.as_deref(), Some("DependencyNotReady"));
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    cluster.create("a", json!({"path": "missing"})).await;
    cluster.failed("a", "ArtifactFailed").await;
    cluster
        .until("b", "the dependency to be unready", |object| {
            message(object) == format!("dependency '{namespace}/a' is not ready") || message(object) == absent
        })
        .await;
    cluster.edit("a", spec("a")).await;
    cluster.ready("a").await;
    cluster.ready("b").await;
    cluster
        .push(
            "source",
            "main@sha1:2",
            &[
                ("a/a.yaml", &config_map("a", "2")),
                ("b/b.yaml", &config_map("b", "2")),
            ],
        )
        .await;
    cluster.applied("b", "main@sha1:2").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("2"));
}
