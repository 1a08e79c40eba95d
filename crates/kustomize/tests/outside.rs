//! What a build takes from outside: the files that it depends on, and what is fetched through the resolver.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use sluice_kustomize::{BuildOptions, ErrorKind, GitAddress, RemoteResolver, build};
use sluice_vfs::{FileSystem, MemoryFileSystem, Recorder, VirtualPath};

use support::tape::{Files, Tape};

fn tree(files: &Files) -> MemoryFileSystem {
    let pairs = files
        .iter()
        .map(|(path, contents)| (path.clone(), contents.clone().into_bytes()));
    MemoryFileSystem::from_files(pairs).unwrap()
}

fn result(files: &dyn FileSystem, root: &str, options: &BuildOptions<'_>) -> Result<String, String> {
    build(files, &VirtualPath::parse(root).unwrap(), options)
        .and_then(|built| built.to_yaml())
        .map_err(|error| error.to_string())
}

/// Changes, removes or adds one file.
fn mutate(files: &mut Files, choice: u8, place: prop::sample::Index) {
    let paths: Vec<String> = files.keys().cloned().collect();
    let path = paths[place.index(paths.len())].clone();
    let directory = path
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory)
        .to_owned();
    match choice % 6 {
        0 => drop(files.remove(&path)),
        1 => files.get_mut(&path).unwrap().push_str("\n# more\n"),
        2 => drop(files.insert(
            format!("{directory}/kustomization.yml"),
            "namePrefix: x-\n".to_owned(),
        )),
        3 => drop(files.insert(format!("{directory}/unused.yaml"), "a: b\n".to_owned())),
        4 => drop(files.insert(format!("{directory}/missing.txt"), "there\n".to_owned())),
        _ => drop(files.insert(
            "elsewhere/kustomization.yaml".to_owned(),
            "resources: []\n".to_owned(),
        )),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_in_which_all_that_was_read_still_holds_builds_the_same(
        bytes in prop::collection::vec(any::<u8>(), 20..300),
        changes in prop::collection::vec((any::<u8>(), any::<prop::sample::Index>()), 1..4),
    ) {
        let (mut files, root) = Tape::new(&bytes).files();
        let first = tree(&files);
        let recorder = Recorder::new(&first);
        let before = result(&recorder, &root, &BuildOptions::default());
        let dependencies = recorder.dependencies();
        prop_assert!(dependencies.hold_in(&first));
        for (choice, place) in changes {
            mutate(&mut files, choice, place);
        }
        let second = tree(&files);
        if dependencies.hold_in(&second) {
            prop_assert_eq!(before, result(&second, &root, &BuildOptions::default()));
        }
    }
}

/// Serves one repository and one file, and notes what it was asked for.
struct Resolver {
    repository: Arc<MemoryFileSystem>,
    asked: RefCell<Vec<String>>,
}

impl RemoteResolver for Resolver {
    fn read_file(&self, address: &str) -> Result<Bytes, String> {
        self.asked.borrow_mut().push(address.to_owned());
        if address.ends_with("/object.yaml") {
            return Ok(Bytes::from_static(
                b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fetched}\n",
            ));
        }
        Err("404 Not Found".to_owned())
    }

    fn open_base(&self, address: &GitAddress) -> Result<Arc<dyn FileSystem>, String> {
        self.asked.borrow_mut().push(address.raw().to_owned());
        if !address.repository().contains("example.com") {
            return Err("no such host".to_owned());
        }
        Ok(self.repository.clone())
    }
}

fn resolver() -> Resolver {
    let repository = Files::from([
        (
            "base/kustomization.yaml".to_owned(),
            "resources: [../other]\nnamePrefix: far-\n".to_owned(),
        ),
        (
            "other/kustomization.yaml".to_owned(),
            "configMapGenerator: [{name: made, literals: [a=b]}]\n".to_owned(),
        ),
        (
            "kustomization.yaml".to_owned(),
            "resources: ['https://example.com/o/r.git?ref=v1']\n".to_owned(),
        ),
    ]);
    Resolver {
        repository: Arc::new(tree(&repository)),
        asked: RefCell::default(),
    }
}

fn build_remote(kustomization: &str, resolver: Option<&Resolver>) -> Result<(String, bool), ErrorKind> {
    let files = tree(&Files::from([(
        "kustomization.yaml".to_owned(),
        kustomization.to_owned(),
    )]));
    let options = BuildOptions {
        remote: resolver.map(|resolver| resolver as &dyn RemoteResolver),
        ..BuildOptions::default()
    };
    build(&files, &VirtualPath::root(), &options)
        .and_then(|built| Ok((built.to_yaml()?, built.remote)))
        .map_err(|error| error.kind())
}

#[test]
fn remote_bases_and_files_come_from_the_resolver_and_mark_the_build() {
    let resolver = resolver();
    let kustomization = "resources: ['https://example.com/o/r.git//base?ref=v1', 'https://example.com/object.yaml']\nnameSuffix: -s\n";
    let (text, remote) = build_remote(kustomization, Some(&resolver)).unwrap();
    assert!(remote, "a build with something remote must say so");
    assert!(
        text.contains("name: far-made-s-") && text.contains("name: fetched-s"),
        "{text}"
    );
    assert!(
        resolver
            .asked
            .borrow()
            .iter()
            .any(|address| address == "https://example.com/o/r.git//base?ref=v1")
    );
    let (_, remote) = build_remote("namePrefix: a-\n", Some(&resolver)).unwrap();
    assert!(!remote, "a build of local files must not");
}

#[test]
fn remote_bases_are_refused_without_a_resolver_and_errors_of_one_are_told() {
    let kustomization = "resources: ['https://example.com/o/r.git//base?ref=v1']\n";
    assert_eq!(build_remote(kustomization, None).unwrap_err(), ErrorKind::Remote);
    let resolver = resolver();
    let unknown = "resources: ['https://example.org/o/r.git//base']\n";
    assert_eq!(
        build_remote(unknown, Some(&resolver)).unwrap_err(),
        ErrorKind::Remote
    );
}

#[test]
fn a_remote_base_that_refers_to_itself_is_a_cycle() {
    let kustomization = "resources: ['https://example.com/o/r.git?ref=v1']\n";
    assert_eq!(
        build_remote(kustomization, Some(&resolver())).unwrap_err(),
        ErrorKind::Cycle
    );
}
