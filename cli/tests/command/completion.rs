//! What a shell is offered, asked as the script of `sluice completion bash` asks.

use std::path::Path;

use serde_json::{Value, json};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::process::free_port;
use sluice_testbed::tools::{require_or_skip, workspace};

use crate::objects::{GIT, KUSTOMIZATION, api, create};
use crate::support::Sluice;

/// The candidates for the last of these words, or options, which may be empty.
fn offered(kubeconfig: &Path, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let sluice = Sluice::alone()
        .with("KUBECONFIG", kubeconfig)
        .with("SLUICE_COMPLETE", Path::new("bash"))
        .with("_CLAP_COMPLETE_INDEX", Path::new(&index));
    let text = sluice.result(&[&["--", "sluice"], words].concat());
    text.split(['\n', '\u{b}'])
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// CLI-011
#[tokio::test]
async fn shells_are_offered_kinds_names_and_namespaces() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    plane.apply_crds(&workspace().join("config/crd")).await.unwrap();
    let client = plane.client().await.unwrap();
    let namespace = plane.namespace("complete").await.unwrap();
    let spec = json!({"url": "https://git.example.com/x", "interval": "1h"});
    create(
        &api(&client, namespace.name(), GIT),
        GIT,
        "fleet",
        spec,
        Value::Null,
    )
    .await;
    for name in ["apps", "apps-more", "infra"] {
        let spec =
            json!({"interval": "1h", "prune": true, "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
        create(
            &api(&client, namespace.name(), KUSTOMIZATION),
            KUSTOMIZATION,
            name,
            spec,
            Value::Null,
        )
        .await;
    }
    let ask = |words: &[&str]| offered(plane.kubeconfig(), words);
    let within = ["-n", namespace.name()];
    let named = |words: &[&str]| ask(&[&within[..], words].concat());
    assert_eq!(named(&["get", "ks", ""]), ["apps", "apps-more", "infra"]);
    assert_eq!(
        named(&["reconcile", "kustomization", "apps"]),
        ["apps", "apps-more"]
    );
    assert_eq!(named(&["suspend", "source", "git", ""]), ["fleet"]);
    assert_eq!(named(&["tree", "ks", "in"]), ["infra"]);
    assert_eq!(named(&["debug", "kustomization", "in"]), ["infra"]);
    assert_eq!(named(&["delete", "ks", "none"]), [""; 0]);
    assert_eq!(
        ask(&["get", "ks", "-n", namespace.name()]),
        [namespace.name()],
        "namespaces"
    );
    for (words, expected) in [
        (&["get", "source", "gi"][..], "git"),
        (&["get", "kusto"], "kustomizations"),
        (&["recon"], "reconcile"),
        (&["reconcile", "ks", "apps", "--with-s"], "--with-source"),
    ] {
        assert!(
            named(words).iter().any(|word| word == expected),
            "{words:?}: {:?}",
            named(words)
        );
    }
}

#[test]
fn a_cluster_that_is_not_there_has_no_names_and_nothing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let server = format!("https://127.0.0.1:{}", free_port().unwrap());
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "clusters": [{"name": "one", "cluster": {"server": server}}],
        "contexts": [
            {"name": "one", "context": {"cluster": "one", "user": "one"}},
            {"name": "other", "context": {"cluster": "one", "user": "one"}},
        ],
        "users": [{"name": "one", "user": {"token": "x"}}],
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let names = |file: &Path| {
        let mut offered = offered(file, &["get", "ks", ""]);
        offered.retain(|word| !word.starts_with('-'));
        offered
    };
    assert_eq!(names(&file), [""; 0]);
    assert_eq!(offered(&file, &["get", "--context", "o"]), ["one", "other"]);
    assert_eq!(names(Path::new("/nonexistent")), [""; 0]);
    assert!(offered(&file, &["get", "source", ""]).contains(&"git".to_owned()));
}
