//! The manifests in `config/` make a working installation.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests fail and report this way"
)]

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use sluice_api::crd;
use sluice_kustomize::{BuildOptions, build};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::{tools, wait};
use sluice_vfs::{MemoryFileSystem, VirtualPath};

/// Namespace of the installation.
const NAMESPACE: &str = "flux-system";

/// Label that all objects of the installation have.
const PART_OF: &str = "app.kubernetes.io/part-of=flux";

fn config() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config")
}

/// The documents of the installation without the custom resource definitions, which have a test of their own.
fn without_definitions(manifests: &str) -> String {
    let kept: Vec<&str> = manifests
        .split("---\n")
        .filter(|document| !document.contains("kind: CustomResourceDefinition\n"))
        .collect();
    kept.join("---\n")
}

/// Whoever changes a name, a label, a port or the order of arguments breaks patches that users have: look twice
/// before accepting a new snapshot.
#[test]
fn the_installation_is_built_as_it_was_reviewed() {
    let Some(built) = tools::require_or_skip(tools::kustomize_build(&config().join("default"), &[])) else {
        return;
    };
    let manifests = String::from_utf8(built).unwrap();
    assert_eq!(
        manifests.matches("\nkind: CustomResourceDefinition\n").count(),
        15
    );
    insta::assert_snapshot!("installation", without_definitions(&manifests));
}

/// All files below a directory, with their paths from `root`.
fn read_files(root: &Path, directory: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_files(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
}

/// The command line builds the installation from a copy of `config/` that it carries.
#[test]
fn the_engine_builds_the_installation_as_kustomize_does() {
    let Some(built) = tools::require_or_skip(tools::kustomize_build(&config().join("default"), &[])) else {
        return;
    };
    let mut files = Vec::new();
    read_files(&config(), &config(), &mut files);
    let files = MemoryFileSystem::from_files(files).unwrap();
    let root = VirtualPath::parse("default").unwrap();
    let ours = build(&files, &root, &BuildOptions::default())
        .unwrap()
        .to_yaml()
        .unwrap();
    let theirs = String::from_utf8(built).unwrap();
    let difference = theirs
        .lines()
        .zip(ours.lines())
        .enumerate()
        .find(|(_, (one, other))| one != other);
    assert!(ours == theirs, "line, theirs, ours: {difference:?}");
}

async fn deployments_become_ready(plane: &ControlPlane) -> Vec<Deployment> {
    let api = Api::<Deployment>::namespaced(plane.client().await.unwrap(), NAMESPACE);
    let mut ready = Vec::new();
    for name in ["source-controller", "kustomize-controller"] {
        let available = |deployment: &Deployment| wait::has_condition(deployment, "Available", "True");
        ready.push(
            wait::until(&api, name, Duration::from_secs(120), "Available=True", available)
                .await
                .unwrap(),
        );
    }
    ready
}

/// Pods made from the templates pass admission where the restricted standard is enforced; one that gives
/// up a protection does not, so the check is one.
async fn pods_are_restricted(plane: &ControlPlane, deployments: &[Deployment]) {
    let client = plane.client().await.unwrap();
    let enforce = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "restricted" } } });
    Api::<Namespace>::all(client.clone())
        .patch(NAMESPACE, &PatchParams::default(), &Patch::Merge(enforce))
        .await
        .unwrap();
    let pods = Api::<Pod>::namespaced(client, NAMESPACE);
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    for deployment in deployments {
        let template = &deployment.spec.template;
        let mut pod = Pod {
            metadata: template.metadata.clone().unwrap_or_default(),
            spec: template.spec.clone(),
            status: None,
        };
        pod.metadata.name = Some("sample".into());
        pods.create(&dry, &pod).await.unwrap();
        let container = &mut pod.spec.as_mut().unwrap().containers[0];
        container
            .security_context
            .as_mut()
            .unwrap()
            .allow_privilege_escalation = None;
        let refused = pods.create(&dry, &pod).await.unwrap_err();
        assert!(refused.to_string().contains("restricted"), "{refused}");
    }
}

/// COM-001: `kubectl apply -k config/default` on an empty cluster.
#[tokio::test]
async fn kubectl_installs_everything_at_once() {
    let Some(plane) = tools::require_or_skip(ControlPlane::start()) else {
        return;
    };
    let directory = config().join("default");
    let directory = directory.to_str().unwrap();
    plane
        .kubectl(&["apply", "--server-side", "-k", directory])
        .unwrap();
    let definitions = Api::<CustomResourceDefinition>::all(plane.client().await.unwrap());
    for generated in crd::definitions() {
        let name = generated.object["metadata"]["name"].as_str().unwrap();
        let established = |one: &CustomResourceDefinition| wait::has_condition(one, "Established", "True");
        wait::until(
            &definitions,
            name,
            Duration::from_secs(60),
            "Established=True",
            established,
        )
        .await
        .unwrap();
    }
    let labelled = definitions
        .list(&ListParams::default().labels(PART_OF))
        .await
        .unwrap();
    assert_eq!(labelled.items.len(), 15);
    for definition in &labelled.items {
        assert_eq!(
            definition
                .spec
                .versions
                .iter()
                .filter(|version| version.served)
                .count(),
            1
        );
        assert!(
            definition.labels().contains_key("app.kubernetes.io/component"),
            "{}",
            definition.name_any()
        );
    }
    let deployments = deployments_become_ready(&plane).await;
    // Applying again finds nothing to change.
    plane
        .kubectl(&["diff", "--server-side", "-k", directory])
        .unwrap();
    categories_and_short_names_find_every_kind(&plane).await;
    pods_are_restricted(&plane, &deployments).await;
    plane.stop().unwrap();
}

/// One object of each kind is created and found by its category and its short names.
async fn categories_and_short_names_find_every_kind(plane: &ControlPlane) {
    let namespace = plane.namespace("kinds").await.unwrap();
    for generated in crd::definitions() {
        let kind = generated.object["spec"]["names"]["kind"].as_str().unwrap();
        let sample = common::samples(kind).swap_remove(0).to_string();
        plane
            .kubectl_with_input(&["create", "-n", namespace.name(), "-f", "-"], &sample)
            .unwrap();
    }
    for category in ["fluxcd", "all"] {
        let listed = plane.kubectl(&["get", category, "-A", "-o", "name"]).unwrap();
        let found = listed
            .lines()
            .filter(|line| line.contains("fluxcd.io/") && line.ends_with("/sample"));
        assert_eq!(found.count(), 15, "{category}: {listed}");
    }
    for (category, count) in [
        ("sources", 7),
        ("appliers", 2),
        ("notifications", 3),
        ("images", 3),
    ] {
        let listed = plane
            .kubectl(&["get", &format!("fluxcd-{category}"), "-A", "-o", "name"])
            .unwrap();
        assert_eq!(listed.lines().count(), count, "{category}: {listed}");
    }
    for generated in crd::definitions() {
        let names = &generated.object["spec"]["names"];
        for short_name in names["shortNames"].as_array().into_iter().flatten() {
            let short_name = short_name.as_str().unwrap();
            let listed = plane
                .kubectl(&["get", short_name, "-n", namespace.name(), "-o", "name"])
                .unwrap();
            assert!(
                listed.starts_with(&format!("{}.", names["singular"].as_str().unwrap())),
                "{listed}"
            );
        }
    }
    let table = plane
        .kubectl(&["get", "gitrepositories", "-n", namespace.name()])
        .unwrap();
    assert!(
        table.starts_with("NAME") && table.contains("URL") && table.contains("AGE"),
        "{table}"
    );
}
