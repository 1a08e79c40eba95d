//! Builds of the same files by the engine and by the real kustomize.

use std::path::Path;
use std::process::Command;

use sluice_kustomize::{BuildOptions, ErrorKind, Reorder, build};
use sluice_vfs::{MemoryFileSystem, VirtualPath};

use super::reasons::compare_reasons;
use super::tape::Files;

/// What the real kustomize prints, or its error.
pub(crate) fn run_real(kustomize: &Path, files: &Files, root: &str) -> Result<String, String> {
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

/// What the engine builds, or its error with the kind.
pub(crate) fn run_ours(files: &Files, root: &str) -> Result<String, (ErrorKind, String)> {
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
        .map_err(|error| (error.kind(), error.to_string()))
}

/// Whether the real kustomize crashed, which says nothing about what is right: a manifest must not stop a
/// controller, so ours builds it or explains why not (`docs/parity.md`).
fn has_crashed(error: &str) -> bool {
    error.contains("panic: ") && error.contains("goroutine ")
}

/// Whether kustomize stumbles over the type that a number keeps behind the quotes that it gets: we build, as
/// `docs/parity.md` says.
fn is_hidden_type(error: &str) -> bool {
    let copied = error.contains("cannot decode !!str `") && error.contains("` as a !!int");
    copied || error.contains("field specified in var '")
}

/// Builds with both; true if both succeed, false if both fail for the same reason or kustomize crashes.
///
/// # Errors
/// How they differ.
pub(crate) fn compare(kustomize: &Path, files: &Files, root: &str) -> Result<bool, String> {
    match (run_real(kustomize, files, root), run_ours(files, root)) {
        (Ok(wanted), Ok(found)) if wanted == found => Ok(true),
        (Err(real), Err((kind, ours))) => {
            if std::env::var_os("SLUICE_SHOW_ERRORS").is_some() {
                eprintln!("kustomize: {real}ours: {kind:?}: {ours}\n");
            }
            if has_crashed(&real) {
                return Ok(false);
            }
            compare_reasons(&real, kind, &ours).map(|()| false)
        }
        (Ok(wanted), Ok(found)) => Err(super::difference(&wanted, &found)),
        (Ok(_), Err((_, error))) => Err(format!("ours fails: {error}")),
        (Err(error), Ok(_)) if has_crashed(&error) || is_hidden_type(&error) => Ok(false),
        (Err(error), Ok(_)) => Err(format!("only kustomize fails: {error}")),
    }
}

/// The files as text, for reports.
pub(crate) fn show(files: &Files) -> String {
    files
        .iter()
        .filter(|(path, contents)| path.ends_with(".yaml") || contents.len() > 30)
        .map(|(path, contents)| format!("=== {path}\n{contents}"))
        .collect()
}

/// Fails unless both build the directory `root` of the files into the same, or both fail.
pub(crate) fn assert_alike(files: &[(&str, &str)], root: &str) {
    check(files, root, false);
}

/// Fails unless both build the directory `root` of the files into the same.
pub(crate) fn assert_same(files: &[(&str, &str)], root: &str) {
    check(files, root, true);
}

fn owned(files: &[(&str, &str)]) -> Files {
    let pairs = files.iter().copied();
    pairs
        .map(|(path, contents)| (path.to_owned(), contents.to_owned()))
        .collect()
}

fn check(files: &[(&str, &str)], root: &str, must_build: bool) {
    let Some(kustomize) = super::tool("kustomize") else {
        return;
    };
    let files = owned(files);
    match compare(&kustomize, &files, root) {
        Ok(built) if built || !must_build => {}
        Ok(_) => {
            let real = run_real(&kustomize, &files, root);
            panic!("both fail: {real:?}\n{}", show(&files));
        }
        Err(problem) => panic!("{problem}\n{}", show(&files)),
    }
}

/// Fails unless both refuse the files, ours with an error of this kind.
pub(crate) fn assert_refused(files: &[(&str, &str)], root: &str, wanted: ErrorKind) {
    let Some(kustomize) = super::tool("kustomize") else {
        return;
    };
    let files = owned(files);
    if let Ok(output) = run_real(&kustomize, &files, root) {
        panic!("kustomize builds this:\n{output}");
    }
    match run_ours(&files, root) {
        Ok(output) => panic!("ours builds this:\n{output}"),
        Err((kind, error)) => assert_eq!(kind, wanted, "{error}"),
    }
}
