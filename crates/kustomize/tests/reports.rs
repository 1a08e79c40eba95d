//! Public reports of kustomize's faults as small cases, one test each: what kustomize 5.8.1 prints, and what the
//! report says must stand in it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use support::compare::{assert_refused, assert_same, run_ours};
use support::tape::Files;

use sluice_kustomize::ErrorKind;

/// What both build.
fn built(files: &[(&str, &str)], root: &str) -> String {
    assert_same(files, root);
    ours(files, root)
}

fn ours(files: &[(&str, &str)], root: &str) -> String {
    let files: Files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    run_ours(&files, root).unwrap()
}

fn assert_holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
}

/// K01: kustomize#4386.
#[test]
fn k01_a_namespace_that_looks_like_a_number_keeps_its_quotes() {
    let text = built(
        &[
            (
                "all.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'n'}\ndata: {a: b}\n",
            ),
            (
                "kustomization.yaml",
                "resources: [all.yaml]\nnamespace: '01234'\n",
            ),
        ],
        "",
    );
    assert_holds(&text, &["  name: \"n\"\n", "  namespace: \"01234\"\n"]);
}

/// K02: kustomize#5124, #4845, #5558.
#[test]
fn k02_texts_that_look_like_something_else_keep_their_quotes() {
    let objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {flag: \"true\", num: \"0\", \"yes\": \"yes\", oct: \"0123\", sci: \"1e3\", tmpl: '${X}'}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: a, env: [{name: E, value: x}]}]}}}\n";
    let kustomization = "resources: [all.yaml]\nreplacements:\n- source: {kind: ConfigMap, name: c, fieldPath: data.flag}\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths: ['spec.template.spec.containers.[name=a].env.[name=E].value']\n";
    let text = built(
        &[("all.yaml", objects), ("kustomization.yaml", kustomization)],
        "",
    );
    assert_holds(
        &text,
        &[
            "flag: \"true\"",
            "num: \"0\"",
            "\"yes\": \"yes\"",
            "oct: \"0123\"",
            "sci: \"1e3\"",
            "tmpl: ${X}",
            "value: \"true\"",
        ],
    );
}

/// K03: kustomize#4628, #5031, #5171.
#[test]
fn k03_nulls_of_a_custom_resource_survive_patches() {
    let object = "apiVersion: example.org/v2\nkind: Release\nmetadata: {name: r}\nspec:\n  values:\n    replicas: null\n    tier: ~\n";
    let head = "apiVersion: example.org/v2, kind: Release, metadata: {name: r";
    let none = format!("patches:\n- patch: '{{{head}}}}}'\n");
    let kustomization = format!(
        "resources: [all.yaml]\npatches:\n- patch: '{{{head}}}, spec: {{values: {{extra: {{\"on\": true}}}}}}}}'\n- patch: '{{{head}, labels: {{a: b}}}}}}'\n"
    );
    let files = [
        ("base/all.yaml", object),
        ("base/kustomization.yaml", kustomization.as_str()),
    ];
    let text = built(&files, "base");
    assert_holds(&text, &["replicas: null\n", "tier: null\n", "\"on\": true"]);
    let overlay = format!("resources: [../base]\n{none}{}", &none["patches:\n".len()..]);
    let repeated = built(
        &[files[0], files[1], ("o/kustomization.yaml", overlay.as_str())],
        "o",
    );
    assert_eq!(text, repeated, "a patch that says nothing changes nothing");
}

/// K04: kustomize#3513.
#[test]
fn k04_ports_stay_when_only_some_have_a_protocol() {
    let object = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec:\n  ports:\n  - {port: 80, name: web}\n  - {port: 53, protocol: TCP, name: t}\n  - {port: 53, protocol: UDP, name: u}\n";
    let patch =
        "patches: [{patch: '{apiVersion: v1, kind: Service, metadata: {name: s, labels: {a: b}}}'}]\n";
    let kustomization = format!("resources: [all.yaml]\n{patch}");
    let text = built(
        &[("all.yaml", object), ("kustomization.yaml", &kustomization)],
        "",
    );
    let places: Vec<usize> = ["name: web", "name: t", "name: u"]
        .iter()
        .map(|name| text.find(name).unwrap_or_else(|| panic!("{name}: {text}")))
        .collect();
    assert!(places.is_sorted(), "{text}");
}

/// K07: kustomize#6184. The real one crashes.
#[test]
fn k07_an_image_name_that_is_no_expression_matches_nothing() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - image: nginx:1\n    name: a\n";
    let files = [
        ("all.yaml", pod),
        (
            "kustomization.yaml",
            "resources: [all.yaml]\nimages: [{name: '[', newTag: v2}]\n",
        ),
    ];
    assert_eq!(ours(&files, ""), pod);
}

/// K08: kustomize#5859.
#[test]
fn k08_one_file_may_delete_several_objects() {
    let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let objects = ["a", "b", "keep"].map(map).join("---\n");
    let patch = ["a", "b"]
        .map(|name| format!("{}$patch: delete\n", map(name)))
        .join("---\n");
    let text = built(
        &[
            ("all.yaml", &objects),
            ("delete.yaml", &patch),
            (
                "kustomization.yaml",
                "resources: [all.yaml]\npatches: [{path: delete.yaml}]\n",
            ),
        ],
        "",
    );
    assert_eq!(text.matches("kind: ConfigMap").count(), 1);
    assert_holds(&text, &["name: keep\n"]);
}

/// K10: kustomize#6031.
#[test]
fn k10_a_patch_finds_an_object_by_its_suffixed_name_in_another_namespace() {
    let text = built(
        &[
            (
                "base/all.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg}\ndata: {a: b}\n",
            ),
            (
                "base/kustomization.yaml",
                "resources: [all.yaml]\nnameSuffix: -job\n",
            ),
            (
                "o/kustomization.yaml",
                "resources: [../base]\nnamespace: dev\npatches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: cfg-job}, data: {a: patched}}'}]\n",
            ),
        ],
        "o",
    );
    assert_holds(&text, &["a: patched", "name: cfg-job\n", "namespace: dev\n"]);
}

/// K11: kustomize#5072, flux2#3949.
#[test]
fn k11_only_the_core_kind_namespace_is_renamed() {
    let objects = "apiVersion: bus.example.com/v1\nkind: Namespace\nmetadata: {name: keepme}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n";
    let text = built(
        &[
            ("all.yaml", objects),
            ("kustomization.yaml", "resources: [all.yaml]\nnamespace: target\n"),
        ],
        "",
    );
    assert_holds(
        &text,
        &[
            "  name: keepme\n  namespace: target\n",
            "kind: Namespace\nmetadata:\n  name: target\n",
        ],
    );
    assert!(!text.contains("other"), "{text}");
}

/// K13: kustomize#4233.
#[test]
fn k13_literals_lose_the_quotes_around_them_alone() {
    let kustomization = "configMapGenerator:\n- name: q\n  literals:\n  - A=it is a 'word'\n  - B='\n  - C=\"quoted\"\n  - D=a=b\n  - E=\n";
    let text = built(&[("kustomization.yaml", kustomization)], "");
    assert_holds(
        &text,
        &[
            "A: it is a 'word'\n",
            "B: ''''\n",
            "C: quoted\n",
            "D: a=b\n",
            "E: \"\"\n",
            "name: q-bkhh9b6gm2\n",
        ],
    );
}

/// K15: kustomize#4761.
#[test]
fn k15_a_replacement_makes_fields_in_items_and_items_at_the_end() {
    let objects = "apiVersion: example.org/v1\nkind: Filter\nmetadata: {name: f}\nspec: {list: [{a: 1}, {a: 2}]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: source, annotations: {config.kubernetes.io/local-config: 'true'}}\ndata: {v: made}\n";
    let kustomization = |create: bool| {
        format!(
            "resources: [all.yaml]\nreplacements:\n- source: {{kind: ConfigMap, name: source, fieldPath: data.v}}\n  targets:\n  - select: {{kind: Filter}}\n    fieldPaths: [spec.list.0.m.v, spec.list.2.m.v]\n    options: {{create: {create}}}\n"
        )
    };
    let text = built(
        &[
            ("all.yaml", objects),
            ("kustomization.yaml", &kustomization(true)),
        ],
        "",
    );
    assert_holds(
        &text,
        &[
            "  - a: 1\n    m:\n      v: made\n",
            "  - a: 2\n  - m:\n      v: made\n",
        ],
    );
    assert!(!text.contains("ConfigMap"), "{text}");
    assert_refused(
        &[
            ("all.yaml", objects),
            ("kustomization.yaml", &kustomization(false)),
        ],
        "",
        ErrorKind::Replacement,
    );
}

/// K17: kustomize#4240.
#[test]
fn k17_a_blank_namespace_of_a_subject_is_an_error() {
    let object = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: test}\nsubjects: [{kind: ServiceAccount, name: default, namespace: }]\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default}\n";
    let files = [
        ("all.yaml", object),
        ("kustomization.yaml", "resources: [all.yaml]\nnameSuffix: -x\n"),
    ];
    assert_refused(&files, "", ErrorKind::Reference);
}

/// K19: kustomize#4928.
#[test]
fn k19_keys_that_look_like_numbers_can_be_patched() {
    let text = built(
        &[
            (
                "all.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {\"6443\": old}\n",
            ),
            (
                "patch.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {6443: changed, \"9110\": new}\n",
            ),
            (
                "kustomization.yaml",
                "resources: [all.yaml]\npatches: [{path: patch.yaml}]\n",
            ),
        ],
        "",
    );
    assert_holds(&text, &["\"6443\": changed\n", "\"9110\": new\n"]);
}

/// K21.
#[test]
fn k21_the_name_of_a_target_is_an_expression_for_the_whole_name() {
    let objects = ["web", "web-1", "my-web-1"]
        .map(|name| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n"))
        .join("---\n");
    let kustomization = "resources: [all.yaml]\npatches:\n- {target: {name: web}, patch: '[{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"p\": \"1\"}}]'}\n- {target: {name: 'web-.*'}, patch: '[{\"op\": \"add\", \"path\": \"/data\", \"value\": {\"q\": \"1\"}}]'}\n";
    let text = built(
        &[("all.yaml", &objects), ("kustomization.yaml", kustomization)],
        "",
    );
    let documents: Vec<&str> = text.split("---\n").collect();
    assert!(
        documents[0].contains("p: \"1\"") && !documents[0].contains("q:"),
        "{text}"
    );
    assert!(
        documents[1].contains("q: \"1\"") && !documents[1].contains("p:"),
        "{text}"
    );
    assert!(!documents[2].contains("\ndata:"), "{text}");
}

/// K22: kustomize#4124.
#[test]
fn k22_an_object_for_the_build_alone_can_be_copied_from() {
    let objects = "apiVersion: v1\nkind: Pod\nmetadata: {name: source, annotations: {config.kubernetes.io/local-config: 'true'}}\nspec: {containers: [{name: a, image: nginx}]}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1}\n";
    let kustomization = "resources: [all.yaml]\nreplacements:\n- source: {kind: Pod, name: source, fieldPath: spec}\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths: [spec.template.spec]\n    options: {create: true}\n";
    let text = built(
        &[("all.yaml", objects), ("kustomization.yaml", kustomization)],
        "",
    );
    assert_holds(&text, &["kind: Deployment", "image: nginx"]);
    assert!(!text.contains("kind: Pod"), "{text}");
}

/// K23: directives in patches.
#[test]
fn k23_directives_and_nulls_of_a_patch_remove() {
    let object = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {nodeSelector: {a: b}, containers: [{name: a, env: [{name: A, value: '1'}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: C, value: '3'}]}]}}}\n";
    let patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {nodeSelector: null, containers: [{name: a, env: [{name: A, $patch: delete}, {name: B, value: '2', valueFrom: null}]}]}}}\n";
    let text = built(
        &[
            ("all.yaml", object),
            ("patch.yaml", patch),
            (
                "kustomization.yaml",
                "resources: [all.yaml]\npatches: [{path: patch.yaml}]\n",
            ),
        ],
        "",
    );
    assert_holds(
        &text,
        &[
            "name: B\n          value: \"2\"\n",
            "name: C\n          value: \"3\"\n",
        ],
    );
    for gone in ["name: A", "nodeSelector", "valueFrom"] {
        assert!(!text.contains(gone), "{text}");
    }
}

/// K23: one identity twice.
#[test]
fn k23_two_objects_of_one_identity_are_refused_with_both_files() {
    let first = ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
    let second = (
        "b.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n",
    );
    let files = [
        first,
        second,
        ("kustomization.yaml", "resources: [a.yaml, b.yaml]\n"),
    ];
    assert_refused(&files, "", ErrorKind::DuplicateId);
    let owned: Files = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let (_, error) = run_ours(&owned, "").unwrap_err();
    assert!(error.contains("a.yaml") && error.contains("b.yaml"), "{error}");
}
