//! An overlay shows what a tree shows that was changed in place, and a recording holds exactly as long as a
//! reader would read the same.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use proptest::prelude::*;
use sluice_vfs::{EntryKind, FileSystem, MemoryFileSystem, Overlay, Recorder, VirtualPath, walk};

#[derive(Debug, Clone)]
enum Change {
    Write(VirtualPath, String),
    CreateDirectory(VirtualPath),
    Remove(VirtualPath),
}

fn any_path() -> impl Strategy<Value = VirtualPath> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "a.txt", "b-1"]), 1..4)
        .prop_map(|parts| VirtualPath::parse(&parts.join("/")).unwrap())
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (any_path(), "[xyz]{0,3}").prop_map(|(path, text)| Change::Write(path, text)),
        1 => any_path().prop_map(Change::CreateDirectory),
        2 => any_path().prop_map(Change::Remove),
    ]
}

fn any_tree() -> impl Strategy<Value = MemoryFileSystem> {
    prop::collection::vec(any_change(), 0..12).prop_map(|changes| {
        let mut tree = MemoryFileSystem::new();
        for change in &changes {
            change_in_place(&mut tree, change);
        }
        tree
    })
}

fn change_in_place(tree: &mut MemoryFileSystem, change: &Change) {
    match change {
        Change::Write(path, text) => tree.insert(path.clone(), text.clone()),
        Change::CreateDirectory(path) => tree.insert_directory(path.clone()),
        Change::Remove(path) => {
            tree.remove(path);
        }
    }
}

/// Everything that can be seen of a tree: each entry with its contents.
fn view(tree: &dyn FileSystem) -> Vec<(String, Option<Vec<u8>>)> {
    walk(tree, &VirtualPath::root(), 10_000)
        .unwrap()
        .into_iter()
        .map(|entry| {
            let contents = (entry.kind == EntryKind::File).then(|| tree.read(&entry.path).unwrap().to_vec());
            (entry.path.to_string(), contents)
        })
        .collect()
}

proptest! {
    #[test]
    fn an_overlay_looks_like_a_tree_changed_in_place(
        base in any_tree(),
        changes in prop::collection::vec(any_change(), 0..16),
        probe in any_path(),
    ) {
        let untouched = view(&base);
        let mut expected = base.clone();
        let mut overlay = Overlay::new(&base);
        for change in &changes {
            change_in_place(&mut expected, change);
            match change {
                Change::Write(path, text) => overlay.write(path.clone(), text.clone()).unwrap(),
                Change::CreateDirectory(path) => overlay.create_directory(path.clone()).unwrap(),
                Change::Remove(path) => { overlay.remove(path).unwrap(); }
            }
        }
        prop_assert_eq!(view(&overlay), view(&expected));
        prop_assert_eq!(overlay.kind(&probe), expected.kind(&probe));
        prop_assert_eq!(overlay.read(&probe), expected.read(&probe));
        prop_assert_eq!(overlay.list(&probe), expected.list(&probe));
        prop_assert_eq!(view(&base), untouched);
    }

    /// Reading the same places of a changed tree gives the same answers exactly if the recording holds.
    #[test]
    fn a_recording_holds_exactly_while_a_reader_would_read_the_same(
        before in any_tree(),
        changes in prop::collection::vec(any_change(), 0..4),
        reads in prop::collection::vec((any_path(), 0..3_u8), 0..8),
    ) {
        let mut after = before.clone();
        for change in &changes {
            change_in_place(&mut after, change);
        }
        let follow = |tree: &MemoryFileSystem| {
            let recorder = Recorder::new(tree.clone());
            let answers: Vec<String> = reads
                .iter()
                .map(|(path, how)| match how {
                    0 => format!("{:?}", recorder.read(path)),
                    1 => format!("{:?}", recorder.list(path)),
                    _ => format!("{:?}", recorder.kind(path)),
                })
                .collect();
            (answers, recorder.into_dependencies())
        };
        let (answers_before, dependencies) = follow(&before);
        let (answers_after, dependencies_after) = follow(&after);
        prop_assert!(dependencies.hold_in(&before));
        prop_assert_eq!(dependencies.hold_in(&after), answers_before == answers_after);
        prop_assert_eq!(dependencies.digest() == dependencies_after.digest(), answers_before == answers_after);
    }
}

#[test]
fn a_recording_names_files_directories_and_misses() {
    let tree =
        MemoryFileSystem::from_files([("apps/kustomization.yaml", "x"), ("apps/web.yaml", "y")]).unwrap();
    let recorder = Recorder::new(&tree);
    let path = |text: &str| VirtualPath::parse(text).unwrap();
    recorder.read(&path("apps/kustomization.yaml")).unwrap();
    recorder.list(&path("apps")).unwrap();
    assert!(recorder.read(&path("apps/Kustomization")).is_err());
    assert_eq!(recorder.kind(&path("apps/kustomization.yml")).unwrap(), None);
    let dependencies = recorder.into_dependencies();
    assert_eq!(
        dependencies.files().map(VirtualPath::as_str).collect::<Vec<_>>(),
        ["apps/kustomization.yaml"]
    );
    assert_eq!(
        dependencies
            .directories()
            .map(VirtualPath::as_str)
            .collect::<Vec<_>>(),
        ["apps"]
    );
    assert_eq!(
        dependencies.missed().map(VirtualPath::as_str).collect::<Vec<_>>(),
        ["apps/Kustomization", "apps/kustomization.yml"]
    );
}

#[test]
fn a_walk_visits_a_directory_before_its_neighbours_with_a_suffix() {
    let tree = MemoryFileSystem::from_files([("a.txt", ""), ("a/b", ""), ("a-b/c", "")]).unwrap();
    let order: Vec<String> = walk(&tree, &VirtualPath::root(), 10)
        .unwrap()
        .into_iter()
        .map(|entry| entry.path.to_string())
        .collect();
    assert_eq!(order, [".", "a", "a/b", "a-b", "a-b/c", "a.txt"]);
    assert!(walk(&tree, &VirtualPath::root(), 5).is_err());
}
