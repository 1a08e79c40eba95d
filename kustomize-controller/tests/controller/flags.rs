//! What flags and feature gates change: controllers of their own, for one test each.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{Cluster, archive, condition, config_map, inventory, message, ready};
use crate::server::FileServer;

/// Creates a source of any kind, named `source`, with an artifact of these files.
fn serve(
    cluster: &Cluster,
    (kind, spec): (&str, Value),
    revision: &str,
    files: &[(&str, &str)],
    metadata: &Value,
) {
    let bytes = archive(files);
    let digest = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
    let path = format!(
        "/{kind}/{}/source/{}.tar.gz",
        cluster.namespace(),
        revision.replace([':', '@'], "-")
    );
    let url = FileServer::shared().put(&path, bytes);
    let source = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": kind, "metadata": {"name": "source"}, "spec": spec,
    });
    cluster.kubectl_with(&["apply", "-f", "-"], &source.to_string());
    let artifact = json!({
        "digest": digest, "url": url, "path": path.trim_start_matches('/'), "revision": revision,
        "lastUpdateTime": "2026-01-01T00:00:00Z", "metadata": metadata,
    });
    let status = json!({"status": {"artifact": artifact}}).to_string();
    cluster.kubectl(&[
        "patch",
        kind,
        "source",
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ]);
}

/// KUS-061: Kustomizations that name no service account act as the default one, others as their own.
#[tokio::test]
async fn kus_061_a_default_service_account_stands_in() {
    let flags = ["--default-service-account=deployer"];
    let Some(cluster) = Cluster::with_flags("default", &flags).await else {
        return;
    };
    let namespace = cluster.namespace();
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    cluster
        .create("apps", json!({"targetNamespace": namespace}))
        .await;
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    let user = |name: &str| format!("User \"system:serviceaccount:{namespace}:{name}\" cannot patch");
    assert!(
        message(&object).contains(&user("deployer")),
        "{}",
        message(&object)
    );
    cluster
        .create(
            "own",
            json!({"targetNamespace": namespace, "serviceAccountName": "mine"}),
        )
        .await;
    let object = cluster.failed("own", "ReconciliationFailed").await;
    assert!(message(&object).contains(&user("mine")), "{}", message(&object));
    cluster.kubectl(&["create", "serviceaccount", "deployer"]);
    cluster.kubectl(&["create", "role", "deployer", "--verb=*", "--resource=configmaps"]);
    let account = format!("--serviceaccount={namespace}:deployer");
    cluster.kubectl(&["create", "rolebinding", "deployer", "--role=deployer", &account]);
    cluster.reconcile("apps").await;
    cluster.ready("apps").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("1"));
}

/// KUS-068
#[tokio::test]
async fn kus_068_a_new_revision_ends_a_wait_if_the_gate_is_open() {
    let flags = ["--feature-gates=CancelHealthCheckOnNewRevision=true"];
    let Some(cluster) = Cluster::with_flags("cancel", &flags).await else {
        return;
    };
    // A rollout that never ends.
    let stuck = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  paused: true\n  selector:\n    matchLabels: {app: web}\n  \
        template:\n    metadata:\n      labels: {app: web}\n    spec:\n      containers:\n      - {name: web, image: app}\n";
    cluster
        .push("source", "main@sha1:1", &[("web.yaml", stuck)])
        .await;
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "wait": true, "timeout": "30m"}),
        )
        .await;
    cluster
        .until("apps", "the wait", |object| {
            condition(object, "Healthy").is_some_and(|healthy| healthy.reason == "Progressing")
        })
        .await;
    cluster
        .push("source", "main@sha1:2", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let object = cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(
        inventory(&object),
        [format!("{}_a__ConfigMap", cluster.namespace())]
    );
    let trigger = format!("GitRepository/{}/source", cluster.namespace());
    let text = format!("Health checks canceled due to new reconciliation triggered by {trigger}");
    let event = cluster.event("apps", &text).await;
    assert_eq!(event.reason.as_deref(), Some("HealthCheckCanceled"));
}

/// KUS-070: the revision at its origin, in status, history and events.
#[tokio::test]
async fn kus_070_the_origin_of_an_artifact_is_recorded() {
    let Some(cluster) = Cluster::new("origin").await else {
        return;
    };
    let (revision, origin) = ("latest@sha256:abc", "main@sha1:origin");
    serve(
        &cluster,
        (
            "OCIRepository",
            json!({"interval": "1h", "url": "oci://registry.example.com/app"}),
        ),
        revision,
        &[("a.yaml", &config_map("a", "1"))],
        &json!({"org.opencontainers.image.revision": origin}),
    );
    let source = json!({"kind": "OCIRepository", "name": "source"});
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "sourceRef": source}),
        )
        .await;
    let object = cluster.applied("apps", revision).await;
    let status = object.status.unwrap();
    assert_eq!(status.last_applied_origin_revision.as_deref(), Some(origin));
    assert_eq!(status.history[0].metadata["originRevision"], origin);
    let event = cluster.event("apps", "Reconciliation finished in").await;
    let annotations = event.metadata.annotations.unwrap();
    assert_eq!(annotations["kustomize.toolkit.fluxcd.io/originRevision"], origin);
    assert_eq!(annotations["kustomize.toolkit.fluxcd.io/revision"], revision);
}

/// The API versions in the managed fields of an autoscaler that somebody else has applied in version v1, once a
/// Kustomization has applied it in version v2.
async fn versions_after_migration(cluster: &Cluster) -> Vec<String> {
    let target = "  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: 3\n";
    let old = format!(
        "apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec:\n{target}"
    );
    let apply = ["apply", "--server-side", "--field-manager=somebody", "-f", "-"];
    cluster.kubectl_with(&apply, &old);
    let new = old.replace("autoscaling/v1", "autoscaling/v2");
    cluster.push("source", "main@sha1:1", &[("web.yaml", &new)]).await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let fields =
        "jsonpath={range .metadata.managedFields[?(@.operation==\"Apply\")]}{.manager}={.apiVersion} {end}";
    let text = cluster.kubectl(&["get", "hpa", "web", "--show-managed-fields", "-o", fields]);
    let mut versions: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    versions.sort();
    versions
}

/// KUS-073
#[tokio::test]
async fn kus_073_the_versions_of_managed_fields_are_migrated_if_the_gate_is_open() {
    let Some(cluster) = Cluster::with_flags("migrate", &["--feature-gates=MigrateAPIVersion=true"]).await
    else {
        return;
    };
    assert_eq!(
        versions_after_migration(&cluster).await,
        ["kustomize-controller=autoscaling/v2", "somebody=autoscaling/v2"]
    );
    let Some(closed) = Cluster::new("migrate").await else {
        return;
    };
    assert_eq!(
        versions_after_migration(&closed).await,
        ["kustomize-controller=autoscaling/v2", "somebody=autoscaling/v1"]
    );
}

/// KUS-074: with the gate closed the real tool says AccessDenied, not FeatureGateDisabled.
#[tokio::test]
async fn kus_074_external_artifacts_need_their_gate() {
    let Some(open) = Cluster::with_flags("external", &["--feature-gates=ExternalArtifact=true"]).await else {
        return;
    };
    let Some(closed) = Cluster::new("external").await else {
        return;
    };
    for cluster in [&open, &closed] {
        serve(
            cluster,
            ("ExternalArtifact", json!({})),
            "v1@sha256:abc",
            &[("a.yaml", &config_map("a", "1"))],
            &json!({}),
        );
        let source = json!({"kind": "ExternalArtifact", "name": "source"});
        cluster
            .create(
                "apps",
                json!({"targetNamespace": cluster.namespace(), "sourceRef": source}),
            )
            .await;
    }
    open.applied("apps", "v1@sha256:abc").await;
    assert_eq!(open.data("a", "key").await.as_deref(), Some("1"));
    serve(
        &open,
        ("ExternalArtifact", json!({})),
        "v2@sha256:def",
        &[("a.yaml", &config_map("a", "2"))],
        &json!({}),
    );
    open.applied("apps", "v2@sha256:def").await;
    let object = closed.failed("apps", "AccessDenied").await;
    let expected = format!(
        "can't access 'ExternalArtifact/{}/source', ExternalArtifact feature gate is disabled",
        closed.namespace()
    );
    assert_eq!(message(&object), expected);
    assert!(condition(&object, "Stalled").is_some_and(|stalled| stalled.reason == "AccessDenied"));
    assert_eq!(closed.data("a", "key").await, None);
}

/// COM-032
#[tokio::test]
async fn com_032_references_to_other_namespaces_can_be_forbidden() {
    let Some(cluster) = Cluster::with_flags("lockdown", &["--no-cross-namespace-refs"]).await else {
        return;
    };
    let Some(other) = Cluster::new("lockdown").await else {
        return;
    };
    for one in [&cluster, &other] {
        one.push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
            .await;
    }
    let foreign =
        |from: &Cluster| json!({"kind": "GitRepository", "name": "source", "namespace": from.namespace()});
    cluster
        .create(
            "foreign",
            json!({"targetNamespace": cluster.namespace(), "sourceRef": foreign(&other)}),
        )
        .await;
    let object = cluster.failed("foreign", "AccessDenied").await;
    let expected = format!(
        "can't access 'GitRepository/{}/source', cross-namespace references have been blocked",
        other.namespace()
    );
    assert_eq!(message(&object), expected);
    assert!(condition(&object, "Stalled").is_some_and(|stalled| stalled.is_true()));
    assert!(condition(&object, "Reconciling").is_none());
    cluster
        .create("own", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("own").await;
    // Without the flag the same reference is fine.
    other
        .create(
            "foreign",
            json!({"targetNamespace": other.namespace(), "sourceRef": foreign(&cluster)}),
        )
        .await;
    other.ready("foreign").await;
}

/// COM-034: identities of their own for objects need their gate.
#[tokio::test]
async fn com_034_an_identity_for_decryption_needs_its_gate() {
    let Some(cluster) = Cluster::new("identity").await else {
        return;
    };
    let decryption = json!({"provider": "sops", "serviceAccountName": "decryptor"});
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "decryption": decryption}),
        )
        .await;
    let object = cluster.failed("apps", "FeatureGateDisabled").await;
    let expected = "to use spec.decryption.serviceAccountName for decryption authentication please enable the \
                    ObjectLevelWorkloadIdentity feature gate in the controller";
    assert_eq!(message(&object), expected);
    assert_eq!(condition(&object, "Stalled").unwrap().message, expected);
    assert!(ready(&object).unwrap().is_false());
}
