//! The controllers' Pods as the installation describes them, in a namespace that admits only restricted ones.

use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::tools::{require_or_skip, workspace};
use sluice_testbed::wait;

use crate::support::*;

/// The Deployments and ServiceAccounts of the installation, without their namespace.
fn workloads(plane: &ControlPlane) -> Vec<Value> {
    let installation = workspace().join("config/default");
    let rendered = plane
        .kubectl(&["kustomize", &installation.to_string_lossy()])
        .unwrap();
    let as_json = [
        "create",
        "--dry-run=client",
        "--validate=false",
        "-o",
        "json",
        "-f",
        "-",
    ];
    let objects = plane.kubectl_with_input(&as_json, &rendered).unwrap();
    let mut found = Vec::new();
    for document in serde_json::Deserializer::from_str(&objects).into_iter::<Value>() {
        let document = document.unwrap();
        let items = document["items"].as_array().cloned();
        for mut object in items.unwrap_or_else(|| vec![document]) {
            if object["kind"] == "Deployment" || object["kind"] == "ServiceAccount" {
                object["metadata"].as_object_mut().unwrap().remove("namespace");
                found.push(object);
            }
        }
    }
    found
}

/// COM-035: the Pods run where the policy `restricted` is enforced, and cannot write to their file system.
/// COM-036: they ask to be scraped on their metrics port.
#[tokio::test(flavor = "multi_thread")]
async fn com_035_com_036_pods_are_hardened_and_scraped() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    let namespace = plane.namespace("hardened").await.unwrap();
    let here = namespace.name();
    for label in ["enforce=restricted", "enforce-version=latest"] {
        let label = format!("pod-security.kubernetes.io/{label}");
        plane.kubectl(&["label", "namespace", here, &label]).unwrap();
    }
    let workloads = workloads(plane);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": workloads});
    plane
        .kubectl_with_input(&["-n", here, "apply", "-f", "-"], &list.to_string())
        .unwrap();
    let client = plane.client().await.unwrap();
    let names: Vec<&str> = workloads
        .iter()
        .filter(|object| object["kind"] == "Deployment")
        .map(|object| object["metadata"]["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"source-controller") && names.contains(&"kustomize-controller"));
    for name in &names {
        let available = |object: &Object| wait::has_condition(object, "Available", "True");
        wait::until(&deployments(&client, here), name, LIMIT, "Available", available)
            .await
            .unwrap();
    }
    let pods: Api<Object> = namespaced(&client, here, ("v1", "Pod", "pods"));
    let pods = pods.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(pods.len(), names.len());
    for pod in pods {
        let name = pod.name_any();
        let annotations = pod.annotations();
        assert_eq!(annotations["prometheus.io/scrape"], "true", "{name}");
        assert_eq!(annotations["prometheus.io/port"], "8080", "{name}");
        for container in pod.data["spec"]["containers"].as_array().unwrap() {
            let security = &container["securityContext"];
            assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
            assert_eq!(security["capabilities"]["drop"], json!(["ALL"]), "{name}");
            let ports = container["ports"].as_array().unwrap();
            let metrics = ports.iter().find(|port| port["name"] == "http-prom").unwrap();
            assert_eq!(metrics["containerPort"], 8080, "{name}");
        }
    }
}
