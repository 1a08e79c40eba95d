//! One leader at a time.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use sluice_runtime::RuntimeError;
use sluice_runtime::lease::{Elector, Fence, LeaseOptions};
use sluice_testbed::wait;

use crate::harness::{NAME, Options, PATIENCE, Running, plane, start, start_in, succeed};

fn elected() -> Options {
    let flags = ["--enable-leader-election", "--leader-election-retry-period=200ms"].map(str::to_owned);
    Options {
        flags: flags.to_vec(),
        ..Options::default()
    }
}

fn leases(running: &Running) -> Api<Lease> {
    Api::namespaced(running.client.clone(), running.namespace.name())
}

fn candidate(client: &Client, namespace: &str, identity: &str, lease_duration: Duration) -> (Elector, Fence) {
    let fence = Fence::default();
    let options = LeaseOptions {
        namespace: namespace.to_owned(),
        name: format!("{NAME}-{namespace}-leader-election"),
        identity: identity.to_owned(),
        lease_duration,
        renew_deadline: lease_duration * 2 / 3,
        retry_period: Duration::from_millis(200),
        release_on_cancel: true,
    };
    (Elector::new(client.clone(), options, fence.clone()), fence)
}

#[tokio::test]
async fn a_leader_holds_the_lease_and_gives_it_back_at_the_end() {
    // COM-022
    let Some(plane) = plane().await else { return };
    let running = start(plane, elected(), succeed).await;
    running.create("a").await;
    running.until_ready("a").await;
    let name = format!("{}-leader-election", running.agent());
    let lease = leases(&running).get(&name).await.unwrap();
    let spec = lease.spec.unwrap();
    assert_eq!(
        (spec.lease_duration_seconds, spec.lease_transitions),
        (Some(35), Some(0))
    );
    assert!(
        running
            .metrics()
            .await
            .contains(&format!("leader_election_master_status{{name=\"{name}\"}} 1"))
    );
    // Another candidate stands by, and takes over as soon as the lease is given back.
    let (mut other, _) = candidate(
        &running.client,
        running.namespace.name(),
        "other",
        Duration::from_secs(3600),
    );
    assert!(
        tokio::time::timeout(Duration::from_secs(1), other.acquire())
            .await
            .is_err()
    );
    let api = leases(&running);
    running.stop.cancel();
    tokio::time::timeout(PATIENCE, other.acquire()).await.unwrap();
    let spec = api.get(&name).await.unwrap().spec.unwrap();
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some("other"), Some(1))
    );
    running.stop().await;
}

#[tokio::test]
async fn a_leader_that_died_is_given_up_after_the_lease_duration() {
    // COM-022
    let Some(plane) = plane().await else { return };
    let namespace = plane.namespace("lease").await.unwrap();
    let client = plane.client().await.unwrap();
    let (mut dying, _) = candidate(&client, namespace.name(), "dying", Duration::from_secs(3600));
    dying.acquire().await;
    let (mut follower, fence) = candidate(&client, namespace.name(), "follower", Duration::from_secs(2));
    assert!(
        tokio::time::timeout(Duration::from_millis(600), follower.acquire())
            .await
            .is_err()
    );
    assert_eq!(fence.remaining(), None, "a follower has never led");
    tokio::time::timeout(PATIENCE, follower.acquire()).await.unwrap();
    assert!(fence.remaining().is_some());
    tokio::time::timeout(PATIENCE, dying.hold())
        .await
        .expect("the old leader notices");
}

#[tokio::test]
async fn a_leader_whose_lease_is_taken_ends_and_writes_nothing_more() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, elected(), succeed).await;
    running.create("a").await;
    running.until_ready("a").await;
    let name = format!("{}-leader-election", running.agent());
    let patch = json!({"spec": {"holderIdentity": "usurper"}});
    let api = leases(&running);
    api.patch(&name, &PatchParams::apply(NAME), &Patch::Merge(&patch))
        .await
        .unwrap();
    let error = running.ended().await.unwrap_err();
    assert!(matches!(error, RuntimeError::LeadershipLost), "{error}");
    let lease = api.get(&name).await.unwrap();
    assert_eq!(
        lease.spec.unwrap().holder_identity.as_deref(),
        Some("usurper"),
        "it is not given back"
    );
}

#[tokio::test]
async fn a_process_that_stands_by_is_ready_and_reconciles_nothing_until_it_leads() {
    // COM-022
    let Some(plane) = plane().await else { return };
    let namespace = plane.namespace("lease").await.unwrap();
    let client = plane.client().await.unwrap();
    let (mut leader, _) = candidate(&client, namespace.name(), "leader", Duration::from_secs(3600));
    leader.acquire().await;
    let running = start_in(plane, namespace, elected(), succeed).await;
    let ready = format!("{}/readyz", running.health);
    wait::until_some(PATIENCE, "readiness", || async {
        reqwest::get(&ready)
            .await
            .ok()
            .filter(|answer| answer.status().is_success())
            .map(drop)
    })
    .await
    .unwrap();
    let object = running.create("a").await;
    running.until_seen(&object).await;
    assert_eq!(
        running.controller.queue.load(),
        (1, 0),
        "it is queued, and waits for leadership"
    );
    leader.release().await;
    running.until_ready("a").await;
    running.stop().await;
}
