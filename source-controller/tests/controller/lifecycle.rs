//! What happens to artifacts over time.

use kube::api::DeleteParams;
use serde_json::json;
use sluice_testbed::git::GitServer;
use sluice_testbed::wait;

use crate::support::{Bench, PATIENCE, artifact, condition, conditions};

#[tokio::test]
async fn old_artifacts_are_removed_with_their_locks() {
    // SRC-017
    let Some(bench) = Bench::start(&["--artifact-retention-ttl=1h", "--artifact-retention-records=2"]).await
    else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    let mut commit = repository.commit_files("Commit", &[("a.yaml", "0")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    bench.ready("app").await;
    let mut commits = vec![commit.clone()];
    for count in 1..5 {
        commit = repository
            .commit_files("Commit", &[("a.yaml", &count.to_string())])
            .unwrap();
        commits.push(commit.clone());
        bench.reconcile("app").await;
    }
    bench.reconcile("app").await;
    let mut expected: Vec<String> = commits[3..]
        .iter()
        .flat_map(|commit| [format!("{commit}.tar.gz"), format!("{commit}.tar.gz.lock")])
        .collect();
    expected.sort();
    assert_eq!(bench.stored("app"), expected);
    bench.event("app", "GarbageCollectionSucceeded").await;
}

#[tokio::test]
async fn a_corrupted_artifact_is_found_and_built_anew() {
    // SRC-018
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let before = artifact(&bench.ready("app").await);
    let file = bench.storage.path().join(&before.path);
    std::fs::write(&file, "something else").unwrap();

    let after = artifact(&bench.reconcile("app").await);
    assert_eq!(after.digest, before.digest);
    assert_eq!(after.size, before.size);
    assert_eq!(
        std::fs::metadata(&file).unwrap().len() as i64,
        before.size.unwrap()
    );
    let event = bench.event("app", "ArtifactVerificationFailed").await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(
        event.message,
        Some(format!(
            "failed to verify integrity of artifact: computed digest doesn't match '{}'",
            before.digest
        ))
    );
    // The bytes are what they were: no new artifact is announced.
    assert_eq!(bench.count_events("app", "NewArtifact").await, 1);
}

#[tokio::test]
async fn a_restart_with_an_empty_storage_fetches_again() {
    // SRC-019, F35, COM-029
    let Some(mut bench) = Bench::start(&[]).await else {
        return;
    };
    let mut server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let before = artifact(&bench.ready("app").await);
    bench.stop();
    std::fs::remove_dir_all(bench.storage.path().join("gitrepository")).unwrap();
    // Without the server nothing can be fetched: what consumers see meanwhile is on show.
    server.stop().unwrap();
    bench.restart();
    let object = bench
        .until("app", "the loss is noticed", |object| {
            condition(object, "FetchFailed").is_some() && condition(object, "ArtifactInStorage").is_none()
        })
        .await;
    assert_eq!(object.status.as_ref().unwrap().artifact, None);

    let mut second = GitServer::start().unwrap();
    let mut copy = second.create_repository("app").unwrap();
    copy.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.patch_spec("app", json!({"url": copy.url()})).await;
    let after = artifact(&bench.ready("app").await);
    assert_eq!(after.digest, before.digest);
    assert_eq!(after.revision, before.revision);
    bench.download(&after).await;
    second.stop().unwrap();
}

#[tokio::test]
async fn a_moved_server_shows_in_the_artifact_s_url() {
    let Some(mut bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let before = artifact(&bench.ready("app").await);
    // The new process serves on another port.
    bench.restart();
    let object = bench
        .until("app", "the new address", |object| {
            artifact(object).url != before.url
        })
        .await;
    let after = artifact(&object);
    assert_eq!(
        (&after.digest, &after.last_update_time),
        (&before.digest, &before.last_update_time)
    );
    bench.download(&after).await;
}

#[tokio::test]
async fn a_deleted_object_takes_its_artifacts_along() {
    // SRC-020, COM-008
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    for name in ["app", "app-2"] {
        bench.create(name, repository.url(), json!({})).await;
        bench.ready(name).await;
    }
    // A suspended object is cleaned up after as well.
    bench.patch_spec("app", json!({"suspend": true})).await;
    bench.api.delete("app", &DeleteParams::default()).await.unwrap();
    wait::until_gone(&bench.api, "app", PATIENCE).await.unwrap();
    assert!(!bench.directory("app").exists());
    assert!(bench.directory("app-2").exists());
    let event = bench.event("app", "GarbageCollectionSucceeded").await;
    assert_eq!(
        event.message.as_deref(),
        Some("garbage collected artifacts for deleted resource")
    );
}

#[tokio::test]
async fn a_suspended_object_is_left_alone_and_resumed_at_once() {
    // COM-006, COM-008
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    for name in ["app", "other"] {
        bench.create(name, repository.url(), json!({})).await;
        bench.ready(name).await;
    }
    bench.patch_spec("app", json!({"suspend": true})).await;
    let commit = repository.commit_files("Second", &[("a.yaml", "2")]).unwrap();
    let suspended = bench.api.get("app").await.unwrap();
    bench.request("app").await;
    // Another object's reconcile, asked for later, has ended: this one's would have too.
    bench.reconcile("other").await;
    bench.reconcile("other").await;
    // As in Flux only the generation and the request are noted; nothing is fetched.
    let left = bench.api.get("app").await.unwrap();
    assert_eq!(artifact(&left), artifact(&suspended));
    assert_eq!(conditions(&left), conditions(&suspended));

    bench.patch_spec("app", json!({"suspend": false})).await;
    let object = bench
        .until("app", "the new commit", |object| {
            artifact(object).revision == format!("main@sha1:{commit}")
        })
        .await;
    assert!(condition(&object, "Stalled").is_none());
}

#[tokio::test]
async fn a_look_that_finds_nothing_new_costs_one_status_patch() {
    // COM-030, COM-031
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench
        .create("app", repository.url(), json!({"interval": "1s"}))
        .await;
    let object = bench.ready("app").await;
    let owners: Vec<String> = object
        .metadata
        .managed_fields
        .clone()
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| entry.subresource.as_deref() == Some("status"))
        .filter_map(|entry| entry.manager)
        .collect();
    assert_eq!(owners, ["source-controller"]);

    // Nothing is written while nothing changes: the object's version stays over several intervals.
    let version = |object: &sluice_api::source::GitRepository| object.metadata.resource_version.clone();
    let settled = bench.api.get("app").await.unwrap();
    let looks = || {
        bench
            .log()
            .matches("no changes since last reconciliation")
            .count()
    };
    let seen = looks();
    wait::until_some(PATIENCE, "three more looks", || async {
        (looks() >= seen + 3).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(version(&bench.api.get("app").await.unwrap()), version(&settled));
}
