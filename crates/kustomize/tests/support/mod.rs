//! What the tests of the engine share: finding corpora and tools, and reading directories into memory.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod compare;
pub(crate) mod reasons;
pub(crate) mod tape;

use std::path::{Path, PathBuf};

use sluice_vfs::{MemoryFileSystem, VirtualPath};

/// The workspace's root.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A directory named by a variable, or its default beside or in the workspace. None, with a note, if it is
/// absent; a failure if `SLUICE_REQUIRE=1`.
fn find(variable: &str, default: &str, wanted: &str) -> Option<PathBuf> {
    let base = std::env::var_os(variable).map_or_else(|| workspace().join(default), PathBuf::from);
    let path = base.join(wanted);
    if path.exists() {
        return Some(path);
    }
    assert!(
        std::env::var("SLUICE_REQUIRE").as_deref() != Ok("1"),
        "{} is required (set {variable})",
        path.display()
    );
    eprintln!("SKIPPED: {} is absent (set {variable})", path.display());
    None
}

/// A corpus by name.
pub(crate) fn corpus(name: &str) -> Option<PathBuf> {
    find("SLUICE_CORPUS", "../shared/corpus", name)
}

/// A tool by name.
pub(crate) fn tool(name: &str) -> Option<PathBuf> {
    find("SLUICE_TOOLS", ".tools", name)
}

/// Reads a directory into memory.
pub(crate) fn read_tree(directory: &Path) -> MemoryFileSystem {
    let mut files = MemoryFileSystem::new();
    let mut queue = vec![(directory.to_path_buf(), VirtualPath::root())];
    while let Some((path, virtual_path)) = queue.pop() {
        files.insert_directory(virtual_path.clone());
        for entry in std::fs::read_dir(&path).unwrap() {
            let entry = entry.unwrap();
            let child = virtual_path.join(entry.file_name().to_str().unwrap()).unwrap();
            if entry.file_type().unwrap().is_dir() {
                queue.push((entry.path(), child));
            } else {
                files.insert(child, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

/// The directories of a corpus, sorted.
pub(crate) fn cases(corpus: &Path) -> Vec<(String, PathBuf)> {
    let mut cases: Vec<(String, PathBuf)> = std::fs::read_dir(corpus)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .collect();
    cases.sort();
    cases
}

/// Lines of `expected` and `found` that differ, with their numbers.
pub(crate) fn difference(expected: &str, found: &str) -> String {
    let (mut left, mut right) = (expected.lines(), found.lines());
    let mut report = String::new();
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (expected, found) if expected == found => {}
            (expected, found) => {
                report.push_str(&format!("  {number}: expected {expected:?}, found {found:?}\n"));
                if report.len() > 2000 {
                    break;
                }
            }
        }
    }
    report
}
