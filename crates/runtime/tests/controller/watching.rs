//! Watches of other kinds, objects that cannot be read.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, CustomResource};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sluice_runtime::store::Store;
use sluice_runtime::telemetry::Metrics;
use sluice_runtime::watch::{self, Scope, version_changed};
use sluice_runtime::{Cause, ObjectKey, Reference};
use sluice_testbed::wait;

use crate::harness::{Boxed, Options, PATIENCE, plane, start, succeed};

#[tokio::test]
async fn a_labelled_secret_wakes_those_that_refer_to_it_and_only_them() {
    let Some(plane) = plane().await else { return };
    let extend = |manager: &mut sluice_runtime::Manager, reconciler| {
        let secrets = manager.watch_metadata::<Secret>("reconcile.fluxcd.io/watch=Enabled");
        manager
            .controller(Boxed(reconciler))
            .references(|object| {
                let namespace = object.metadata.namespace.clone().unwrap_or_default();
                let secret = object.spec.secret_ref.iter();
                secret
                    .map(|secret| Reference::new("Secret", &namespace, &secret.name))
                    .collect()
            })
            .wakes(&secrets, Cause::Configuration, version_changed)
            .register()
    };
    let running = start(
        plane,
        Options {
            extend: Box::new(extend),
            ..Options::default()
        },
        succeed,
    )
    .await;
    let secrets: Api<Secret> = Api::namespaced(running.client.clone(), running.namespace.name());
    for (name, label) in [("watched", "Enabled"), ("unwatched", "No")] {
        let secret = json!({"metadata": {"name": name, "labels": {"reconcile.fluxcd.io/watch": label}}});
        secrets
            .create(&PostParams::default(), &serde_json::from_value(secret).unwrap())
            .await
            .unwrap();
    }
    for (name, secret) in [("a", "watched"), ("b", "unwatched"), ("c", "watched")] {
        running
            .create_with(name, json!({"secretRef": {"name": secret}}))
            .await;
        running.until_ready(name).await;
    }
    running.until_idle().await;
    let before: Vec<usize> = ["a", "b", "c"]
        .iter()
        .map(|name| running.reconciles(name))
        .collect();
    for name in ["unwatched", "watched"] {
        let patch = json!({"stringData": {"key": "new"}});
        secrets
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap();
    }
    let calls = running
        .until_called("both are woken", |calls| {
            ["a", "c"]
                .iter()
                .all(|name| calls.iter().filter(|call| call.name == *name).count() > before[0])
        })
        .await;
    assert_eq!(calls.last().unwrap().causes, Cause::Configuration.into());
    running.until_idle().await;
    assert_eq!(running.reconciles("b"), before[1]);
    // An object that no longer refers to it is not woken.
    running.patch("a", json!({"spec": {"secretRef": null}})).await;
    let edited = running.until_ready("a").await;
    running.until_seen(&edited).await;
    running.until_idle().await;
    let count = running.reconciles("a");
    let patch = json!({"stringData": {"key": "newer"}});
    secrets
        .patch("watched", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    running
        .until_called("the other one is woken again", |calls| {
            calls.iter().filter(|call| call.name == "c").count() == before[2] + 2
        })
        .await;
    assert_eq!(running.reconciles("a"), count);
    running.stop().await;
}

/// A kind whose schema admits more than its type.
#[derive(Clone, Debug, Deserialize, Serialize, CustomResource)]
#[kube(
    group = "runtime-test.sluice.dev",
    version = "v1",
    kind = "Widget",
    namespaced,
    schema = "disabled"
)]
struct WidgetSpec {
    size: u32,
}

fn widget_definition() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": "widgets.runtime-test.sluice.dev"},
        "spec": {
            "group": "runtime-test.sluice.dev", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn an_object_that_cannot_be_read_does_not_end_the_watch() {
    let Some(plane) = plane().await else { return };
    let client = plane.client().await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions
        .create(&PostParams::default(), &widget_definition())
        .await
        .unwrap();
    wait::until(
        &definitions,
        "widgets.runtime-test.sluice.dev",
        PATIENCE,
        "Established",
        |definition| wait::has_condition(definition, "Established", "True"),
    )
    .await
    .unwrap();
    let namespace = plane.namespace("widgets").await.unwrap();
    let metrics = Metrics::new().unwrap();
    let store: Store<Widget> = Store::default();
    let scope = Scope {
        namespace: Some(namespace.name().to_owned()),
        labels: None,
    };
    let raw: Api<kube::core::DynamicObject> = Api::namespaced_with(
        client.clone(),
        namespace.name(),
        &kube::core::ApiResource::erase::<Widget>(&()),
    );
    let create = async |name: &str, size: serde_json::Value| {
        let object = json!({
            "apiVersion": "runtime-test.sluice.dev/v1", "kind": "Widget",
            "metadata": {"name": name}, "spec": {"size": size},
        });
        raw.create(&PostParams::default(), &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
    };
    create("bad", json!("huge")).await;
    create("good", json!(1)).await;
    let task = tokio::spawn(watch::watch(
        client.clone(),
        scope,
        store.clone(),
        metrics.clone(),
    ));
    tokio::time::timeout(PATIENCE, store.synced()).await.unwrap();
    let size = |name: &str| {
        store
            .get(&ObjectKey::new(namespace.name(), name))
            .map(|widget| widget.spec.size)
    };
    assert_eq!((size("good"), size("bad")), (Some(1), None));
    create("later", json!(2)).await;
    wait::until_some(PATIENCE, "the next object", || async { size("later") })
        .await
        .unwrap();
    let patch = json!({"spec": {"size": "broken"}});
    raw.patch("good", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    let patch = json!({"spec": {"size": 3}});
    raw.patch("bad", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    wait::until_some(PATIENCE, "the corrected object", || async { size("bad") })
        .await
        .unwrap();
    assert_eq!(size("good"), Some(1), "the last state that could be read stays");
    let text = String::from_utf8(metrics.encode().unwrap()).unwrap();
    assert!(
        text.contains("sluice_malformed_objects_total{kind=\"Widget\"} 2"),
        "{text}"
    );
    task.abort();
}
