//! Cases where the engine once differed from the real kustomize, each compared with it again.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use sluice_kustomize::ErrorKind;
use support::compare::{assert_alike, assert_refused, assert_same, run_ours};
use support::tape::Files;

#[test]
fn labels_set_together_change_together() {
    // kustomize puts one node into all fields that it makes, so a patch of one changes the others.
    assert_same(
        &[
            (
                "base/all.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {}}}\n",
            ),
            (
                "base/kustomization.yaml",
                "resources: [all.yaml]\nlabels: [{pairs: {l: a}, includeSelectors: true}]\n",
            ),
            (
                "overlay/kustomization.yaml",
                "resources: [../base]\nlabels: [{pairs: {l: b}}]\n",
            ),
        ],
        "overlay",
    );
}

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {l: '1e3', empty: '', yes: 'yes'}
spec:
  selector: {app: plain}
  ports: [{port: 80, targetPort: '80'}]
";

/// A replacement from the Service's field into a field that it makes, and a patch in an overlay.
fn copied(source: &str, target: &str, options: &str, overlay: &str) {
    let base = format!(
        "resources: [all.yaml]\nreplacements:\n- source: {{kind: Service, fieldPath: '{source}'}}\n  targets:\n  - select: {{kind: Service}}\n    fieldPaths: ['{target}']\n    options: {options}\n"
    );
    let overlay = format!("resources: [../base]\n{overlay}");
    assert_same(
        &[
            ("base/all.yaml", SERVICE),
            ("base/kustomization.yaml", &base),
            ("o/kustomization.yaml", &overlay),
        ],
        "o",
    );
}

#[test]
fn copied_values_that_look_like_numbers_are_quoted_by_a_later_patch() {
    let patch =
        "patches: [{patch: '{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {a: b}}'}]\n";
    for source in [
        "spec.ports.0.port",
        "spec.ports.0.targetPort",
        "metadata.labels.l",
        "metadata.labels.empty",
    ] {
        for target in [
            "data.copied",
            "metadata.annotations.copied",
            "spec.new.0.a",
            "spec.new.[a=1].b",
        ] {
            for options in ["{create: true}", "{create: true, delimiter: '-', index: 1}"] {
                for overlay in [
                    "",
                    patch,
                    "buildMetadata: [managedByLabel]\nsortOptions: {order: legacy}\n",
                ] {
                    copied(source, target, options, overlay);
                }
            }
        }
    }
}

#[test]
fn values_copied_twice_take_the_type_of_the_last() {
    let again = "replacements:\n- source: {kind: Service, fieldPath: metadata.labels.l}\n  targets: [{select: {kind: Service}, fieldPaths: [spec.x]}]\n";
    copied("metadata.name", "spec.x", "{create: true}", again);
    copied("spec.ports.0.port", "spec.x", "{create: true}", again);
}

#[test]
fn lists_can_be_copied_into_fields_that_are_made() {
    for target in ["spec.x", "data.a.b", "spec.ports.[name=a].x"] {
        copied("spec.ports", target, "{create: true}", "");
        copied("spec.selector", target, "{create: true}", "");
    }
}

#[test]
fn a_collection_copied_over_a_changed_image_leaves_null() {
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: c, image: x}]}}}\n";
    assert_same(
        &[
            ("all.yaml", deployment),
            (
                "kustomization.yaml",
                "resources: [all.yaml]\nimages: [{name: x, newTag: v2}]\nreplacements:\n- source: {kind: Deployment, fieldPath: spec.template}\n  targets: [{select: {kind: Deployment}, fieldPaths: ['spec.template.spec.containers.[name=c].image']}]\n",
            ),
        ],
        "",
    );
}

#[test]
fn a_value_copied_within_its_object_is_what_it_is_by_then() {
    let object = "apiVersion: example.com/v1\nkind: Custom\nmetadata: {name: web}\nspec:\n  items: [{name: a, v: 1}, {name: b, v: x-y}, {name: c, v: z}]\n  a: p-q\n";
    let other = object.replace("name: web", "name: other");
    let objects = format!("{object}---\n{other}");
    for (source, target) in [
        ("spec.items.[name=b].v", "['spec.items.*.v', spec.a]"),
        ("spec.a", "[spec.a, 'spec.items.[name=c].v', metadata.name]"),
        ("spec.a", "['spec.items.*.v', spec.a, spec.items.1.v]"),
        ("spec.items.0", "[spec.items.0.v, 'spec.items.[name=c]']"),
    ] {
        for options in [
            "{create: true}",
            "{delimiter: '-', index: 1}",
            "{delimiter: '-', index: -1}",
        ] {
            let kustomization = format!(
                "resources: [all.yaml]\nreplacements:\n- source: {{kind: Custom, name: web, fieldPath: '{source}'}}\n  targets:\n  - select: {{kind: Custom}}\n    fieldPaths: {target}\n    options: {options}\n"
            );
            support::compare::assert_alike(
                &[("all.yaml", &objects), ("kustomization.yaml", &kustomization)],
                "",
            );
        }
    }
}

#[test]
fn a_kustomization_with_an_empty_list_builds_into_nothing() {
    for field in [
        "resources: []",
        "vars: []",
        "generatorOptions: {}",
        "commonLabels: {}",
        "patches: []",
    ] {
        assert_same(&[("kustomization.yaml", field)], "");
    }
    for field in [
        "bases: []",
        "imageTags: []",
        "namespace: ''",
        "resources:",
        "resources: null",
    ] {
        assert_refused(&[("kustomization.yaml", field)], "", ErrorKind::Kustomization);
    }
}

#[test]
fn a_custom_schema_on_top_of_the_built_in_one_refers_to_it_and_is_referred_to() {
    let schema = r##"{"definitions": {
        "org.example.Widget": {
            "type": "object",
            "properties": {"spec": {"$ref": "#/definitions/io.k8s.api.core.v1.PodTemplateSpec"}},
            "x-kubernetes-group-version-kind": [{"group": "example.org", "kind": "Widget", "version": "v1"}]
        },
        "io.k8s.api.core.v1.EnvVar": {
            "properties": {"parts": {"type": "array", "items": {"type": "object"},
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "id"}}
        }
    }}"##;
    let pod = |text: &str| {
        format!("{{containers: [{{name: a, {text}, env: [{{name: E, parts: [{{id: 1, {text}}}]}}]}}]}}")
    };
    let objects = |text: &str| {
        let pod = pod(text);
        format!(
            "apiVersion: example.org/v1\nkind: Widget\nmetadata: {{name: w}}\nspec: {{spec: {pod}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d}}\nspec: {{template: {{spec: {pod}}}}}\n"
        )
    };
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nopenapi: {path: schema.json}\npatches: [{path: patch.yaml}]\n";
    // A patch in the base loads the built-in schema before the custom one; without it, it comes after.
    let patch = "patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, labels: {a: b}}}'}]\n";
    for patch in ["", patch] {
        assert_same(
            &[
                ("base/all.yaml", &objects("x: y")),
                (
                    "base/kustomization.yaml",
                    &format!("resources: [all.yaml]\n{patch}"),
                ),
                ("component/kustomization.yaml", component),
                ("component/schema.json", schema),
                ("component/patch.yaml", &objects("z: q")),
                (
                    "o/kustomization.yaml",
                    "resources: [../base]\ncomponents: [../component]\n",
                ),
            ],
            "o",
        );
    }
    assert_same(
        &[
            ("all.yaml", &objects("x: y")),
            ("schema.json", schema),
            ("patch.yaml", &objects("z: q")),
            (
                "kustomization.yaml",
                "resources: [all.yaml]\nopenapi: {path: schema.json}\npatches: [{path: patch.yaml}]\n",
            ),
        ],
        "",
    );
}

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {a: x, b: '1'}}\ndata: {k: v}\n";

#[test]
fn a_patch_that_may_change_names_has_only_strings_as_annotations() {
    for annotations in ["{a: null, c: 1, d: true}", "null", "{}", "{a: ~}"] {
        for options in [
            "",
            ", options: {allowNameChange: true}",
            ", options: {allowKindChange: true}",
        ] {
            for target in ["", ", target: {kind: ConfigMap}"] {
                let kustomization = format!(
                    "resources: [all.yaml]\npatches:\n- {{patch: '{{apiVersion: v1, kind: ConfigMap, metadata: {{name: web, annotations: {annotations}}}}}'{target}{options}}}\n"
                );
                assert_same(
                    &[("all.yaml", CONFIG_MAP), ("kustomization.yaml", &kustomization)],
                    "",
                );
            }
        }
    }
}

#[test]
fn a_validator_that_only_notes_a_former_identity_is_refused() {
    let kustomization = "resources: [all.yaml]\nvalidators:\n- |-\n  apiVersion: builtin\n  kind: NamespaceTransformer\n  metadata: {name: t, namespace: other}\n  unsetOnly: true\n";
    assert_refused(
        &[("all.yaml", CONFIG_MAP), ("kustomization.yaml", kustomization)],
        "",
        ErrorKind::Plugin,
    );
}

/// An empty scalar that is made in flow form is a string, and the items of a list beside other documents are in
/// flow form.
#[test]
fn empty_values_made_in_list_items_are_strings() {
    let list = "kind: List\nitems:\n- apiVersion: v1\n  kind: ServiceAccount\n  metadata: {name: listed}\n";
    let other = "---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: other\n";
    let kustomization = "resources: [all.yaml]\nreplacements:\n- sourceValue: ''\n  targets:\n  - select: {kind: ServiceAccount}\n    fieldPaths: [spec.a.b, spec.list.0, metadata.annotations.x]\n    options: {create: true}\n";
    for text in [
        list.to_owned(),
        format!("{list}{other}"),
        format!("{list}---\n{list}").replacen("listed", "first", 1),
    ] {
        assert_same(&[("all.yaml", &text), ("kustomization.yaml", kustomization)], "");
    }
}

/// kustomize makes this hash from what its parser remembers of the text (`docs/parity.md`).
#[test]
fn the_hash_of_an_object_of_another_kind_depends_on_its_content_alone() {
    let name = |generator: &str| {
        let kustomization = format!(
            "configMapGenerator: [{generator}]\npatches:\n- target: {{kind: ConfigMap}}\n  patch: '[{{\"op\": \"replace\", \"path\": \"/kind\", \"value\": \"Renamed\"}}]'\n"
        );
        let files = Files::from([("kustomization.yaml".to_owned(), kustomization)]);
        let text = run_ours(&files, "").unwrap();
        assert!(text.contains("kind: Renamed"), "{text}");
        let (_, name) = text.split_once("name: web-").unwrap();
        name.trim().to_owned()
    };
    let plain = name("{name: web, literals: [a=b]}");
    assert_eq!(plain, name("{literals: ['a=\"b\"'], name: web}"));
    assert_ne!(plain, name("{name: web, literals: [a=c]}"));
}

#[test]
fn strings_in_a_text_stay_strings_when_numbers_are_copied_into_them() {
    let object = "apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  number: '1'
  word: plain
  text: |
    flow: [x, 'y', \"z\"]
    block: x
    number: 7
    nothing:
    explicit: !!str x
    custom: !other x
    map: {a: b}
";
    for source in ["data.number", "data.word"] {
        for target in [
            "flow.0", "flow.1", "flow.2", "block", "number", "nothing", "explicit", "custom", "map.a", "map",
            "new",
        ] {
            for options in ["{}", "{create: true}"] {
                let kustomization = format!(
                    "resources: [all.yaml]\nreplacements:\n- source: {{kind: ConfigMap, fieldPath: {source}}}\n  targets:\n  - select: {{kind: ConfigMap}}\n    fieldPaths: [data.text.{target}]\n    options: {options}\n"
                );
                assert_alike(
                    &[("all.yaml", object), ("kustomization.yaml", &kustomization)],
                    "",
                );
            }
        }
    }
}

#[test]
fn references_in_items_of_a_list_keep_the_quotes_that_these_get() {
    for items in [
        "kind: List\nitems:\n- {apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: s}]}\n",
        "kind: ServiceAccountList\nitems:\n- apiVersion: v1\n  kind: ServiceAccount\n  metadata: {name: a}\n  imagePullSecrets:\n  - name: s\n",
        "kind: ServiceAccount\nmetadata: {name: a}\nimagePullSecrets:\n- name: s\n- name: 's'\n- name: \"s\"\n",
    ] {
        let all =
            format!("apiVersion: v1\n{items}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n");
        assert_same(
            &[
                ("all.yaml", &all),
                (
                    "kustomization.yaml",
                    "resources: [all.yaml]\nnameSuffix: -v2\nreplacements:\n- sourceValue: '80'\n  targets:\n  - select: {name: s}\n    fieldPaths: [metadata.name]\n",
                ),
            ],
            "",
        );
    }
}

#[test]
fn options_of_a_patch_are_seen_among_all_annotations() {
    for options in [
        "{allowNameChange: true}",
        "{allowKindChange: true}",
        "{allowNameChange: true, allowKindChange: true}",
    ] {
        for patch in [
            "{metadata: {name: web}, data: {a: b}}",
            "{metadata: {name: web, annotations: null}}",
            "{metadata: {name: web, annotations: {$patch: replace, x: y}}}",
        ] {
            let kustomization = format!(
                "resources: [all.yaml]\nnamePrefix: x\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    {}\n  options: {options}\nreplacements:\n- source: {{kind: ConfigMap, name: web, fieldPath: metadata.annotations}}\n  targets:\n  - select: {{kind: ConfigMap}}\n    fieldPaths: [spec.copied]\n    options: {{create: true}}\n",
                patch[1..patch.len() - 1].replace(", data", "\n    data")
            );
            assert_alike(
                &[
                    (
                        "all.yaml",
                        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, annotations: {app: plain}}\n",
                    ),
                    ("kustomization.yaml", &kustomization),
                ],
                "",
            );
        }
    }
}
