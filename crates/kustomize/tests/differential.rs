//! Random kustomizations, built by the engine and by the real kustomize 5.8.1: both print the same, or both
//! fail. `SLUICE_FUZZ_CASES` sets how many.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use std::cell::Cell;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use sluice_kustomize::{BuildOptions, Reorder, build};
use sluice_vfs::{MemoryFileSystem, VirtualPath};

use support::tape::{Files, Tape};

fn run_real(kustomize: &Path, files: &Files, root: &str) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    for (path, contents) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
    let output = Command::new(kustomize)
        .args(["build", "--reorder", "none"])
        .arg(directory.path().join(root))
        .output()
        .unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn run_ours(files: &Files, root: &str) -> Result<String, String> {
    let pairs = files
        .iter()
        .map(|(path, contents)| (path.clone(), contents.clone().into_bytes()));
    let tree = MemoryFileSystem::from_files(pairs).unwrap();
    let options = BuildOptions {
        reorder: Reorder::None,
        ..BuildOptions::default()
    };
    build(&tree, &VirtualPath::parse(root).unwrap(), &options)
        .and_then(|build| build.to_yaml())
        .map_err(|error| error.to_string())
}

fn show(files: &Files) -> String {
    files
        .iter()
        .filter(|(path, _)| path.ends_with(".yaml"))
        .map(|(path, contents)| format!("=== {path}\n{contents}"))
        .collect()
}

fn compare(kustomize: &Path, bytes: &[u8], built: &Cell<u32>) -> Result<(), TestCaseError> {
    let (files, root) = Tape::new(bytes).files();
    let problem = match (run_real(kustomize, &files, &root), run_ours(&files, &root)) {
        (Ok(wanted), Ok(found)) if wanted == found => {
            built.set(built.get() + 1);
            return Ok(());
        }
        (Err(real), Err(ours)) => {
            if std::env::var_os("SLUICE_SHOW_ERRORS").is_some() {
                eprintln!("kustomize: {real}ours: {ours}\n");
            }
            return Ok(());
        }
        (Ok(wanted), Ok(found)) => support::difference(&wanted, &found),
        (Ok(_), Err(error)) => format!("ours fails: {error}"),
        (Err(error), Ok(_)) => format!("only kustomize fails: {error}"),
    };
    Err(TestCaseError::fail(format!(
        "root {root}\n{}\n{problem}",
        show(&files)
    )))
}

#[test]
fn random_kustomizations_build_as_kustomize_builds_them() {
    let Some(kustomize) = support::tool("kustomize") else {
        return;
    };
    // Without a wish the cases are always the same, so that a change is judged by what it changes; fresh ones
    // are a matter of `make fuzz-kustomize`.
    let wish = std::env::var("SLUICE_FUZZ_CASES")
        .ok()
        .and_then(|text| text.parse().ok());
    let cases = wish.unwrap_or(48);
    let config = Config {
        cases,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..Config::default()
    };
    let built = Cell::new(0);
    let mut runner = match wish {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let result = runner.run(&proptest::collection::vec(any::<u8>(), 20..500), |bytes| {
        compare(&kustomize, &bytes, &built)
    });
    eprintln!(
        "{} of {cases} kustomizations build, the others fail in both",
        built.get()
    );
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(
        built.get() * 5 > cases,
        "too few of the random kustomizations build to mean anything"
    );
}

#[test]
fn a_patch_that_gives_two_objects_one_name_is_an_error() {
    let objects = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n";
    let kustomization = "resources: [all.yaml]\npatches:\n- target: {kind: ConfigMap}\n  patch: '[{\"op\": \"replace\", \"path\": \"/metadata/name\", \"value\": \"c\"}]'\n";
    let files = Files::from([
        ("all.yaml".to_owned(), objects.to_owned()),
        ("kustomization.yaml".to_owned(), kustomization.to_owned()),
    ]);
    let error = run_ours(&files, "").unwrap_err();
    assert!(error.contains("comes twice"), "{error}");
}

#[test]
fn labels_set_together_change_together() {
    // kustomize puts one node into all fields that it makes, so a patch of one changes the others.
    let base = "resources: [all.yaml]\nlabels: [{pairs: {l: a}, includeSelectors: true}]\n";
    let object = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {}}}\n";
    let overlay = "resources: [../base]\nlabels: [{pairs: {l: b}}]\n";
    let files = Files::from([
        ("base/all.yaml".to_owned(), object.to_owned()),
        ("base/kustomization.yaml".to_owned(), base.to_owned()),
        ("overlay/kustomization.yaml".to_owned(), overlay.to_owned()),
    ]);
    let output = run_ours(&files, "overlay").unwrap();
    assert_eq!(output.matches("l: b").count(), 3, "{output}");
}
