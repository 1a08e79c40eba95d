//! What must be true in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use kube::{Client, ResourceExt as _};
use sluice_testbed::tools;

use super::{SOURCE, Scene};
use crate::support::*;

/// The ids of the objects that carry our labels.
pub(super) async fn uids(client: &Client, namespace: &str) -> BTreeMap<String, Option<String>> {
    let owned = owned_config_maps(client, namespace, namespace).await;
    owned
        .iter()
        .map(|object| (object.name_any(), object.uid()))
        .collect()
}

/// The objects in the cluster are those in the inventories are those of the last commit, with its contents.
pub(super) async fn assert_cluster_is_as_committed(
    scene: &Scene,
    at_first: &BTreeMap<String, Option<String>>,
) {
    let (client, namespace) = (&scene.client, scene.namespace.as_str());
    let wanted = scene.fleet.wanted();
    let owned = owned_config_maps(client, namespace, namespace).await;
    let found: BTreeMap<String, u64> = owned
        .iter()
        .map(|object| (object.name_any(), value(object)))
        .collect();
    assert_eq!(found, wanted);
    let ids: BTreeSet<_> = wanted.keys().map(|name| config_map_id(namespace, name)).collect();
    let mut listed = BTreeSet::new();
    for object in scene.kustomizations().list(&Default::default()).await.unwrap() {
        for id in inventory(&object) {
            let index = object.name_any().replace("application-", "_map-");
            assert!(
                id.contains(&index),
                "{} is in the inventory of {}",
                id,
                object.name_any()
            );
            assert!(listed.insert(id), "in two inventories");
        }
    }
    assert_eq!(listed, ids);
    for object in &owned {
        let owner = &object.labels()["kustomize.toolkit.fluxcd.io/name"];
        assert!(
            object
                .name_any()
                .starts_with(&owner.replace("application-", "map-")),
            "{owner}"
        );
        let before = at_first.get(&object.name_any());
        assert!(
            before.is_none_or(|uid| *uid == object.uid()),
            "{} was made anew",
            object.name_any()
        );
    }
}

fn value(object: &Object) -> u64 {
    object.data["data"]["value"].as_str().unwrap().parse().unwrap()
}

/// The storage holds the artifact of the status, whole, beside at most one older one that is whole too, and
/// nothing that a killed process left behind.
pub(super) async fn assert_store_is_whole(scene: &Scene) {
    let source = reconcile(&scene.sources(), SOURCE, LIMIT).await;
    let artifact = &source.data["status"]["artifact"];
    assert_eq!(artifact["revision"], scene.fleet.revision());
    let path = artifact["path"].as_str().unwrap();
    let current = scene.storage.path().join(path);
    let digest = run("sha256sum", &[], &current);
    let digest = digest.split_whitespace().next().unwrap();
    assert_eq!(artifact["digest"], format!("sha256:{digest}"));
    assert_eq!(
        artifact["size"].as_u64(),
        current.metadata().ok().map(|data| data.len())
    );
    let mut archives = 0;
    for file in files_below(scene.storage.path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".tar.gz") {
            run("gzip", &["--test"], &file);
            run("tar", &["--list", "--gzip", "--file"], &file);
            archives += 1;
        } else {
            let archive = name
                .strip_suffix(".lock")
                .unwrap_or_else(|| panic!("{} was left behind", file.display()));
            assert!(
                file.with_file_name(archive).exists(),
                "{} outlived its artifact",
                file.display()
            );
        }
    }
    assert!((1..=2).contains(&archives), "{archives} archives");
}

fn run(program: &str, options: &[&str], file: &Path) -> String {
    let mut command = Command::new(tools::system(program).unwrap());
    let output = tools::pipe(command.args(options).arg(file), Vec::new());
    String::from_utf8(output.unwrap_or_else(|error| panic!("{}: {error}", file.display()))).unwrap()
}
