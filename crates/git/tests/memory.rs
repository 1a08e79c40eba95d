//! How much memory a large repository takes. A test of its own, so that nothing else allocates meanwhile.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "git/repository.rs"]
#[expect(dead_code, reason = "shared with other tests")]
mod repository;
#[path = "git/server.rs"]
#[expect(dead_code, reason = "shared with other tests")]
mod server;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use repository::{Repository, incompressible};
use server::{Behaviour, Server};
use sluice_git::{Budget, Reference, TreeEntryKind};

const FILES: u64 = 5_000;
const FILE_BYTES: usize = 8_000;

/// One file that is larger than the limit.
const LARGE_BYTES: usize = 64_000_000;

/// A hundred megabytes of files must be read through a fraction of that.
const LIMIT_KIB: u64 = 40 * 1024;

#[cfg(target_os = "linux")]
#[test]
fn large_repository_is_read_in_little_memory() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let repository = Repository::new();
    for file in 0..FILES {
        repository.write(
            &format!("apps/{}/{file}.yaml", file % 50),
            &incompressible(FILE_BYTES, file + 1),
        );
    }
    repository.write("large.txt", &incompressible(LARGE_BYTES, 1));
    repository.commit("many files and a large one", 1_700_000_000);
    let server = Server::start(repository.root(), Behaviour::default());
    let scratch = tempfile::tempdir().unwrap();
    let before = resident_kib();
    let peak = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let (files, bytes) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(resident_kib(), Ordering::Relaxed);
                std::thread::park_timeout(Duration::from_millis(5));
            }
        });
        let counted = read_all(&server, scratch.path());
        done.store(true, Ordering::Relaxed);
        counted
    });
    let expected = FILES as usize * FILE_BYTES + LARGE_BYTES;
    assert_eq!((files, bytes), (FILES + 1, expected as u64));
    let grown = peak.into_inner().saturating_sub(before);
    assert!(grown < LIMIT_KIB, "reading the repository took {grown} KiB");
}

/// Fetches and reads every file: their number and bytes.
fn read_all(server: &Server, scratch: &Path) -> (u64, u64) {
    let budget = Budget::new(Duration::from_secs(120));
    let checkout = sluice_git::fetch(&server.remote(), &Reference::default(), scratch, &budget).unwrap();
    let (mut files, mut bytes) = (0, 0);
    for entry in checkout.tree().walk() {
        let entry = entry.unwrap();
        if entry.kind == TreeEntryKind::File {
            let mut contents = checkout.tree().open(&entry).unwrap();
            bytes += std::io::copy(&mut contents, &mut std::io::sink()).unwrap();
            files += 1;
        }
    }
    (files, bytes)
}

/// All memory of the process, mapped files included.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
