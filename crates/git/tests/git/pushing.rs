//! Commits made in memory and pushed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use jiff::Timestamp;
use sluice_git::{
    Change, Checkout, EditError, NewCommit, Person, PreparedCommit, PushError, Reference, push,
};
use sluice_vfs::VirtualPath;

use crate::repository::Repository;
use crate::server::Behaviour;
use crate::{Bench, budget};

fn new_commit(message: &str, changes: &[(&str, Option<&str>)]) -> NewCommit {
    let person = |name: &str| Person {
        name: name.into(),
        email: "sluice@example.com".into(),
        time: Timestamp::from_second(1_700_000_042).unwrap(),
    };
    let change = |(path, contents): &(&str, Option<&str>)| {
        let change = contents.map_or(Change::Delete, |contents| {
            Change::Write(contents.to_owned().into())
        });
        (VirtualPath::parse(path).unwrap(), change)
    };
    NewCommit {
        changes: changes.iter().map(change).collect::<BTreeMap<_, _>>(),
        author: person("Writer"),
        committer: person("Sluice"),
        message: message.into(),
    }
}

fn prepare(parent: Option<&Checkout>, changes: &[(&str, Option<&str>)]) -> PreparedCommit {
    new_commit("Change files", changes).prepare(parent).unwrap()
}

fn paths(bench: &Bench, branch: &str) -> Vec<String> {
    let rows = bench.repository.rows(branch);
    rows.into_iter()
        .filter(|row| row.0 != "040000")
        .map(|row| format!("{} {}", row.0, row.2))
        .collect()
}

#[test]
fn first_commit_goes_into_an_empty_repository() {
    for old_protocol in [false, true] {
        let behaviour = Behaviour {
            old_protocol,
            ..Behaviour::default()
        };
        let bench = Bench::with(Repository::new(), behaviour);
        let commit = prepare(
            None,
            &[
                ("clusters/prod/sync.yaml", Some("kind: X")),
                ("README", Some("hello")),
            ],
        );
        push(&bench.server.remote(), "main", &commit, &budget()).unwrap();
        bench.repository.git(&["fsck", "--strict"]);
        assert_eq!(
            bench.repository.git(&["rev-parse", "main"]),
            commit.id().to_string()
        );
        assert_eq!(
            paths(&bench, "main"),
            ["100644 README", "100644 clusters/prod/sync.yaml"]
        );
        let shown = bench
            .repository
            .git(&["log", "-1", "--format=%an|%cn|%ce|%ct|%s", "main"]);
        assert_eq!(shown, "Writer|Sluice|sluice@example.com|1700000042|Change files");
    }
}

#[test]
fn further_commits_change_only_what_they_name() {
    let bench = Bench::new();
    let repository = &bench.repository;
    for path in [
        "a/b/gone.yaml",
        "a/kept.yaml",
        "dir/x/1",
        "dir/2",
        "run.sh",
        "a.txt",
    ] {
        repository.write(path, path);
    }
    std::fs::set_permissions(repository.work().join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a.txt", repository.work().join("link")).unwrap();
    repository.commit("first", 1_700_000_000);
    let parent = bench.fetch(&Reference::default()).unwrap();
    let changes = [
        ("a/b/gone.yaml", None),
        ("dir", None),
        ("never/was", None),
        ("run.sh", Some("new")),
        ("a/new/file", Some("new")),
        ("a-", Some("new")),
    ];
    let commit = prepare(Some(&parent), &changes);
    push(&bench.server.remote(), "master", &commit, &budget()).unwrap();
    repository.git(&["fsck", "--strict"]);
    assert_eq!(
        paths(&bench, "master"),
        [
            "100644 a-",
            "100644 a.txt",
            "100644 a/kept.yaml",
            "100644 a/new/file",
            "120000 link",
            "100755 run.sh"
        ]
    );
    assert_eq!(repository.git(&["show", "master:run.sh"]), "new");
    assert_eq!(
        repository.git(&["rev-parse", "master~1"]),
        parent.commit.id.to_string()
    );
    // What was pushed is what a fetch brings.
    let fetched = bench.fetch(&Reference::default()).unwrap();
    assert_eq!(fetched.commit.id, commit.id());
    let unchanged = new_commit("x", &[("a-", Some("new")), ("never/was", None)]);
    assert_eq!(
        unchanged.prepare(Some(&fetched)).unwrap_err(),
        EditError::NoChanges
    );
    let through_file = new_commit("x", &[("a.txt/below", Some("x"))]);
    assert!(matches!(
        through_file.prepare(Some(&fetched)).unwrap_err(),
        EditError::Path(_)
    ));
    let mut forged = new_commit("x", &[("y", Some("x"))]);
    forged.author.name = "A\nparent 0123".into();
    assert_eq!(forged.prepare(None).unwrap_err(), EditError::Person("author"));
}

#[test]
fn moved_branch_is_reported_for_another_try() {
    let bench = Bench::new();
    bench.repository.commit("first", 1_700_000_000);
    let parent = bench.fetch(&Reference::default()).unwrap();
    let late = prepare(Some(&parent), &[("a", Some("late"))]);
    let other = bench.repository.commit("meanwhile", 1_700_000_001);
    match push(&bench.server.remote(), "master", &late, &budget()).unwrap_err() {
        PushError::NonFastForward {
            branch,
            expected,
            actual,
        } => {
            assert_eq!(
                (branch.as_str(), expected, actual),
                ("master", parent.commit.id.to_string(), other.clone())
            );
        }
        error => panic!("{error}"),
    }
    let unrelated = prepare(None, &[("a", Some("first"))]);
    assert!(matches!(
        push(&bench.server.remote(), "master", &unrelated, &budget()),
        Err(PushError::NonFastForward { .. })
    ));
    // Fetching again and making the commit anew succeeds.
    let parent = bench.fetch(&Reference::default()).unwrap();
    let retried = prepare(Some(&parent), &[("a", Some("late"))]);
    push(&bench.server.remote(), "master", &retried, &budget()).unwrap();
    assert_eq!(bench.repository.git(&["rev-parse", "master~1"]), other);
}

#[test]
fn branch_that_moves_during_the_push_is_reported_for_another_try() {
    let bench = Bench::new();
    bench.repository.commit("first", 1_700_000_000);
    let other = bench
        .repository
        .git(&["commit-tree", "-m", "meanwhile", "-p", "HEAD", "HEAD^{tree}"]);
    let parent = bench.fetch(&Reference::default()).unwrap();
    install_hook(
        &bench,
        "update",
        &format!("unset GIT_QUARANTINE_PATH; git update-ref refs/heads/master {other}"),
    );
    let commit = prepare(Some(&parent), &[("a", Some("x"))]);
    let error = push(&bench.server.remote(), "master", &commit, &budget()).unwrap_err();
    assert!(matches!(error, PushError::NonFastForward { .. }), "{error}");
    assert_eq!(bench.repository.git(&["rev-parse", "master"]), other);
}

#[test]
fn refusal_of_a_hook_is_quoted() {
    let bench = Bench::new();
    bench.repository.commit("first", 1_700_000_000);
    let parent = bench.fetch(&Reference::default()).unwrap();
    install_hook(&bench, "pre-receive", "echo 'branch is protected' >&2; exit 1");
    let commit = prepare(Some(&parent), &[("a", Some("x"))]);
    let error = push(&bench.server.remote(), "master", &commit, &budget()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to push to remote: branch 'master' was rejected: pre-receive hook declined: branch is protected"
    );
    bench.repository.git(&["config", "http.receivepack", "false"]);
    let error = push(&bench.server.remote(), "master", &commit, &budget()).unwrap_err();
    assert!(
        matches!(error, PushError::Remote(ref cause) if cause.kind() == sluice_git::ErrorKind::Authentication),
        "{error}"
    );
}

fn install_hook(bench: &Bench, name: &str, script: &str) {
    let hook = bench.repository.directory().join("hooks").join(name);
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
}
