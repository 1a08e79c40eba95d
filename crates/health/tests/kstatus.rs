//! The rules against the real library: every object of a table, and many generated ones.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use sluice_health::{Assessment, Status, assess, kstatus};

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

/// What the real library says about each object: by kstatus alone and as Flux uses it.
fn ask(oracle: &PathBuf, objects: &[Value]) -> Vec<(Value, Value)> {
    let mut child = Command::new(oracle)
        .arg("kstatus")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = serde_json::to_vec(objects).unwrap();
    let writer = std::thread::spawn(move || input.write_all(&text).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    answers
        .into_iter()
        .map(|answer| (answer["kstatus"].clone(), answer["flux"].clone()))
        .collect()
}

fn same(ours: &Assessment, theirs: &Value) -> bool {
    match theirs.get("error").and_then(Value::as_str) {
        Some(error) => ours.status == Status::Unknown && ours.message == error,
        None => {
            ours.status.as_str() == theirs["status"]
                && ours.message == theirs["message"].as_str().unwrap()
                && ours.reason == theirs["reason"].as_str().unwrap()
        }
    }
}

fn compare(objects: &[Value]) {
    let Some(oracle) = oracle() else { return };
    let now = Timestamp::now();
    for (object, (plain, flux)) in objects.iter().zip(ask(&oracle, objects)) {
        let ours = kstatus(object, now);
        assert!(
            same(&ours, &plain),
            "kstatus of {object}\n ours   {ours:?}\n theirs {plain}"
        );
        let ours = assess(object, now);
        assert!(
            same(&ours, &flux),
            "health of {object}\n ours   {ours:?}\n theirs {flux}"
        );
    }
}

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn object(api_version: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "generation": 2},
           "spec": spec, "status": status})
}

/// KUS-053, KUS-054, KUS-056: one object per branch of each rule.
#[test]
fn every_branch_answers_as_the_real_library() {
    let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "message": format!("{kind} is {status}")});
    let deployment = |spec: Value, status: Value| object("apps/v1", "Deployment", spec, status);
    let ready = json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2,
                       "availableReplicas": 2});
    let with = |mut status: Value, conditions: Value| {
        status["conditions"] = conditions;
        status
    };
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"deletionTimestamp": 5}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": "text"}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generation": "2"}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generation": 1.5}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generation": null}}),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"observedGeneration": 1}),
        ),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"observedGeneration": [1, {"b": 1, "a": null}]}),
        ),
        object("example.com/v1", "Thing", json!({}), json!("text")),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": "text"}),
        ),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": ["text", null]}),
        ),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": [{"type": 1}]}),
        ),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": [{"type": "Ready", "status": true}]}),
        ),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": [{"type": "Ready", "status": 1}]}),
        ),
        object(
            "example.com/v1",
            "Thing",
            json!({}),
            json!({"conditions": [null]}),
        ),
        object(
            "apps/v1",
            "DaemonSet",
            json!({}),
            json!({"observedGeneration": 2}),
        ),
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {}}),
        object("apps/v1", "DaemonSet", json!({}), json!({})),
        object("v1", "Service", json!({"type": "LoadBalancer"}), json!({})),
        object(
            "v1",
            "Service",
            json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}),
            json!({}),
        ),
        object("v1", "Service", json!({}), json!({})),
        object(
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            json!({"phase": "Bound"}),
        ),
        object(
            "v1",
            "PersistentVolumeClaim",
            json!({}),
            json!({"phase": "Pending"}),
        ),
        object("v1", "PersistentVolumeClaim", json!({}), json!({})),
        object(
            "policy/v1",
            "PodDisruptionBudget",
            json!({}),
            json!({"observedGeneration": 2}),
        ),
        object("batch/v1", "CronJob", json!({}), json!({})),
        object("batch/v1", "Job", json!({"suspend": true}), json!({})),
        object("batch/v1", "Job", json!({"parallelism": 3}), json!({})),
        object(
            "batch/v1",
            "Job",
            json!({}),
            json!({"startTime": "2026-01-01T00:00:00Z", "active": 1}),
        ),
        object(
            "batch/v1",
            "Job",
            json!({"completions": 4}),
            json!({"succeeded": 4, "conditions": [condition("Complete", "True", "")]}),
        ),
        object(
            "batch/v1",
            "Job",
            json!({}),
            json!({"failed": 1, "conditions": [condition("Failed", "True", "")]}),
        ),
        object(
            "batch/v1",
            "Job",
            json!({}),
            json!({"failed": 1, "conditions": [condition("Failed", "False", "")]}),
        ),
    ];
    for kind in ["Reconciling", "Stalled", "Ready"] {
        for status in ["True", "False", "Unknown", "Odd"] {
            let conditions = json!({"observedGeneration": 2, "conditions": [condition(kind, status, "Why")]});
            objects.push(object("example.com/v1", "Thing", json!({}), conditions));
        }
    }
    let available = json!([
        condition("Available", "True", ""),
        condition("Progressing", "True", "NewReplicaSetAvailable")
    ]);
    objects.push(deployment(json!({"replicas": 2}), ready.clone()));
    objects.push(deployment(
        json!({"replicas": 2}),
        with(ready.clone(), available.clone()),
    ));
    objects.push(deployment(
        json!({"replicas": 2, "progressDeadlineSeconds": 60}),
        ready.clone(),
    ));
    objects.push(deployment(
        json!({"replicas": 2, "progressDeadlineSeconds": 60}),
        with(ready.clone(), available),
    ));
    objects.push(deployment(
        json!({}),
        with(
            ready.clone(),
            json!([condition("Progressing", "False", "ProgressDeadlineExceeded")]),
        ),
    ));
    for field in [
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    ] {
        for count in [0, 1, 3] {
            let mut status = ready.clone();
            status[field] = json!(count);
            objects.push(deployment(json!({"replicas": 2}), status));
        }
    }
    for (established, reason) in [("True", ""), ("False", "Installing"), ("False", "Conflict")] {
        for accepted in ["True", "False"] {
            let conditions = json!({"conditions": [condition("NamesAccepted", accepted, "Names"), condition("Established", established, reason)]});
            objects.push(object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                json!({}),
                conditions,
            ));
        }
    }
    let pods = [
        json!({}),
        json!({"phase": "Odd"}),
        json!({"phase": "Succeeded"}),
        json!({"phase": "Failed"}),
        json!({"phase": "Running"}),
        json!({"phase": "Running", "conditions": [condition("Ready", "True", "")]}),
        json!({"phase": "Running", "containerStatuses": [
            {"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
            {"name": "b", "state": {"running": {}}},
            {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
        json!({"phase": "Pending"}),
        json!({"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Unschedulable")]}),
        json!({"phase": "Pending", "conditions": [condition("PodScheduled", "False", "Other")]}),
    ];
    for status in pods {
        for created in ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "no time"] {
            let mut pod = object("v1", "Pod", json!({}), status.clone());
            pod["metadata"]["creationTimestamp"] = json!(created);
            objects.push(pod);
        }
    }
    compare(&objects);
}

/// Objects of the kinds that count replicas, with every field the rules read, present or not.
fn workload() -> impl Strategy<Value = Value> {
    let kind = prop_oneof![
        Just(("apps/v1", "StatefulSet")),
        Just(("apps/v1", "Deployment")),
        Just(("apps/v1", "ReplicaSet")),
        Just(("extensions/v1beta1", "ReplicaSet")),
        Just(("apps/v1", "DaemonSet")),
        Just(("batch/v1", "Job")),
        Just(("example.com/v1", "Thing")),
    ];
    let counts = proptest::collection::vec(proptest::option::weighted(0.8, 0..4i64), 18);
    let revisions = (0..2u8, 0..2u8);
    let strategy = prop_oneof![Just(""), Just("OnDelete"), Just("RollingUpdate")];
    let condition = (
        prop_oneof![
            Just("Ready"),
            Just("Progressing"),
            Just("Available"),
            Just("ReplicaFailure"),
            Just("Stalled"),
            Just("Reconciling"),
            Just("Complete"),
            Just("Failed")
        ],
        prop_oneof![Just("True"), Just("False"), Just("Unknown")],
        prop_oneof![
            Just("NewReplicaSetAvailable"),
            Just("ProgressDeadlineExceeded"),
            Just("Other")
        ],
    );
    (kind, counts, revisions, strategy, proptest::collection::vec(condition, 0..3), 1..3i64).prop_map(
        |((api_version, kind), counts, (current, update), strategy, conditions, observed)| {
            let mut object = object(api_version, kind, json!({}), json!({}));
            let spec = ["replicas", "progressDeadlineSeconds", "parallelism", "completions"];
            let status = ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
                "fullyLabeledReplicas", "desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled",
                "numberAvailable", "numberReady", "active", "succeeded"];
            for (field, count) in spec.iter().zip(&counts) {
                if let Some(count) = count {
                    object["spec"][*field] = json!(count);
                }
            }
            for (field, count) in status.iter().zip(&counts[spec.len()..]) {
                if let Some(count) = count {
                    object["status"][*field] = json!(count);
                }
            }
            if !strategy.is_empty() {
                object["spec"]["updateStrategy"] = json!({"type": strategy});
                if let Some(Some(partition)) = counts.last() {
                    object["spec"]["updateStrategy"]["rollingUpdate"] = json!({"partition": partition});
                }
            }
            object["status"]["observedGeneration"] = json!(observed);
            object["status"]["currentRevision"] = json!(format!("r{current}"));
            object["status"]["updateRevision"] = json!(format!("r{update}"));
            object["status"]["conditions"] = conditions
                .into_iter()
                .map(|(kind, status, reason)| json!({"type": kind, "status": status, "reason": reason, "message": "m"}))
                .collect();
            object
        },
    )
}

#[test]
fn generated_objects_answer_as_the_real_library() {
    let mut runner = TestRunner::deterministic();
    let objects: Vec<Value> = (0..4000)
        .map(|_| workload().new_tree(&mut runner).unwrap().current())
        .collect();
    compare(&objects);
}
