//! What goes over a connection: fetches, pushes, failures.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use sluice_git::{
    Budget, Change, ErrorKind, NewCommit, Person, PushError, Reference, Secret, SshCredentials,
    list_references, push, resolve,
};
use sluice_testbed::ssh::{KeyPair, SshServerOptions};
use sluice_vfs::VirtualPath;

use crate::repository::{Repository, incompressible};
use crate::{Bench, budget, remote};

fn both_protocols() -> impl Iterator<Item = Bench> {
    [true, false].into_iter().filter_map(|protocol_variable| {
        Bench::start(&SshServerOptions {
            protocol_variable,
            ..SshServerOptions::default()
        })
    })
}

// SRC-002
#[test]
fn commits_are_fetched_with_both_versions_of_the_protocol() {
    for bench in both_protocols() {
        bench.repository.write("apps/web.yaml", "kind: Web\n");
        bench.repository.write("large", &incompressible(3_000_000, 7));
        let commit = bench.repository.commit("first", 1_700_000_000);
        bench
            .repository
            .git(&["tag", "--annotate", "--message", "one", "v1.0.0"]);
        let checkout = bench.fetch(&bench.remote()).unwrap();
        assert_eq!(checkout.commit.id.to_string(), commit);
        let paths: Vec<String> = checkout
            .tree()
            .walk()
            .map(|entry| entry.unwrap().path_text().into_owned())
            .collect();
        assert_eq!(paths, ["apps", "apps/web.yaml", "large"]);
        let reference = Reference {
            semver: "1.x".to_owned(),
            ..Reference::default()
        };
        let checkout =
            sluice_git::fetch(&bench.remote(), &reference, bench.scratch.path(), &budget()).unwrap();
        assert_eq!(checkout.revision.to_string(), format!("v1.0.0@sha1:{commit}"));
        let resolved = resolve(&bench.remote(), &Reference::default(), &budget()).unwrap();
        assert_eq!(resolved.unwrap().to_string(), format!("master@sha1:{commit}"));
    }
}

#[test]
fn submodules_are_fetched_with_the_same_key() {
    let Some(bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    let library = Repository::new();
    library.write("lib.yaml", "kind: Library\n");
    let commit = library.commit("first", 1_700_000_000);
    let url = bench.server.url(&library.directory());
    bench.repository.write(
        ".gitmodules",
        &format!("[submodule \"lib\"]\n\tpath = lib\n\turl = {url}\n"),
    );
    bench.repository.git(&["add", ".gitmodules"]);
    let entry = format!("160000,{commit},lib");
    bench
        .repository
        .git(&["update-index", "--add", "--cacheinfo", &entry]);
    bench.repository.git(&["commit", "--quiet", "--message", "first"]);
    let remote = bench.remote();
    let checkout = bench
        .fetch(&remote)
        .unwrap()
        .with_submodules(&remote, bench.scratch.path(), &budget())
        .unwrap();
    let paths: Vec<String> = checkout
        .tree()
        .walk()
        .map(|entry| entry.unwrap().path_text().into_owned())
        .collect();
    assert!(paths.contains(&"lib/lib.yaml".to_owned()), "{paths:?}");
}

#[test]
fn empty_and_missing_repositories_are_told_apart() {
    for bench in both_protocols() {
        let error = bench.fetch(&bench.remote()).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "unable to clone: remote repository is empty: git repository: '{}'",
                bench.url()
            )
        );
        assert_eq!(error.kind(), ErrorKind::Empty);
        let url = bench.url().replace("repo.git", "none.git");
        let error = bench.fetch(&remote(&url, bench.credentials())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("': repository not found: "), "{error}");
    }
}

fn commit(path: &str, contents: &str) -> NewCommit {
    let person = Person {
        name: "Writer".into(),
        email: "writer@example.com".into(),
        time: Timestamp::from_second(1_700_000_042).unwrap(),
    };
    NewCommit {
        changes: BTreeMap::from([(
            VirtualPath::parse(path).unwrap(),
            Change::Write(contents.to_owned().into()),
        )]),
        author: person.clone(),
        committer: person,
        message: "Change files".into(),
    }
}

#[test]
fn commits_are_pushed() {
    for bench in both_protocols() {
        let first = commit("a", &incompressible(2_000_000, 3)).prepare(None).unwrap();
        push(&bench.remote(), "master", &first, &budget()).unwrap();
        assert_eq!(
            bench.repository.git(&["rev-parse", "master"]),
            first.id().to_string()
        );
        let checkout = bench.fetch(&bench.remote()).unwrap();
        let second = commit("b/c", "text").prepare(Some(&checkout)).unwrap();
        push(&bench.remote(), "master", &second, &budget()).unwrap();
        bench.repository.git(&["fsck", "--strict"]);
        assert_eq!(bench.repository.git(&["show", "master:b/c"]), "text");
        let stale = commit("d", "text").prepare(Some(&checkout)).unwrap();
        let error = push(&bench.remote(), "master", &stale, &budget()).unwrap_err();
        assert!(matches!(error, PushError::NonFastForward { .. }), "{error}");
    }
}

#[test]
fn hook_that_refuses_a_push_is_quoted() {
    let Some(bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    let hook = bench.repository.directory().join("hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho not on a Monday >&2\nexit 1\n").unwrap();
    let runnable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, runnable).unwrap();
    let first = commit("a", "text").prepare(None).unwrap();
    let error = push(&bench.remote(), "master", &first, &budget())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("pre-receive hook declined: not on a Monday"),
        "{error}"
    );
}

#[test]
fn key_that_is_not_let_in_is_named() {
    let Some(bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    for arguments in [vec!["-t", "ed25519"], vec!["-t", "rsa", "-b", "2048"]] {
        let stranger = KeyPair::generate(&arguments, "").unwrap();
        let error = bench.fails(SshCredentials {
            identity: Secret::new(stranger.private.as_str()),
            ..bench.credentials()
        });
        assert_eq!(error.kind(), ErrorKind::Authentication);
        let text = error.to_string();
        let kind = stranger.public.split(' ').next().unwrap();
        assert!(
            text.contains(
                "ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey]"
            ) && text.contains(&format!("{kind} SHA256:")),
            "{text}"
        );
    }
}

#[test]
fn more_than_the_limit_is_not_taken() {
    let Some(bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    bench.repository.write("large", &incompressible(3_000_000, 7));
    bench.repository.commit("first", 1_700_000_000);
    let small = budget().with_transfer_bytes(100_000);
    let reference = Reference::default();
    let error = sluice_git::fetch(&bench.remote(), &reference, bench.scratch.path(), &small).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert_eq!(std::fs::read_dir(bench.scratch.path()).unwrap().count(), 0);
}

#[test]
fn server_that_says_nothing_is_waited_for_until_the_deadline_or_the_end_of_the_operation() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ssh://git@{}/repo", listener.local_addr().unwrap());
    let Some(bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    let silent = remote(&url, bench.credentials());
    let short = Budget::new(Duration::from_millis(300));
    let error = list_references(&silent, &[], &short).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let flag = Arc::new(AtomicBool::new(false));
    let cancelled = budget().with_cancellation(Arc::clone(&flag));
    std::thread::scope(|scope| {
        let listing = scope.spawn(|| list_references(&silent, &[], &cancelled));
        // Its connection is here: it waits.
        let (_stream, _) = listener.accept().unwrap();
        flag.store(true, Ordering::Relaxed);
        let error = listing.join().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    });
}

#[test]
fn servers_that_are_none_are_named() {
    let Some(mut bench) = Bench::start(&SshServerOptions::default()) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let other = remote(&format!("ssh://git@{address}/repo"), bench.credentials());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut greeting = [0; 4];
            stream.read_exact(&mut greeting).unwrap();
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        });
        let error = list_references(&other, &[], &budget()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Network | ErrorKind::Protocol));
        assert!(error.to_string().contains("ssh: handshake failed: "), "{error}");
    });
    bench.server.stop();
    let error = bench.fetch(&bench.remote()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    let expected = format!(
        "dial tcp 127.0.0.1:{}: connect: connection refused",
        bench.server.port()
    );
    assert!(error.to_string().ends_with(&expected), "{error}");
}

#[test]
fn remote_without_a_key_is_refused_before_anything_is_sent() {
    let url = sluice_git::RemoteUrl::parse("ssh://git@127.0.0.1:1/repo").unwrap();
    let error = list_references(&sluice_git::Remote::new(url), &[], &budget()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.to_string().contains("'identity' and 'known_hosts'"),
        "{error}"
    );
}
