//! Packs of the real git, read and compared with what git reads.

use std::fmt::Write as _;
use std::path::Path;

use gix::objs::Kind;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::{Objects, SHA1, budget, git, index_within, read_all, run};
use crate::ObjectId;

/// One commit: edits of files.
#[derive(Debug, Clone)]
struct Step {
    edits: Vec<(u8, Edit)>,
}

#[derive(Debug, Clone)]
enum Edit {
    Replace(Vec<u8>),
    Insert(prop::sample::Index, Vec<u8>),
    Cut(prop::sample::Index, prop::sample::Index),
    Double,
}

fn step() -> impl Strategy<Value = Step> {
    let edit = prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..2000).prop_map(Edit::Replace),
        4 => (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..50))
            .prop_map(|(at, bytes)| Edit::Insert(at, bytes)),
        2 => (any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(from, to)| Edit::Cut(from, to)),
        1 => Just(Edit::Double),
    ];
    prop::collection::vec((0..8_u8, edit), 1..4).prop_map(|edits| Step { edits })
}

impl Edit {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Replace(bytes) => file.clone_from(bytes),
            Self::Insert(at, bytes) => {
                let at = at.index(file.len() + 1);
                file.splice(at..at, bytes.iter().copied());
            }
            Self::Cut(from, to) => {
                let (from, to) = (from.index(file.len() + 1), to.index(file.len() + 1));
                file.drain(from.min(to)..from.max(to));
            }
            Self::Double if file.len() < 100_000 => file.extend_from_within(..),
            Self::Double => {}
        }
    }
}

/// A repository with a commit for each step and an annotated tag.
fn repository(steps: &[Step], format: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let format = format!("--object-format={format}");
    run(
        git(directory.path(), &["init", "--quiet", "--bare", &format]),
        &[],
    )
    .unwrap();
    let mut files = vec![Vec::new(); 8];
    let mut stream = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let mut text = String::new();
        let time = 1_700_000_000 + number;
        writeln!(
            text,
            "commit refs/heads/main\ncommitter A <a@example.com> {time} +0000"
        )
        .unwrap();
        writeln!(text, "data 7\nmessage").unwrap();
        stream.extend_from_slice(text.as_bytes());
        for (file, edit) in &step.edits {
            let contents = &mut files[usize::from(*file)];
            edit.apply(contents);
            let head = format!("M 100644 inline {}/{file}\ndata {}\n", file % 3, contents.len());
            stream.extend_from_slice(head.as_bytes());
            stream.extend_from_slice(contents);
            stream.push(b'\n');
        }
    }
    stream.extend_from_slice(
        b"tag v1\nfrom refs/heads/main\ntagger A <a@example.com> 1700000000 +0000\ndata 4\nsign\n",
    );
    run(git(directory.path(), &["fast-import", "--quiet"]), &stream).unwrap();
    directory
}

/// A pack of everything in a repository.
fn pack_of(repository: &Path, options: &[&str]) -> Vec<u8> {
    let mut arguments = vec!["pack-objects", "-q", "--all", "--stdout", "--no-reuse-delta"];
    arguments.extend(options);
    run(git(repository, &arguments), &[]).unwrap()
}

/// What git reads in a repository of all that references lead to.
fn objects_of(repository: &Path) -> Objects {
    let arguments = ["rev-list", "--objects", "--no-object-names", "--all"];
    let names = run(git(repository, &arguments), &[]).unwrap();
    let output = run(git(repository, &["cat-file", "--batch"]), &names).unwrap();
    let mut rest = output.as_slice();
    let mut objects = Objects::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        let mut words = head.split(' ');
        let id = ObjectId::from_hex(words.next().unwrap().as_bytes()).unwrap();
        let kind = Kind::from_bytes(words.next().unwrap().as_bytes()).unwrap();
        let size: usize = words.next().unwrap().parse().unwrap();
        objects.insert(id, (kind, rest[end + 1..][..size].to_vec()));
        rest = &rest[end + 1 + size + 1..];
    }
    objects
}

/// The pack of a history in which large parts of files stay the same.
pub(super) fn history(steps: usize, options: &[&str]) -> Vec<u8> {
    let text = |seed: usize| -> Vec<u8> {
        let words = (0..400).map(|word| format!("{} ", (word + seed) * 7919 % 10_007));
        words.collect::<String>().into_bytes()
    };
    let steps: Vec<Step> = (0..steps)
        .map(|number| {
            let mut contents = text(1);
            contents.extend(text(number));
            Step {
                edits: vec![((number % 3) as u8, Edit::Replace(contents))],
            }
        })
        .collect();
    pack_of(repository(&steps, "sha1").path(), options)
}

#[test]
fn random_histories_are_read_as_git_reads_them() {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 20;
    }
    let histories = prop::collection::vec(step(), 1..25);
    let cases = (histories, 1..40_u32, 0..60_u32, any::<bool>(), any::<bool>());
    TestRunner::new(config)
        .run(&cases, |(steps, window, depth, offsets, sha256)| {
            let (name, format) = if sha256 {
                ("sha256", gix::hash::Kind::Sha256)
            } else {
                ("sha1", SHA1)
            };
            let repository = repository(&steps, name);
            let (window, depth) = (format!("--window={window}"), format!("--depth={depth}"));
            let mut options = vec![window.as_str(), depth.as_str()];
            options.extend(offsets.then_some("--delta-base-offset"));
            let pack = pack_of(repository.path(), &options);
            let (pack, _directory) = index_within(&pack, format, &budget()).unwrap();
            let (ours, theirs) = (read_all(&pack), objects_of(repository.path()));
            prop_assert!(ours == theirs, "{} objects, git has {}", ours.len(), theirs.len());
            prop_assert!(pack.open(&ObjectId::null(format)).unwrap().is_none());
            Ok(())
        })
        .unwrap();
}

#[test]
fn an_aggressive_pack_of_a_long_history_is_read_as_git_reads_it() {
    let steps: Vec<Step> = (0..300)
        .map(|number| {
            // Each version is closest to the one before.
            let lines = (number..number + 80).map(|line| format!("line {} of many\n", line * 7919));
            let contents = lines.collect::<String>().into_bytes();
            Step {
                edits: vec![((number % 2) as u8, Edit::Replace(contents))],
            }
        })
        .collect();
    let repository = repository(&steps, "sha1");
    run(
        git(
            repository.path(),
            &[
                "-c",
                "gc.aggressiveWindow=4",
                "gc",
                "--quiet",
                "--aggressive",
                "--prune=now",
            ],
        ),
        &[],
    )
    .unwrap();
    let packs = repository.path().join("objects/pack");
    let files = std::fs::read_dir(packs).unwrap().map(|file| file.unwrap().path());
    let pack = files
        .filter(|file| file.extension().is_some_and(|extension| extension == "pack"))
        .map(|file| std::fs::read(file).unwrap())
        .next()
        .unwrap();
    let (pack, _directory) = super::index(&pack).unwrap();
    let deepest = (0..)
        .take(pack.index.length())
        .map(|entry| std::iter::successors(Some(entry), |entry| pack.index.base(*entry)).count());
    let deepest = deepest.max().unwrap();
    assert!(deepest > 10, "the longest chain has {deepest}");
    assert!(read_all(&pack) == objects_of(repository.path()));
}
