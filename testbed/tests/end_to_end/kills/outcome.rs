//! What must be true after a kill, and in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use sluice_testbed::audit::Requests;
use sluice_testbed::{tools, wait};

use super::item::{self, Owned};
use super::{SOURCE, Scene};
use crate::support::*;

/// The ids in the inventory of each Kustomization.
async fn inventories(scene: &Scene) -> BTreeMap<String, BTreeSet<String>> {
    let list = scene.kustomizations().list(&Default::default()).await.unwrap();
    list.items
        .iter()
        .map(|object| (object.metadata.name.clone().unwrap(), inventory(object)))
        .collect()
}

/// While nobody is at work: whatever carries the labels of a Kustomization stands in its inventory. Objects are
/// read before inventories, for a request on its way when the controller died can only have been for an object
/// that was in the inventory before.
pub(super) async fn assert_nothing_is_lost(scene: &Scene, when: &str) {
    let owned = item::owned(&scene.client, &scene.namespace).await;
    let inventories = inventories(scene).await;
    let lost: Vec<_> = owned
        .iter()
        .filter(|(id, object)| !inventories[&object.owner].contains(*id))
        .collect();
    assert!(lost.is_empty(), "{when}: outside the inventories are {lost:?}");
}

/// The objects in the cluster are those in the inventories are those of the last commit, with its contents, and
/// none of them was made twice.
pub(super) async fn assert_cluster_is_as_committed(
    scene: &Scene,
    at_first: &BTreeMap<String, Owned>,
    requests: &Requests,
) {
    let wanted = scene.fleet.wanted();
    let owned = item::owned(&scene.client, &scene.namespace).await;
    let found: BTreeMap<_, _> = owned
        .iter()
        .map(|(id, object)| (id.clone(), (object.owner.clone(), object.value)))
        .collect();
    let expected: BTreeMap<_, _> = wanted
        .iter()
        .map(|(id, (owner, item))| (id.clone(), (owner.clone(), item.value)))
        .collect();
    assert_eq!(found, expected);
    for (name, ids) in inventories(scene).await {
        let own: BTreeSet<_> = wanted
            .iter()
            .filter(|(_, (owner, _))| *owner == name)
            .map(|(id, _)| id.clone())
            .collect();
        assert_eq!(ids, own, "the inventory of {name}");
    }
    for (id, object) in &owned {
        let before = at_first.get(id);
        assert!(
            before.is_none_or(|before| before.uid == object.uid),
            "{id} was made anew"
        );
    }
    // Names never come back, so nobody had reason to delete what is wanted in the end.
    let names: BTreeSet<_> = wanted.values().map(|(_, item)| item.name.as_str()).collect();
    let deletions = requests.of_verb("delete").by_user_agent("kustomize-controller/");
    let wrong: Vec<_> = deletions
        .iter()
        .filter(|request| names.contains(request.name.as_str()))
        .map(|request| &request.uri)
        .collect();
    assert!(wrong.is_empty(), "deleted and made anew: {wrong:?}");
}

/// Deletes everything, and waits until the cluster holds nothing of it.
pub(super) async fn clean_up(scene: &Scene) {
    let api = scene.kustomizations();
    api.delete_collection(&Default::default(), &Default::default())
        .await
        .unwrap();
    wait::until_all(&api, 2 * LIMIT, "the end of all", |objects: &[Object]| {
        objects.is_empty()
    })
    .await
    .unwrap();
    let left = item::owned(&scene.client, &scene.namespace).await;
    assert!(left.is_empty(), "{left:?}");
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
