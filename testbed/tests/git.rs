//! The Git server: real git clients clone and push, and everything they ask is counted.

use std::path::Path;
use std::process::Command;

use sluice_testbed::Result;
use sluice_testbed::git::{GitServer, GitServerOptions, Operation};
use sluice_testbed::tls::Certificates;
use sluice_testbed::tools::{pipe, require_or_skip};

/// Runs the real git as a client that knows only what the test tells it.
fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("git");
    command.current_dir(directory).args(arguments);
    // Such as GIT_SSL_CAINFO, which outranks what a test configures.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0");
    Ok(String::from_utf8_lossy(&pipe(&mut command, Vec::new())?)
        .trim()
        .to_owned())
}

#[test]
fn commits_are_cloned_and_listing_is_told_from_fetching() {
    let Some(server) = require_or_skip(GitServer::start()) else {
        return;
    };
    let mut repository = server.create_repository("team/fleet").unwrap();
    let first = repository
        .commit_files("first", &[("a/one.yaml", "one: 1\n"), ("two.yaml", "two: 2\n")])
        .unwrap();
    repository.tag("v1.0.0", Some("release")).unwrap();
    repository.remove("two.yaml").unwrap();
    let second = repository.commit("second").unwrap();
    assert_ne!(first, second);
    assert_eq!(repository.head("main").unwrap(), second);

    let directory = tempfile::tempdir().unwrap();
    let listed = git(directory.path(), &["ls-remote", repository.url()]).unwrap();
    assert!(listed.contains(&format!("{second}\trefs/heads/main")), "{listed}");
    assert!(
        listed.contains(&format!("{first}\trefs/tags/v1.0.0^{{}}")),
        "{listed}"
    );
    assert_eq!(server.requests(&repository, Operation::Refs).unwrap(), 1);
    assert_eq!(server.requests(&repository, Operation::LsRefs).unwrap(), 1);
    assert_eq!(server.requests(&repository, Operation::Fetch).unwrap(), 0);

    git(directory.path(), &["clone", "--quiet", repository.url(), "clone"]).unwrap();
    let clone = directory.path().join("clone");
    assert_eq!(
        std::fs::read_to_string(clone.join("a/one.yaml")).unwrap(),
        "one: 1\n"
    );
    assert!(!clone.join("two.yaml").exists());
    assert!(server.requests(&repository, Operation::Fetch).unwrap() > 0);
    server.reset_requests().unwrap();
    git(
        directory.path(),
        &["-c", "protocol.version=0", "ls-remote", repository.url()],
    )
    .unwrap();
    assert_eq!(server.requests(&repository, Operation::Refs).unwrap(), 1);
    assert_eq!(server.requests(&repository, Operation::Fetch).unwrap(), 0);
}

#[test]
fn ids_of_commits_depend_only_on_what_is_committed() {
    let Some(server) = require_or_skip(GitServer::start()) else {
        return;
    };
    let [left, right] = ["left", "right"].map(|name| {
        let mut repository = server.create_repository(name).unwrap();
        repository.commit_files("same", &[("file", "content")]).unwrap()
    });
    assert_eq!(left, right);
}

#[test]
fn clients_can_push_more_than_git_buffers() {
    let Some(server) = require_or_skip(GitServer::start()) else {
        return;
    };
    let mut repository = server.create_repository("big").unwrap();
    repository.commit_files("first", &[("file", "content")]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["clone", "--quiet", repository.url(), "clone"]).unwrap();
    let clone = directory.path().join("clone");
    // More than http.postBuffer, and not compressible, so that git sends it in chunks.
    let mut seed = 1_u64;
    let noise: Vec<u8> = (0..3 << 20)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed.to_be_bytes()[0]
        })
        .collect();
    std::fs::write(clone.join("noise"), noise).unwrap();
    git(&clone, &["add", "noise"]).unwrap();
    git(
        &clone,
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@example.com",
            "commit",
            "--quiet",
            "-m",
            "noise",
        ],
    )
    .unwrap();
    git(&clone, &["push", "--quiet", "origin", "HEAD"]).unwrap();
    assert_eq!(
        repository.head("main").unwrap(),
        git(&clone, &["rev-parse", "HEAD"]).unwrap()
    );
    assert!(server.requests(&repository, Operation::Push).unwrap() > 0);
}

#[test]
fn branches_are_switched_and_pushed() {
    let Some(server) = require_or_skip(GitServer::start()) else {
        return;
    };
    let mut repository = server.create_repository("branches").unwrap();
    let on_main = repository.commit_files("first", &[("file", "1")]).unwrap();
    repository.switch("staging").unwrap();
    let on_staging = repository.commit_files("second", &[("file", "2")]).unwrap();
    repository.switch("main").unwrap();
    assert_eq!(
        std::fs::read_to_string(repository.work_tree().join("file")).unwrap(),
        "1"
    );
    assert_eq!(repository.head("main").unwrap(), on_main);
    assert_eq!(repository.head("staging").unwrap(), on_staging);
    repository.tag("v1", None).unwrap();
    repository.delete_tag("v1").unwrap();
    let directory = tempfile::tempdir().unwrap();
    assert!(
        !git(directory.path(), &["ls-remote", repository.url()])
            .unwrap()
            .contains("refs/tags")
    );
}

#[test]
fn credentials_are_asked_for() {
    let basic = Some(("git".to_owned(), "s3cret".to_owned()));
    let options = GitServerOptions {
        basic,
        bearer: Some("t0ken".to_owned()),
        ..GitServerOptions::default()
    };
    let Some(server) = require_or_skip(GitServer::start_with(&options)) else {
        return;
    };
    let mut repository = server.create_repository("private").unwrap();
    repository.commit_files("first", &[("file", "content")]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let with_user = |user: &str| repository.url().replace("http://", &format!("http://{user}@"));

    assert!(git(directory.path(), &["ls-remote", repository.url()]).is_err());
    assert!(git(directory.path(), &["ls-remote", &with_user("git:wrong")]).is_err());
    assert!(server.requests(&repository, Operation::Denied).unwrap() >= 2);
    assert!(git(directory.path(), &["ls-remote", &with_user("git:s3cret")]).is_ok());
    let bearer = "http.extraHeader=Authorization: Bearer t0ken";
    assert!(git(directory.path(), &["-c", bearer, "ls-remote", repository.url()]).is_ok());
    let wrong = "http.extraHeader=Authorization: Bearer t0kem";
    assert!(git(directory.path(), &["-c", wrong, "ls-remote", repository.url()]).is_err());
}

#[test]
fn tls_needs_the_authority_and_where_asked_a_client_certificate() {
    let certificates = Certificates::new().unwrap();
    let options = GitServerOptions {
        tls: Some(certificates.clone()),
        client_certificates: true,
        ..GitServerOptions::default()
    };
    let Some(server) = require_or_skip(GitServer::start_with(&options)) else {
        return;
    };
    let mut repository = server.create_repository("secure").unwrap();
    repository.commit_files("first", &[("file", "content")]).unwrap();
    assert!(repository.url().starts_with("https://"));

    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let authority = format!("http.sslCAInfo={}", file("ca.crt", &certificates.authority));
    let certificate = format!(
        "http.sslCert={}",
        file("client.crt", &certificates.client_certificate)
    );
    let key = format!("http.sslKey={}", file("client.key", &certificates.client_key));
    let url = repository.url();
    assert!(git(directory.path(), &["ls-remote", url]).is_err());
    assert!(git(directory.path(), &["-c", &authority, "ls-remote", url]).is_err());
    let all = ["-c", &authority, "-c", &certificate, "-c", &key, "ls-remote", url];
    assert!(git(directory.path(), &all).unwrap().contains("refs/heads/main"));
}

#[test]
fn stopped_server_refuses_connections() {
    let Some(mut server) = require_or_skip(GitServer::start()) else {
        return;
    };
    let repository = server.create_repository("gone").unwrap();
    server.stop().unwrap();
    let directory = tempfile::tempdir().unwrap();
    assert!(git(directory.path(), &["ls-remote", repository.url()]).is_err());
}
