//! Kustomizations linked by `dependsOn`: KUS-048, KUS-067.

use std::time::{Duration, Instant};

use serde_json::json;
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::GitServer;
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;

const LENGTH: usize = 10;

/// Far beyond the test's bounds: a dependant that is Ready was woken by an event and not by polling.
const NO_POLLING: &str = "--requeue-dependency=1h";

/// Generous, for a busy machine with a development build, and still below Flux's one polling interval of 30 s.
const BOUND: Duration = Duration::from_secs(25);

fn member(index: usize) -> String {
    format!("member-{index}")
}

#[tokio::test(flavor = "multi_thread")]
async fn chain_of_ten_becomes_ready_by_events_alone() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("chain").await.unwrap();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let mut repository = git.create_repository("chain").unwrap();
    for index in 0..LENGTH {
        let name = member(index);
        repository
            .write(&format!("{name}/map.yaml"), config_map_yaml(&name, "one"))
            .unwrap();
    }
    let first = revision(&repository.commit("Ten members").unwrap());

    let settings = Settings::within(plane.kubeconfig(), namespace.name());
    let storage = tempfile::tempdir().unwrap();
    let _source = Controller::source(&settings, storage.path(), &[]);
    let _kustomize = Controller::kustomize(&settings, &[NO_POLLING]);
    let sources = git_repositories(&client, namespace.name());
    apply(&sources, &git_repository("chain", repository.url())).await;
    wait::until(&sources, "chain", LIMIT, "the first revision", |object| {
        has_fetched(object, &first)
    })
    .await
    .unwrap();

    let members = kustomizations(&client, namespace.name());
    let audit = plane.audit_log().await.unwrap();
    let mark = audit.mark().await.unwrap();
    let began = Instant::now();
    // The last first, so that each but the first finds its dependency missing or not ready.
    for index in (0..LENGTH).rev() {
        let name = member(index);
        let mut object = kustomization(&name, "chain", &name, namespace.name());
        if index > 0 {
            object["spec"]["dependsOn"] = json!([{"name": member(index - 1)}]);
        }
        apply(&members, &object).await;
    }
    let all_at = |revision: &str| {
        let revision = revision.to_owned();
        move |objects: &[Object]| {
            objects.len() == LENGTH && objects.iter().all(|object| has_applied(object, &revision))
        }
    };
    wait::until_all(&members, LIMIT, "all at the first revision", all_at(&first))
        .await
        .unwrap();
    let taken = began.elapsed();
    eprintln!("a chain of {LENGTH} Kustomizations was Ready after {taken:.2?}");
    assert!(taken < BOUND, "{taken:?}");
    assert_eq!(
        owned_config_maps(&client, namespace.name(), namespace.name())
            .await
            .len(),
        LENGTH
    );

    let requests = audit
        .since(mark)
        .await
        .unwrap()
        .by_user_agent("kustomize-controller/");
    let patches = requests
        .in_namespace(namespace.name())
        .on("kustomizations/status")
        .count();
    // Not ready at first, announced, applied.
    assert!(
        patches <= 3 * LENGTH,
        "{patches} status patches: {:#?}",
        requests.table()
    );
    wait_for_event(
        &client,
        namespace.name(),
        ("Kustomization", &member(LENGTH - 1)),
        "Dependencies do not meet ready condition",
    )
    .await;

    // With the same source, a dependency counts only once it has applied the same revision.
    for index in 0..LENGTH {
        let name = member(index);
        repository
            .write(&format!("{name}/map.yaml"), config_map_yaml(&name, "two"))
            .unwrap();
    }
    let second = revision(&repository.commit("Change all").unwrap());
    let began = Instant::now();
    request(&sources, "chain").await;
    let ready = wait::until_all(&members, LIMIT, "all at the second revision", all_at(&second))
        .await
        .unwrap();
    eprintln!("a new revision went down the chain in {:.2?}", began.elapsed());
    let order = resource_versions_in_order(&ready);
    assert!(
        order.is_sorted(),
        "members were done in the order of their dependencies: {order:?}"
    );
}

/// The resource versions of the members, from the first: they grow in the order of their last writes.
fn resource_versions_in_order(members: &[Object]) -> Vec<u64> {
    let version = |index: usize| {
        let name = Some(member(index));
        let object = members
            .iter()
            .find(|object| object.metadata.name == name)
            .unwrap();
        object
            .metadata
            .resource_version
            .as_deref()
            .unwrap()
            .parse()
            .unwrap()
    };
    (0..LENGTH).map(version).collect()
}
