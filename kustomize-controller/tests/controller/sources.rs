//! Sources and their artifacts: missing, gone, new, and not what they claim to be.

use serde_json::json;

use crate::harness::{Cluster, PATIENCE, archive, config_map, message};
use crate::server::FileServer;

/// KUS-050, KUS-067
#[tokio::test]
async fn kus_050_a_source_is_awaited_and_followed() {
    let Some(cluster) = Cluster::new("source").await else {
        return;
    };
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    let object = cluster.failed("apps", "ArtifactFailed").await;
    assert_eq!(
        message(&object),
        "GitRepository.source.toolkit.fluxcd.io \"source\" not found"
    );
    cluster.create_source("source").await;
    cluster.reconcile("apps").await;
    let object = cluster.failed("apps", "ArtifactFailed").await;
    assert_eq!(message(&object), "Source artifact not found, retrying in 30s");
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    cluster.applied("apps", "main@sha1:1").await;
    cluster
        .push("source", "main@sha1:2", &[("a.yaml", &config_map("a", "2"))])
        .await;
    cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("2"));
}

/// KUS-051
#[tokio::test]
async fn kus_051_an_artifact_that_is_gone_is_awaited() {
    let Some(cluster) = Cluster::new("gone").await else {
        return;
    };
    // Its own bytes: the controller keeps artifacts by digest.
    let content = config_map("a", cluster.namespace());
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &content)])
        .await;
    let path = cluster.artifact_path("source", "main@sha1:1");
    FileServer::shared().remove(&path);
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    let object = cluster.failed("apps", "ArtifactFailed").await;
    assert_eq!(
        message(&object),
        "Source is not ready, artifact not found, retrying in 30s"
    );
    FileServer::shared().put(&path, archive(&[("a.yaml", &content)]));
    cluster.reconcile("apps").await;
    cluster.applied("apps", "main@sha1:1").await;
}

/// KUS-052
#[tokio::test]
async fn kus_052_an_artifact_with_another_digest_is_refused() {
    let Some(cluster) = Cluster::new("digest").await else {
        return;
    };
    let lie = format!("sha256:{}", "0".repeat(64));
    let bytes = archive(&[("a.yaml", &config_map("a", "1"))]);
    cluster
        .push_bytes("source", "main@sha1:1", bytes, Some(&lie))
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    let object = cluster.failed("apps", "ArtifactFailed").await;
    assert_eq!(
        message(&object),
        format!("failed to verify archive: computed digest doesn't match provided '{lie}'")
    );
    assert_eq!(cluster.data("a", "key").await, None);
    let event = cluster.event("apps", "failed to verify archive").await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
}

/// KUS-022
#[tokio::test]
async fn kus_022_an_empty_directory_is_ready_with_nothing() {
    let Some(cluster) = Cluster::new("empty").await else {
        return;
    };
    cluster
        .push("source", "main@sha1:1", &[("notes.txt", "nothing")])
        .await;
    // F13
    cluster.create("apps", json!({"wait": true})).await;
    let object = cluster.ready("apps").await;
    assert!(object.status.unwrap().inventory.unwrap().entries.is_empty());
}

/// KUS-058: a failing object is tried again at its retry interval.
#[tokio::test]
async fn kus_058_failures_are_retried_at_the_retry_interval() {
    let Some(cluster) = Cluster::new("retry").await else {
        return;
    };
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", "a: [\n")])
        .await;
    cluster.create("apps", json!({"retryInterval": "1s"})).await;
    let tries = |log: &str| {
        let about =
            |line: &&str| line.contains(cluster.namespace()) && line.contains("Reconciliation failed after");
        log.lines().filter(about).map(str::to_owned).collect::<Vec<_>>()
    };
    sluice_testbed::wait::until_some(PATIENCE, "four attempts", || async {
        (tries(&cluster.log()).len() >= 4).then_some(())
    })
    .await
    .unwrap();
    assert!(
        tries(&cluster.log())
            .iter()
            .all(|line| line.contains("next try in 1s")),
        "no back-off"
    );
    cluster.edit("apps", json!({"suspend": true})).await;
}
