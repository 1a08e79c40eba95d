//! The architecture's rules that a machine can check: who may depend on whom, what stays out of the tree,
//! and how long a file may grow. See `docs/ARCHITECTURE.md`.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails this way")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Engines: no Kubernetes, no async runtime, no HTTP, no real file system.
const PURE: [&str; 9] = [
    "sluice-envsubst",
    "sluice-expression",
    "sluice-gotemplate",
    "sluice-goyaml",
    "sluice-health",
    "sluice-helm",
    "sluice-kustomize",
    "sluice-semver",
    "sluice-vfs",
];

/// What an engine's tree may not hold, directly or through others.
const IMPURE: [&str; 8] = [
    "kube",
    "kube-client",
    "k8s-openapi",
    "tokio",
    "reqwest",
    "hyper",
    "axum",
    "gix",
];

/// Deployed programs: nothing of ours may depend on them.
const CONTROLLERS: [&str; 2] = ["source-controller", "kustomize-controller"];

/// Crates of which exactly one version may stand in the tree.
const SINGLE: [&str; 7] = [
    "rustls",
    "ring",
    "reqwest",
    "hyper",
    "kube-client",
    "k8s-openapi",
    "tokio",
];

/// Crates that may not stand in the tree at all (the reasons are in `deny.toml`).
const BANNED: [&str; 9] = [
    "openssl",
    "openssl-sys",
    "native-tls",
    "aws-lc-rs",
    "aws-lc-sys",
    "git2",
    "serde_yaml",
    "mimalloc",
    "libmimalloc-sys",
];

const LINES_PER_FILE: usize = 800;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the testbed stands in the workspace")
        .to_owned()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn text<'value>(value: &'value Value, key: &str) -> &'value str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} is no text in {value}"))
}

/// For each package id: its name and the ids it needs, development dependencies left out.
fn graph(metadata: &Value) -> BTreeMap<String, (String, Vec<String>)> {
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()
        .expect("packages")
        .iter()
        .map(|package| (text(package, "id"), text(package, "name")))
        .collect();
    metadata["resolve"]["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|node| {
            let needs = node["deps"]
                .as_array()
                .expect("deps")
                .iter()
                .filter(|dependency| {
                    let kinds = dependency["dep_kinds"].as_array().expect("dep_kinds");
                    kinds.iter().any(|kind| kind["kind"].is_null())
                })
                .map(|dependency| text(dependency, "pkg").to_owned())
                .collect();
            let id = text(node, "id");
            (id.to_owned(), (names[id].to_owned(), needs))
        })
        .collect()
}

fn reachable(graph: &BTreeMap<String, (String, Vec<String>)>, root: &str) -> BTreeSet<String> {
    let start = graph
        .iter()
        .find(|(_, (name, _))| name == root)
        .unwrap_or_else(|| panic!("no package {root}"));
    let mut seen = BTreeSet::new();
    let mut open = vec![start.0];
    while let Some(id) = open.pop() {
        for need in &graph[id].1 {
            if seen.insert(graph[need].0.clone()) {
                open.push(need);
            }
        }
    }
    seen
}

fn rust_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a readable directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if !path.ends_with("target")
                && !path
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with('.'))
            {
                rust_files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn engines_know_neither_kubernetes_nor_async_nor_http() {
    let graph = graph(&metadata());
    for engine in PURE {
        let needs = reachable(&graph, engine);
        let forbidden: Vec<_> = IMPURE.iter().filter(|name| needs.contains(**name)).collect();
        assert!(
            forbidden.is_empty(),
            "{engine} must stay pure but reaches {forbidden:?}"
        );
    }
}

#[test]
fn engines_never_touch_the_real_file_system_nor_start_programs() {
    for engine in PURE {
        let source = workspace()
            .join("crates")
            .join(engine.trim_start_matches("sluice-"))
            .join("src");
        let mut files = Vec::new();
        rust_files(&source, &mut files);
        for file in files {
            let contents = std::fs::read_to_string(&file).expect("a readable source");
            for word in ["std::fs", "std::process", "std::net", "std::env"] {
                assert!(!contents.contains(word), "{} uses {word}", file.display());
            }
        }
    }
}

#[test]
fn nothing_depends_on_a_controller_and_the_api_depends_on_nothing_of_ours() {
    let graph = graph(&metadata());
    for (name, needs) in graph.values() {
        for need in needs {
            let needed = graph[need].0.as_str();
            assert!(
                !CONTROLLERS.contains(&needed),
                "{name} depends on the controller {needed}"
            );
        }
    }
    let ours: Vec<_> = reachable(&graph, "sluice-api")
        .into_iter()
        .filter(|name| name.starts_with("sluice"))
        .collect();
    assert!(ours.is_empty(), "sluice-api depends on {ours:?}");
    for (name, _) in graph
        .values()
        .filter(|(name, _)| name.starts_with("sluice") || CONTROLLERS.contains(&name.as_str()))
    {
        if !["sluice-testbed", "sluice-bench"].contains(&name.as_str()) {
            assert!(
                !reachable(&graph, name).contains("sluice-testbed"),
                "{name} ships the test bed"
            );
        }
    }
}

/// What the controller applies and what the command line shows of it come from one place.
#[test]
fn the_build_of_a_kustomization_is_shared() {
    let graph = graph(&metadata());
    for name in ["kustomize-controller", "sluice"] {
        assert!(
            reachable(&graph, name).contains("sluice-kustomization"),
            "{name} builds Kustomizations in a way of its own"
        );
    }
}

/// The engine knows where remote bases come from as a trait only; what fetches them serves those that build.
#[test]
fn remote_bases_are_fetched_for_those_that_build() {
    let graph = graph(&metadata());
    let users: BTreeSet<&str> = graph
        .values()
        .filter(|(_, needs)| needs.iter().any(|need| graph[need].0 == "sluice-remote-bases"))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(users, BTreeSet::from(["kustomize-controller", "sluice"]));
}

#[test]
fn one_tls_provider_and_one_http_stack_stand_in_the_tree() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let metadata = metadata();
    for package in metadata["packages"].as_array().expect("packages") {
        let name = text(package, "name");
        versions
            .entry(name.to_owned())
            .or_default()
            .insert(text(package, "version").to_owned());
        assert!(
            !BANNED.contains(&name),
            "{name} is in the tree; deny.toml says why it must not be"
        );
    }
    for name in SINGLE {
        let found = versions
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in the tree"));
        assert_eq!(
            found.len(),
            1,
            "{name} stands in the tree in the versions {found:?}"
        );
    }
}

#[test]
fn controllers_and_crates_start_no_programs() {
    let mut files = Vec::new();
    for directory in [
        "crates",
        "source-controller/src",
        "kustomize-controller/src",
        "cli/src",
    ] {
        rust_files(&workspace().join(directory), &mut files);
    }
    for file in files
        .iter()
        .filter(|file| !file.components().any(|part| part.as_os_str() == "tests"))
    {
        let contents = std::fs::read_to_string(file).expect("a readable source");
        let shipped = contents.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(
            !shipped.contains("process::Command"),
            "{} starts a program",
            file.display()
        );
    }
}

#[test]
fn no_file_grows_past_its_limit() {
    let mut files = Vec::new();
    rust_files(&workspace(), &mut files);
    let long: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let lines = std::fs::read_to_string(file)
                .expect("a readable source")
                .lines()
                .count();
            (lines > LINES_PER_FILE).then(|| format!("{} ({lines} lines)", file.display()))
        })
        .collect();
    assert!(
        long.is_empty(),
        "files over {LINES_PER_FILE} lines want to be folders: {long:#?}"
    );
}
