//! Waits for health that a newer revision ends, and what may happen at the same moment.

use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use sluice_testbed::wait;

use crate::harness::{Cluster, PATIENCE, condition, config_map};

const FLAGS: [&str; 1] = ["--feature-gates=CancelHealthCheckOnNewRevision=true"];

/// A rollout that never ends.
const STUCK: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  paused: true\n  selector:\n    \
    matchLabels: {app: web}\n  template:\n    metadata:\n      labels: {app: web}\n    spec:\n      containers:\n      \
    - {name: web, image: app}\n";

async fn waiting(prefix: &str) -> Option<Cluster> {
    let cluster = Cluster::with_flags(prefix, &FLAGS).await?;
    cluster
        .push("source", "main@sha1:1", &[("web.yaml", STUCK)])
        .await;
    let spec = json!({"targetNamespace": cluster.namespace(), "wait": true, "timeout": "30m"});
    cluster.create("apps", spec).await;
    cluster
        .until("apps", "the wait", |object| {
            condition(object, "Healthy").is_some_and(|healthy| healthy.reason == "Progressing")
        })
        .await;
    Some(cluster)
}

async fn cancellations(cluster: &Cluster) -> usize {
    let api: Api<k8s_openapi::api::core::v1::Event> =
        Api::namespaced(cluster.client.clone(), cluster.namespace());
    let events = api.list(&ListParams::default()).await.unwrap();
    events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("HealthCheckCanceled"))
        .map(|event| usize::try_from(event.count.unwrap_or(1)).unwrap())
        .sum()
}

/// Revisions that follow each other faster than they can be applied: they fall before the build, between build
/// and wait, into a look and into the cancellation of the one before. The last one wins, always.
#[tokio::test]
async fn fast_revisions_leave_nothing_stuck() {
    let Some(cluster) = waiting("fast").await else {
        return;
    };
    let stuck = |number: usize| STUCK.replace("image: app", &format!("image: 'app:{number}'"));
    for round in 0..3 {
        for step in 0..12_u64 {
            let number = 100 * round + usize::try_from(step).unwrap();
            let revision = format!("main@sha1:{number:08}");
            cluster
                .push("source", &revision, &[("web.yaml", &stuck(number))])
                .await;
            // Not all at once, so that they meet the reconcile in all its phases.
            tokio::time::sleep(std::time::Duration::from_millis(step * step * 7 % 160)).await;
        }
        let last = format!("main@sha1:fixed{round}");
        cluster
            .push(
                "source",
                &last,
                &[("a.yaml", &config_map("a", &round.to_string()))],
            )
            .await;
        cluster.applied("apps", &last).await;
        assert_eq!(cluster.data("a", "key").await, Some(round.to_string()));
    }
}

/// The event that announces a revision may come late, when its reconcile waits already: that is no reason to
/// begin anew.
#[tokio::test]
async fn a_wait_is_not_cancelled_for_its_own_revision() {
    let Some(cluster) = waiting("own").await else {
        return;
    };
    // The source says the same again, and something else about itself.
    cluster
        .push("source", "main@sha1:1", &[("web.yaml", STUCK)])
        .await;
    cluster.kubectl(&["annotate", "gitrepository", "source", "example.com/touched=yes"]);
    cluster
        .push("source", "main@sha1:2", &[("a.yaml", &config_map("a", "1"))])
        .await;
    cluster.applied("apps", "main@sha1:2").await;
    cluster
        .event("apps", "Health checks canceled due to new reconciliation")
        .await;
    assert_eq!(cancellations(&cluster).await, 1);
}

/// A new spec and a new revision at the same moment: both count.
#[tokio::test]
async fn a_new_spec_and_a_new_revision_at_once_are_both_applied() {
    let Some(cluster) = waiting("both").await else {
        return;
    };
    let healthy = config_map("a", "1");
    let files = [("a.yaml", healthy.as_str())];
    tokio::join!(
        cluster.push("source", "main@sha1:2", &files),
        cluster.edit("apps", json!({"namePrefix": "new-"})),
    );
    cluster
        .until("apps", "both", |object| {
            let status = object.status.as_ref();
            status.and_then(|status| status.observed_generation) == object.metadata.generation
                && status.and_then(|status| status.last_applied_revision.as_deref()) == Some("main@sha1:2")
        })
        .await;
    assert_eq!(cluster.data("new-a", "key").await.as_deref(), Some("1"));
}

/// A deletion while a new revision ends the wait.
#[tokio::test]
async fn a_deletion_and_a_new_revision_at_once_end_in_the_deletion() {
    let Some(cluster) = waiting("deleted").await else {
        return;
    };
    let files = [
        ("web.yaml", STUCK),
        ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ];
    let kustomizations = cluster.kustomizations();
    let parameters = DeleteParams::default();
    let (_, deleted) = tokio::join!(
        cluster.push("source", "main@sha1:2", &files),
        kustomizations.delete("apps", &parameters),
    );
    deleted.unwrap();
    wait::until_gone(&cluster.kustomizations(), "apps", PATIENCE)
        .await
        .unwrap();
    wait::until_gone(&cluster.config_maps(), "a", PATIENCE)
        .await
        .unwrap();
    let api: Api<k8s_openapi::api::apps::v1::Deployment> =
        Api::namespaced(cluster.client.clone(), cluster.namespace());
    wait::until_gone(&api, "web", PATIENCE).await.unwrap();
}
