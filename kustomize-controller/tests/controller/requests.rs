//! What a reconcile costs, from the audit log.

use std::collections::BTreeMap;

use serde_json::json;

use crate::harness::{Cluster, config_map, version};

/// KUS-005: an unchanged Kustomization costs a read and a dry run per object, and one status patch. The
/// constant besides is one: the event that says that it has finished.
#[tokio::test]
async fn kus_005_an_unchanged_kustomization_writes_nothing_but_its_status() {
    let Some(cluster) = Cluster::new("unchanged").await else {
        return;
    };
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: web}\n";
    cluster
        .push(
            "source",
            "main@sha1:1",
            &[("a.yaml", &config_map("a", "1")), ("b.yaml", account)],
        )
        .await;
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    cluster.event("apps", "Reconciliation finished in").await;
    let before = version(&cluster.config_maps().get("a").await.unwrap());
    let audit = cluster.audit().await;
    let mark = audit.mark().await.unwrap();
    let object = cluster.reconcile("apps").await;
    let requests = cluster
        .own_requests_since(&audit, mark, 1)
        .await
        .filter(|request| request.resource != "events");
    let counts: BTreeMap<String, usize> = requests.iter().fold(BTreeMap::new(), |mut counts, request| {
        let dry = if request.is_dry_run() { " (dry run)" } else { "" };
        *counts
            .entry(format!(
                "{} {} {}{dry}",
                request.verb, request.resource, request.subresource
            ))
            .or_default() += 1;
        counts
    });
    let expected = [
        ("get configmaps ", 1),
        ("get serviceaccounts ", 1),
        ("patch configmaps  (dry run)", 1),
        ("patch kustomizations status", 1),
        ("patch serviceaccounts  (dry run)", 1),
    ];
    assert_eq!(
        counts,
        expected.map(|(text, count)| (text.to_owned(), count)).into()
    );
    assert_eq!(version(&cluster.config_maps().get("a").await.unwrap()), before);
    assert_eq!(object.status.unwrap().history[0].total_reconciliations, 2);
}

/// The inventory lists everything before the first object is written.
#[tokio::test]
async fn the_inventory_is_announced_before_anything_is_applied() {
    let Some(cluster) = Cluster::new("announced").await else {
        return;
    };
    cluster
        .push("source", "main@sha1:1", &[("a.yaml", &config_map("a", "1"))])
        .await;
    let audit = cluster.audit().await;
    let mark = audit.mark().await.unwrap();
    cluster
        .create("apps", json!({"targetNamespace": cluster.namespace()}))
        .await;
    cluster.ready("apps").await;
    let requests = cluster.own_requests_since(&audit, mark, 2).await;
    let writes: Vec<String> = requests
        .writes()
        .iter()
        .filter(|request| request.resource != "events" && !request.is_dry_run())
        .map(|request| format!("{} {}/{}", request.verb, request.resource, request.subresource))
        .collect();
    let finalizer = "patch kustomizations/";
    let status = "patch kustomizations/status";
    assert_eq!(writes, [finalizer, status, "patch configmaps/", status]);
}
