//! A controller whose view of its own objects is seconds old: KUS-003, KUS-011, KUS-013.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::ResourceExt as _;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::GitServer;
use sluice_testbed::proxy::{FaultProxy, Rule};
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;

const DELAY: Duration = Duration::from_secs(4);
const ROUNDS: usize = 6;

/// Each commit replaces the objects of the one before, and comes as soon as those are in the cluster: always
/// before the watch has told the controller of the inventory that it wrote itself. If it started from what the
/// watch says, it would forget to prune.
#[tokio::test(flavor = "multi_thread")]
async fn inventory_entries_survive_a_watch_that_lags_behind() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("delayed").await.unwrap();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("delayed").unwrap();
    let first = repository
        .commit_files("Start", &[("maps/start.yaml", &config_map_yaml("start", 0))])
        .unwrap();

    let proxy = FaultProxy::start(plane).unwrap();
    let settings = Settings::within(plane.kubeconfig(), namespace.name());
    let storage = tempfile::tempdir().unwrap();
    let _source = Controller::source(&settings, storage.path(), &[]);
    let late = Settings::within(proxy.kubeconfig(), namespace.name());
    let _kustomize = Controller::kustomize(&late, &[]);
    let sources = git_repositories(&client, namespace.name());
    let objects = kustomizations(&client, namespace.name());
    apply(&sources, &git_repository("delayed", repository.url())).await;
    apply(
        &objects,
        &kustomization("maps", "delayed", "maps", namespace.name()),
    )
    .await;
    let first = revision(&first);
    wait::until(&objects, "maps", LIMIT, "the first revision", |object| {
        has_applied(object, &first)
    })
    .await
    .unwrap();

    proxy
        .set("late", &Rule::delay_watch(DELAY).path("/kustomizations$"))
        .unwrap();
    let maps = config_maps(&client, namespace.name());
    let mut created = BTreeSet::from(["start".to_owned()]);
    let mut last = String::new();
    for round in 0..ROUNDS {
        for file in std::fs::read_dir(repository.work_tree().join("maps")).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
        let names: Vec<_> = (0..3).map(|index| format!("round-{round}-{index}")).collect();
        for name in &names {
            repository
                .write(&format!("maps/{name}.yaml"), config_map_yaml(name, round))
                .unwrap();
        }
        last = revision(&repository.commit(&format!("Round {round}")).unwrap());
        request(&sources, "delayed").await;
        for name in &names {
            wait::until(&maps, name, LIMIT, "created", |_| true)
                .await
                .unwrap();
        }
        created.extend(names);
    }
    let done = wait::until(&objects, "maps", LIMIT, "the last revision", |object| {
        has_applied(object, &last)
    });
    let done = done.await.unwrap();

    let wanted: BTreeSet<_> = (0..3)
        .map(|index| format!("round-{}-{index}", ROUNDS - 1))
        .collect();
    let ids: BTreeSet<_> = wanted
        .iter()
        .map(|name| config_map_id(namespace.name(), name))
        .collect();
    assert_eq!(inventory(&done), ids);
    let owned = owned_config_maps(&client, namespace.name(), namespace.name()).await;
    assert_eq!(names(&owned), wanted, "of all that was created: {created:?}");
    assert!(
        owned
            .iter()
            .all(|object| object.labels().contains_key("kustomize.toolkit.fluxcd.io/name"))
    );
    assert!(proxy.hits("late").unwrap() > 0, "the watch was delayed");
}
