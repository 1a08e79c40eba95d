//! The pure parts against the library that Flux itself applies with.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sluice_apply::{ManagerPattern, Object, ObjectId, Operation, normalise, sort, take_over};

/// The oracle binary, or `None` (said on standard error) where it is not built and not required.
fn oracle() -> Option<PathBuf> {
    let tools = std::env::var_os("SLUICE_TOOLS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools")),
        PathBuf::from,
    );
    let path = tools.join("oracle");
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var_os("SLUICE_REQUIRE").is_none(),
        "{} is missing",
        path.display()
    );
    let _ = writeln!(std::io::stderr(), "SKIPPED: {} is missing", path.display());
    None
}

fn ask_text(subcommand: &str, input: &Value) -> Option<String> {
    let oracle = oracle()?;
    let mut child = Command::new(oracle)
        .arg(subcommand)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut standard_input = child.stdin.take().unwrap();
    let text = serde_json::to_vec(input).unwrap();
    let writer = std::thread::spawn(move || {
        let _ = standard_input.write_all(&text);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "oracle {subcommand} failed");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn ask(subcommand: &str, input: &Value) -> Option<Vec<Value>> {
    ask_text(subcommand, input).map(|text| serde_json::from_str(&text).unwrap())
}

#[test]
fn the_table_of_types_is_the_one_of_the_pinned_client_library() {
    let Some(theirs) = ask_text("ssa-types", &json!([])) else {
        return;
    };
    let ours = include_str!("../src/normalise/types.txt");
    assert!(
        ours == theirs,
        "write the output of `oracle ssa-types` to src/normalise/types.txt"
    );
}

/// KUS-003
#[test]
fn object_ids_parse_and_print_as_the_real_library_does() {
    let texts = [
        "flux-system_podinfo_apps_Deployment",
        "_flux-system__Namespace",
        "_system__controller__x_rbac.authorization.k8s.io_ClusterRole",
        "ns_a__b_rbac.authorization.k8s.io_Role",
        "ns_a__b_apps_Deployment",
        "___",
        "a_b_c",
        "a_b",
        "a",
        "",
    ];
    let Some(answers) = ask("ssa-ids", &json!(texts)) else {
        return;
    };
    for (text, theirs) in texts.iter().zip(answers) {
        match text.parse::<ObjectId>() {
            Ok(id) => {
                let ours = json!({"namespace": id.namespace, "name": id.name, "group": id.group, "kind": id.kind,
                    "text": id.to_string(), "subject": id.subject()});
                assert_eq!(ours, theirs, "{text}");
            }
            Err(error) => assert_eq!(theirs["error"], error.to_string(), "{text}"),
        }
    }
}

/// KUS-013, KUS-014
#[test]
fn objects_sort_as_the_real_library_sorts_them() {
    let kinds = [
        ("", "Namespace"),
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "Service"),
        ("", "Pod"),
        ("", "ServiceAccount"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("batch", "CronJob"),
        ("batch", "Job"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("rbac.authorization.k8s.io", "Role"),
        ("storage.k8s.io", "StorageClass"),
        ("example.com", "Thing"),
        ("example.com", "ConfigMap"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("policy", "PodDisruptionBudget"),
    ];
    let mut ids = Vec::new();
    for (index, (group, kind)) in kinds.iter().enumerate() {
        for name in ["b", "a"] {
            for namespace in ["y", "x"] {
                ids.push(format!("{namespace}_{name}{}_{group}_{kind}", index % 2));
            }
        }
    }
    let Some(theirs) = ask("ssa-sort", &json!(ids)) else {
        return;
    };
    let mut objects: Vec<Object> = ids
        .iter()
        .map(|id| Object::from_id(&id.parse().unwrap(), "v1"))
        .collect();
    sort(&mut objects);
    let ours: Vec<Value> = objects
        .iter()
        .map(|object| object.id().to_string().into())
        .collect();
    assert_eq!(ours, theirs);
}

fn pod_spec() -> Value {
    json!({
        "containers": [{
            "name": "app", "image": "app:1",
            "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}, {"containerPort": 81, "protocol": ""}],
            "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": 0.5, "memory": 128}},
            "env": [{"name": "A", "value": ""}, {"name": "B", "value": null, "valueFrom": {"fieldRef": {"fieldPath": "x"}}}],
            "livenessProbe": {"httpGet": {"port": "http"}, "initialDelaySeconds": 5.0},
            "unknownField": true, "stdin": false, "command": [], "args": null
        }],
        "initContainers": [{"name": "init", "image": "init", "ports": [{"containerPort": 1}]}],
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c", "defaultMode": 420}}],
        "securityContext": {}, "nodeSelector": {}, "hostNetwork": false
    })
}

/// KUS-039, KUS-072: whatever Flux would send, we send.
#[test]
fn objects_normalise_as_the_real_library_normalises_them() {
    let workload = |api_version: &str, kind: &str, spec: Value| {
        json!({"apiVersion": api_version, "kind": kind,
               "metadata": {"name": "x", "namespace": "n", "labels": {"a": "b"}, "annotations": null,
                            "creationTimestamp": "2026-01-01T00:00:00Z", "extra": 1},
               "spec": spec, "status": {"replicas": 1}})
    };
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()});
    let templated = json!({"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let definition = |bundle: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"},
            "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": bundle}}}},
            "status": {"conditions": []}})
    };
    let objects = json!([
        workload("apps/v1", "Deployment", templated.clone()),
        workload("apps/v1", "StatefulSet", templated.clone()),
        workload("apps/v1", "DaemonSet", templated.clone()),
        workload("apps/v1", "ReplicaSet", templated.clone()),
        workload("extensions/v1beta1", "Deployment", templated),
        workload("batch/v1", "Job", json!({"template": template, "ttlSecondsAfterFinished": 0})),
        workload("batch/v1", "CronJob", json!({"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}})),
        workload("v1", "Pod", pod_spec()),
        workload("v1", "Service", json!({"ports": [{"port": 80, "targetPort": "http"}, {"port": 53, "protocol": "UDP", "targetPort": 53}]})),
        workload("v1", "Service", json!({"ports": "text"})),
        workload("apps/v1", "Deployment", json!({"replicas": "2"})),
        workload("apps/v1", "Deployment", json!({"replicas": 2.5})),
        workload("apps/v1", "Deployment", json!({"replicas": 2, "paused": "yes"})),
        workload("example.com/v1", "Thing", json!({"a": null})),
        workload("networking.k8s.io/v1", "Ingress", json!({"rules": [{"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]})),
        workload("autoscaling/v2", "HorizontalPodAutoscaler", json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "x"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]})),
        workload("v1", "PersistentVolumeClaim", json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10G"}}})),
        workload("policy/v1", "PodDisruptionBudget", json!({"minAvailable": "50%"})),
        workload("policy/v1", "PodDisruptionBudget", json!({"minAvailable": 1})),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "YQ==", "e": ""}, "stringData": {"b": "text", "a": "won"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "stringData": {"b": ""}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"b": "not base64!"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"b": "YW\nE="}, "immutable": true},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": null, "b": "c"}, "binaryData": {"c": "YQ=="}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": 1}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "x"}, "automountServiceAccountToken": false},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}, "spec": {"finalizers": []}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "x"}, "rules": null, "status": {}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "x"},
            "roleRef": {"apiGroup": "g", "kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}]},
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x"},
            "spec": {"renewTime": "2026-01-01T00:00:00.123456Z", "acquireTime": "2026-01-01T02:00:00+02:00"}},
        {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "x"}, "firstTimestamp": "2026-01-01T02:00:00.5+02:00", "involvedObject": {}},
        definition(""),
        definition("bm8gY2VydGlmaWNhdGU="),
        definition("not base64"),
    ]);
    let Some(answers) = ask("ssa-normalise", &objects) else {
        return;
    };
    for (original, theirs) in objects.as_array().unwrap().iter().zip(answers) {
        let mut object = Object::from_value(original.clone()).unwrap();
        normalise(&mut object);
        let ours = object.into_value();
        assert_eq!(ours, theirs["object"], "normalising {original}");
    }
}

#[test]
fn quantities_print_as_the_real_library_prints_them() {
    let pattern = "[+-]?[0-9]{0,4}(\\.[0-9]{0,4})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|e[0-9]|E-?[0-9]|x)?";
    let strategy = proptest::string::string_regex(pattern).unwrap();
    let mut runner = TestRunner::deterministic();
    let mut texts: Vec<String> = (0..3000)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect();
    texts.extend(
        [
            "",
            "0",
            "00",
            "0.0",
            "0Mi",
            "1024Mi",
            "1536Mi",
            "1000m",
            "1500m",
            "100m",
            "0.1",
            "1e3",
            "1E",
            "1000Ki",
            "12345678901234567890",
            "1.Gi",
            ".5",
            "+1",
            " 1 ",
            "0.0000000001",
            "0.5Mi",
            "0.1Ki",
            "1023Ki",
            "8Mi",
            "9Mi",
        ]
        .map(str::to_owned),
    );
    let secret = |text: &String| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x"},
               "spec": {"resources": {"requests": {"storage": text}}}})
    };
    let objects: Vec<Value> = texts.iter().map(secret).collect();
    let Some(answers) = ask("ssa-normalise", &json!(objects)) else {
        return;
    };
    let mut wrong = Vec::new();
    for ((text, object), theirs) in texts.iter().zip(objects).zip(answers) {
        let mut object = Object::from_value(object).unwrap();
        normalise(&mut object);
        let value = object.into_value();
        let at = "/spec/resources/requests/storage";
        if value.pointer(at) != theirs["object"].pointer(at) {
            wrong.push(format!(
                "{text:?}: ours {:?} theirs {:?}",
                value.pointer(at),
                theirs["object"].pointer(at)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}: {}",
        wrong.len(),
        texts.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

/// The real library can list our entry twice, as it was and merged. The API server keeps the last of each
/// identity, and so does this.
fn last_of_each(entries: &[Value]) -> Value {
    let identity = |entry: &Value| {
        ["manager", "operation", "apiVersion", "subresource"]
            .map(|field| entry[field].as_str().map(str::to_owned))
    };
    let is_last = |index: usize| {
        entries[index + 1..]
            .iter()
            .all(|later| identity(later) != identity(&entries[index]))
    };
    (0..entries.len())
        .filter(|index| is_last(*index))
        .map(|index| entries[index].clone())
        .collect()
}

/// KUS-007
#[test]
fn fields_are_taken_over_as_the_real_library_does_it() {
    let entry = |manager: &str, operation: &str, subresource: &str, fields: Value| {
        let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": fields, "time": "2026-01-01T00:00:00Z"});
        if !subresource.is_empty() {
            entry["subresource"] = subresource.into();
        }
        entry
    };
    let data = |keys: &[&str]| {
        let mut fields = json!({"f:data": {".": {}}});
        for key in keys {
            fields["f:data"][format!("f:{key}")] = json!({});
        }
        fields
    };
    let leaf = json!({"f:spec": {"f:strategy": {}}});
    let deep = json!({"f:spec": {"f:strategy": {"f:type": {}}}});
    let lists =
        json!({"f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}});
    let cases = [
        json!([]),
        json!([entry("other", "Update", "", data(&["a"]))]),
        json!([entry("kubectl-edit", "Update", "", data(&["a"]))]),
        json!([
            entry("kubectl", "Apply", "", data(&["a"])),
            entry("kubectl-edit", "Update", "", data(&["b"]))
        ]),
        json!([
            entry("kustomize-controller", "Apply", "", data(&["a"])),
            entry("kubectl-edit", "Update", "", data(&["b"]))
        ]),
        json!([
            entry("kubectl-edit", "Update", "", data(&["b"])),
            entry("kustomize-controller", "Apply", "", data(&["a"])),
            entry("other", "Update", "", data(&["c"]))
        ]),
        json!([
            entry("kustomize-controller", "Apply", "", leaf),
            entry("kubectl", "Update", "", deep.clone())
        ]),
        json!([
            entry("kustomize-controller", "Apply", "", deep),
            entry("before-first-apply", "Update", "", lists)
        ]),
        json!([
            entry("kustomize-controller", "Update", "", data(&["a"])),
            entry("kubectl", "Update", "status", data(&["s"]))
        ]),
        json!([
            entry("kustomize-controller", "Apply", "", data(&["a"])),
            entry("kustomize-controller", "Apply", "status", data(&["s"])),
            entry("kubectl", "Update", "", data(&["k"]))
        ]),
    ];
    let managers = [
        ("kubectl", Operation::Apply),
        ("kubectl", Operation::Update),
        ("before-first-apply", Operation::Update),
        ("kustomize-controller", Operation::Update),
    ];
    let patterns: Vec<ManagerPattern> = managers
        .iter()
        .map(|(prefix, operation)| ManagerPattern::new(*prefix, *operation))
        .collect();
    let listed: Vec<Value> = managers
        .iter()
        .map(|(name, operation)| json!({"name": name, "operationType": format!("{operation:?}")}))
        .collect();
    let object = |fields: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "managedFields": fields}});
    let input: Vec<Value> = cases
        .iter()
        .map(|fields| json!({"object": object(fields), "managers": listed, "name": "kustomize-controller"}))
        .collect();
    let Some(answers) = ask("ssa-managers", &json!(input)) else {
        return;
    };
    for (fields, theirs) in cases.iter().zip(answers) {
        let live = Object::from_value(object(fields)).unwrap();
        let ours = take_over(&live, &patterns, "kustomize-controller");
        let theirs = theirs
            .as_array()
            .map(|patches| last_of_each(patches[0]["value"].as_array().unwrap()));
        assert_eq!(ours.map(Value::Array), theirs, "taking over {fields}");
    }
}
