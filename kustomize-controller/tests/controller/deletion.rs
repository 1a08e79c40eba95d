//! The end of a Kustomization.

use serde_json::json;

use crate::harness::{Cluster, config_map};

async fn prepare(cluster: &Cluster, spec: serde_json::Value) {
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let mut merged = json!({"targetNamespace": cluster.namespace()});
    merged
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().cloned().unwrap());
    cluster.create("apps", merged).await;
    cluster.ready("apps").await;
}

/// KUS-062
#[tokio::test]
async fn kus_062_objects_go_with_their_kustomization_if_it_prunes() {
    for (prune, stays) in [(true, false), (false, true)] {
        let Some(cluster) = Cluster::new("deletes").await else {
            return;
        };
        prepare(&cluster, json!({"prune": prune})).await;
        cluster.delete("apps").await;
        assert_eq!(cluster.data("a", "key").await.is_some(), stays, "prune: {prune}");
    }
}

/// KUS-063
#[tokio::test]
async fn kus_063_the_deletion_policy_decides() {
    for (policy, prune, suspended, stays) in [
        ("Delete", false, false, false),
        ("WaitForTermination", false, false, false),
        ("Orphan", true, false, true),
        ("MirrorPrune", true, true, true),
    ] {
        let Some(cluster) = Cluster::new("policy").await else {
            return;
        };
        prepare(&cluster, json!({"prune": prune, "deletionPolicy": policy})).await;
        if suspended {
            cluster.edit("apps", json!({"suspend": true})).await;
        }
        cluster.delete("apps").await;
        assert_eq!(
            cluster.data("a", "key").await.is_some(),
            stays,
            "{policy}, prune {prune}, suspended {suspended}"
        );
    }
}

/// KUS-063: the Kustomization stays until its objects are gone.
#[tokio::test]
async fn kus_063_a_deletion_can_wait_for_its_objects() {
    let Some(cluster) = Cluster::new("terminates").await else {
        return;
    };
    prepare(
        &cluster,
        json!({"deletionPolicy": "WaitForTermination", "timeout": "10m"}),
    )
    .await;
    cluster.kubectl(&[
        "patch",
        "configmap",
        "a",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":["example.com/hold"]}}"#,
    ]);
    cluster.kubectl(&["delete", "kustomization", "apps", "--wait=false"]);
    cluster
        .event("apps", &format!("ConfigMap/{}/a deleted", cluster.namespace()))
        .await;
    assert!(cluster.kustomizations().get_opt("apps").await.unwrap().is_some());
    cluster.kubectl(&[
        "patch",
        "configmap",
        "a",
        "--type=merge",
        "-p",
        r#"{"metadata":{"finalizers":null}}"#,
    ]);
    sluice_testbed::wait::until_gone(&cluster.kustomizations(), "apps", crate::harness::PATIENCE)
        .await
        .unwrap();
}

/// KUS-064
#[tokio::test]
async fn kus_064_without_its_service_account_a_kustomization_leaves_its_objects() {
    let Some(cluster) = Cluster::new("orphans").await else {
        return;
    };
    cluster.kubectl(&["create", "serviceaccount", "deployer"]);
    cluster.kubectl(&["create", "role", "deployer", "--verb=*", "--resource=configmaps"]);
    cluster.kubectl(&[
        "create",
        "rolebinding",
        "deployer",
        "--role=deployer",
        &format!("--serviceaccount={}:deployer", cluster.namespace()),
    ]);
    prepare(&cluster, json!({"serviceAccountName": "deployer"})).await;
    cluster.kubectl(&["delete", "serviceaccount", "deployer"]);
    cluster.delete("apps").await;
    assert!(cluster.data("a", "key").await.is_some());
    assert!(cluster.log().contains("unable to prune objects"));
}
