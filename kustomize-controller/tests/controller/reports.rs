//! Public bug reports that have no place among the other tests.

use serde_json::json;

use crate::harness::{Cluster, config_map, inventory};

/// F21: an object of the cluster without labels and annotations gets those of the source, and keeps the rest of
/// its metadata.
#[tokio::test]
async fn f21_labels_and_annotations_are_added_to_bare_metadata() {
    let Some(cluster) = Cluster::new("bare").await else {
        return;
    };
    let bare = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "finalizers": ["example.com/keep"]}, "data": {"key": "theirs"},
    });
    // What kubectl has set under its own name would be taken over.
    cluster.kubectl_with(
        &["create", "-f", "-", "--field-manager=somebody"],
        &bare.to_string(),
    );
    let before = cluster.config_maps().get("a").await.unwrap().metadata;
    assert!(before.labels.is_none() && before.annotations.is_none());
    let wanted = config_map("a", "1").replace(
        "metadata:\n",
        "metadata:\n  labels: {example.com/l: '1'}\n  annotations: {example.com/a: '2'}\n",
    );
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &wanted)])
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let after = cluster.config_maps().get("a").await.unwrap().metadata;
    assert_eq!(after.uid, before.uid);
    assert_eq!(after.finalizers, before.finalizers);
    assert_eq!(after.labels.unwrap()["example.com/l"], "1");
    assert_eq!(after.annotations.unwrap()["example.com/a"], "2");
    let patch = r#"{"metadata":{"finalizers":null}}"#;
    cluster.kubectl(&["patch", "configmap", "a", "--type=merge", "-p", patch]);
}

/// F22: a stray namespace on a cluster-scoped object does not mislead the wait.
#[tokio::test]
async fn f22_a_stray_namespace_on_a_cluster_scoped_object_is_ignored() {
    let Some(cluster) = Cluster::new("stray").await else {
        return;
    };
    let name = format!("{}-fast", cluster.namespace());
    let class = format!(
        "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {name}, namespace: somewhere}}\nprovisioner: example.com/none\n"
    );
    cluster
        .push("source", "main@sha1:1", &[("class.yaml", &class)])
        .await;
    cluster.create("apps", json!({"wait": true})).await;
    let object = cluster.ready("apps").await;
    assert_eq!(
        inventory(&object),
        [format!("_{name}_storage.k8s.io_StorageClass")]
    );
    // And it is found again, kept, and pruned.
    cluster.reconcile("apps").await;
    cluster.delete("apps").await;
    assert_eq!(
        cluster.kubectl(&["get", "storageclass", &name, "--ignore-not-found"]),
        ""
    );
}
