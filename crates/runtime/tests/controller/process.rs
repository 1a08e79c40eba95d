//! What the process shows to the outside.

use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::Api;
use kube::api::{ListParams, PostParams};
use sluice_runtime::client::{self, Identity};
use sluice_testbed::wait;

use crate::harness::{Options, PATIENCE, plane, start, succeed};

#[tokio::test]
async fn health_and_metrics_are_served() {
    // COM-019, COM-020
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    let ready = format!("{}/readyz", running.health);
    wait::until_some(PATIENCE, "readiness", || async {
        reqwest::get(&ready)
            .await
            .ok()
            .filter(|answer| answer.status().is_success())
            .map(drop)
    })
    .await
    .unwrap();
    let health = reqwest::get(format!("{}/healthz", running.health)).await.unwrap();
    assert_eq!(
        (health.status().as_u16(), health.text().await.unwrap().as_str()),
        (200, "ok")
    );
    running.create("a").await;
    running.until_ready("a").await;
    running.until_idle().await;
    let metrics = running.metrics().await;
    let series = format!(
        "gotk_reconcile_duration_seconds_bucket{{kind=\"GitRepository\",name=\"a\",namespace=\"{}\",le=\"0.01\"}}",
        running.namespace.name()
    );
    for expected in [
        series.as_str(),
        "controller_runtime_reconcile_total{controller=\"gitrepository\",result=\"requeue_after\"} 1",
        "controller_runtime_reconcile_errors_total{controller=\"gitrepository\"} 0",
        "controller_runtime_reconcile_time_seconds_count{controller=\"gitrepository\"}",
        "controller_runtime_max_concurrent_reconciles{controller=\"gitrepository\"} 4",
        "workqueue_depth{controller=\"gitrepository\",name=\"gitrepository\"} 0",
        "workqueue_adds_total{controller=\"gitrepository\",name=\"gitrepository\"}",
        "workqueue_retries_total{controller=\"gitrepository\",name=\"gitrepository\"} 0",
        "rest_client_requests_total{code=\"200\"",
        "process_resident_memory_bytes",
        "process_cpu_seconds_total",
    ] {
        assert!(metrics.contains(expected), "{expected} is not in:\n{metrics}");
    }
    running.stop().await;
}

#[tokio::test]
async fn only_the_own_namespace_is_watched_if_so_told() {
    // COM-024
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    let other = start(plane, Options::default(), succeed).await;
    other.create("elsewhere").await;
    running.create("here").await;
    running.until_ready("here").await;
    other.until_ready("elsewhere").await;
    assert_eq!(
        (running.controller.store.len(), running.calls("elsewhere").len()),
        (1, 0)
    );
    running.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn only_objects_with_matching_labels_are_reconciled_if_so_told() {
    // COM-023
    let Some(plane) = plane().await else { return };
    let flags = vec!["--watch-label-selector=sharding.fluxcd.io/key=s1".to_owned()];
    let running = start(
        plane,
        Options {
            flags,
            ..Options::default()
        },
        succeed,
    )
    .await;
    running.create("unlabelled").await;
    running.create("labelled").await;
    let labels = serde_json::json!({"metadata": {"labels": {"sharding.fluxcd.io/key": "s1"}}});
    running.patch("labelled", labels).await;
    running.until_ready("labelled").await;
    assert_eq!(running.calls("unlabelled"), []);
    let labels = serde_json::json!({"metadata": {"labels": {"sharding.fluxcd.io/key": "s2"}}});
    let moved = running.patch("labelled", labels).await;
    running
        .until_called("forgetting what moved to another shard", |calls| calls.len() == 2)
        .await;
    assert!(
        moved
            .metadata
            .finalizers
            .is_some_and(|finalizers| !finalizers.is_empty())
    );
    running.stop().await;
}

#[tokio::test]
async fn views_for_other_identities_have_only_their_rights() {
    let Some(plane) = plane().await else { return };
    let namespace = plane.namespace("identity").await.unwrap();
    let client = plane.client().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace.name());
    let account = serde_json::from_value(serde_json::json!({"metadata": {"name": "tenant"}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let tenant =
        client::impersonating(&client, &Identity::service_account(namespace.name(), "tenant")).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(tenant, namespace.name());
    match maps.list(&ListParams::default()).await {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 403);
            let user = format!("system:serviceaccount:{}:tenant", namespace.name());
            assert!(status.message.contains(&user), "{}", status.message);
        }
        other => panic!("a tenant without rights got {other:?}"),
    }
    let admin = Identity {
        user: "someone".to_owned(),
        groups: vec!["system:masters".to_owned()],
    };
    let maps: Api<ConfigMap> =
        Api::namespaced(client::impersonating(&client, &admin).unwrap(), namespace.name());
    maps.list(&ListParams::default()).await.unwrap();
    assert!(
        client::impersonating(
            &client,
            &Identity {
                user: "a\nb".to_owned(),
                groups: vec![]
            }
        )
        .is_err()
    );
}

#[tokio::test]
async fn requests_share_one_multiplexed_connection() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    let options = client::ClientOptions {
        user_agent: "multiplexed/0".to_owned(),
        qps: -1.0,
        burst: 1,
        fence: sluice_runtime::lease::Fence::default(),
        availability: client::Availability::default(),
        kubeconfig: Some(plane.kubeconfig().to_owned()),
    };
    let client = client::connect(&options, &sluice_runtime::telemetry::Metrics::new().unwrap())
        .await
        .unwrap();
    let request = http::Request::get("/version")
        .body(kube::client::Body::empty())
        .unwrap();
    let answer = client.send(request).await.unwrap();
    assert_eq!(answer.version(), http::Version::HTTP_2);
    running.stop().await;
}
