//! The reader of packs against the real git, and against packs that no git makes.

mod builder;
mod hostile;
mod memory;
mod random;
mod repositories;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use gix::objs::Kind;
use tempfile::TempDir;

use super::{Pack, PackError, receive};
use crate::{Budget, ObjectId};

const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;

/// Objects by hash.
type Objects = BTreeMap<ObjectId, (Kind, Vec<u8>)>;

fn budget() -> Budget {
    Budget::new(Duration::from_secs(60))
}

/// Receives and resolves a pack, and checks that no file is left.
fn index_within(
    bytes: &[u8],
    format: gix::hash::Kind,
    budget: &Budget,
) -> Result<(Pack, TempDir), PackError> {
    let directory = tempfile::tempdir().unwrap();
    let received = receive(&mut &*bytes, format, directory.path(), budget);
    let pack = received.and_then(|received| received.resolve(directory.path(), budget));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    Ok((pack?, directory))
}

fn index(bytes: &[u8]) -> Result<(Pack, TempDir), PackError> {
    index_within(bytes, SHA1, &budget())
}

/// Reads every object of a pack, and checks that it has the hash and the size that the index says.
fn read_all(pack: &Pack) -> Objects {
    let mut objects = Objects::new();
    for entry in (0..).take(pack.index.length()) {
        let id = pack.index.id(entry);
        let (kind, size) = pack.header(&id).unwrap();
        let mut reader = pack.open(&id).unwrap().unwrap();
        assert_eq!(reader.size(), size);
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, size);
        let hash = gix::objs::compute_hash(pack.format(), kind, &bytes).unwrap();
        assert_eq!(hash, id);
        objects.insert(id, (kind, bytes));
    }
    objects
}

/// The real git, with nobody's configuration.
fn git(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

/// Runs git on `input`; what it printed, or `None` if it failed.
fn run(mut command: Command, input: &[u8]) -> Option<Vec<u8>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // It may end before it has read everything.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output.status.success().then_some(output.stdout)
}

/// Whether git's own indexer takes the pack.
fn git_accepts(pack: &[u8]) -> bool {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("it.pack"), pack).unwrap();
    let arguments = ["index-pack", "--object-format=sha1", "-o", "it.idx", "it.pack"];
    run(git(directory.path(), &arguments), &[]).is_some()
}
