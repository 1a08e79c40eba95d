//! What one build fetches, from real servers: a Git server and a file server on the loopback address.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail and report this way")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use sluice_kustomize::{BuildOptions, ErrorKind, RemoteResolver, build};
use sluice_remote_bases::{Limits, RemoteBases};
use sluice_testbed::files::FileServer;
use sluice_testbed::git::{GitServer, Operation};
use sluice_testbed::tools;
use sluice_vfs::{MemoryFileSystem, VirtualPath};

fn git_server() -> Option<GitServer> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    tools::require_or_skip(GitServer::start())
}

/// Builds a kustomization file that stands alone.
fn run(kustomization: &str, remote: &RemoteBases) -> Result<String, (ErrorKind, String)> {
    let files = [(
        "kustomization.yaml".to_owned(),
        kustomization.to_owned().into_bytes(),
    )];
    let tree = MemoryFileSystem::from_files(files).unwrap();
    let options = BuildOptions {
        remote: Some(remote as &dyn RemoteResolver),
        ..BuildOptions::default()
    };
    build(&tree, &VirtualPath::root(), &options)
        .and_then(|built| {
            assert!(built.remote, "a build with something remote must say so");
            built.to_yaml()
        })
        .map_err(|error| (error.kind(), error.to_string()))
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

#[test]
fn each_repository_and_file_is_fetched_once_and_leaves_nothing_behind() {
    let Some(server) = git_server() else { return };
    let mut repository = server.create_repository("shared").unwrap();
    repository
        .commit_files(
            "bases",
            &[
                ("a/kustomization.yaml", "resources: [a.yaml]\n"),
                ("a/a.yaml", &config_map("a")),
                ("b/kustomization.yaml", "resources: [b.yaml]\n"),
                ("b/b.yaml", &config_map("b")),
            ],
        )
        .unwrap();
    let files = FileServer::start().unwrap();
    let file = files.put("/c.yaml", config_map("c"));
    let url = repository.url();
    let kustomization = format!(
        "resources: ['{url}//a?ref=main', '{url}//b?ref=main', {file}]\nconfigMapGenerator: [{{name: g, files: ['k={file}']}}]\n"
    );
    let scratch = tempfile::tempdir().unwrap();
    server.reset_requests().unwrap();
    let remote = RemoteBases::new(scratch.path().to_owned(), Limits::default());
    let built = run(&kustomization, &remote).unwrap();
    for name in ["name: a\n", "name: b\n", "name: c\n", "name: g-"] {
        assert!(built.contains(name), "{built}");
    }
    assert_eq!(server.requests(&repository, Operation::Fetch).unwrap(), 1);
    assert_eq!(files.requests(), ["/c.yaml"]);
    assert_eq!(
        entries(scratch.path()),
        0,
        "what the build may still read has no name, so that no end of the program leaves it behind"
    );
    drop(remote);
    assert_eq!(entries(scratch.path()), 0);
}

#[test]
fn a_file_may_not_be_large_slow_or_elsewhere_without_tls() {
    let Some(_server) = git_server() else { return };
    let files = FileServer::start().unwrap();
    let small = files.put("/small.yaml", config_map("small"));
    let large = files.put("/large.yaml", "#".repeat(5000));
    let silent = files.silence("/silent.yaml");
    let circle = files.redirect("/circle.yaml", "/circle.yaml");
    let moved = files.redirect("/moved.yaml", "/small.yaml");
    let scratch = tempfile::tempdir().unwrap();
    let limits = || Limits {
        file_bytes: 4000,
        fetches: 3,
        ..Limits::default()
    };
    let attempt = |limits: Limits, resources: &[&str]| {
        let remote = RemoteBases::new(scratch.path().to_owned(), limits);
        run(&format!("resources: [{}]\n", resources.join(", ")), &remote)
    };
    let reason = |limits: Limits, resources: &[&str]| {
        let (kind, text) = attempt(limits, resources).unwrap_err();
        assert_eq!(kind, ErrorKind::Remote, "{text}");
        text
    };
    attempt(limits(), &[&small]).unwrap();
    attempt(limits(), &[&moved]).unwrap();
    let text = reason(limits(), &[&large]);
    assert!(text.contains("the file has more than 4000 bytes"), "{text}");
    let text = reason(limits(), &[&circle]);
    assert!(text.contains("stopped after 10 redirects"), "{text}");
    let gone = format!("{}/gone.yaml", files.url());
    let text = reason(limits(), &[&gone]);
    assert!(text.contains("HTTP Error: status code 404 (Not Found)"), "{text}");
    assert!(text.starts_with("kustomization.yaml: resources[0]: "), "{text}");
    let deadline = Limits {
        deadline: Some(Instant::now() + Duration::from_millis(300)),
        ..limits()
    };
    let text = reason(deadline, &[&silent]);
    assert!(text.contains("the file did not come in time"), "{text}");
    let cancelled = Limits {
        cancelled: Arc::new(AtomicBool::new(true)),
        ..limits()
    };
    let text = reason(cancelled, &[&small]);
    assert!(text.contains("operation cancelled"), "{text}");
    let many: Vec<String> = (0..4).map(|index| format!("'{small}?{index}'")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let unique = Limits {
        fetches: 0,
        ..limits()
    };
    let text = reason(unique, &many[..1]);
    assert!(
        text.contains("fetches more than 0 repositories and files"),
        "{text}"
    );
}

#[test]
fn a_repository_that_never_answers_ends_with_the_timeout_of_its_address() {
    let Some(_server) = git_server() else { return };
    let files = FileServer::start().unwrap();
    files.silence("/o/r.git/info/refs");
    let scratch = tempfile::tempdir().unwrap();
    let remote = RemoteBases::new(scratch.path().to_owned(), Limits::default());
    let address = format!("{}/o/r.git?timeout=300ms", files.url());
    let (kind, text) = run(&format!("resources: ['{address}']\n"), &remote).unwrap_err();
    assert_eq!(kind, ErrorKind::Remote, "{text}");
    assert!(text.contains("context deadline exceeded"), "{text}");
    assert_eq!(entries(scratch.path()), 0);
}

#[test]
fn addresses_that_cannot_be_fetched_say_why_and_hold_no_password() {
    let Some(server) = git_server() else { return };
    let mut repository = server.create_repository("known").unwrap();
    let commit = repository
        .commit_files("one", &[("kustomization.yaml", "namePrefix: a-\n")])
        .unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let url = repository.url();
    let short = format!("{url}?ref={}", &commit[..10]);
    let secret = url.replace("http://", "http://user:hunter2@");
    for (address, wanted) in [
        ("ssh://git@127.0.0.1:1/o/r.git".to_owned(), "ssh"),
        ("git@127.0.0.1:o/r".to_owned(), "ssh"),
        (
            "file:///srv/r.git".to_owned(),
            "a repository on this machine cannot be a remote base",
        ),
        (short, "if it is a commit, give all 40 digits"),
        (format!("{url}?ref=gone"), "couldn't find remote ref \"gone\""),
        (format!("{secret}?ref=gone"), "couldn't find remote ref \"gone\""),
        (format!("{url}//missing"), "missing: no such file or directory"),
        (url.replace("known", "unknown"), "repository not found"),
    ] {
        let remote = RemoteBases::new(scratch.path().to_owned(), Limits::default());
        let (_, text) = run(&format!("resources: ['{address}']\n"), &remote).unwrap_err();
        assert!(text.contains(wanted), "{address}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
