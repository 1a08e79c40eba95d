//! Waiting for what was applied.

use serde_json::json;
use sluice_api::kustomize::Kustomization;
use sluice_api::meta::ConditionStatus;

use crate::harness::{Cluster, condition, config_map, message, ready};

fn deployment(name: &str, extra: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\nspec:\n  replicas: 1\n{extra}  selector:\n    matchLabels: {{app: {name}}}\n  \
         template:\n    metadata:\n      labels: {{app: {name}}}\n    spec:\n      containers:\n      - {{name: web, image: app}}\n"
    )
}

/// KUS-053: a rollout that gets there.
#[tokio::test]
async fn kus_053_ready_comes_after_health() {
    let Some(cluster) = Cluster::new("healthy").await else {
        return;
    };
    cluster
        .push("source", "main@sha1:1", &[("web.yaml", &deployment("web", ""))])
        .await;
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "wait": true, "timeout": "2m"}),
        )
        .await;
    let object = cluster.ready("apps").await;
    let healthy = condition(&object, "Healthy").unwrap();
    assert!(healthy.is_true() && healthy.reason == "Succeeded");
    assert!(healthy.message.starts_with("Health check passed in "));
    assert_eq!(
        cluster.kubectl(&[
            "get",
            "deployment",
            "web",
            "-o",
            "jsonpath={.status.readyReplicas}"
        ]),
        "1"
    );
    cluster.event("apps", "Health check passed in").await;
    // The condition goes with the check.
    cluster.edit("apps", json!({"wait": false})).await;
    let object = cluster.ready("apps").await;
    assert!(condition(&object, "Healthy").is_none());
}

/// KUS-053, KUS-057: one that does not, and the object that is named.
#[tokio::test]
async fn kus_053_a_timeout_names_what_is_not_healthy() {
    let Some(cluster) = Cluster::new("unhealthy").await else {
        return;
    };
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[("web.yaml", &deployment("web", "  paused: true\n"))],
        )
        .await;
    let checks = json!([{"kind": "Deployment", "name": "web", "namespace": cluster.namespace()}]);
    // Shorter timeouts count as thirty seconds.
    cluster.create("apps", json!({"targetNamespace": cluster.namespace(), "healthChecks": checks, "interval": "40s", "retryInterval": "1h"})).await;
    let object = cluster
        .until("apps", "the wait", |object| {
            condition(object, "Healthy").is_some()
        })
        .await;
    let progress = condition(&object, "Reconciling").unwrap();
    assert_eq!(
        progress.message,
        "Running health checks for revision main@sha1:1 with a timeout of 30s"
    );
    assert_eq!(ready(&object).unwrap().reason, "Progressing");
    let object = cluster.failed("apps", "HealthCheckFailed").await;
    let problem = format!(
        "timeout waiting for: [Deployment/{}/web status: 'InProgress']",
        cluster.namespace()
    );
    assert_eq!(condition(&object, "Healthy").unwrap().message, problem);
    assert!(condition(&object, "Healthy").unwrap().is_false());
    let text = message(&object);
    assert!(
        text.starts_with("health check failed after 30.") && text.ends_with(&problem),
        "{text}"
    );
    assert_eq!(
        object.status.as_ref().unwrap().history[0].last_reconciled_status,
        "HealthCheckFailed"
    );
}

/// KUS-054
#[tokio::test]
async fn kus_054_a_failed_object_ends_the_wait() {
    let Some(cluster) = Cluster::new("stalled").await else {
        return;
    };
    let group = format!("{}.example.com", cluster.namespace());
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.{group}}}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names: {{kind: Thing, plural: things, singular: thing}}\n  versions:\n  - name: v1\n    \
         served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n"
    );
    let thing = format!("apiVersion: {group}/v1\nkind: Thing\nmetadata: {{name: x}}\n");
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[
                ("a.yaml", &definition),
                ("b.yaml", &thing),
                ("c.yaml", &deployment("web", "  paused: true\n")),
            ],
        )
        .await;
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "wait": true, "timeout": "30m"}),
        )
        .await;
    cluster
        .until("apps", "the wait", |object| {
            condition(object, "Healthy").is_some()
        })
        .await;
    let status = r#"{"status":{"conditions":[{"type":"Stalled","status":"True","reason":"Broken","message":"broken"}]}}"#;
    cluster.kubectl(&[
        "patch",
        "things",
        "x",
        "--subresource=status",
        "--type=merge",
        "-p",
        status,
    ]);
    let object = cluster.failed("apps", "HealthCheckFailed").await;
    let problem = format!(
        "failed early due to stalled resources: [Thing/{}/x status: 'Failed']",
        cluster.namespace()
    );
    assert!(message(&object).ends_with(&problem), "{}", message(&object));
    cluster.delete("apps").await;
}

/// A wait frees its slot, and a change of the spec ends it at once.
#[tokio::test]
async fn a_new_spec_ends_a_wait() {
    let Some(cluster) = Cluster::new("respec").await else {
        return;
    };
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[
                ("web.yaml", &deployment("web", "  paused: true\n")),
                ("a.yaml", &config_map("a", "1")),
            ],
        )
        .await;
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "wait": true, "timeout": "30m"}),
        )
        .await;
    cluster
        .until("apps", "the wait", |object| {
            condition(object, "Healthy").is_some()
        })
        .await;
    cluster.edit("apps", json!({"wait": false})).await;
    cluster.ready("apps").await;
}

/// KUS-053: fifty checks that go on in vain keep none of the two workers busy, and the next Kustomization is
/// reconciled as if it were alone, with the same requests.
#[tokio::test]
async fn waiting_never_delays_others() {
    const WAITING: usize = 50;
    let Some(cluster) = Cluster::with_flags("waiting", &["--concurrent=2"]).await else {
        return;
    };
    cluster
        .push(
            "stuck",
            "main@sha1:1",
            &[("web.yaml", &deployment("web", "  paused: true\n"))],
        )
        .await;
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let quick = json!({"targetNamespace": cluster.namespace(), "wait": true});
    let audit = cluster.audit().await;
    let count = |requests: &sluice_testbed::audit::Requests| {
        let own = cluster.own_requests(requests);
        (
            own.on("configmaps").count(),
            own.on("kustomizations/status").count(),
        )
    };
    // The first pays for discovery.
    cluster.create("first", quick.clone()).await;
    cluster.applied("first", "main@sha1:1").await;
    let mark = audit.mark().await.unwrap();
    let mut other = quick.clone();
    other["nameSuffix"] = "-alone".into();
    cluster.create("alone", other.clone()).await;
    cluster.applied("alone", "main@sha1:1").await;
    let alone = count(&audit.since(mark).await.unwrap());

    for index in 0..WAITING {
        let spec = json!({
            "targetNamespace": cluster.namespace(), "wait": true, "timeout": "10m", "nameSuffix": format!("-{index}"),
            "sourceRef": {"kind": "GitRepository", "name": "stuck"},
        });
        cluster.create(&format!("stuck-{index}"), spec).await;
    }
    let waits = |object: &Kustomization| {
        condition(object, "Healthy").is_some_and(|healthy| healthy.status == ConditionStatus::Unknown)
    };
    for index in 0..WAITING {
        cluster.until(&format!("stuck-{index}"), "the wait", waits).await;
    }
    let mark = audit.mark().await.unwrap();
    other["nameSuffix"] = "-beside".into();
    cluster.create("beside", other).await;
    cluster.applied("beside", "main@sha1:1").await;
    assert_eq!(count(&audit.since(mark).await.unwrap()), alone);
    for index in 0..WAITING {
        let object = cluster
            .kustomizations()
            .get(&format!("stuck-{index}"))
            .await
            .unwrap();
        assert!(waits(&object), "{}", message(&object));
    }
}

/// What a failed wait says beside Flux's own words: the culprit first, then the objects above it and the newest
/// warning.
#[tokio::test]
async fn a_failed_wait_names_the_culprits_if_the_flag_is_set() {
    let Some(cluster) = Cluster::with_flags("culprits", &["--explain-health-failures"]).await else {
        return;
    };
    let homeless =
        deployment("homeless", "").replace("    spec:\n", "    spec:\n      nodeSelector: {no-such: node}\n");
    let nobody =
        deployment("nobody", "").replace("    spec:\n", "    spec:\n      serviceAccountName: nobody\n");
    let files = [
        ("homeless.yaml", homeless.as_str()),
        ("nobody.yaml", nobody.as_str()),
        ("a.yaml", &config_map("a", "1")),
    ];
    cluster.push("source", "main@sha1:1", &files).await;
    let spec = json!({"targetNamespace": cluster.namespace(), "wait": true, "timeout": "30s"});
    cluster.create("apps", spec).await;
    let object = cluster.failed("apps", "HealthCheckFailed").await;
    let namespace = cluster.namespace();
    let text = message(&object);
    let lines: Vec<&str> = text.lines().collect();
    let problem = format!(
        "timeout waiting for: [Deployment/{namespace}/homeless status: 'InProgress', Deployment/{namespace}/nobody status: 'InProgress']"
    );
    assert!(
        lines[0].starts_with("health check failed after 3") && lines[0].ends_with(&problem),
        "{text}"
    );
    assert_eq!(condition(&object, "Healthy").unwrap().message, problem);
    assert_eq!(lines.len(), 3, "{text}");
    let begins = format!("Pod/{namespace}/homeless-");
    let above = format!("(of Deployment/{namespace}/homeless, ReplicaSet/{namespace}/homeless-");
    assert!(
        lines[1].starts_with(&begins) && lines[1].contains("Unschedulable") && lines[1].contains(&above),
        "{text}"
    );
    assert!(lines[1].contains("; event FailedScheduling: "), "{text}");
    let begins = format!("ReplicaSet/{namespace}/nobody-");
    assert!(
        lines[2].starts_with(&begins) && lines[2].contains("serviceaccount \"nobody\" not found"),
        "{text}"
    );
    assert!(lines[2].contains("; event FailedCreate: "), "{text}");
    assert!(text.len() < 4000);
    cluster.event("apps", "(of Deployment/").await;
}
