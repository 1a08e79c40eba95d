//! The storage keeps whole files only, proves them, and cleans up after itself.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use sluice_artifact::{Algorithm, ArtifactPath, Digest, Storage, StorageError, StorageOptions, Written};

fn storage(root: &std::path::Path, ttl: Duration, records: usize, algorithm: Algorithm) -> Storage {
    Storage::open(StorageOptions {
        root: root.to_owned(),
        advertised_address: "source-controller.flux-system.svc.cluster.local.".to_owned(),
        retention_ttl: ttl,
        retention_records: records,
        algorithm,
    })
    .unwrap()
}

fn path(file: &str) -> ArtifactPath {
    ArtifactPath::new("GitRepository", "flux-system", "app", file).unwrap()
}

fn write(storage: &Storage, file: &str, contents: &[u8]) -> Written {
    let path = path(file);
    storage.create_directory(&path).unwrap();
    let _lock = storage.lock(&path).unwrap();
    storage
        .write::<StorageError>(&path, |writer| {
            writer.write_all(contents).unwrap();
            Ok(())
        })
        .unwrap()
}

fn age(storage: &Storage, file: &str, seconds: u64) {
    let file = fs::File::options()
        .write(true)
        .open(storage.local_path(&path(file)))
        .unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
        .unwrap();
}

fn names(storage: &Storage) -> Vec<String> {
    let directory = storage.local_path(&path("x")).parent().unwrap().to_owned();
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_written_artifact_has_layout_mode_digest_and_url() {
    // SRC-014, SRC-015, SRC-016
    let directory = tempfile::tempdir().unwrap();
    for algorithm in Algorithm::ALL {
        let storage = storage(directory.path(), Duration::from_secs(60), 2, algorithm);
        let written = write(&storage, "abc.tar.gz", b"contents");
        assert_eq!(written.digest, Digest::of(algorithm, b"contents"));
        assert_eq!(written.size, 8);
        let local = directory.path().join("gitrepository/flux-system/app/abc.tar.gz");
        assert_eq!(fs::read(&local).unwrap(), b"contents");
        assert_eq!(fs::metadata(&local).unwrap().permissions().mode() & 0o777, 0o600);
        let parent = fs::metadata(local.parent().unwrap()).unwrap();
        assert_eq!(parent.permissions().mode() & 0o777, 0o700);
        assert_eq!(
            storage.url(&path("abc.tar.gz")),
            "http://source-controller.flux-system.svc.cluster.local./gitrepository/flux-system/app/abc.tar.gz"
        );
        storage.verify(&path("abc.tar.gz"), &written.digest).unwrap();
    }
}

#[test]
fn a_changed_file_fails_its_digest_and_a_missing_one_is_told_apart() {
    // SRC-018
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::from_secs(60), 2, Algorithm::Sha256);
    let written = write(&storage, "a.tar.gz", b"contents");
    fs::write(storage.local_path(&path("a.tar.gz")), b"Contents").unwrap();
    let error = storage.verify(&path("a.tar.gz"), &written.digest).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("computed digest doesn't match '{}'", written.digest)
    );
    storage.remove(&path("a.tar.gz")).unwrap();
    assert!(!storage.exists(&path("a.tar.gz")));
    assert!(
        storage
            .verify(&path("a.tar.gz"), &written.digest)
            .unwrap_err()
            .is_not_found()
    );
}

#[test]
fn a_failed_write_leaves_the_old_file_and_no_rest() {
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::from_secs(60), 2, Algorithm::Sha256);
    write(&storage, "a.tar.gz", b"old");
    let failed = storage.write(&path("a.tar.gz"), |writer| {
        writer.write_all(b"half of the n").unwrap();
        Err(StorageError::Path("made to fail".to_owned()))
    });
    assert!(failed.is_err());
    assert_eq!(fs::read(storage.local_path(&path("a.tar.gz"))).unwrap(), b"old");
    assert_eq!(names(&storage), ["a.tar.gz", "a.tar.gz.lock"]);
}

#[test]
fn what_a_killed_process_left_is_swept_at_start() {
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::from_secs(60), 2, Algorithm::Sha256);
    write(&storage, "a.tar.gz", b"kept");
    let left = storage
        .local_path(&path("a.tar.gz"))
        .with_file_name(".b.tar.gz.x7Kq.tmp");
    fs::write(&left, b"half").unwrap();
    let removed = storage.sweep().unwrap();
    assert_eq!((removed.files, removed.bytes), (vec![left], 4));
    assert_eq!(names(&storage), ["a.tar.gz", "a.tar.gz.lock"]);
}

#[test]
fn garbage_goes_with_its_locks_and_the_current_artifact_stays() {
    // SRC-017
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::from_secs(60), 2, Algorithm::Sha256);
    for (file, seconds) in [
        ("1.tar.gz", 300),
        ("2.tar.gz", 200),
        ("3.tar.gz", 30),
        ("4.tar.gz", 20),
        ("5.tar.gz", 10),
    ] {
        write(&storage, file, b"12345");
        age(&storage, file, seconds);
    }
    let removed = storage
        .collect_garbage(&path("5.tar.gz"), Duration::from_secs(5))
        .unwrap();
    assert_eq!((removed.files.len(), removed.bytes), (3, 15));
    assert_eq!(
        names(&storage),
        ["4.tar.gz", "4.tar.gz.lock", "5.tar.gz", "5.tar.gz.lock"]
    );
    // The current artifact stays, however old it is.
    age(&storage, "5.tar.gz", 100_000);
    storage
        .collect_garbage(&path("5.tar.gz"), Duration::from_secs(5))
        .unwrap();
    assert!(storage.exists(&path("5.tar.gz")));
}

#[test]
fn garbage_collection_without_time_removes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::ZERO, 0, Algorithm::Sha256);
    write(&storage, "1.tar.gz", b"1");
    age(&storage, "1.tar.gz", 100);
    let removed = storage
        .collect_garbage(&path("2.tar.gz"), Duration::ZERO)
        .unwrap();
    assert!(removed.files.is_empty());
    assert!(storage.exists(&path("1.tar.gz")));
}

#[test]
fn removing_an_object_removes_its_directory_alone() {
    // SRC-020
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::from_secs(60), 2, Algorithm::Sha256);
    write(&storage, "a.tar.gz", b"12345");
    let other = ArtifactPath::new("GitRepository", "flux-system", "app-2", "a.tar.gz").unwrap();
    storage.create_directory(&other).unwrap();
    let removed = storage
        .remove_directory("GitRepository", "flux-system", "app")
        .unwrap()
        .unwrap();
    assert_eq!((removed.files.len(), removed.bytes), (1, 5));
    assert!(!directory.path().join("gitrepository/flux-system/app").exists());
    assert!(directory.path().join("gitrepository/flux-system/app-2").exists());
    assert_eq!(
        storage
            .remove_directory("GitRepository", "flux-system", "app")
            .unwrap(),
        None
    );
}

#[test]
fn an_alias_points_at_the_newest_artifact() {
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::from_secs(60), 2, Algorithm::Sha256);
    for file in ["1.tar.gz", "2.tar.gz"] {
        write(&storage, file, file.as_bytes());
        let url = storage.link(&path(file), "latest.tar.gz").unwrap();
        assert!(url.ends_with("/gitrepository/flux-system/app/latest.tar.gz"));
        let local = storage.local_path(&path("latest.tar.gz"));
        assert_eq!(fs::read(local).unwrap(), file.as_bytes());
    }
    assert!(!storage.exists(&path("latest.tar.gz")), "a link is no artifact");
}

#[test]
fn a_lock_excludes_a_second_holder() {
    let directory = tempfile::tempdir().unwrap();
    let storage = storage(directory.path(), Duration::from_secs(60), 2, Algorithm::Sha256);
    storage.create_directory(&path("a")).unwrap();
    let held = storage.lock(&path("a")).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        let _lock = storage.lock(&path("a")).unwrap();
        sender.send(()).unwrap();
    });
    assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err());
    drop(held);
    receiver.recv_timeout(Duration::from_secs(30)).unwrap();
    waiting.join().unwrap();
}

#[test]
fn paths_that_leave_the_layout_and_roots_that_are_missing_are_refused() {
    for text in [
        "",
        "a/b/c",
        "a/b/c/d/e",
        "a/../c/d",
        "a/b/c/..",
        "/b/c/d",
        "a/b/c/\0",
    ] {
        assert!(ArtifactPath::parse(text).is_err(), "{text:?}");
    }
    assert!(ArtifactPath::new("GitRepository", "..", "app", "a").is_err());
    let missing = StorageOptions {
        root: "/nowhere/at/all".into(),
        advertised_address: String::new(),
        retention_ttl: Duration::ZERO,
        retention_records: 0,
        algorithm: Algorithm::Sha256,
    };
    assert_eq!(
        Storage::open(missing).unwrap_err().to_string(),
        "invalid dir path: /nowhere/at/all"
    );
}
