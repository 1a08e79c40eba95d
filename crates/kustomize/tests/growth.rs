//! Work and memory grow with the size of a kustomization, not with its square: counted in allocations, which
//! are the same on every machine.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use allocation_counter::AllocationInfo;
use sluice_kustomize::{BuildOptions, build};
use sluice_vfs::{MemoryFileSystem, VirtualPath};

const HEAD: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";

/// Size of the smaller build of each pair; the other one is four times as large.
const COUNT: usize = 64;

/// What four times the objects may take: four times as much, and a little for how collections grow.
const MOST: f64 = 4.5;

fn objects(count: usize, namespace: impl Fn(usize) -> String, name: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0..count {
        let (namespace, name) = (namespace(number), name(number));
        let _ = write!(
            text,
            "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      serviceAccountName: {name}
      containers:
      - name: app
        image: image-{number}:1
        ports: [{{containerPort: 80}}]
        envFrom: [{{configMapRef: {{name: {name}}}}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: {namespace}}}
data: {{number: \"{number}\"}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {name}, namespace: {namespace}}}
---
"
        );
    }
    text
}

/// Objects that differ by name, in a kustomization with the given fields.
fn with_fields(count: usize, fields: &str) -> MemoryFileSystem {
    let objects = objects(count, |_| "one".to_owned(), |number| format!("app-{number}"));
    files([
        (
            "kustomization.yaml".to_owned(),
            format!("{HEAD}resources: [objects.yaml]\nnamePrefix: team-\n{fields}"),
        ),
        ("objects.yaml".to_owned(), objects),
    ])
}

/// The same with one field that has an entry for each.
fn with_entries(count: usize, field: &str, entry: impl Fn(usize) -> String) -> MemoryFileSystem {
    let entries: String = (0..count).map(entry).collect();
    with_fields(count, &format!("{field}:\n{entries}"))
}

fn files(files: impl IntoIterator<Item = (String, String)>) -> MemoryFileSystem {
    let mut system = MemoryFileSystem::new();
    for (path, text) in files {
        system.insert(VirtualPath::parse(&path).unwrap(), text.into_bytes());
    }
    system
}

fn measure(files: &MemoryFileSystem) -> AllocationInfo {
    allocation_counter::measure(|| {
        let root = VirtualPath::parse("").unwrap();
        let built = build(files, &root, &BuildOptions::default()).unwrap();
        assert!(!built.to_yaml().unwrap().is_empty());
    })
}

#[track_caller]
fn grows_linearly(case: impl Fn(usize) -> MemoryFileSystem) {
    // Tables that are made once per program do not count.
    measure(&case(1));
    let (small, large) = (measure(&case(COUNT)), measure(&case(4 * COUNT)));
    for (what, small, large) in [
        ("allocations", small.count_total, large.count_total),
        ("bytes at once", small.bytes_max, large.bytes_max),
    ] {
        let ratio = large as f64 / small as f64;
        assert!(
            ratio < MOST,
            "{what}: {small} of {COUNT}, {large} of four times as many: × {ratio:.1}"
        );
    }
}

#[test]
fn transformers_for_all_objects() {
    let fields = "\
namespace: measured
labels: [{pairs: {team: measured}, includeSelectors: true}]
commonAnnotations: {owner: measured}
images: [{name: image-1, newTag: \"2\"}, {name: image-2, newTag: \"2\"}]
patches:
- target: {kind: Deployment}
  patch: '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 3}]'
- target: {kind: Deployment}
  patch: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: any}
    spec: {template: {spec: {containers: [{name: app, ports: [{containerPort: 80, name: http}]}]}}}
";
    grows_linearly(|count| with_fields(count, fields));
}

#[test]
fn strategic_patches_for_each_object() {
    grows_linearly(|count| {
        with_entries(count, "patches", |number| {
            format!(
                "- patch: '{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: app-{number}, namespace: one}}, spec: {{replicas: 2}}}}'\n"
            )
        })
    });
}

#[test]
fn json_patches_for_each_object() {
    grows_linearly(|count| {
        with_entries(count, "patches", |number| {
            format!(
                "- target: {{kind: Deployment, name: app-{number}}}\n  patch: '[{{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 3}}]'\n"
            )
        })
    });
}

#[test]
fn replacements_for_each_object() {
    grows_linearly(|count| {
        with_entries(count, "replacements", |number| {
            format!(
                "- source: {{kind: ConfigMap, name: app-{number}, fieldPath: data.number}}\n  targets: [{{select: {{kind: Deployment, name: app-{number}}}, fieldPaths: [metadata.labels.number], options: {{create: true}}}}]\n"
            )
        })
    });
}

#[test]
fn variables_of_each_object() {
    grows_linearly(|count| {
        with_entries(count, "vars", |number| {
            format!(
                "- {{name: V{number}, objref: {{apiVersion: v1, kind: ConfigMap, name: app-{number}}}, fieldref: {{fieldPath: data.number}}}}\n"
            )
        })
    });
}

#[test]
fn replicas_of_each_object() {
    grows_linearly(|count| {
        with_entries(count, "replicas", |number| {
            format!("- {{name: app-{number}, count: 3}}\n")
        })
    });
}

#[test]
fn generators_that_merge_with_each_object() {
    grows_linearly(|count| {
        let entries = |more: &str| -> String {
            let entry = |number| format!("- {{name: map-{number}, literals: [a=b]{more}}}\n");
            (0..count).map(entry).collect()
        };
        files([
            (
                "base/kustomization.yaml".to_owned(),
                format!("{HEAD}configMapGenerator:\n{}", entries("")),
            ),
            (
                "kustomization.yaml".to_owned(),
                format!(
                    "{HEAD}resources: [base]\nconfigMapGenerator:\n{}",
                    entries(", behavior: merge")
                ),
            ),
        ])
    });
}

#[test]
fn labels_of_one_object() {
    grows_linearly(|count| {
        let labels: String = (0..count)
            .map(|number| format!("  label-{number}: x\n"))
            .collect();
        files([
            (
                "kustomization.yaml".to_owned(),
                format!("{HEAD}resources: [objects.yaml]\ncommonLabels:\n{labels}"),
            ),
            (
                "objects.yaml".to_owned(),
                objects(1, |_| "one".to_owned(), |_| "app".to_owned()),
            ),
        ])
    });
}

#[test]
fn bases_of_a_few_objects() {
    grows_linearly(|count| {
        let bases: String = (0..count).map(|number| format!("- base-{number}\n")).collect();
        let root = (
            "kustomization.yaml".to_owned(),
            format!("{HEAD}resources:\n{bases}"),
        );
        let base = |number: usize| {
            [
                (
                    format!("base-{number}/kustomization.yaml"),
                    format!("{HEAD}resources: [objects.yaml]\nnameSuffix: -b{number}\n"),
                ),
                (
                    format!("base-{number}/objects.yaml"),
                    objects(1, |_| "one".to_owned(), |_| "app".to_owned()),
                ),
            ]
        };
        files((0..count).flat_map(base).chain([root]))
    });
}

#[test]
fn one_name_in_many_namespaces() {
    grows_linearly(|count| {
        let text = objects(count, |number| format!("space-{number}"), |_| "app".to_owned());
        files([
            (
                "kustomization.yaml".to_owned(),
                format!("{HEAD}resources: [objects.yaml]\nnamePrefix: team-\n"),
            ),
            ("objects.yaml".to_owned(), text),
        ])
    });
}
