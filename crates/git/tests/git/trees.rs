//! Trees against what git says about them.

use std::collections::BTreeMap;

use sluice_git::{Reference, Tree, TreeEntryKind};
use sluice_vfs::{EntryKind, FileSystem, FileSystemError, VirtualPath};

use crate::Bench;

fn mode(kind: TreeEntryKind) -> &'static str {
    match kind {
        TreeEntryKind::File => "100644",
        TreeEntryKind::Executable => "100755",
        TreeEntryKind::Symlink => "120000",
        TreeEntryKind::Submodule => "160000",
        TreeEntryKind::Directory => "040000",
    }
}

/// Files, an executable, links, a submodule, and names whose order differs between Git and Go.
fn mixed(bench: &Bench) -> (String, Tree) {
    let repository = &bench.repository;
    for (path, contents) in [
        ("a/deep/er/file.yaml", "kind: A"),
        ("a.txt", "beside a directory of that name"),
        ("a-b", "sorts between"),
        ("a0", "sorts after"),
        ("größe/ü.txt", "not ASCII"),
        ("run.sh", "#!/bin/sh"),
    ] {
        repository.write(path, contents);
    }
    for (target, link) in [
        ("a/deep", "link"),
        ("../../etc/passwd", "a/out"),
        ("/etc/passwd", "absolute"),
        ("loop", "loop"),
        ("../a.txt", "a/up"),
    ] {
        std::os::unix::fs::symlink(target, repository.work().join(link)).unwrap();
    }
    repository.git(&["add", "--all"]);
    repository.git(&["update-index", "--chmod=+x", "run.sh"]);
    let submodule = "160000,0123456789012345678901234567890123456789,module";
    repository.git(&["update-index", "--add", "--cacheinfo", submodule]);
    repository.git(&["commit", "--quiet", "--message=mixed"]);
    let head = repository.git(&["rev-parse", "HEAD"]);
    let tree = bench.fetch(&Reference::default()).unwrap().tree().clone();
    (head, tree)
}

#[test]
fn walk_meets_what_git_lists_in_the_order_of_a_directory_walk() {
    let bench = Bench::new();
    let (head, tree) = mixed(&bench);
    let walked: Vec<_> = tree.walk().map(Result::unwrap).collect();
    let mut rows: Vec<_> = walked
        .iter()
        .map(|entry| {
            (
                mode(entry.kind).to_owned(),
                entry.id.to_string(),
                entry.path_text().into_owned(),
            )
        })
        .collect();
    let paths: Vec<_> = rows.iter().map(|row| row.2.as_str()).collect();
    assert_eq!(
        paths,
        [
            "a",
            "a/deep",
            "a/deep/er",
            "a/deep/er/file.yaml",
            "a/out",
            "a/up",
            "a-b",
            "a.txt",
            "a0",
            "absolute",
            "größe",
            "größe/ü.txt",
            "link",
            "loop",
            "module",
            "run.sh"
        ]
    );
    let mut expected = bench.repository.rows(&head);
    expected.sort();
    rows.sort();
    assert_eq!(rows, expected);
    let files: BTreeMap<String, Vec<u8>> = walked
        .iter()
        .filter(|entry| matches!(entry.kind, TreeEntryKind::File | TreeEntryKind::Executable))
        .map(|entry| {
            let contents = tree.read(entry).unwrap();
            assert_eq!(tree.size(entry).unwrap(), contents.len() as u64);
            (entry.path_text().into_owned(), contents.to_vec())
        })
        .collect();
    assert_eq!(files, bench.repository.archive(&head));
    assert!(tree.read(&walked[0]).is_err());
}

#[test]
fn walk_leaves_out_skipped_directories() {
    let bench = Bench::new();
    let (_, tree) = mixed(&bench);
    let mut walk = tree.walk();
    let mut paths = Vec::new();
    while let Some(entry) = walk.next() {
        let entry = entry.unwrap();
        if entry.path == b"a" || entry.path == b"a.txt" {
            walk.skip_directory();
        }
        paths.push(entry.path_text().into_owned());
    }
    assert_eq!(paths[..4], ["a", "a-b", "a.txt", "a0"]);
}

#[test]
fn file_system_follows_links_inside_the_root_only() {
    let bench = Bench::new();
    let (_, tree) = mixed(&bench);
    let path = |text: &str| VirtualPath::parse(text).unwrap();
    let read = |text: &str| FileSystem::read(&tree, &path(text));
    assert_eq!(read("link/er/file.yaml").unwrap(), "kind: A");
    assert_eq!(read("a/up").unwrap(), "beside a directory of that name");
    for escaping in ["a/out", "absolute"] {
        assert_eq!(read(escaping), Err(FileSystemError::Escapes(path(escaping))));
    }
    assert!(matches!(read("loop"), Err(FileSystemError::Io { .. })));
    assert!(matches!(read("a"), Err(FileSystemError::IsDirectory(_))));
    assert!(matches!(read("a.txt/x"), Err(FileSystemError::NotFound(_))));
    assert_eq!(tree.kind(&path("none")), Ok(None));
    assert_eq!(tree.kind(&path("module")), Ok(Some(EntryKind::Directory)));
    assert_eq!(tree.list(&path("module")), Ok(Vec::new()));
    let listed: Vec<_> = tree
        .list(&path(""))
        .unwrap()
        .into_iter()
        .map(|entry| (entry.name, entry.kind))
        .collect();
    assert!(listed.contains(&("link".to_owned(), EntryKind::Directory)));
    assert!(
        !listed
            .iter()
            .any(|(name, _)| name == "absolute" || name == "loop")
    );
    assert!(listed.iter().is_sorted_by_key(|(name, _)| name));
    assert!(matches!(
        tree.list(&path("a.txt")),
        Err(FileSystemError::NotDirectory(_))
    ));
}
