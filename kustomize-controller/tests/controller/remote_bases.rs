//! Kustomizations that name what lies elsewhere, from a Git server and a file server on the loopback address.

use serde_json::json;
use sluice_testbed::files::FileServer;
use sluice_testbed::git::{GitServer, Operation};

use crate::harness::{Cluster, config_map, message};

/// KUS-029: a remote base and a remote file are built and applied, and follow what they name at each reconcile.
#[tokio::test]
async fn kus_029_remote_bases_are_fetched_at_each_reconcile() {
    let Some(cluster) = Cluster::new("bases").await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("shared").unwrap();
    let base = "resources: [a.yaml]\n";
    let files = [
        ("base/kustomization.yaml", base),
        ("base/a.yaml", &config_map("a", "1")),
    ];
    repository.commit_files("base", &files).unwrap();
    let file = FileServer::start().unwrap().put("/b.yaml", config_map("b", "2"));
    let url = repository.url().to_owned();
    let kustomization = format!("resources: ['{url}//base?ref=main', '{file}']\n");
    cluster
        .push("source", "main@sha1:1", &[("kustomization.yaml", &kustomization)])
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("1"));
    assert_eq!(cluster.data("b", "key").await.as_deref(), Some("2"));
    repository
        .commit_files("change", &[("base/a.yaml", &config_map("a", "3"))])
        .unwrap();
    cluster.reconcile("apps").await;
    assert_eq!(cluster.data("a", "key").await.as_deref(), Some("3"));
    repository
        .commit_files(
            "break",
            &[("base/kustomization.yaml", "resources: [gone.yaml]\n")],
        )
        .unwrap();
    cluster.reconcile("apps").await;
    let object = cluster.failed("apps", "BuildFailed").await;
    let said = message(&object);
    assert!(
        said.contains("kustomize build failed") && said.contains("gone.yaml") && said.contains(&url),
        "{said}"
    );
}

/// KUS-029: with the flag nothing is even asked for.
#[tokio::test]
async fn kus_029_remote_bases_can_be_forbidden() {
    let Some(cluster) = Cluster::with_flags("bases", &["--no-remote-bases"]).await else {
        return;
    };
    let server = GitServer::start().unwrap();
    let mut repository = server.create_repository("shared").unwrap();
    repository
        .commit_files("base", &[("kustomization.yaml", "namePrefix: a-\n")])
        .unwrap();
    let files = FileServer::start().unwrap();
    let file = files.put("/b.yaml", config_map("b", "2"));
    server.reset_requests().unwrap();
    for (name, address) in [("base", repository.url()), ("file", file.as_str())] {
        let kustomization = format!("resources: ['{address}']\n");
        let source = format!("source-{name}");
        cluster
            .push(&source, "main@sha1:1", &[("kustomization.yaml", &kustomization)])
            .await;
        let reference = json!({"kind": "GitRepository", "name": source});
        cluster.create(name, json!({"sourceRef": reference})).await;
        let object = cluster.failed(name, "BuildFailed").await;
        let said = message(&object);
        for part in [
            "kustomize build failed",
            "fs-security-constraint",
            "is not in or below",
            address,
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    assert_eq!(server.requests(&repository, Operation::Refs).unwrap(), 0);
    assert_eq!(server.requests(&repository, Operation::Other).unwrap(), 0);
    assert_eq!(files.requests(), [] as [&str; 0]);
}
