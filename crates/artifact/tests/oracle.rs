//! The same ignore decisions and the same tar bytes as Flux's own libraries, on random trees.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use base64::Engine;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde::Serialize;
use sluice_artifact::ignore::{load_patterns, read_patterns};
use sluice_artifact::{IgnoreRules, TarWriter};
use sluice_testbed::tools;
use sluice_vfs::{EntryKind, FileSystem, MemoryFileSystem, VirtualPath, walk};

/// How many random cases each test asks the oracle about, in one run of it.
const CASES: usize = 400;

fn ask<Answers: serde::de::DeserializeOwned>(command: &str, cases: &impl Serialize) -> Option<Answers> {
    tools::require_or_skip(tools::ask_oracle(command, cases))
}

fn generate<S: Strategy>(strategy: &S, seed: u8) -> Vec<S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..CASES)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect()
}

#[derive(Debug, Clone, Serialize)]
struct IgnoreCase {
    patterns: String,
    domain: String,
    paths: Vec<String>,
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a", "b", "ab", "abc", "docs", "a.png", "x.yaml", "deploy", "é", ".github", "a b", "[a]", "!a", "#a",
        "a*",
    ])
    .prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..5).prop_map(|parts| parts.join("/"))
}

/// Lines that look like patterns, and some that do not.
fn pattern_line() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => name(),
        1 => Just("*".to_owned()),
        1 => Just("**".to_owned()),
        1 => Just("*.png".to_owned()),
        1 => Just("a?c".to_owned()),
        1 => Just("[a-c]*".to_owned()),
        1 => Just("[^a]*".to_owned()),
        1 => Just("[!a]".to_owned()),
        1 => Just("\\[a\\]".to_owned()),
        1 => Just("a**".to_owned()),
        1 => Just("[".to_owned()),
        1 => "[a-c\\[\\]^*?\\\\é-]{1,5}",
        1 => Just(String::new()),
    ];
    let pattern = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    (
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.2),
        pattern,
        prop::bool::weighted(0.3),
        "[ \r]{0,2}",
    )
        .prop_map(|(negated, rooted, pattern, directory, tail)| {
            let bang = if negated { "!" } else { "" };
            let slash = if rooted { "/" } else { "" };
            let end = if directory { "/" } else { "" };
            format!("{bang}{slash}{pattern}{end}{tail}")
        })
}

fn pattern_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![8 => pattern_line(), 1 => Just("# note".to_owned()), 1 => Just("  ".to_owned())];
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

/// SRC-009, SRC-012: patterns decide as in Flux, with and without a directory to hold in.
#[test]
fn patterns_decide_as_in_flux() {
    let domain = prop_oneof![2 => Just(String::new()), 1 => name(), 1 => path()];
    let paths = prop::collection::vec((path(), any::<bool>()), 20).prop_map(|paths| {
        paths
            .into_iter()
            .map(|(path, directory)| if directory { path + "/" } else { path })
            .collect()
    });
    let strategy =
        (pattern_text(), domain, paths).prop_map(|(patterns, domain, paths): (_, _, Vec<String>)| {
            // Half of the paths lie in the domain.
            let inside = paths
                .iter()
                .filter(|_| !domain.is_empty())
                .map(|path| format!("{domain}/{path}"));
            let paths = paths.iter().cloned().chain(inside).collect();
            IgnoreCase {
                patterns,
                domain,
                paths,
            }
        });
    let cases = generate(&strategy, 1);
    let Some(answers) = ask::<serde_json::Value>("sourceignore", &cases) else {
        return;
    };
    let mut excluded = 0;
    for (case, expected) in cases.iter().zip(answers.as_array().unwrap()) {
        let domain = VirtualPath::parse(&case.domain).unwrap();
        let rules = IgnoreRules::only(read_patterns(case.patterns.as_bytes(), &domain));
        for (path, expected) in case.paths.iter().zip(expected.as_array().unwrap()) {
            let kind = if path.ends_with('/') {
                EntryKind::Directory
            } else {
                EntryKind::File
            };
            let found = rules.excludes(VirtualPath::parse(path).unwrap(), kind);
            assert_eq!(Some(found), expected.as_bool(), "{path:?} by {case:?}");
            excluded += usize::from(found);
        }
    }
    assert!(excluded > CASES, "the cases exclude almost nothing: {excluded}");
}

#[derive(Debug, Clone, Serialize)]
struct TreeCase {
    files: BTreeMap<String, String>,
    executables: Vec<String>,
    ignore: Option<String>,
}

impl TreeCase {
    fn tree(&self) -> MemoryFileSystem {
        let mut tree = MemoryFileSystem::new();
        for (path, contents) in &self.files {
            let contents = base64::engine::general_purpose::STANDARD
                .decode(contents)
                .unwrap();
            let location = VirtualPath::parse(path).unwrap();
            if path.ends_with('/') {
                tree.insert_directory(location);
            } else {
                tree.insert(location, contents);
            }
        }
        tree
    }

    /// What a source controller does: collect the rules, walk, leave out, write.
    fn tar(&self) -> Vec<u8> {
        let tree = self.tree();
        let rules = IgnoreRules::for_source(load_patterns(&tree).unwrap(), self.ignore.as_deref());
        let mut tar = TarWriter::new(Vec::new());
        for entry in walk(&tree, &VirtualPath::root(), usize::MAX).unwrap() {
            if rules.excludes(&entry.path, entry.kind) {
                continue;
            }
            if entry.kind == EntryKind::Directory {
                tar.directory(&entry.path).unwrap();
            } else {
                let contents = tree.read(&entry.path).unwrap();
                let executable = self.executables.iter().any(|path| path == entry.path.as_str());
                tar.file(
                    &entry.path,
                    executable,
                    contents.len() as u64,
                    &mut contents.as_ref(),
                )
                .unwrap();
            }
        }
        tar.finish().unwrap()
    }
}

fn tree_case() -> impl Strategy<Value = TreeCase> {
    let long = |letter: &str, range: std::ops::Range<usize>| {
        let letter = letter.to_owned();
        range.prop_map(move |count| letter.repeat(count))
    };
    let part = prop_oneof![
        12 => name(),
        2 => prop::sample::select(vec![".git", ".gitignore", ".gitmodules", "a.tar.gz", ".sops.yaml", "a.txt", "a-b"])
            .prop_map(str::to_owned),
        2 => long("d", 40..110),
        1 => long("f", 90..200),
        1 => long("ü", 1..60),
    ];
    let file = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    let contents = prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (500..1100_usize).prop_map(|size| vec![b'x'; size]),
    ];
    let files = prop::collection::vec((file, contents, any::<bool>()), 0..14);
    let ignore_files = prop::collection::vec((prop::option::of(path()), pattern_text()), 0..3);
    let directories = prop::collection::vec(path(), 0..3);
    (
        files,
        ignore_files,
        directories,
        prop::option::weighted(0.5, pattern_text()),
    )
        .prop_map(|(files, ignore_files, directories, ignore)| {
            let mut tree = MemoryFileSystem::new();
            let mut executables = Vec::new();
            for (path, contents, executable) in files {
                let location = VirtualPath::parse(&path).unwrap();
                tree.insert(location, contents);
                executables.extend(executable.then_some(path));
            }
            for directory in directories {
                tree.insert_directory(VirtualPath::parse(&directory).unwrap());
            }
            for (directory, text) in ignore_files {
                let directory = VirtualPath::parse(&directory.unwrap_or_default()).unwrap();
                tree.insert(directory.child(".sourceignore"), text);
            }
            // What replaced what on the way is settled in the tree: write down what it holds.
            let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
            let files: BTreeMap<String, String> = walk(&tree, &VirtualPath::root(), usize::MAX)
                .unwrap()
                .into_iter()
                .filter(|entry| !entry.path.is_root())
                .map(|entry| match entry.kind {
                    EntryKind::Directory => (format!("{}/", entry.path), String::new()),
                    EntryKind::File => (entry.path.to_string(), encode(&tree.read(&entry.path).unwrap())),
                })
                .collect();
            executables.retain(|path| files.contains_key(path));
            TreeCase {
                files,
                executables,
                ignore,
            }
        })
}

/// SRC-010, SRC-011, SRC-012, SRC-013: the same tree gives the same tar, byte for byte.
#[test]
fn the_same_tree_gives_the_same_tar_as_in_flux() {
    let cases = generate(&tree_case(), 2);
    let Some(answers) = ask::<serde_json::Value>("tar", &cases) else {
        return;
    };
    for (case, expected) in cases.iter().zip(answers.as_array().unwrap()) {
        let expected = base64::engine::general_purpose::STANDARD
            .decode(expected.as_str().unwrap())
            .unwrap();
        let found = case.tar();
        assert!(
            found == expected,
            "ours: {:?}\nFlux's: {:?}\ncase: {case:?}",
            names(&found),
            names(&expected)
        );
    }
}

fn names(tar: &[u8]) -> Vec<String> {
    tar::Archive::new(tar)
        .entries()
        .unwrap()
        .map(|entry| String::from_utf8_lossy(&entry.unwrap().path_bytes()).into_owned())
        .collect()
}
