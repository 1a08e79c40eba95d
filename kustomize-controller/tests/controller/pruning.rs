//! What is deleted when it is no longer built, where the cluster has changed meanwhile.

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::json;

use crate::harness::{Cluster, PATIENCE, config_map, inventory, message};

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

/// F05: a namespace that the controllers run in, brought in by the transformer of namespaces, is not pruned, and
/// the condition says why. The Kustomization itself can be deleted.
#[tokio::test]
async fn f05_the_namespace_of_the_controllers_is_never_pruned() {
    let Some(cluster) = Cluster::new("own-namespace").await else {
        return;
    };
    // The controllers under test are told that they run there.
    let keep = config_map(cluster.namespace(), "1");
    let develop = "apiVersion: v1\nkind: Namespace\nmetadata: {name: develop}\n";
    let source = [("keep.yaml", keep.as_str()), ("namespace.yaml", develop)];
    cluster.push("source", "main@sha1:1", &source).await;
    cluster
        .create("apps", json!({"targetNamespace": "flux-system"}))
        .await;
    let object = cluster.ready("apps").await;
    assert!(inventory(&object).contains(&"_flux-system__Namespace".to_owned()));
    cluster.push("source", "main@sha1:2", &source[..1]).await;
    let object = cluster.failed("apps", "PruneFailed").await;
    let reason = "Namespace/flux-system delete refused: the controllers themselves run in it";
    assert!(message(&object).contains(reason), "{}", message(&object));
    assert!(inventory(&object).contains(&"_flux-system__Namespace".to_owned()));
    cluster.delete("apps").await;
    cluster
        .event(
            "apps",
            "Namespace/flux-system is left as it is: the controllers themselves run in it",
        )
        .await;
    let deleting = [
        "get",
        "namespace",
        "flux-system",
        "-o",
        "jsonpath={.metadata.deletionTimestamp}",
    ];
    assert_eq!(cluster.kubectl(&deleting), "");
    let api: Api<k8s_openapi::api::core::v1::ConfigMap> =
        Api::namespaced(cluster.client.clone(), "flux-system");
    sluice_testbed::wait::until_gone(&api, cluster.namespace(), PATIENCE)
        .await
        .unwrap();
}

/// A Kustomization that is renamed hands its objects over: the old one is deleted only when the new one has put
/// its labels on them.
#[tokio::test]
async fn a_renamed_kustomization_hands_its_objects_over() {
    let Some(cluster) = Cluster::new("renamed").await else {
        return;
    };
    let gate = config_map("gate", "1");
    let files = [("apps/a.yaml", config_map("a", "1")), ("gate/gate.yaml", gate)];
    let borrowed = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    cluster.push("source", "main@sha1:1", &borrowed).await;
    let spec = |path: &str| json!({"path": path, "targetNamespace": cluster.namespace()});
    cluster.create("old", spec("./apps")).await;
    cluster.ready("old").await;
    let before = cluster.config_maps().get("a").await.unwrap().metadata.uid;
    let mut renamed = spec("apps/");
    renamed["dependsOn"] = json!([{"name": "gate"}]);
    cluster.create("new", renamed).await;
    cluster.failed("new", "DependencyNotReady").await;
    let kustomizations = cluster.kustomizations();
    kustomizations
        .delete("old", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    // The new one is let through only now.
    cluster.create("gate", spec("./gate")).await;
    cluster.ready("new").await;
    sluice_testbed::wait::until_gone(&kustomizations, "old", PATIENCE)
        .await
        .unwrap();
    let after = cluster.config_maps().get("a").await.unwrap();
    assert_eq!(after.metadata.uid, before, "the object was deleted and made anew");
    assert_eq!(after.metadata.deletion_timestamp, None);
    assert_eq!(
        after.metadata.labels.unwrap()["kustomize.toolkit.fluxcd.io/name"],
        "new"
    );
}
