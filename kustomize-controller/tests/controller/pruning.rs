//! What is deleted when it is no longer built, where the cluster has changed meanwhile.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::json;

use crate::harness::{Cluster, PATIENCE, config_map, inventory};

/// A definition of the kind `Thing` in a group of its own, served in these versions, the last one stored.
fn definition(group: &str, versions: &[&str]) -> String {
    let last = versions.last();
    let versions: Vec<_> = versions
        .iter()
        .map(|version| {
            let schema =
                json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
            json!({"name": version, "served": true, "storage": Some(version) == last, "schema": schema})
        })
        .collect();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("things.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": versions,
        },
    });
    definition.to_string()
}

fn thing(group: &str) -> String {
    format!("apiVersion: {group}/v1\nkind: Thing\nmetadata: {{name: thing}}\n")
}

/// KUS-011: entries of kinds that are gone do not block a prune, and those of versions that are gone are found
/// in another version.
#[tokio::test]
async fn kus_011_gone_kinds_and_versions_do_not_block_a_prune() {
    let Some(cluster) = Cluster::new("gone").await else {
        return;
    };
    let namespace = cluster.namespace();
    let groups = ["kind", "version"].map(|part| format!("{part}.{namespace}.example.com"));
    for group in &groups {
        cluster.kubectl_with(&["apply", "-f", "-"], &definition(group, &["v1"]));
        cluster.kubectl(&[
            "wait",
            "--for=condition=Established",
            &format!("crd/things.{group}"),
        ]);
    }
    let files = groups.clone().map(|group| thing(&group));
    let (keep, push) = (config_map("keep", "1"), ["kind.yaml", "version.yaml"]);
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[(push[0], &files[0]), (push[1], &files[1]), ("keep.yaml", &keep)],
        )
        .await;
    cluster
        .create("apps", json!({"targetNamespace": namespace}))
        .await;
    assert_eq!(inventory(&cluster.ready("apps").await).len(), 3);

    cluster.kubectl(&["delete", "crd", &format!("things.{}", groups[0])]);
    let name = format!("things.{}", groups[1]);
    cluster.kubectl_with(&["apply", "-f", "-"], &definition(&groups[1], &["v1", "v2"]));
    // What is stored in the old version has to be written anew before that can go.
    let thing = format!("things.v1.{}/thing", groups[1]);
    cluster.kubectl(&["annotate", &thing, "example.com/written=anew"]);
    cluster.kubectl(&[
        "patch",
        "crd",
        &name,
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"storedVersions":["v2"]}}"#,
    ]);
    cluster.kubectl_with(&["apply", "-f", "-"], &definition(&groups[1], &["v2"]));
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(&groups[1], "v2", "Thing"), "things");
    let things: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), namespace, &resource);
    let count = async || {
        things
            .list(&ListParams::default())
            .await
            .ok()
            .map(|list| list.items.len())
    };
    sluice_testbed::wait::until_some(PATIENCE, "the new version to be served", count)
        .await
        .unwrap();
    assert_eq!(count().await, Some(1));
    cluster
        .push("source", "main@sha1:2", &[("keep.yaml", &keep)])
        .await;
    let object = cluster.applied("apps", "main@sha1:2").await;
    assert_eq!(inventory(&object), [format!("{namespace}_keep__ConfigMap")]);
    assert_eq!(count().await, Some(0));
    cluster.kubectl(&["delete", "crd", &name]);
}
