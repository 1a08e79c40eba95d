//! An API server that is late, or fails.

use std::time::Duration;

use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use sluice_api::source::GitRepository;
use sluice_runtime::Cause;
use sluice_testbed::proxy::{FaultProxy, Moment, Rule};
use sluice_testbed::tools;

use crate::harness::{Options, Running, done, plane, start, succeed};

fn through(proxy: &FaultProxy) -> Options {
    Options {
        kubeconfig: Some(proxy.kubeconfig().to_owned()),
        ..Options::default()
    }
}

fn counter(object: &GitRepository) -> u32 {
    let value = object
        .status
        .as_ref()
        .and_then(|status| status.observed_ignore.as_deref());
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// Reconciles the object again, and waits until that has ended.
async fn again(running: &Running) {
    let count = running.reconciles("a");
    running.controller.queue.add(running.key("a"), Cause::Schedule);
    running
        .until_called("another reconcile", |calls| calls.len() > count)
        .await;
    running.until_idle().await;
}

/// A controller that counts its reconciles in the status of the object.
async fn counting(options: Options) -> Option<Running> {
    let plane = plane().await?;
    let running = start(plane, options, |context, _| {
        Box::pin(async move {
            let next = counter(&context.object) + 1;
            context.object.status.get_or_insert_default().observed_ignore = Some(next.to_string());
            context.patch_status().await?;
            done(context)
        })
    })
    .await;
    running.create("a").await;
    running.until_ready("a").await;
    running.until_idle().await;
    Some(running)
}

#[tokio::test]
async fn a_watch_that_is_late_never_loses_an_own_write() {
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    let Some(running) = counting(through(&proxy)).await else {
        return;
    };
    let before = counter(&running.api().get("a").await.unwrap());
    proxy.set("stalled", &Rule::stall_watch()).unwrap();
    for _ in 0..10 {
        again(&running).await;
    }
    assert_eq!(counter(&running.api().get("a").await.unwrap()), before + 10);
    // A change of someone else arrives late, and is not undone by what was written meanwhile.
    let edited = running.patch("a", json!({"spec": {"ignore": "edited"}})).await;
    again(&running).await;
    proxy.remove("stalled").unwrap();
    let object = running
        .until("a", "the edit observed", |object| {
            object
                .status
                .as_ref()
                .and_then(|status| status.observed_generation)
                == edited.metadata.generation
        })
        .await;
    assert!(counter(&object) >= before + 11);
    running.stop().await;
}

#[tokio::test]
async fn a_watch_whose_events_are_late_starts_no_reconcile_twice() {
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    proxy
        .set("late", &Rule::delay_watch(Duration::from_millis(700)))
        .unwrap();
    let Some(running) = counting(through(&proxy)).await else {
        return;
    };
    for _ in 0..5 {
        again(&running).await;
    }
    let object = running.api().get("a").await.unwrap();
    running.until_seen(&object).await;
    let edited = running.patch("a", json!({"spec": {"ignore": "edited"}})).await;
    running.until_seen(&edited).await;
    running.until_idle().await;
    assert_eq!(counter(&running.api().get("a").await.unwrap()), 7);
    assert_eq!(running.reconciles("a"), 7);
    running.stop().await;
}

#[tokio::test]
async fn refused_requests_are_repeated_when_the_api_server_says_when() {
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    let running = start(plane, through(&proxy), succeed).await;
    proxy
        .set("busy", &Rule::too_many_requests(1).method("PATCH").times(1))
        .unwrap();
    running.create("a").await;
    running.until_ready("a").await;
    assert_eq!(proxy.hits("busy").unwrap(), 1);
    assert_eq!(
        running.reconciles("a"),
        1,
        "the client repeats the request, not the queue the reconcile"
    );
    running.stop().await;
}

#[tokio::test]
async fn a_status_that_cannot_be_written_is_written_by_a_later_try() {
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    let running = start(plane, through(&proxy), succeed).await;
    proxy
        .set(
            "down",
            &Rule::status(500).method("PATCH").path("/status").times(2),
        )
        .unwrap();
    running.create("a").await;
    running.until_ready("a").await;
    assert_eq!(running.reconciles("a"), 3);
    running.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_lost_does_no_harm() {
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    let Some(running) = counting(through(&proxy)).await else {
        return;
    };
    let before = counter(&running.api().get("a").await.unwrap());
    // The patch is made, but the controller does not hear of it: the next try meets a conflict and finds out.
    proxy
        .set(
            "lost",
            &Rule::cut(Moment::Answer).method("PATCH").path("/status").times(1),
        )
        .unwrap();
    running.controller.queue.add(running.key("a"), Cause::Schedule);
    running
        .until("a", "another count", |object| {
            counter(object) > before && sluice_testbed::wait::is_ready(object)
        })
        .await;
    running.until_idle().await;
    assert_eq!(proxy.hits("lost").unwrap(), 1);
    running.stop().await;
}

#[tokio::test]
async fn what_a_former_leader_wrote_meanwhile_is_not_overwritten() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, _| {
        Box::pin(async move {
            let seen = counter(&context.object);
            if seen == 0 {
                // Somebody else, between our read and our write, to the very field that we are to write.
                let client = crate::harness::plane().await.unwrap().client().await.unwrap();
                let api = kube::Api::<GitRepository>::namespaced(client, &context.key().namespace);
                let patch = json!({"status": {"observedIgnore": "10"}});
                api.patch_status(
                    &context.key().name,
                    &PatchParams::default(),
                    &Patch::Merge(&patch),
                )
                .await
                .unwrap();
            }
            context.object.status.get_or_insert_default().observed_ignore = Some((seen + 1).to_string());
            context.patch_status().await?;
            done(context)
        })
    })
    .await;
    running.create("a").await;
    let object = running.until_ready("a").await;
    assert_eq!(counter(&object), 11);
    assert_eq!(running.reconciles("a"), 2);
    running.stop().await;
}

#[tokio::test]
async fn watches_are_resumed_after_their_connections_were_cut() {
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    let running = start(plane, through(&proxy), succeed).await;
    running.create("a").await;
    running.until_ready("a").await;
    proxy.set("cut", &Rule::cut(Moment::Open)).unwrap();
    running.create("b").await;
    running.until_ready("b").await;
    running.until_idle().await;
    assert_eq!(
        running.reconciles("a"),
        1,
        "what was seen before is not reconciled again"
    );
    running.stop().await;
}

#[tokio::test]
async fn an_api_server_without_streaming_lists_is_listed() {
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    proxy
        .set("old", &Rule::status(400).query("sendInitialEvents"))
        .unwrap();
    let running = start(plane, through(&proxy), succeed).await;
    running.create("a").await;
    running.until_ready("a").await;
    assert!(proxy.hits("old").unwrap() >= 1);
    running.stop().await;
}

#[tokio::test]
async fn a_status_edit_of_someone_else_between_two_reconciles_survives_a_stalled_watch() {
    // COM-031
    let Some(plane) = plane().await else { return };
    let Some(proxy) = tools::require_or_skip(FaultProxy::start(plane)) else {
        return;
    };
    let Some(running) = counting(through(&proxy)).await else {
        return;
    };
    proxy.set("stalled", &Rule::stall_watch()).unwrap();
    let object = running.api().get("a").await.unwrap();
    let mut list = serde_json::to_value(&object.status.unwrap().conditions).unwrap();
    list.as_array_mut().unwrap().push(json!({
        "type": "Audited", "status": "True", "reason": "ByHand", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }));
    let direct: Api<GitRepository> = running.api();
    let patch = json!({"status": {"conditions": list}});
    direct
        .patch_status("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    again(&running).await;
    let object = running.api().get("a").await.unwrap();
    assert!(sluice_runtime::conditions::has(&object, "Audited"));
    proxy.clear().unwrap();
    running.stop().await;
}
