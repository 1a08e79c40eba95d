//! The process as a whole.

use std::time::Duration;

use serde_json::json;
use sluice_testbed::git::GitServer;
use sluice_testbed::process::{End, free_port};

use crate::support::{Bench, PATIENCE, artifact, condition, conditions};

#[tokio::test]
async fn configuration_that_cannot_be_used_ends_the_process_with_one() {
    // COM-025
    let Some(bench) = Bench::start(&[]).await else {
        return;
    };
    let missing = bench.storage.path().join("missing");
    let cases: [(&[&str], &str); 3] = [
        (&["--feature-gates=Foo=true"], "feature-gate 'Foo' not supported"),
        (&["--storage-path", missing.to_str().unwrap()], "invalid dir path"),
        (
            &["--default-service-account=robot"],
            "ObjectLevelWorkloadIdentity",
        ),
    ];
    for (arguments, text) in cases {
        let addresses = [
            "--metrics-addr=127.0.0.1:0",
            "--health-addr=127.0.0.1:0",
            "--storage-addr=127.0.0.1:0",
        ];
        let mut process = bench
            .program()
            .arguments(addresses)
            .arguments(arguments)
            .start()
            .unwrap();
        assert_eq!(process.wait(PATIENCE).unwrap(), End::Code(1), "{arguments:?}");
        assert!(process.log().contains(text), "{}", process.log());
    }
}

#[tokio::test]
async fn a_killed_process_goes_on_where_it_was() {
    // COM-029
    let Some(mut bench) = Bench::start(&[]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let before = artifact(&bench.ready("app").await);
    bench.controller.take().unwrap().kill().unwrap();
    let left = bench
        .storage
        .path()
        .join(&before.path)
        .with_file_name(".half.tar.gz.x.tmp");
    std::fs::write(&left, "half").unwrap();
    bench.restart();
    assert!(!left.exists(), "what a killed process left is swept");
    let after = artifact(&bench.reconcile("app").await);
    assert_eq!(
        (after.digest, after.last_update_time),
        (before.digest, before.last_update_time)
    );

    let mut controller = bench.controller.take().unwrap();
    assert_eq!(controller.terminate(PATIENCE).unwrap(), End::Code(0));
}

/// The time between SIGTERM and SIGKILL in the Deployment that Flux ships.
const POD_GRACE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_fetch_that_hangs_does_not_hold_up_the_end() {
    // COM-029
    let Some(mut bench) = Bench::start(&[]).await else {
        return;
    };
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/app", silent.local_addr().unwrap());
    bench.create("app", &url, json!({"timeout": "10m"})).await;
    let connection = tokio::time::timeout(PATIENCE, silent.accept())
        .await
        .unwrap()
        .unwrap();
    let mut controller = bench.controller.take().unwrap();
    assert_eq!(
        controller.terminate(POD_GRACE).unwrap(),
        End::Code(0),
        "{}",
        controller.log()
    );
    drop(connection);
    let object = bench.api.get("app").await.unwrap();
    assert!(
        condition(&object, "FetchFailed").is_none(),
        "what the end broke off is no failure of the object: {:?}",
        conditions(&object)
    );
    let left = std::fs::read_dir(bench.scratch()).unwrap().flatten();
    let left: usize = left
        .map(|entry| std::fs::read_dir(entry.path()).unwrap().count())
        .sum();
    assert_eq!(left, 0, "the fetch was cleaned up");
}

#[tokio::test]
async fn only_the_leader_serves_artifacts_and_a_successor_makes_them_again() {
    // SRC-019, SRC-055, COM-022
    let flags = ["--enable-leader-election", "--leader-election-retry-period=500ms"];
    let Some(mut bench) = Bench::start(&flags).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("app").unwrap();
    repository.commit_files("First", &[("a.yaml", "1")]).unwrap();
    bench.create("app", repository.url(), json!({})).await;
    let before = artifact(&bench.ready("app").await);

    // A pod has a volume of its own.
    let volume = tempfile::tempdir().unwrap();
    let ports: Vec<u16> = (0..3).map(|_| free_port().unwrap()).collect();
    let mut follower = bench
        .program()
        .argument("--storage-path")
        .argument(volume.path())
        .argument(format!("--metrics-addr=127.0.0.1:{}", ports[0]))
        .argument(format!("--health-addr=127.0.0.1:{}", ports[1]))
        .argument(format!("--storage-addr=127.0.0.1:{}", ports[2]))
        .start()
        .unwrap();
    follower
        .wait_for_http(&format!("http://127.0.0.1:{}/readyz", ports[1]), PATIENCE)
        .unwrap();
    let address = format!("http://127.0.0.1:{}/", ports[2]);
    // The Deployment's readiness probe asks this, and waits a second.
    let probe = bench
        .http
        .get(&address)
        .timeout(Duration::from_secs(1))
        .send()
        .await;
    assert!(
        probe.is_err(),
        "a follower answers the readiness probe: {probe:?}"
    );
    bench.download(&before).await;

    let mut leader = bench.controller.take().unwrap();
    assert_eq!(leader.terminate(POD_GRACE).unwrap(), End::Code(0));
    follower.wait_for_http(&address, PATIENCE).unwrap();
    bench.controller = Some(follower);
    bench.request("app").await;
    let own = format!("http://127.0.0.1:{}/", ports[2]);
    let object = bench
        .until("app", "the successor's artifact", |object| {
            let artifact = object.status.as_ref().and_then(|status| status.artifact.as_ref());
            artifact.is_some_and(|artifact| artifact.url.starts_with(&own))
        })
        .await;
    let after = artifact(&object);
    assert_eq!(
        (&after.digest, &after.revision),
        (&before.digest, &before.revision)
    );
    bench.download(&after).await;
}
