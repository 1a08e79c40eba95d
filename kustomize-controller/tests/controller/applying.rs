//! What is written to the cluster, and what is left alone.

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;

use crate::harness::{Cluster, condition, config_map, inventory, message, version};

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 2\n  \
    selector:\n    matchLabels: {app: web}\n  template:\n    metadata:\n      labels: {app: web}\n    spec:\n      \
    containers:\n      - name: web\n        image: registry/app:v1\n        ports:\n        - containerPort: 80\n";

/// KUS-001, KUS-002, KUS-003, KUS-004, KUS-023, KUS-069, KUS-071, COM-001
#[tokio::test]
async fn kus_001_objects_are_applied_labelled_and_listed() {
    let Some(cluster) = Cluster::new("applies").await else {
        return;
    };
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[("a.yaml", &config_map("a", "1")), ("web.yaml", DEPLOYMENT)],
        )
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    let object = cluster.ready("apps").await;
    assert_eq!(message(&object), "Applied revision: main@sha1:1");
    let namespace = cluster.namespace();
    assert_eq!(
        inventory(&object),
        [
            format!("{namespace}_a__ConfigMap"),
            format!("{namespace}_web_apps_Deployment")
        ]
    );
    let status = object.status.as_ref().unwrap();
    assert_eq!(status.inventory.as_ref().unwrap().entries[1].version, "v1");
    assert_eq!(status.last_applied_revision.as_deref(), Some("main@sha1:1"));
    assert_eq!(status.last_attempted_revision.as_deref(), Some("main@sha1:1"));
    assert!(condition(&object, "Reconciling").is_none() && condition(&object, "Healthy").is_none());
    assert_eq!(status.history.len(), 1);
    assert_eq!(
        status.history[0].last_reconciled_status,
        "ReconciliationSucceeded"
    );
    assert_eq!(status.history[0].metadata["revision"], "main@sha1:1");

    let applied = cluster.config_maps().get("a").await.unwrap();
    let labels = applied.metadata.labels.clone().unwrap();
    assert_eq!(labels["kustomize.toolkit.fluxcd.io/name"], "apps");
    assert_eq!(labels["kustomize.toolkit.fluxcd.io/namespace"], namespace);
    let managers = applied.metadata.managed_fields.unwrap();
    assert_eq!(managers.len(), 1);
    assert_eq!(managers[0].manager.as_deref(), Some("kustomize-controller"));
    assert_eq!(managers[0].operation.as_deref(), Some("Apply"));

    let event = cluster.event("apps", "Reconciliation finished in").await;
    assert!(event.message.unwrap().ends_with("next run in 1h0m0s"));
    assert_eq!(event.reason.as_deref(), Some("ReconciliationSucceeded"));
    let annotations = event.metadata.annotations.unwrap();
    assert_eq!(annotations["kustomize.toolkit.fluxcd.io/commit_status"], "update");
    assert_eq!(annotations["kustomize.toolkit.fluxcd.io/revision"], "main@sha1:1");
    let event = cluster
        .event("apps", &format!("Deployment/{namespace}/web created"))
        .await;
    assert_eq!(event.reason.as_deref(), Some("Progressing"));
}

/// KUS-006, KUS-007: what others change comes back, what kubectl added goes.
#[tokio::test]
async fn kus_006_drift_is_corrected_and_kubectl_is_taken_over() {
    let Some(cluster) = Cluster::new("drift").await else {
        return;
    };
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[("web.yaml", DEPLOYMENT), ("a.yaml", &config_map("a", "1"))],
        )
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    cluster.kubectl(&["scale", "deployment", "web", "--replicas=5"]);
    cluster.kubectl(&[
        "patch",
        "configmap",
        "a",
        "--type=merge",
        "--field-manager=kubectl-edit",
        "-p",
        r#"{"data":{"extra":"x"}}"#,
    ]);
    cluster.kubectl(&[
        "annotate",
        "configmap",
        "a",
        "kubectl.kubernetes.io/last-applied-configuration=old",
    ]);
    cluster.reconcile("apps").await;
    let replicas = cluster.kubectl(&["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"]);
    assert_eq!(replicas, "2");
    let found = cluster.config_maps().get("a").await.unwrap();
    assert_eq!(found.data.unwrap().into_keys().collect::<Vec<_>>(), ["key"]);
    assert!(found.metadata.annotations.is_none());
    let expected = format!(
        "ConfigMap/{0}/a configured\nDeployment/{0}/web configured",
        cluster.namespace()
    );
    cluster.event("apps", &expected).await;
}

/// KUS-008, KUS-009
#[tokio::test]
async fn kus_008_objects_can_say_how_they_are_applied() {
    let Some(cluster) = Cluster::new("switches").await else {
        return;
    };
    let with = |name: &str, value: &str, place: &str, key: &str, switch: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  {place}:\n    \
             kustomize.toolkit.fluxcd.io/{key}: {switch}\ndata:\n  key: '{value}'\n"
        )
    };
    let files = |value: &str| {
        [
            with("merge", value, "annotations", "ssa", "Merge"),
            with("present", value, "labels", "ssa", "ifnotpresent"),
            with("ignored", value, "annotations", "ssa", "IGNORE"),
            with("disabled", value, "labels", "reconcile", "Disabled"),
        ]
    };
    let push = async |revision: &str, value: &str| {
        let files = files(value);
        let named: Vec<(String, &String)> = files
            .iter()
            .enumerate()
            .map(|(at, file)| (format!("{at}.yaml"), file))
            .collect();
        let files: Vec<(&str, &str)> = named
            .iter()
            .map(|(name, file)| (name.as_str(), file.as_str()))
            .collect();
        cluster.push("source", revision, &files).await;
    };
    cluster.kubectl(&["create", "configmap", "ignored", "--from-literal=key=theirs"]);
    cluster.kubectl(&["create", "configmap", "disabled", "--from-literal=key=theirs"]);
    push("main@sha1:1", "1").await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    let object = cluster.ready("apps").await;
    assert_eq!(
        inventory(&object).len(),
        4,
        "skipped objects stay in the inventory"
    );
    cluster.kubectl(&[
        "patch",
        "configmap",
        "merge",
        "--type=merge",
        "-p",
        r#"{"data":{"extra":"kept"}}"#,
    ]);
    push("main@sha1:2", "2").await;
    let object = cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(inventory(&object).len(), 4);
    assert_eq!(cluster.data("merge", "key").await.as_deref(), Some("2"));
    assert_eq!(cluster.data("merge", "extra").await.as_deref(), Some("kept"));
    assert_eq!(cluster.data("present", "key").await.as_deref(), Some("1"));
    assert_eq!(cluster.data("ignored", "key").await.as_deref(), Some("theirs"));
    assert_eq!(cluster.data("disabled", "key").await.as_deref(), Some("theirs"));
}

/// KUS-010
#[tokio::test]
async fn kus_010_immutable_objects_are_recreated_only_by_force() {
    let Some(cluster) = Cluster::new("force").await else {
        return;
    };
    let immutable = |value: &str| format!("{}immutable: true\n", config_map("a", value));
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &immutable("1"))])
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let first = cluster.config_maps().get("a").await.unwrap().metadata.uid;
    cluster
        .push("source", "main@sha1:2", &[("a.yaml", &immutable("2"))])
        .await;
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    let text = format!(
        "ConfigMap/{}/a dry-run failed (Invalid): ConfigMap \"a\" is invalid: data: Forbidden: field is immutable",
        cluster.namespace()
    );
    assert!(message(&object).starts_with(&text), "{}", message(&object));
    cluster.edit("apps", json!({"force": true})).await;
    cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("2"));
    assert_ne!(cluster.config_maps().get("a").await.unwrap().metadata.uid, first);
}

/// KUS-011, KUS-012, KUS-013
#[tokio::test]
async fn kus_011_what_is_no_longer_built_is_deleted_if_it_is_ours() {
    let Some(cluster) = Cluster::new("prune").await else {
        return;
    };
    let kept = config_map("kept", "1").replace(
        "  name:",
        "  annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}\n  name:",
    );
    let files = [
        ("a.yaml", config_map("a", "1")),
        ("b.yaml", config_map("b", "1")),
        ("kept.yaml", kept),
        ("foreign.yaml", config_map("foreign", "1")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    cluster.push("source", "main@sha1:1", &files).await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    cluster.kubectl(&[
        "label",
        "configmap",
        "foreign",
        "--overwrite",
        "kustomize.toolkit.fluxcd.io/name=other",
    ]);
    cluster
        .push("source", "main@sha1:2", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let object = cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(
        inventory(&object),
        [format!("{}_a__ConfigMap", cluster.namespace())]
    );
    assert_eq!(cluster.data("b", "key").await, None);
    assert!(cluster.data("kept", "key").await.is_some());
    assert!(cluster.data("foreign", "key").await.is_some());
    cluster
        .event("apps", &format!("ConfigMap/{}/b deleted", cluster.namespace()))
        .await;
}

/// KUS-013, F04: what could not be deleted stays in the inventory and is tried again.
#[tokio::test]
async fn kus_013_survivors_of_a_prune_stay_in_the_inventory() {
    let Some(cluster) = Cluster::new("survivors").await else {
        return;
    };
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[
                ("a.yaml", &config_map("a", "1")),
                ("b.yaml", &config_map("b", "1")),
            ],
        )
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let namespace = cluster.namespace();
    let policy = format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: {namespace}}}\n\
         spec:\n  matchConstraints:\n    resourceRules:\n    - {{apiGroups: [''], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}}\n  \
         validations: [{{expression: 'false', message: kept by policy}}]\n---\n\
         apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: {namespace}}}\n\
         spec:\n  policyName: {namespace}\n  validationActions: [Deny]\n  matchResources:\n    namespaceSelector:\n      matchLabels: {{kubernetes.io/metadata.name: {namespace}}}\n"
    );
    cluster.kubectl_with(&["apply", "-f", "-"], &policy);
    // A policy takes a moment to be in force.
    sluice_testbed::wait::until_some(crate::harness::PATIENCE, "the policy to be in force", || async {
        let dry_run = DeleteParams {
            dry_run: true,
            ..DeleteParams::default()
        };
        cluster
            .config_maps()
            .delete("b", &dry_run)
            .await
            .is_err()
            .then_some(())
    })
    .await
    .unwrap();
    cluster
        .push("source", "main@sha1:2", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let object = cluster.failed("apps", "PruneFailed").await;
    assert!(message(&object).starts_with(&format!(
        "delete failed, errors: ConfigMap/{namespace}/b delete failed: "
    )));
    assert!(message(&object).contains("kept by policy"));
    assert_eq!(inventory(&object).len(), 2);
    cluster.kubectl(&[
        "delete",
        "validatingadmissionpolicybinding,validatingadmissionpolicy",
        namespace,
    ]);
    sluice_testbed::wait::until_some(crate::harness::PATIENCE, "the policy to be gone", || async {
        let dry_run = DeleteParams {
            dry_run: true,
            ..DeleteParams::default()
        };
        cluster
            .config_maps()
            .delete("b", &dry_run)
            .await
            .is_ok()
            .then_some(())
    })
    .await
    .unwrap();
    let object = cluster.reconcile("apps").await;
    assert_eq!(inventory(&object), [format!("{namespace}_a__ConfigMap")]);
    assert_eq!(cluster.data("b", "key").await, None);
}

/// KUS-014: definitions and namespaces come first, and the rest waits for them.
#[tokio::test]
async fn kus_014_definitions_and_their_objects_are_applied_in_one_go() {
    let Some(cluster) = Cluster::new("stages").await else {
        return;
    };
    let group = format!("{}.example.com", cluster.namespace());
    let inner = format!("{}-inner", cluster.namespace());
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.{group}}}\nspec:\n  \
         group: {group}\n  scope: Namespaced\n  names: {{kind: Thing, plural: things, singular: thing}}\n  versions:\n  - name: v1\n    \
         served: true\n    storage: true\n    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n"
    );
    let thing = format!("apiVersion: {group}/v1\nkind: Thing\nmetadata: {{name: x, namespace: {inner}}}\n");
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {inner}}}\n");
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[
                ("a.yaml", &thing),
                ("b.yaml", &definition),
                ("c.yaml", &namespace),
            ],
        )
        .await;
    cluster
        .create("apps", json!({"wait": true, "timeout": "2m"}))
        .await;
    let object = cluster.ready("apps").await;
    assert_eq!(
        inventory(&object),
        [
            format!("_things.{group}_apiextensions.k8s.io_CustomResourceDefinition"),
            format!("_{inner}__Namespace"),
            format!("{inner}_x_{group}_Thing")
        ]
    );
    cluster.delete("apps").await;
}

/// KUS-015: the controller of these tests runs with `--custom-apply-stage-kinds=Secret`.
#[tokio::test]
async fn kus_015_named_kinds_are_applied_before_the_rest() {
    let Some(cluster) = Cluster::new("custom").await else {
        return;
    };
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: text}\n";
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[("a.yaml", &config_map("a", "1")), ("s.yaml", secret)],
        )
        .await;
    let audit = cluster.audit().await;
    let mark = audit.mark().await.unwrap();
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let requests = cluster.own_requests_since(&audit, mark, 2).await;
    let applied: Vec<&str> = requests
        .iter()
        .filter(|request| request.is_apply() && !request.is_dry_run())
        .map(|request| request.resource.as_str())
        .collect();
    assert_eq!(applied, ["secrets", "configmaps"]);
}

/// What a failed apply created before it failed is no longer wanted later: it is pruned all the same.
#[tokio::test]
async fn objects_of_a_failed_apply_are_not_lost() {
    let Some(cluster) = Cluster::new("partial").await else {
        return;
    };
    let inner = format!("{}-inner", cluster.namespace());
    let namespace = format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {inner}}}\n");
    let bad = DEPLOYMENT.replace("replicas: 2", "replicas: -1").replace(
        "name: web\nspec",
        &format!("name: web\n  namespace: {inner}\nspec"),
    );
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[("a.yaml", &namespace), ("web.yaml", &bad)],
        )
        .await;
    cluster.create("apps", json!({})).await;
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    // KUS-017: the changes of completed stages follow the error. The inventory is as it was, and what the
    // failed apply has created: see docs/parity.md.
    assert!(
        message(&object).ends_with(&format!("\nNamespace/{inner} created\n")),
        "{}",
        message(&object)
    );
    assert_eq!(inventory(&object), [format!("_{inner}__Namespace")]);
    let good = format!(
        "{}  namespace: {}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n",
        cluster.namespace()
    );
    cluster.push("source", "main@sha1:2", &[("a.yaml", &good)]).await;
    let object = cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(
        inventory(&object),
        [format!("{}_a__ConfigMap", cluster.namespace())]
    );
    cluster.event("apps", &format!("Namespace/{inner} deleted")).await;
}

/// KUS-016, KUS-017, KUS-018, KUS-019: nothing of a stage is written if one of its objects is refused.
#[tokio::test]
async fn kus_016_an_invalid_object_keeps_its_stage_from_being_written() {
    let Some(cluster) = Cluster::new("invalid").await else {
        return;
    };
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    let before = inventory(&cluster.ready("apps").await);
    let version_before = version(&cluster.config_maps().get("a").await.unwrap());
    let bad = DEPLOYMENT.replace("replicas: 2", "replicas: -1");
    cluster
        .push(
            "source",
            "main@sha1:2",
            &[
                ("a.yaml", &config_map("a", "2")),
                ("b.yaml", &config_map("b", "1")),
                ("web.yaml", &bad),
            ],
        )
        .await;
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    let text = format!(
        "Deployment/{}/web dry-run failed (Invalid): Deployment.apps \"web\" is invalid: spec.replicas",
        cluster.namespace()
    );
    assert!(message(&object).starts_with(&text), "{}", message(&object));
    assert_eq!(inventory(&object), before);
    assert_eq!(
        version(&cluster.config_maps().get("a").await.unwrap()),
        version_before
    );
    assert_eq!(cluster.data("b", "key").await, None);
    let retry = condition(&object, "Reconciling").unwrap();
    assert_eq!(retry.reason, "ProgressingWithRetry");
    assert_eq!(
        object.status.as_ref().unwrap().history[0].last_reconciled_status,
        "ReconciliationFailed"
    );
    assert_eq!(
        object.status.as_ref().unwrap().last_applied_revision.as_deref(),
        Some("main@sha1:1")
    );
}

/// KUS-005, KUS-072: objects that API servers complete do not drift for ever.
#[tokio::test]
async fn kus_072_completed_objects_do_not_drift() {
    let Some(cluster) = Cluster::new("stable").await else {
        return;
    };
    let others = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: text}\n---\n\
        apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  selector: {app: web}\n  ports:\n  - port: 80\n---\n\
        apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec:\n  maxReplicas: 3\n  \
        scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  metrics:\n  - type: Resource\n    resource:\n      name: cpu\n      target: {type: Utilization, averageUtilization: 80}\n";
    let deployment = DEPLOYMENT.replace(
        "        ports:",
        "        resources: {limits: {cpu: 1000m, memory: 1024Mi}}\n        unknown: dropped\n        ports:",
    );
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[("others.yaml", others), ("web.yaml", &deployment)],
        )
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let versions = [
        "get",
        "secret/s",
        "service/web",
        "hpa/web",
        "-o",
        "jsonpath={.items[*].metadata.resourceVersion}",
    ];
    let generation = ["get", "deployment/web", "-o", "jsonpath={.metadata.generation}"];
    let before = (cluster.kubectl(&versions), cluster.kubectl(&generation));
    cluster.reconcile("apps").await;
    cluster.reconcile("apps").await;
    // The autoscaler's own controller writes its status: only the others have to stand still.
    let after = (cluster.kubectl(&versions), cluster.kubectl(&generation));
    let stable = |versions: &str| versions.split(' ').take(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(stable(&before.0), stable(&after.0));
    assert_eq!(before.1, after.1);
    assert!(
        !cluster
            .log()
            .lines()
            .any(|line| line.contains(cluster.namespace())
                && line.contains("HorizontalPodAutoscaler")
                && line.contains("configured"))
    );
}

/// KUS-065
#[tokio::test]
async fn kus_065_ignored_fields_may_drift() {
    let Some(cluster) = Cluster::new("ignore").await else {
        return;
    };
    cluster
        .push("source", "main@sha1:1", &[("web.yaml", DEPLOYMENT)])
        .await;
    let ignore = json!([{"paths": ["/spec/replicas"], "target": {"kind": "Deployment"}}]);
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "ignore": ignore}),
        )
        .await;
    cluster.ready("apps").await;
    let replicas = ["get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"];
    assert_eq!(cluster.kubectl(&replicas), "2");
    cluster.kubectl(&["scale", "deployment", "web", "--replicas=4"]);
    cluster.reconcile("apps").await;
    assert_eq!(cluster.kubectl(&replicas), "4");
    cluster
        .push(
            "source",
            "main@sha1:2",
            &[("web.yaml", &DEPLOYMENT.replace("app:v1", "app:v2"))],
        )
        .await;
    cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(cluster.kubectl(&replicas), "4");
}

/// KUS-027
#[tokio::test]
async fn kus_027_common_metadata_overrides() {
    let Some(cluster) = Cluster::new("metadata").await else {
        return;
    };
    let manifest = config_map("a", "1").replace("  name:", "  labels: {team: theirs}\n  name:");
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &manifest)])
        .await;
    let metadata = json!({"labels": {"team": "ours"}, "annotations": {"note": "x"}});
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "commonMetadata": metadata}),
        )
        .await;
    cluster.ready("apps").await;
    let found = cluster.config_maps().get("a").await.unwrap().metadata;
    assert_eq!(found.labels.unwrap()["team"], "ours");
    assert_eq!(found.annotations.unwrap()["note"], "x");
}

/// KUS-034, KUS-066
#[tokio::test]
async fn kus_034_variables_come_from_config_maps_and_secrets() {
    let Some(cluster) = Cluster::new("variables").await else {
        return;
    };
    cluster.kubectl(&[
        "create",
        "configmap",
        "first",
        "--from-literal=a=first",
        "--from-literal=b=first",
        "--from-literal=c=first",
    ]);
    cluster.kubectl(&[
        "create",
        "secret",
        "generic",
        "second",
        "--from-literal=b=second",
        "--from-literal=c=second",
    ]);
    cluster.kubectl(&["label", "configmap", "first", "reconcile.fluxcd.io/watch=Enabled"]);
    let manifest =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: out}\ndata:\n  a: ${a}\n  b: ${b}\n  c: ${c}\n";
    cluster
        .push("source", "main@sha1:1", &[("out.yaml", manifest)])
        .await;
    let from = json!([{"kind": "ConfigMap", "name": "first"}, {"kind": "Secret", "name": "second"}, {"kind": "Secret", "name": "absent", "optional": true}]);
    cluster.create("apps", json!({"targetNamespace": cluster.namespace(), "postBuild": {"substitute": {"c": "inline"}, "substituteFrom": from}})).await;
    cluster.ready("apps").await;
    let values = [
        "get",
        "configmap",
        "out",
        "-o",
        "jsonpath={.data.a} {.data.b} {.data.c}",
    ];
    assert_eq!(cluster.kubectl(&values), "first second inline");
    let patch = Patch::Merge(json!({"data": {"a": "changed"}}));
    cluster
        .config_maps()
        .patch("first", &PatchParams::default(), &patch)
        .await
        .unwrap();
    let what = "the watched ConfigMap to take effect";
    sluice_testbed::wait::until_some(crate::harness::PATIENCE, what, || async {
        (cluster.data("out", "a").await.as_deref() == Some("changed")).then_some(())
    })
    .await
    .unwrap();
}

/// KUS-060
#[tokio::test]
async fn kus_060_a_service_account_limits_what_can_be_applied() {
    let Some(cluster) = Cluster::new("impersonation").await else {
        return;
    };
    cluster.kubectl(&["create", "serviceaccount", "deployer"]);
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    cluster
        .create(
            "apps",
            json!({"targetNamespace": cluster.namespace(), "serviceAccountName": "deployer"}),
        )
        .await;
    let object = cluster.failed("apps", "ReconciliationFailed").await;
    let namespace = cluster.namespace();
    let text = format!(
        "ConfigMap/{namespace}/a dry-run failed (Forbidden): configmaps \"a\" is forbidden: User \"system:serviceaccount:{namespace}:deployer\" cannot patch"
    );
    assert!(message(&object).starts_with(&text), "{}", message(&object));
    cluster.kubectl(&["create", "role", "deployer", "--verb=*", "--resource=configmaps"]);
    cluster.kubectl(&[
        "create",
        "rolebinding",
        "deployer",
        "--role=deployer",
        &format!("--serviceaccount={namespace}:deployer"),
    ]);
    cluster.reconcile("apps").await;
    cluster.ready("apps").await;
}
