//! Commits that no honest git makes, as real objects served by a real Git server, and commits that are too large.

use std::io::Write as _;
use std::process::{Command, Stdio};

use kube::api::PostParams;
use serde_json::json;
use sluice_api::source::GitRepository;
use sluice_testbed::git::{GitServer, Repository};
use sluice_testbed::wait;

use crate::failures::failing;
use crate::support::{Bench, PATIENCE, artifact, condition};

/// One entry of a tree object: mode, name and object.
type Entry<'e> = (&'e str, &'e [u8], &'e str);

/// Runs git in the bare repository, with input.
fn git(repository: &Repository, arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new("git")
        .arg("--git-dir")
        .arg(repository.directory())
        .args(arguments)
        .envs([
            ("GIT_AUTHOR_NAME", "Test"),
            ("GIT_AUTHOR_EMAIL", "test@example.com"),
            ("GIT_COMMITTER_NAME", "Test"),
            ("GIT_COMMITTER_EMAIL", "test@example.com"),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn blob(repository: &Repository, contents: &str) -> String {
    git(repository, &["hash-object", "-w", "--stdin"], contents.as_bytes())
}

/// Writes a tree object as it is given, which git itself would refuse to.
fn tree(repository: &Repository, entries: &[Entry<'_>]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(name);
        bytes.push(0);
        let digits: Vec<char> = id.chars().collect();
        let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
        bytes.extend(digits.chunks(2).map(byte));
    }
    let arguments = ["hash-object", "-t", "tree", "-w", "--stdin", "--literally"];
    git(repository, &arguments, &bytes)
}

/// Makes a branch whose only commit has this tree.
fn branch(repository: &Repository, name: &str, tree: &str) {
    let commit = git(repository, &["commit-tree", tree, "-m", "Hostile"], b"");
    git(
        repository,
        &["update-ref", &format!("refs/heads/{name}"), &commit],
        b"",
    );
}

async fn follow(bench: &Bench, repository: &Repository, name: &str) {
    bench
        .create(name, repository.url(), json!({"ref": {"branch": name}}))
        .await;
}

/// The message of the condition that a branch fails with.
async fn failure(bench: &Bench, name: &str, kind: &str, reason: &str) -> String {
    let object = bench.until(name, kind, |object| failing(object, kind)).await;
    let failed = condition(&object, kind).unwrap();
    assert_eq!(failed.reason, reason, "{name}: {}", failed.message);
    let ready = condition(&object, "Ready").unwrap();
    assert_eq!((ready.reason.as_str(), &ready.message), (reason, &failed.message));
    assert!(
        object.status.as_ref().unwrap().artifact.is_none(),
        "{name} has an artifact"
    );
    let stored = bench.stored(name);
    // As in Flux the lock of an artifact outlives its holder.
    let left: Vec<_> = stored.iter().filter(|file| !file.ends_with(".lock")).collect();
    assert!(left.is_empty(), "{name} left {left:?}");
    failed.message.clone()
}

#[tokio::test]
async fn trees_that_git_would_not_check_out_are_refused_with_the_culprit() {
    // SRC-058
    let Some(bench) = Bench::start(&["--concurrent=4"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let repository = server.create_repository("hostile").unwrap();
    let file = blob(&repository, "contents");
    let config = tree(&repository, &[("100644", b"config", &file)]);
    let climbing = tree(&repository, &[("100644", b"..", &file)]);
    let cases: [(&str, Vec<Entry<'_>>, &str); 9] = [
        (
            "climbing",
            vec![("100644", b"..", &file)],
            "/: tree {tree} holds an entry named '..'",
        ),
        (
            "climbing-below",
            vec![("40000", b"apps", &climbing)],
            "apps: tree {tree} holds an entry named '..'",
        ),
        (
            "climbing-directory",
            vec![("40000", b"..", &config)],
            "/: tree {tree} holds an entry named '..'",
        ),
        (
            "absolute",
            vec![("100644", b"/etc/passwd", &file)],
            "/: tree {tree} holds an entry named '/etc/passwd'",
        ),
        (
            "inner-path",
            vec![("100644", b"a/../../b", &file)],
            "/: tree {tree} holds an entry named 'a/../../b'",
        ),
        (
            "backslash",
            vec![("100644", b"..\\b", &file)],
            "/: tree {tree} holds an entry named '..\\b'",
        ),
        (
            "git-directory",
            vec![("40000", b".GIT", &config)],
            "invalid path prefix: \".GIT\"",
        ),
        (
            "twice",
            vec![("100644", b"a", &file), ("100755", b"a", &file)],
            "/: tree {tree} holds two entries named 'a'",
        ),
        (
            "file-and-directory",
            vec![
                ("100644", b"a", &file),
                ("100644", b"a.b", &file),
                ("40000", b"a", &config),
            ],
            "/: tree {tree} holds two entries named 'a'",
        ),
    ];
    for (name, entries, _) in &cases {
        branch(&repository, name, &tree(&repository, entries));
        follow(&bench, &repository, name).await;
    }
    for (name, entries, expected) in &cases {
        let culprit = if *name == "climbing-below" {
            climbing.clone()
        } else {
            tree(&repository, entries)
        };
        let message = failure(&bench, name, "FetchFailed", "GitOperationFailed").await;
        let expected = expected.replace("{tree}", &culprit);
        assert_eq!(
            message,
            format!("failed to checkout and determine revision: {expected}"),
            "{name}"
        );
    }
    // Between two tries nothing is left of the last one.
    let fetched = || {
        let directories = std::fs::read_dir(bench.scratch()).unwrap().flatten();
        directories
            .flat_map(|directory| std::fs::read_dir(directory.path()).into_iter().flatten())
            .count()
    };
    wait::until_some(PATIENCE, "an empty scratch directory", || async {
        (fetched() == 0).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn links_and_nested_repositories_bring_nothing_from_outside() {
    // SRC-011, SRC-058
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let repository = server.create_repository("links").unwrap();
    let file = blob(&repository, "contents");
    let [absolute, climbing, inside] =
        ["/etc/passwd", "../../../../etc/passwd", "a.yaml"].map(|target| blob(&repository, target));
    let nested = tree(&repository, &[("100644", b"config", &file)]);
    let nested = tree(
        &repository,
        &[("40000", b".git", &nested), ("100644", b"kept.yaml", &file)],
    );
    let entries: [Entry<'_>; 6] = [
        // What is to be ignored must not be read from outside.
        ("120000", b".sourceignore", &absolute),
        ("120000", b"absolute", &absolute),
        ("100644", b"a.yaml", &file),
        ("120000", b"climbing", &climbing),
        ("120000", b"inside", &inside),
        ("40000", b"nested", &nested),
    ];
    branch(&repository, "links", &tree(&repository, &entries));
    follow(&bench, &repository, "links").await;
    let object = bench.ready("links").await;
    assert_eq!(
        bench.files(&artifact(&object)).await,
        ["a.yaml", "nested/kept.yaml"]
    );
}

#[tokio::test]
async fn what_is_too_much_is_refused_with_limit_and_culprit() {
    let flags = [
        "--concurrent=4",
        "--git-max-tree-entries=6",
        "--git-max-file-size=1000",
        "--git-max-checkout-size=1500",
    ];
    let Some(bench) = Bench::start(&flags).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let repository = server.create_repository("large").unwrap();
    let small = blob(&repository, "x");
    let names: Vec<String> = (0..6).map(|number| format!("{number}.yaml")).collect();
    let many: Vec<Entry<'_>> = names
        .iter()
        .map(|name| ("100644", name.as_bytes(), small.as_str()))
        .collect();
    let many = tree(&repository, &many);
    branch(
        &repository,
        "many",
        &tree(&repository, &[("40000", b"apps", &many)]),
    );
    let large = blob(&repository, &"x".repeat(1001));
    branch(
        &repository,
        "large",
        &tree(&repository, &[("100644", b"large.bin", &large)]),
    );
    let medium = blob(&repository, &"x".repeat(800));
    let two: [Entry<'_>; 2] = [("100644", b"a.bin", &medium), ("100644", b"b.bin", &medium)];
    branch(&repository, "sum", &tree(&repository, &two));
    for name in ["many", "large", "sum"] {
        follow(&bench, &repository, name).await;
    }
    assert_eq!(
        failure(&bench, "many", "FetchFailed", "GitOperationFailed").await,
        "failed to checkout and determine revision: apps: with this directory the tree has more than 6 entries; take less with spec.sparseCheckout, or raise the controller's --git-max-tree-entries"
    );
    assert_eq!(
        failure(
            &bench,
            "large",
            "StorageOperationFailed",
            "ArchiveOperationFailed"
        )
        .await,
        "unable to archive artifact to storage: 'large.bin' has 1001 bytes, more than the limit of 1000; leave it out with spec.ignore or spec.sparseCheckout, or raise the controller's --git-max-file-size"
    );
    assert_eq!(
        failure(&bench, "sum", "StorageOperationFailed", "ArchiveOperationFailed").await,
        "unable to archive artifact to storage: with 'b.bin' the files have more than the limit of 1500 bytes; leave files out with spec.ignore or spec.sparseCheckout, or raise the controller's --git-max-checkout-size"
    );
    // What is left out does not count.
    bench.patch_spec("large", json!({"ignore": "large.bin"})).await;
    bench.patch_spec("sum", json!({"ignore": "b.bin"})).await;
    bench.ready("large").await;
    let object = bench.ready("sum").await;
    assert_eq!(bench.files(&artifact(&object)).await, ["a.bin"]);
}

#[tokio::test]
async fn addresses_that_are_no_urls_are_refused_by_the_api_server() {
    // SRC-028, for GitRepositories
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    for url in [
        "git@example.com:apps/repository",
        "git://example.com/r",
        "file:///r",
        "oci://example.com/r",
    ] {
        let object: GitRepository = serde_json::from_value(json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": {"name": "app"},
            "spec": {"url": url, "interval": "1h"},
        }))
        .unwrap();
        let error = bench
            .api
            .create(&PostParams::default(), &object)
            .await
            .unwrap_err();
        let kube::Error::Api(status) = error else {
            panic!("{url}: {error}");
        };
        assert_eq!(status.code, 422, "{url}");
        let expected = "spec.url in body should match '^(http|https|ssh)://.*$'";
        assert!(status.message.contains(expected), "{url}: {}", status.message);
    }
}
