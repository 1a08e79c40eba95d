//! Builds against the libraries that Flux itself builds with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use sluice_testbed::tools;
use sluice_vfs::{MemoryFileSystem, VirtualPath};

use super::{BuildInput, Built, build};

#[derive(Deserialize)]
struct Answer {
    manifests: String,
    digest: String,
    #[serde(default)]
    error: String,
}

/// One build: files, the path in them, and what is to be in the spec.
struct Case {
    name: &'static str,
    files: Vec<(&'static str, &'static str)>,
    path: &'static str,
    spec: Value,
}

fn case(name: &'static str, files: &[(&'static str, &'static str)], spec: Value) -> Case {
    Case {
        name,
        files: files.to_vec(),
        path: "",
        spec,
    }
}

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  key: value\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 1\n  \
    template:\n    spec:\n      containers:\n      - name: web\n        image: registry/app:v1\n";
const LIST: &str = "resources:\n- config.yaml\n- deployment.yaml\n";

#[expect(clippy::needless_pass_by_value, reason = "literals read better")]
fn substituted(manifest: &'static str, post_build: Value) -> Case {
    case(
        "substitution",
        &[("config.yaml", manifest)],
        json!({"postBuild": post_build}),
    )
}

fn build_cases() -> Vec<Case> {
    let both = [
        ("config.yaml", CONFIG),
        ("deployment.yaml", DEPLOYMENT),
        ("kustomization.yaml", LIST),
    ];
    let nested = [
        ("a.yml", CONFIG),
        ("z/deployment.yaml", DEPLOYMENT),
        (
            "own/kustomization.yaml",
            "namePrefix: own-\nresources:\n- c.yaml\n",
        ),
        ("own/c.yaml", CONFIG),
        ("own/not-listed.yaml", "nothing: here\n"),
        ("notes.txt", "text"),
    ];
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: component-\n";
    vec![
        case("KUS-021 nested directories", &nested, json!({})),
        case("KUS-021 broken YAML", &[("a.yaml", "a: [\n")], json!({})),
        case("KUS-021 no object", &[("a.yaml", "a: b\n")], json!({})),
        case(
            "scalars read as texts",
            &[
                ("a.yaml", CONFIG),
                ("web.yaml", DEPLOYMENT),
                (
                    "kustomization.yaml",
                    "resources: [a.yaml, web.yaml]\nnamespace: n\nnamePrefix: 1\ncommonAnnotations: {a: 1, b: true, c: 1.50}\nimages:\n- {name: registry/app, newTag: 1.0}\nlabels:\n- {pairs: {create: 1}, includeSelectors: true}\nreplicas:\n- {name: web, count: 3}\n",
                ),
            ],
            json!({}),
        ),
        case("KUS-022 nothing at all", &[("notes.txt", "text")], json!({})),
        case(
            "KUS-022 empty kustomization",
            &[("kustomization.yaml", "")],
            json!({}),
        ),
        case(
            "unknown fields are dropped",
            &[
                ("a.yaml", CONFIG),
                ("kustomization.yaml", "resources: [a.yaml]\nodd: 1\n"),
            ],
            json!({}),
        ),
        case(
            "KUS-023",
            &both,
            json!({"targetNamespace": "apps", "namePrefix": "p-", "nameSuffix": "-s"}),
        ),
        case(
            "KUS-023 over the file",
            &[
                ("a.yaml", CONFIG),
                (
                    "kustomization.yaml",
                    "namespace: x\nnamePrefix: y-\nresources: [a.yaml]\n",
                ),
            ],
            json!({"targetNamespace": "apps"}),
        ),
        case(
            "KUS-024",
            &both,
            json!({"patches": [
                {"patch": "- op: replace\n  path: /spec/replicas\n  value: 3\n", "target": {"kind": "Deployment"}},
                {"patch": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  more: text\n"},
            ]}),
        ),
        case(
            "KUS-025",
            &both,
            json!({"images": [{"name": "registry/app", "newName": "other/app", "newTag": "v2"}]}),
        ),
        case(
            "KUS-025 digest",
            &both,
            json!({"images": [{"name": "registry/app", "digest": "sha256:abc", "newTag": "v2"}]}),
        ),
        // The digest in the history is that of the manifests in the order of the files.
        case(
            "KUS-069 order",
            &[(
                "all.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: b}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: c}\n",
            )],
            json!({}),
        ),
        // F07
        case(
            "KUS-025 merged",
            &[
                ("deployment.yaml", DEPLOYMENT),
                (
                    "kustomization.yaml",
                    "resources: [deployment.yaml]\nimages:\n- name: registry/app\n  newTag: v2\n",
                ),
            ],
            json!({"images": [{"name": "registry/app", "newName": "reg/app"}]}),
        ),
        case(
            "KUS-025 tag replaces digest",
            &[
                ("deployment.yaml", DEPLOYMENT),
                (
                    "kustomization.yaml",
                    "resources: [deployment.yaml]\nimages:\n- name: registry/app\n  digest: sha256:old\n",
                ),
            ],
            json!({"images": [{"name": "registry/app", "newTag": "v3"}]}),
        ),
        case(
            "KUS-026",
            &[
                ("a.yaml", CONFIG),
                ("kustomization.yaml", "resources: [a.yaml]\n"),
                ("component/kustomization.yaml", component),
            ],
            json!({"components": ["component", "missing"], "ignoreMissingComponents": true}),
        ),
        case(
            "KUS-026 missing",
            &[("a.yaml", CONFIG)],
            json!({"components": ["missing"]}),
        ),
        case(
            "KUS-026 remote",
            &[("a.yaml", CONFIG)],
            json!({"components": ["https://example.com/component"]}),
        ),
        case(
            "KUS-028 origin",
            &both,
            json!({"buildMetadata": ["originAnnotations"]}),
        ),
        case(
            "KUS-028 transformations",
            &both,
            json!({"buildMetadata": ["transformerAnnotations"], "namePrefix": "x-"}),
        ),
        case(
            "generators without resources",
            &[(
                "kustomization.yaml",
                "configMapGenerator:\n- name: c\n  literals: [a=b]\n",
            )],
            json!({}),
        ),
        case(
            "KUS-030 out of the root",
            &[("kustomization.yaml", "resources: [../../../etc/passwd]\n")],
            json!({}),
        ),
        case(
            "duplicate ids",
            &[("a.yaml", CONFIG), ("b.yaml", CONFIG)],
            json!({}),
        ),
        Case {
            name: "a directory below",
            path: "apps",
            files: vec![("apps/a.yaml", CONFIG), ("b.yaml", DEPLOYMENT)],
            spec: json!({}),
        },
        Case {
            name: "bases outside the path",
            path: "apps",
            files: vec![
                ("apps/kustomization.yaml", "resources: [../base]\nnamespace: n\n"),
                ("base/kustomization.yaml", "resources: [c.yaml]\n"),
                ("base/c.yaml", CONFIG),
            ],
            spec: json!({}),
        },
    ]
}

fn substitution_cases() -> Vec<Case> {
    let text = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  k: '{value}'\n")
    };
    let leak = |value: &str| -> &'static str { Box::leak(text(value).into_boxed_str()) };
    let variables =
        json!({"v": "Example-Value", "n": "3", "b": "true", "q": "\"", "empty": "", "line": "a\nb"});
    let mut cases: Vec<Case> = [
        // KUS-031
        "${v}",
        "${missing:-d}",
        "${missing:=d}",
        "${missing=d}",
        "${empty:-d}",
        "${v^}",
        "${v^^}",
        "${v,}",
        "${v,,}",
        "${v:3}",
        "${v:0:3}",
        "${#v}",
        "${v%Value}",
        "${v%%-*}",
        "${v#Example}",
        "${v##*-}",
        "${v/a/b}",
        "${v//a/b}",
        "${missing:-${v}}",
        "x${v}y${n}",
        // KUS-032
        "$${v}",
        "$v",
        "$$",
        "$(v)",
        "a $ b",
        // KUS-033
        "${missing}",
        "${a.b}",
        "${v",
        // KUS-035, F01
        "${n}",
        "${b}",
        "${q}${n}${q}",
        // KUS-036
        "${line}",
    ]
    .into_iter()
    .map(|expression| substituted(leak(expression), json!({"substitute": variables})))
    .collect();
    cases.push(substituted(leak("${x}"), json!({"substitute": {"1a": "b"}})));
    // KUS-037, F03
    for place in ["annotations", "labels"] {
        let manifest = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  {place}:\n    kustomize.toolkit.fluxcd.io/substitute: disabled\ndata:\n  k: ${{v}}\n"
        );
        cases.push(substituted(
            Box::leak(manifest.into_boxed_str()),
            json!({"substitute": variables}),
        ));
    }
    // KUS-038
    cases.push(substituted(
        leak("${x:-1}"),
        json!({"substituteStrategy": "Always"}),
    ));
    cases.push(substituted(
        leak("${x:-1}"),
        json!({"substituteStrategy": "WithVariables"}),
    ));
    // KUS-039
    cases.push(substituted(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  k: ${v}\ndata:\n  e: JHt2fQ==\n",
        json!({"substitute": variables}),
    ));
    cases
}

fn run(case: &Case) -> Result<Built, String> {
    let mut spec = case.spec.clone();
    for (field, value) in [
        ("interval", json!("1m")),
        ("prune", json!(true)),
        ("sourceRef", json!({"kind": "GitRepository", "name": "x"})),
    ] {
        spec[field] = value;
    }
    let input = BuildInput {
        files: Arc::new(MemoryFileSystem::from_files(case.files.iter().copied()).unwrap()),
        directory: VirtualPath::parse(case.path).unwrap(),
        spec: serde_json::from_value(spec).unwrap(),
        variables: Ok(BTreeMap::new()),
        strict: true,
        owner_labels: Vec::new(),
        ignored: None,
        remote: None,
        deadline: Instant::now() + Duration::from_secs(60),
    };
    build(&input).map_err(|error| error.to_string())
}

/// Compares builds, and returns the errors of both sides where both fail.
fn compare(cases: &[Case]) -> Vec<(String, String, String)> {
    let questions: Vec<Value> = cases
        .iter()
        .map(|case| {
            let files: BTreeMap<&str, &str> = case.files.iter().copied().collect();
            let kustomization = json!({"metadata": {"name": "k", "namespace": "n"}, "spec": case.spec});
            json!({"files": files, "path": case.path, "kustomization": kustomization, "strict": true})
        })
        .collect();
    let Some(answers): Option<Vec<Answer>> =
        tools::require_or_skip(tools::ask_oracle("kustomization-build", &questions))
    else {
        return Vec::new();
    };
    let mut failures = Vec::new();
    let mut wrong = Vec::new();
    for (case, theirs) in cases.iter().zip(answers) {
        let shown = format!("{} {:?}", case.name, case.files);
        match run(case) {
            Ok(ours) if theirs.error.is_empty() => {
                if ours.digest != theirs.digest {
                    let objects: Vec<String> = ours
                        .objects
                        .iter()
                        .map(|object| serde_json::to_string(object.content()).unwrap())
                        .collect();
                    wrong.push(format!(
                        "{shown}\n ours\n{}\n theirs\n{}",
                        objects.join("\n"),
                        theirs.manifests
                    ));
                }
            }
            Ok(_) => wrong.push(format!("{shown}\n ours builds, theirs: {}", theirs.error)),
            Err(error) if theirs.error.is_empty() => {
                wrong.push(format!(
                    "{shown}\n ours: {error}\n theirs builds\n{}",
                    theirs.manifests
                ));
            }
            Err(error) => failures.push((shown, error, theirs.error)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n\n")
    );
    failures
}

/// KUS-021 to KUS-028, KUS-030
#[test]
fn builds_give_the_manifests_that_flux_builds() {
    for (case, ours, theirs) in compare(&build_cases()) {
        let prefix = |text: &str| text.split([':', '\'']).next().unwrap_or_default().to_owned();
        assert_eq!(
            prefix(&ours).split(" from ").next(),
            prefix(&theirs).split(" from ").next(),
            "{case}\n{ours}\n{theirs}"
        );
    }
}

/// KUS-031 to KUS-039, F01, F02, F03
#[test]
fn substitution_gives_the_manifests_that_flux_builds() {
    for (case, ours, theirs) in compare(&substitution_cases()) {
        assert_eq!(ours, theirs, "{case}");
    }
}
