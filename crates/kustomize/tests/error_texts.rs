//! What builds say when they fail, one example of each kind side by side.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail and report this way")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use sluice_kustomize::{BuildOptions, Error, ErrorKind, Limits, build};
use sluice_vfs::{MemoryFileSystem, VirtualPath};

/// A kind by name, and files whose root does not build.
type Example = (&'static str, &'static [(&'static str, &'static str)]);

const MAP: (&str, &str) = (
    "a.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n",
);

const EXAMPLES: &[Example] = &[
    (
        "File",
        &[("kustomization.yaml", "namePrefix: x-\nresources:\n- gone.yaml\n")],
    ),
    (
        "File",
        &[
            MAP,
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\npatches:\n- path: gone.yaml\n",
            ),
        ],
    ),
    (
        "Restricted",
        &[(
            "kustomization.yaml",
            "configMapGenerator:\n- name: g\n  files: [../../x]\n",
        )],
    ),
    (
        "Cycle",
        &[
            ("kustomization.yaml", "resources:\n- below\n"),
            ("below/kustomization.yaml", "resources:\n- ..\n"),
        ],
    ),
    (
        "Remote",
        &[(
            "kustomization.yaml",
            "resources:\n- https://example.com/owner/repository?ref=v1\n",
        )],
    ),
    (
        "Yaml",
        &[
            ("kustomization.yaml", "resources:\n- a.yaml\n"),
            ("a.yaml", "a: b\nc: [\n"),
        ],
    ),
    (
        "Yaml",
        &[("kustomization.yaml", "namePrefix: x-\nresources: [a.yaml\n")],
    ),
    (
        "Kustomization",
        &[("kustomization.yaml", "resource:\n- a.yaml\n")],
    ),
    ("Kustomization", &[("a.yaml", "")]),
    (
        "Resource",
        &[
            ("kustomization.yaml", "resources:\n- a.yaml\n"),
            ("a.yaml", "---\nkind: ConfigMap\nmetadata: {}\n"),
        ],
    ),
    (
        "DuplicateId",
        &[
            MAP,
            ("b.yaml", MAP.1),
            ("kustomization.yaml", "resources:\n- a.yaml\n- b.yaml\n"),
        ],
    ),
    (
        "Reference",
        &[
            MAP,
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\nreplicas:\n- {name: a, count: 2}\n",
            ),
        ],
    ),
    (
        "Reference",
        &[
            MAP,
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\npatches:\n- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}'\n",
            ),
        ],
    ),
    (
        "Patch",
        &[
            MAP,
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\npatches:\n- target: {kind: ConfigMap}\n  patch: '[{\"op\": \"remove\", \"path\": \"/data/gone\"}]'\n",
            ),
        ],
    ),
    (
        "Generator",
        &[(
            "kustomization.yaml",
            "configMapGenerator:\n- name: g\n  literals: [nothing]\n",
        )],
    ),
    (
        "Generator",
        &[(
            "kustomization.yaml",
            "secretGenerator:\n- name: g\n  behavior: merge\n  literals: [a=b]\n",
        )],
    ),
    (
        "Transformer",
        &[
            ("kustomization.yaml", "resources:\n- a.yaml\nnamespace: apps\n"),
            (
                "a.yaml",
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: a\nsubjects: text\n",
            ),
        ],
    ),
    (
        "Replacement",
        &[
            MAP,
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.gone}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.k]\n",
            ),
        ],
    ),
    (
        "Variable",
        &[
            MAP,
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\nvars:\n- name: V\n  objref: {apiVersion: v1, kind: ConfigMap, name: b}\n",
            ),
        ],
    ),
    (
        "Schema",
        &[
            MAP,
            (
                "kustomization.yaml",
                "resources:\n- a.yaml\nopenapi: {path: schema.json, version: v1}\n",
            ),
            ("schema.json", "{}"),
        ],
    ),
    ("Plugin", &[("kustomization.yaml", "helmCharts:\n- name: c\n")]),
    (
        "Plugin",
        &[(
            "kustomization.yaml",
            "generators:\n- |-\n  apiVersion: example.org/v1\n  kind: Made\n  metadata: {name: m}\n",
        )],
    ),
    (
        "Limit",
        &[
            MAP,
            (
                "b.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n",
            ),
            ("kustomization.yaml", "resources:\n- a.yaml\n- b.yaml\n"),
        ],
    ),
];

fn fail(kind: &str, files: &[(&str, &str)]) -> Error {
    let pairs = files.iter().map(|(path, text)| {
        let path = format!("apps/{path}");
        (path, text.as_bytes().to_vec())
    });
    let tree = MemoryFileSystem::from_files(pairs).unwrap();
    let objects = if kind == "Limit" { 1 } else { 100 };
    let options = BuildOptions {
        limits: Limits {
            objects,
            ..Limits::default()
        },
        ..BuildOptions::default()
    };
    let outcome = build(&tree, &VirtualPath::parse("apps").unwrap(), &options);
    outcome
        .and_then(|built| built.to_yaml().map(|text| panic!("{kind} builds: {text}")))
        .unwrap_err()
}

#[test]
fn every_error_names_its_file_and_says_what_to_do() {
    let mut texts = String::new();
    for (kind, files) in EXAMPLES {
        let error = fail(kind, files);
        assert_eq!(format!("{:?}", error.kind()), *kind, "{error}");
        assert!(error.file().is_some(), "no file: {error}");
        assert!(!error.remedy_text().is_empty(), "no remedy: {error}");
        writeln!(texts, "{kind}\n    {error}").unwrap();
    }
    insta::assert_snapshot!("error_texts", texts);
}

/// The variants of an enumeration, read from its source.
fn variants(source: &str) -> BTreeSet<&str> {
    let (_, body) = source.split_once("pub enum ErrorKind {\n").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    body.lines()
        .map(str::trim)
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
        .map(|line| line.trim_end_matches(','))
        .collect()
}

#[test]
fn every_kind_has_an_example() {
    let kinds = variants(include_str!("../src/error.rs"));
    assert!(kinds.contains(format!("{:?}", ErrorKind::Limit).as_str()));
    let examples: BTreeSet<&str> = EXAMPLES.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, examples);
}
