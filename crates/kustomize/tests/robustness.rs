//! Whatever stands in a kustomization, a patch or a field path: a build ends with objects or an error, never in
//! a panic, and does not grow beyond what went in. `PROPTEST_CASES` sets how many cases each test tries.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail this way")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use sluice_kustomize::{BuildOptions, ErrorKind, Limits, build};
use sluice_vfs::{MemoryFileSystem, VirtualPath};

const OBJECTS: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: a}, annotations: {k: 'v'}}
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: a, image: 'reg/x:1', ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}], args: [x, 1, ~]}
      - {name: b, image: y, env: [{name: A, value: '1'}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {json: '{\"a\": [1, {\"b\": null}]}', yaml: \"a: 1\\nb: [x, y]\\n\", text: a-b-c}
";

/// Most bytes that a build of these inputs may print.
const MOST: usize = 1 << 20;

fn run(kustomization: &str, patch: &[u8]) {
    let files = MemoryFileSystem::from_files([
        ("all.yaml".to_owned(), OBJECTS.as_bytes().to_vec()),
        ("kustomization.yaml".to_owned(), kustomization.as_bytes().to_vec()),
        ("patch.yaml".to_owned(), patch.to_vec()),
    ])
    .unwrap();
    let options = BuildOptions {
        limits: Limits {
            deadline: Some(Instant::now() + Duration::from_secs(20)),
            ..Limits::default()
        },
        ..BuildOptions::default()
    };
    let built = build(&files, &VirtualPath::root(), &options).and_then(|built| built.to_yaml());
    match built {
        Ok(text) => assert!(text.len() < MOST, "{} bytes from {kustomization}", text.len()),
        Err(error) => {
            assert!(!error.problem().is_empty());
            assert!(
                error.kind() != ErrorKind::Limit || !error.to_string().contains("too long"),
                "{error}"
            );
        }
    }
}

/// A text as a JSON string, which YAML reads as it is.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn path_step() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "spec", "template", "containers", "metadata", "name", "labels", "annotations", "data", "json", "yaml",
            "text", "a", "b", "env", "args", "ports", "[name=a]", "[name=.*]", "[=x]", "[a.b]", "*", "-", "0", "1",
            "-1", "99999999999999999999", "", "[", "]", "[=]", "[x=(]", "\\", "~0", "~1", "image", "replicas",
        ]).prop_map(str::to_owned),
        1 => any::<String>().prop_map(|text| text.chars().take(12).collect()),
    ]
}

fn path(separator: &'static str) -> impl Strategy<Value = String> {
    prop::collection::vec(path_step(), 0..7).prop_map(move |steps| steps.join(separator))
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
        prop::sample::select(vec![
            "delete", "replace", "merge", "web", "a", "yes", "1e3", "", "~"
        ])
        .prop_map(serde_json::Value::from),
    ];
    let key = prop_oneof![
        8 => prop::sample::select(vec![
            "apiVersion", "kind", "metadata", "name", "spec", "template", "containers", "image", "env", "ports",
            "containerPort", "protocol", "$patch", "$retainKeys", "$setElementOrder/containers",
            "$deleteFromPrimitiveList/args", "data", "args", "volumes", "labels",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    leaf.prop_recursive(7, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|pairs| serde_json::Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_field_path_is_followed_or_refused(
        from in path("."), to in path("."), create in any::<bool>(),
        delimiter in prop::sample::select(vec!["", "-", ":", "aa", "\n"]), index in any::<i8>(),
    ) {
        let kustomization = format!(
            "resources: [all.yaml]\nreplacements:\n- source: {{kind: Deployment, fieldPath: {}}}\n  targets:\n  - select: {{name: web}}\n    fieldPaths: [{}]\n    options: {{create: {create}, delimiter: {}, index: {index}}}\n",
            quoted(&from), quoted(&to), quoted(delimiter),
        );
        run(&kustomization, b"");
    }

    #[test]
    fn any_json_patch_is_carried_out_or_refused(
        operation in prop::sample::select(vec!["add", "remove", "replace", "move", "copy", "test", "x", ""]),
        from in path("/"), to in path("/"), value in value(),
    ) {
        let patch = serde_json::json!([{
            "op": operation, "from": format!("/{from}"), "path": format!("/{to}"), "value": value,
        }]);
        run("resources: [all.yaml]\npatches: [{path: patch.yaml, target: {name: web}}]\n", patch.to_string().as_bytes());
    }

    #[test]
    fn any_strategic_patch_is_merged_or_refused(spec in value(), data in value(), whole in any::<bool>()) {
        let patch = serde_json::json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": if whole { serde_json::json!({"template": {"spec": spec}}) } else { spec },
            "data": data,
        });
        run("resources: [all.yaml]\npatches: [{path: patch.yaml}]\n", patch.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_as_a_patch_or_a_kustomization_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..80), cut in any::<prop::sample::Index>(),
    ) {
        run("resources: [all.yaml]\npatches: [{path: patch.yaml}]\n", &bytes);
        let whole = "resources: [all.yaml]\nnamePrefix: p-\nvars:\n- {name: A, objref: {kind: Deployment, name: web, apiVersion: apps/v1}}\nimages: [{name: y, newTag: '1'}]\nlabels: [{pairs: {a: b}}]\nreplicas: [{name: web, count: 3}]\n";
        let place = cut.index(whole.len());
        let text = format!("{}{}{}", &whole[..place], String::from_utf8_lossy(&bytes), &whole[place..]);
        run(&text, b"");
    }
}
