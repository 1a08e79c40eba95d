//! Which commit is followed, and how cheaply.

use serde_json::json;
use sluice_testbed::git::{GitServer, Operation};

use crate::support::{Bench, artifact, condition};

#[tokio::test]
async fn each_kind_of_reference_gives_its_revision() {
    // SRC-004, SRC-005, SRC-006
    let Some(bench) = Bench::start(&["--concurrent=4"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    let first = repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    repository.tag("v1.0.0", None).unwrap();
    repository.tag("v1.2.0-rc.1", None).unwrap();
    let second = repository.commit_files("Second", &[("a.yaml", "2")]).unwrap();
    repository.tag("v1.1.0", Some("annotated")).unwrap();
    let third = repository.commit_files("Third", &[("a.yaml", "3")]).unwrap();

    let cases = [
        ("tag", json!({"tag": "v1.0.0"}), format!("v1.0.0@sha1:{first}")),
        (
            "annotated",
            json!({"tag": "v1.1.0"}),
            format!("v1.1.0@sha1:{second}"),
        ),
        (
            "semver",
            json!({"semver": ">=1.0.0"}),
            format!("v1.1.0@sha1:{second}"),
        ),
        (
            "name",
            json!({"name": "refs/heads/main"}),
            format!("refs/heads/main@sha1:{third}"),
        ),
        (
            "name-tag",
            json!({"name": "refs/tags/v1.1.0"}),
            format!("refs/tags/v1.1.0@sha1:{second}"),
        ),
        ("commit", json!({"commit": first}), format!("sha1:{first}")),
        (
            "commit-branch",
            json!({"commit": first, "branch": "main"}),
            format!("main@sha1:{first}"),
        ),
        (
            "commit-wins",
            json!({"commit": first, "tag": "v1.1.0", "semver": "*"}),
            format!("sha1:{first}"),
        ),
        // The commit wins over the name too, but is called by it, as in Flux.
        (
            "commit-with-name",
            json!({"commit": first, "name": "refs/heads/main", "tag": "v1.1.0"}),
            format!("refs/heads/main@sha1:{first}"),
        ),
        (
            "name-wins",
            json!({"name": "refs/heads/main", "tag": "v1.1.0", "semver": "*", "branch": "none"}),
            format!("refs/heads/main@sha1:{third}"),
        ),
        (
            "tag-wins",
            json!({"tag": "v1.0.0", "semver": "*", "branch": "none"}),
            format!("v1.0.0@sha1:{first}"),
        ),
        (
            "semver-wins",
            json!({"semver": "*", "branch": "none"}),
            format!("v1.1.0@sha1:{second}"),
        ),
    ];
    for (name, reference, _) in &cases {
        bench
            .create(name, repository.url(), json!({ "ref": reference }))
            .await;
    }
    for (name, _, revision) in &cases {
        assert_eq!(artifact(&bench.ready(name).await).revision, *revision, "{name}");
    }
}

#[tokio::test]
async fn an_unchanged_remote_is_listed_and_not_fetched() {
    // SRC-007, SRC-008, COM-005, COM-013
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let before = artifact(&bench.ready("app").await);
    server.reset_requests().unwrap();

    let object = bench.reconcile("app").await;
    assert_eq!(artifact(&object), before);
    assert_eq!(server.requests(&repository, Operation::Fetch).unwrap(), 0);
    assert!(server.requests(&repository, Operation::LsRefs).unwrap() > 0);
    let event = bench.event("app", "GitOperationSucceeded").await;
    assert_eq!(
        event.message,
        Some(format!(
            "no changes since last reconciliation: observed revision '{}'",
            before.revision
        ))
    );
    assert_eq!(event.type_.as_deref(), Some("Normal"));

    // A spec edit that changes nothing in the artifact is observed all the same.
    bench.patch_spec("app", json!({"interval": "2h"})).await;
    let object = bench
        .until("app", "the new generation", |object| {
            object
                .status
                .as_ref()
                .and_then(|status| status.observed_generation)
                == Some(2)
        })
        .await;
    assert_eq!(
        condition(&object, "ArtifactInStorage")
            .unwrap()
            .observed_generation,
        Some(2)
    );
    assert_eq!(condition(&object, "Ready").unwrap().observed_generation, Some(2));
    assert_eq!(artifact(&object), before);
    assert_eq!(server.requests(&repository, Operation::Fetch).unwrap(), 0);

    // A new commit is one fetch and a new artifact.
    let commit = repository.commit_files("Second", &[("a.yaml", "2")]).unwrap();
    let object = bench.reconcile("app").await;
    assert_eq!(artifact(&object).revision, format!("main@sha1:{commit}"));
    assert!(server.requests(&repository, Operation::Fetch).unwrap() > 0);
    assert_eq!(bench.count_events("app", "Succeeded").await, 0);
}
