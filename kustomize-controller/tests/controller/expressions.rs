//! CEL expressions: whether a dependency is ready, and how custom resources fare.

use serde_json::{Value, json};
use sluice_api::kustomize::Kustomization;

use crate::harness::{Cluster, condition, config_map, message};

/// What an expression that cannot be used says, on Ready and on Stalled, once the spec was looked at.
async fn stalled(cluster: &Cluster, name: &str) -> String {
    let object = cluster.failed(name, "InvalidCELExpression").await;
    let stalled = condition(&object, "Stalled").unwrap();
    assert!(stalled.is_true() && stalled.reason == "InvalidCELExpression");
    assert_eq!(stalled.message, message(&object));
    let observed = object.status.as_ref().unwrap().observed_generation;
    assert_eq!(observed, object.metadata.generation);
    message(&object).to_owned()
}

/// KUS-049: the expression stands in the place of the look at the status; it sees both objects, and a change
/// that it can see wakes the dependant.
#[tokio::test]
async fn kus_049_an_expression_tells_whether_a_dependency_is_ready() {
    let Some(cluster) = Cluster::new("ready-expression").await else {
        return;
    };
    let files = [("a.yaml", &*config_map("a", "1"))];
    cluster.push("source", "main@sha1:1", &files).await;
    // The dependency is never ready by its status.
    cluster.create("first", json!({"path": "missing"})).await;
    cluster.failed("first", "ArtifactFailed").await;
    let namespace = cluster.namespace().to_owned();
    let expression = "dep.metadata.labels['go'] == self.metadata.name && dep.status.conditions.exists(c, c.type == 'Ready')";
    let spec =
        json!({"targetNamespace": namespace, "dependsOn": [{"name": "first", "readyExpr": expression}]});
    cluster.create("second", spec).await;
    let object = cluster.failed("second", "DependencyNotReady").await;
    assert_eq!(
        message(&object),
        format!("failed to evaluate the CEL expression '{expression}': no such key: labels")
    );
    cluster.kubectl(&["label", "kustomization", "first", "go=third"]);
    let not_ready = format!("dependency '{namespace}/first' is not ready according to readyExpr eval");
    let waits = |object: &Kustomization| message(object) == not_ready;
    cluster.until("second", "the expression to be false", waits).await;
    let event = cluster
        .event(
            "second",
            "Dependencies do not meet ready condition, retrying in 30s",
        )
        .await;
    assert_eq!(event.type_.as_deref(), Some("Normal"));
    cluster.kubectl(&["label", "--overwrite", "kustomization", "first", "go=second"]);
    cluster.ready("second").await;
}

/// KUS-049: with the gate, the status counts as well.
#[tokio::test]
async fn kus_049_the_gate_adds_the_status_to_the_expression() {
    let flags = ["--feature-gates=AdditiveCELDependencyCheck=true"];
    let Some(cluster) = Cluster::with_flags("additive-expression", &flags).await else {
        return;
    };
    let files = [("a.yaml", &*config_map("a", "1"))];
    cluster.push("source", "main@sha1:1", &files).await;
    cluster.create("first", json!({"path": "missing"})).await;
    cluster.failed("first", "ArtifactFailed").await;
    let namespace = cluster.namespace().to_owned();
    let depends = |expression: &str| json!([{"name": "first", "readyExpr": expression}]);
    let spec = json!({"targetNamespace": namespace, "nameSuffix": "-2", "dependsOn": depends("true")});
    cluster.create("second", spec).await;
    let object = cluster.failed("second", "DependencyNotReady").await;
    assert_eq!(
        message(&object),
        format!("dependency '{namespace}/first' is not ready")
    );
    cluster
        .edit("first", json!({"path": "", "targetNamespace": namespace}))
        .await;
    cluster.ready("first").await;
    cluster.ready("second").await;
    cluster
        .edit("second", json!({"dependsOn": depends("false")}))
        .await;
    let object = cluster.failed("second", "DependencyNotReady").await;
    assert_eq!(
        message(&object),
        format!("dependency '{namespace}/first' is not ready according to readyExpr eval")
    );
}

/// KUS-049: an expression that is none, or yields something else, stalls; a better one heals.
#[tokio::test]
async fn kus_049_an_invalid_expression_stalls() {
    let Some(cluster) = Cluster::new("invalid-ready-expression").await else {
        return;
    };
    let files = [("a.yaml", &*config_map("a", "1"))];
    cluster.push("source", "main@sha1:1", &files).await;
    let namespace = cluster.namespace().to_owned();
    cluster
        .create("first", json!({"targetNamespace": namespace}))
        .await;
    cluster.ready("first").await;
    let depends = |expression: &str| json!([{"name": "first", "readyExpr": expression}]);
    let begins = "Reconciliation failed terminally due to configuration error: terminal error: failed to evaluate \
                  dependency first: ";
    let cases = [
        (
            "dep.(",
            "failed to parse the CEL expression 'dep.(': ERROR: <input>:1:5: Syntax error: no viable alternative at input \
             '.('\n | dep.(\n | ....^",
        ),
        (
            "other.x == 1",
            "failed to parse the CEL expression 'other.x == 1': ERROR: <input>:1:1: undeclared reference to 'other' (in \
             container '')\n | other.x == 1\n | ^",
        ),
        (
            "dep.metadata.name",
            "CEL expression output type mismatch: expected bool, got dyn",
        ),
        (
            "timestamp('x') == timestamp(0)",
            "failed to create CEL program: type conversion error from 'string' to 'google.protobuf.Timestamp'",
        ),
    ];
    for (at, (expression, problem)) in cases.iter().enumerate() {
        let name = format!("second{at}");
        let spec = json!({"targetNamespace": namespace, "nameSuffix": format!("-{at}"), "dependsOn": depends(expression)});
        cluster.create(&name, spec).await;
        assert_eq!(stalled(&cluster, &name).await, format!("{begins}{problem}"));
    }
    let event = cluster.event("second0", "no viable alternative").await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    cluster
        .edit("second0", json!({"dependsOn": depends("true")}))
        .await;
    let object = cluster.ready("second0").await;
    assert!(condition(&object, "Stalled").is_none());
}

/// A kind of the test's own, and an object of it.
struct Widgets<'a> {
    cluster: &'a Cluster,
    group: String,
}

impl<'a> Widgets<'a> {
    fn new(cluster: &'a Cluster) -> Self {
        let group = format!("{}.example.com", cluster.namespace());
        let definition = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.{group}}}\nspec:\n  \
             group: {group}\n  scope: Namespaced\n  names: {{kind: Widget, plural: widgets, singular: widget}}\n  versions:\n  - name: v1\n    \
             served: true\n    storage: true\n    subresources: {{status: {{}}}}\n    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n"
        );
        cluster.kubectl_with(&["apply", "-f", "-"], &definition);
        let name = format!("crd/widgets.{group}");
        cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &name]);
        Self { cluster, group }
    }

    fn manifest(&self, size: u32) -> String {
        let group = &self.group;
        format!("apiVersion: {group}/v1\nkind: Widget\nmetadata: {{name: w}}\nspec: {{size: {size}}}\n")
    }

    /// Writes the status as the controller of widgets would.
    fn report(&self, status: &Value) {
        let patch = json!({"status": status}).to_string();
        let kind = format!("widgets.{}", self.group);
        self.cluster.kubectl(&[
            "patch",
            &kind,
            "w",
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
    }
}

/// KUS-055: the expressions tell, in their order; a status of an older generation is waited for.
#[tokio::test]
async fn kus_055_expressions_tell_the_health_of_a_custom_resource() {
    let Some(cluster) = Cluster::new("health-expression").await else {
        return;
    };
    let widgets = Widgets::new(&cluster);
    let files = [("w.yaml", &*widgets.manifest(1))];
    cluster.push("source", "main@sha1:1", &files).await;
    let check = json!({
        "apiVersion": format!("{}/v2", widgets.group),
        "kind": "Widget",
        "inProgress": "has(status.busy) && status.busy",
        "failed": "has(status.phase) && status.phase == 'Broken'",
        "current": "has(status.phase) && status.phase in ['Done', 'Broken']",
    });
    let spec = json!({
        "targetNamespace": cluster.namespace(), "wait": true, "timeout": "10m", "retryInterval": "1h",
        "healthCheckExprs": [check],
    });
    cluster.create("apps", spec).await;
    // Without a status there is no `status` to look at: unknown, and waited for.
    cluster
        .until("apps", "the wait", |object| {
            condition(object, "Healthy").is_some()
        })
        .await;
    widgets.report(&json!({"phase": "Done", "busy": true, "observedGeneration": 1}));
    widgets.report(&json!({"phase": "Done", "busy": false, "observedGeneration": 0}));
    let object = cluster.kustomizations().get("apps").await.unwrap();
    assert!(condition(&object, "Healthy").is_some_and(|healthy| !healthy.is_true()));
    widgets.report(&json!({"observedGeneration": 1}));
    cluster.ready("apps").await;
    widgets.report(&json!({"phase": "Broken"}));
    cluster.kubectl(&[
        "annotate",
        "kustomization",
        "apps",
        "reconcile.fluxcd.io/requestedAt=now",
    ]);
    let object = cluster.failed("apps", "HealthCheckFailed").await;
    let problem = format!(
        "failed early due to stalled resources: [Widget/{}/w status: 'Failed']",
        cluster.namespace()
    );
    assert_eq!(condition(&object, "Healthy").unwrap().message, problem);
}

/// KUS-055: a status of an older generation keeps the wait until its time is up, whatever the expressions say.
#[tokio::test]
async fn kus_055_an_observed_generation_that_differs_is_waited_for() {
    let Some(cluster) = Cluster::new("health-generation").await else {
        return;
    };
    let widgets = Widgets::new(&cluster);
    let manifest = widgets.manifest(1);
    cluster.kubectl_with(&["apply", "-f", "-"], &manifest);
    widgets.report(&json!({"observedGeneration": 7}));
    cluster
        .push("source", "main@sha1:1", &[("w.yaml", &manifest)])
        .await;
    let check = json!({"apiVersion": format!("{}/v1", widgets.group), "kind": "Widget", "current": "true", "failed": "true"});
    let spec = json!({
        "targetNamespace": cluster.namespace(), "wait": true, "timeout": "30s", "retryInterval": "1h",
        "healthCheckExprs": [check],
    });
    cluster.create("apps", spec).await;
    let object = cluster.failed("apps", "HealthCheckFailed").await;
    let problem = format!(
        "timeout waiting for: [Widget/{}/w status: 'InProgress']",
        cluster.namespace()
    );
    assert!(message(&object).ends_with(&problem), "{}", message(&object));
}

/// KUS-055: expressions that are none, and two for one kind, stall.
#[tokio::test]
async fn kus_055_invalid_health_expressions_stall() {
    let Some(cluster) = Cluster::new("invalid-health-expression").await else {
        return;
    };
    let files = [("a.yaml", &*config_map("a", "1"))];
    cluster.push("source", "main@sha1:1", &files).await;
    let begins = "Reconciliation failed terminally due to configuration error: ";
    let pods = json!({"apiVersion": "v1", "kind": "Pod", "current": "true"});
    cluster
        .create(
            "broken",
            json!({"healthCheckExprs": [pods, {"apiVersion": "a/v1", "kind": "B", "current": "true", "failed": "1 ="}]}),
        )
        .await;
    cluster
        .create("twice", json!({"healthCheckExprs": [pods, pods]}))
        .await;
    let text = stalled(&cluster, "broken").await;
    let problem = "failed to create custom status evaluator for healthchecks[1]: failed to parse the expression Failed: failed \
                   to parse the CEL expression '1 =': ERROR: <input>:1:3: Syntax error: ";
    assert!(text.starts_with(&format!("{begins}{problem}")), "{text}");
    let text = stalled(&cluster, "twice").await;
    let problem = "duplicate custom health check for GroupKind Pod at healthchecks[1]";
    assert_eq!(text, format!("{begins}{problem}"));
    cluster
        .edit(
            "broken",
            json!({"healthCheckExprs": [], "targetNamespace": cluster.namespace()}),
        )
        .await;
    cluster.ready("broken").await;
}
