//! The process as a whole.

use serde_json::json;
use sluice_testbed::git::GitServer;
use sluice_testbed::process::End;

use crate::support::{Bench, PATIENCE, artifact};

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
