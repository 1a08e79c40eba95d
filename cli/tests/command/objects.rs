//! One or two objects of each kind, with the status that its controller would give it.

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The objects of a kind.
pub(crate) fn api(
    client: &Client,
    namespace: &str,
    (api_version, kind, plural): (&str, &str, &str),
) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    Api::namespaced_with(client.clone(), namespace, &resource)
}

pub(crate) const GIT: (&str, &str, &str) =
    ("source.toolkit.fluxcd.io/v1", "GitRepository", "gitrepositories");
pub(crate) const KUSTOMIZATION: (&str, &str, &str) = (
    "kustomize.toolkit.fluxcd.io/v1",
    "Kustomization",
    "kustomizations",
);
pub(crate) const HELM_REPOSITORY: (&str, &str, &str) = (
    "source.toolkit.fluxcd.io/v1",
    "HelmRepository",
    "helmrepositories",
);
pub(crate) const BUCKET: (&str, &str, &str) = ("source.toolkit.fluxcd.io/v1", "Bucket", "buckets");
pub(crate) const ALERT: (&str, &str, &str) = ("notification.toolkit.fluxcd.io/v1beta3", "Alert", "alerts");

/// Creates an object, and gives it a status if there is one.
pub(crate) async fn create(
    api: &Api<DynamicObject>,
    (api_version, kind, _): (&str, &str, &str),
    name: &str,
    spec: Value,
    status: Value,
) {
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": api_version, "kind": kind, "spec": spec,
        "metadata": {"name": name, "labels": {"team": if name.ends_with("-b") { "b" } else { "a" }}},
    }))
    .unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
    if !status.is_null() {
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!([{"type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1}])
}

fn artifact(revision: &str) -> Value {
    json!({"revision": revision, "path": "p", "url": "http://source/p", "size": 1,
        "digest": format!("sha256:{DIGEST}"), "lastUpdateTime": "2026-01-02T03:04:05Z"})
}

/// Creates objects of all kinds.
pub(crate) async fn create_all(client: &Client, namespace: &str) {
    create_sources(client, namespace).await;
    create_appliers(client, namespace).await;
    create_images(client, namespace).await;
    create_notifications(client, namespace).await;
}

async fn create_sources(client: &Client, namespace: &str) {
    let interval = "1m";
    let git = api(client, namespace, GIT);
    let spec = json!({"url": "https://git.example.com/fleet", "interval": interval});
    let stored = format!("stored artifact for revision 'main@sha1:{COMMIT}'");
    let status = json!({"observedGeneration": 1, "artifact": artifact(&format!("main@sha1:{COMMIT}")),
        "conditions": ready("True", "Succeeded", &stored)});
    create(&git, GIT, "fleet-a", spec.clone(), status).await;
    let failed =
        json!({"conditions": ready("False", "GitOperationFailed", "failed to clone:\nno such host")});
    create(&git, GIT, "fleet-b", spec.clone(), failed).await;
    create(&git, GIT, "fresh", spec, Value::Null).await;

    let oci = ("source.toolkit.fluxcd.io/v1", "OCIRepository", "ocirepositories");
    let status = json!({"artifact": artifact(&format!("latest@sha256:{DIGEST}")),
        "conditions": ready("True", "Succeeded", &format!("stored artifact for digest 'latest@sha256:{DIGEST}'"))});
    let spec = json!({"url": "oci://registry.example.com/manifests", "interval": interval});
    create(&api(client, namespace, oci), oci, "manifests", spec, status).await;

    let spec =
        json!({"bucketName": "b", "endpoint": "s3.example.com", "interval": interval, "suspend": true});
    let status = json!({"artifact": artifact(&format!("sha256:{DIGEST}")),
        "conditions": ready("True", "Succeeded", &format!("stored artifact: revision 'sha256:{DIGEST}'"))});
    create(&api(client, namespace, BUCKET), BUCKET, "bucket", spec, status).await;

    let helm = api(client, namespace, HELM_REPOSITORY);
    let spec = json!({"url": "oci://registry.example.com/charts", "type": "oci"});
    create(&helm, HELM_REPOSITORY, "charts-oci", spec, Value::Null).await;

    let chart = ("source.toolkit.fluxcd.io/v1", "HelmChart", "helmcharts");
    let spec = json!({"chart": "app", "interval": interval, "sourceRef": {"kind": "HelmRepository", "name": "charts"}});
    let status = json!({"artifact": artifact("1.2.3"),
        "conditions": ready("True", "ChartPullSucceeded", "pulled 'app' chart with version '1.2.3'")});
    create(&api(client, namespace, chart), chart, "app", spec, status).await;

    let external = (
        "source.toolkit.fluxcd.io/v1",
        "ExternalArtifact",
        "externalartifacts",
    );
    let spec = json!({"sourceRef": {"apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator",
        "name": "generator", "namespace": "other"}});
    let status = json!({"artifact": artifact(&format!("latest@sha256:{DIGEST}")),
        "conditions": ready("True", "Succeeded", "Artifact is ready")});
    create(
        &api(client, namespace, external),
        external,
        "external",
        spec,
        status,
    )
    .await;

    let generator = (
        "source.extensions.fluxcd.io/v1beta1",
        "ArtifactGenerator",
        "artifactgenerators",
    );
    let spec = json!({"sources": [{"alias": "a", "kind": "GitRepository", "name": "fleet-a"}],
        "artifacts": [{"name": "external", "copy": [{"from": "@a/**", "to": "@artifact/"}]}]});
    let status = json!({"conditions": ready("True", "Succeeded", "reconciliation succeeded, generated 1 artifact(s)")});
    create(
        &api(client, namespace, generator),
        generator,
        "generator",
        spec,
        status,
    )
    .await;
}

async fn create_appliers(client: &Client, namespace: &str) {
    let kustomizations = api(client, namespace, KUSTOMIZATION);
    let mut spec = json!({"interval": "1m", "prune": true, "path": "./apps",
        "sourceRef": {"kind": "GitRepository", "name": "fleet-a"}});
    let revision = format!("main@sha1:{COMMIT}");
    let status = json!({"observedGeneration": 1, "lastAppliedRevision": revision,
        "conditions": ready("True", "ReconciliationSucceeded", &format!("Applied revision: {revision}"))});
    create(&kustomizations, KUSTOMIZATION, "apps-a", spec.clone(), status).await;
    spec["suspend"] = json!(true);
    spec["sourceRef"]["namespace"] = json!("other");
    let failed = json!({"conditions": ready("False", "BuildFailed", "kustomization path not found: ./apps")});
    create(&kustomizations, KUSTOMIZATION, "apps-b", spec, failed).await;

    let release = ("helm.toolkit.fluxcd.io/v2", "HelmRelease", "helmreleases");
    let spec = json!({"interval": "1m", "chart": {"spec": {"chart": "app",
        "sourceRef": {"kind": "HelmRepository", "name": "charts"}}}});
    let status = json!({"lastAttemptedRevision": "1.2.3",
        "conditions": ready("True", "InstallSucceeded", "Helm install succeeded for release shop/app.v1 with chart app@1.2.3")});
    create(&api(client, namespace, release), release, "app", spec, status).await;
}

async fn create_images(client: &Client, namespace: &str) {
    let repository = (
        "image.toolkit.fluxcd.io/v1",
        "ImageRepository",
        "imagerepositories",
    );
    let status = json!({"lastScanResult": {"tagCount": 7, "scanTime": "2026-01-02T03:04:05Z"},
        "conditions": ready("True", "Succeeded", "successful scan: found 7 tags")});
    let spec = json!({"image": "ghcr.io/acme/app", "interval": "1m"});
    create(
        &api(client, namespace, repository),
        repository,
        "app",
        spec,
        status,
    )
    .await;

    let policy = ("image.toolkit.fluxcd.io/v1", "ImagePolicy", "imagepolicies");
    let status = json!({"latestRef": {"name": "ghcr.io/acme/app", "tag": "1.2.3"},
        "conditions": ready("True", "Succeeded", "Latest image tag for ghcr.io/acme/app resolved to 1.2.3")});
    let spec = json!({"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": "*"}}});
    create(&api(client, namespace, policy), policy, "app", spec, status).await;

    let update = (
        "image.toolkit.fluxcd.io/v1",
        "ImageUpdateAutomation",
        "imageupdateautomations",
    );
    let status = json!({"lastAutomationRunTime": "2026-01-02T03:04:05Z",
        "conditions": ready("True", "Succeeded", "repository up-to-date")});
    let spec = json!({"interval": "1m", "sourceRef": {"kind": "GitRepository", "name": "fleet-a"},
        "git": {"commit": {"author": {"email": "bot@example.com"}}}});
    create(&api(client, namespace, update), update, "app", spec, status).await;
}

async fn create_notifications(client: &Client, namespace: &str) {
    let receiver = ("notification.toolkit.fluxcd.io/v1", "Receiver", "receivers");
    let message = format!("Receiver initialized for path: /hook/{DIGEST}");
    let status = json!({"conditions": ready("True", "Succeeded", &message)});
    let spec = json!({"type": "generic", "secretRef": {"name": "token"},
        "resources": [{"kind": "GitRepository", "name": "fleet-a"}]});
    create(&api(client, namespace, receiver), receiver, "push", spec, status).await;

    let provider = ("notification.toolkit.fluxcd.io/v1beta3", "Provider", "providers");
    let spec = json!({"type": "slack", "address": "https://hooks.example.com"});
    create(
        &api(client, namespace, provider),
        provider,
        "chat",
        spec,
        Value::Null,
    )
    .await;

    let spec =
        json!({"providerRef": {"name": "chat"}, "eventSources": [{"kind": "Kustomization", "name": "*"}]});
    create(
        &api(client, namespace, ALERT),
        ALERT,
        "on-call",
        spec,
        Value::Null,
    )
    .await;
}
