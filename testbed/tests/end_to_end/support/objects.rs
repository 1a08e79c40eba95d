//! The objects that tests make and look at, as the API server gives them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use sluice_testbed::wait;

/// Any object.
pub(crate) type Object = DynamicObject;

const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// The objects of a kind in a namespace.
pub(crate) fn namespaced(
    client: &Client,
    namespace: &str,
    (api_version, kind, plural): (&str, &str, &str),
) -> Api<Object> {
    Api::namespaced_with(client.clone(), namespace, &resource(api_version, kind, plural))
}

/// Kustomizations.
pub(crate) fn kustomizations(client: &Client, namespace: &str) -> Api<Object> {
    namespaced(
        client,
        namespace,
        (
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            "kustomizations",
        ),
    )
}

/// GitRepositories.
pub(crate) fn git_repositories(client: &Client, namespace: &str) -> Api<Object> {
    namespaced(
        client,
        namespace,
        ("source.toolkit.fluxcd.io/v1", "GitRepository", "gitrepositories"),
    )
}

/// ConfigMaps.
pub(crate) fn config_maps(client: &Client, namespace: &str) -> Api<Object> {
    namespaced(client, namespace, ("v1", "ConfigMap", "configmaps"))
}

/// Deployments.
pub(crate) fn deployments(client: &Client, namespace: &str) -> Api<Object> {
    namespaced(client, namespace, ("apps/v1", "Deployment", "deployments"))
}

/// Secrets.
pub(crate) fn secrets(client: &Client, namespace: &str) -> Api<Object> {
    namespaced(client, namespace, ("v1", "Secret", "secrets"))
}

/// Events.
pub(crate) fn events(client: &Client, namespace: &str) -> Api<Object> {
    namespaced(client, namespace, ("v1", "Event", "events"))
}

/// Namespaces.
pub(crate) fn namespaces(client: &Client) -> Api<Object> {
    Api::all_with(client.clone(), &resource("v1", "Namespace", "namespaces"))
}

/// Custom resource definitions.
pub(crate) fn definitions(client: &Client) -> Api<Object> {
    let resource = resource(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    );
    Api::all_with(client.clone(), &resource)
}

/// A GitRepository of the branch main.
pub(crate) fn git_repository(name: &str, url: &str) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": name},
        "spec": {"interval": "10m", "url": url, "ref": {"branch": "main"}},
    })
}

/// A Kustomization of a GitRepository in the same namespace, whose objects go there too.
pub(crate) fn kustomization(name: &str, source: &str, path: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": name},
        "spec": {
            "interval": "10m", "retryInterval": "2s", "timeout": "2m", "prune": true, "path": path,
            "targetNamespace": namespace, "sourceRef": {"kind": "GitRepository", "name": source},
        },
    })
}

/// A ConfigMap as YAML.
pub(crate) fn config_map_yaml(name: &str, value: impl std::fmt::Display) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: \"{value}\"\n")
}

/// Applies an object as a user would.
pub(crate) async fn apply(api: &Api<Object>, object: &Value) -> Object {
    let name = object["metadata"]["name"].as_str().unwrap();
    api.patch(name, &PatchParams::apply("test").force(), &Patch::Apply(object))
        .await
        .unwrap()
}

/// Asks for a reconcile now, and gives the token by which the status will say that it was done.
pub(crate) async fn request(api: &Api<Object>, name: &str) -> String {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let token = format!(
        "request-{}-{}",
        std::process::id(),
        SERIAL.fetch_add(1, Ordering::Relaxed)
    );
    let patch = json!({"metadata": {"annotations": {REQUESTED_AT: token}}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    token
}

/// Asks for a reconcile now and waits for its end.
pub(crate) async fn reconcile(api: &Api<Object>, name: &str, timeout: Duration) -> Object {
    let token = request(api, name).await;
    let handled = |object: &Object| object.data["status"]["lastHandledReconcileAt"] == token.as_str();
    wait::until(api, name, timeout, "the request handled", handled)
        .await
        .unwrap()
}

/// The revision of a branch's commit.
pub(crate) fn revision(commit: &str) -> String {
    format!("main@sha1:{commit}")
}

/// True if a Kustomization is ready, settled, and has applied the revision.
pub(crate) fn has_applied(object: &Object, revision: &str) -> bool {
    wait::is_ready(object)
        && object.data["status"]["lastAppliedRevision"] == revision
        && object.data["status"]["observedGeneration"] == json!(object.metadata.generation)
        && wait::condition(object, "Reconciling").is_none()
}

/// True if a GitRepository is ready and has an artifact of the revision.
pub(crate) fn has_fetched(object: &Object, revision: &str) -> bool {
    wait::is_ready(object) && object.data["status"]["artifact"]["revision"] == revision
}

/// A condition's part, such as `reason`; empty if there is none.
pub(crate) fn condition_text(object: &Object, condition_type: &str, part: &str) -> String {
    let condition = wait::condition(object, condition_type).unwrap_or_default();
    condition[part].as_str().unwrap_or_default().to_owned()
}

/// The ids in a Kustomization's inventory.
pub(crate) fn inventory(object: &Object) -> BTreeSet<String> {
    let entries = object.data["status"]["inventory"]["entries"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The ConfigMaps of a namespace that carry the owner label of any Kustomization of the namespace `owner`.
pub(crate) async fn owned_config_maps(client: &Client, namespace: &str, owner: &str) -> Vec<Object> {
    let selector = format!("kustomize.toolkit.fluxcd.io/namespace={owner}");
    let list = config_maps(client, namespace)
        .list(&ListParams::default().labels(&selector))
        .await
        .unwrap();
    list.items
}

/// The inventory id of a ConfigMap.
pub(crate) fn config_map_id(namespace: &str, name: &str) -> String {
    format!("{namespace}_{name}__ConfigMap")
}

/// The messages of the events about an object.
pub(crate) async fn event_messages(client: &Client, namespace: &str, kind: &str, name: &str) -> Vec<String> {
    let selector = format!("involvedObject.kind={kind},involvedObject.name={name}");
    let list = events(client, namespace)
        .list(&ListParams::default().fields(&selector))
        .await
        .unwrap();
    list.items
        .iter()
        .map(|event| event.data["message"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Waits until an event about an object says something.
pub(crate) async fn wait_for_event(client: &Client, namespace: &str, (kind, name): (&str, &str), text: &str) {
    let api = events(client, namespace);
    let what = format!("an event of {kind}/{name} that says {text:?}");
    let found = |events: &[Object]| {
        events.iter().any(|event| {
            event.data["involvedObject"]["kind"] == kind
                && event.data["involvedObject"]["name"] == name
                && event.data["message"]
                    .as_str()
                    .is_some_and(|message| message.contains(text))
        })
    };
    if let Err(error) = wait::until_all(&api, Duration::from_secs(30), &what, found).await {
        panic!(
            "{error}; there are {:#?}",
            event_messages(client, namespace, kind, name).await
        );
    }
}

/// Namespace and name, to compare sets of objects.
pub(crate) fn names(objects: &[Object]) -> BTreeSet<String> {
    objects.iter().map(|object| object.name_any()).collect()
}
