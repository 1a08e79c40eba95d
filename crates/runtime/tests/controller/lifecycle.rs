//! From creation to deletion.

use std::time::Duration;

use kube::api::DeleteParams;
use serde_json::json;
use sluice_runtime::{Cause, Causes, ReconcileError};
use sluice_testbed::wait;

use crate::harness::{Options, PATIENCE, Step, done, plane, start, succeed};

#[tokio::test]
async fn the_finalizer_is_added_before_the_first_reconcile_and_the_object_is_cleaned_up_after() {
    // COM-004, COM-021
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, _| {
        Box::pin(async move {
            assert_eq!(
                context.object.metadata.finalizers.as_deref(),
                Some(&["finalizers.fluxcd.io".to_owned()][..])
            );
            done(context)
        })
    })
    .await;
    running.create("a").await;
    let object = running.until_ready("a").await;
    assert_eq!(
        object.metadata.finalizers,
        Some(vec!["finalizers.fluxcd.io".to_owned()])
    );
    let series = format!(
        "kind=\"GitRepository\",name=\"a\",namespace=\"{}\"",
        running.namespace.name()
    );
    running.until_idle().await;
    assert!(running.metrics().await.contains(&series), "COM-020");
    running.api().delete("a", &DeleteParams::default()).await.unwrap();
    wait::until_gone(&running.api(), "a", PATIENCE).await.unwrap();
    running
        .until_called("forgetting", |calls| {
            calls.iter().any(|call| call.step == Step::Forget)
        })
        .await;
    let steps: Vec<Step> = running.calls("a").iter().map(|call| call.step).collect();
    assert_eq!(steps, [Step::Reconcile, Step::Finalize, Step::Forget]);
    assert!(!running.metrics().await.contains(&series));
    running.stop().await;
}

#[tokio::test]
async fn a_failed_clean_up_keeps_the_object_and_is_tried_again() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, step| {
        Box::pin(async move {
            if step == Step::Finalize && context.failures() == 0 {
                return Err(ReconcileError::backoff(
                    "StorageOperationFailed",
                    "cannot delete the artifact",
                ));
            }
            done(context)
        })
    })
    .await;
    running.create("a").await;
    running.until_ready("a").await;
    running.api().delete("a", &DeleteParams::default()).await.unwrap();
    wait::until_gone(&running.api(), "a", PATIENCE).await.unwrap();
    assert_eq!(
        running
            .calls("a")
            .iter()
            .filter(|call| call.step == Step::Finalize)
            .count(),
        2
    );
    running.stop().await;
}

#[tokio::test]
async fn a_suspended_object_is_left_alone_until_it_is_resumed_but_can_be_deleted() {
    // COM-008
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    running.create("a").await;
    let before = running.until_ready("a").await;
    let suspended = running.patch("a", json!({"spec": {"suspend": true}})).await;
    let generation = suspended.metadata.generation;
    let after = running
        .until("a", "the generation observed", |object| {
            object
                .status
                .as_ref()
                .is_some_and(|status| status.observed_generation == generation)
        })
        .await;
    assert_eq!(running.reconciles("a"), 1);
    assert_eq!(
        after.status.unwrap().conditions,
        before.status.unwrap().conditions,
        "conditions are untouched"
    );
    running.request("a", "while suspended").await;
    running
        .until("a", "the request noted", |object| {
            object
                .status
                .as_ref()
                .and_then(|status| status.last_handled_reconcile_at.as_deref())
                == Some("while suspended")
        })
        .await;
    assert_eq!(running.reconciles("a"), 1);
    running.patch("a", json!({"spec": {"suspend": false}})).await;
    running
        .until_called("a reconcile after the suspension", |calls| calls.len() == 2)
        .await;
    running.patch("a", json!({"spec": {"suspend": true}})).await;
    running.api().delete("a", &DeleteParams::default()).await.unwrap();
    wait::until_gone(&running.api(), "a", PATIENCE).await.unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_request_is_answered_with_the_last_patch_of_its_reconcile_on_success_and_on_failure() {
    // COM-005, COM-006
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, _| {
        Box::pin(async move {
            sluice_runtime::conditions::mark_reconciling(&mut context.object, "Progressing", "under way");
            context.patch_status().await?;
            let stored = context.stored();
            assert_ne!(
                stored
                    .status
                    .as_ref()
                    .unwrap()
                    .last_handled_reconcile_at
                    .as_deref(),
                context.requested_at()
            );
            match context.requested_at() {
                Some("fail") => Err(ReconcileError::retry_after(
                    Duration::from_secs(3600),
                    "BuildFailed",
                    "no",
                )),
                Some("stall") => Err(ReconcileError::stalled("InvalidURL", "never")),
                _ => done(context),
            }
        })
    })
    .await;
    running.create("a").await;
    for request in ["ok", "fail", "stall", "ok again"] {
        let asked = running.request("a", request).await;
        running
            .until("a", "the request answered", |object| {
                object
                    .status
                    .as_ref()
                    .and_then(|status| status.last_handled_reconcile_at.as_deref())
                    == Some(request)
            })
            .await;
        running.until_idle().await;
        let count = running.reconciles("a");
        let again = running.request("a", request).await;
        assert_eq!(again.metadata.generation, asked.metadata.generation);
        running.until_seen(&again).await;
        running.until_idle().await;
        assert_eq!(running.reconciles("a"), count, "the same value asks for nothing");
    }
    let last = running.calls("a").pop().unwrap();
    assert!(last.causes.contains(Cause::Requested), "{:?}", last.causes);
    running.stop().await;
}

#[tokio::test]
async fn edits_of_labels_annotations_and_status_do_not_start_a_reconcile() {
    // COM-007
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    running.create("a").await;
    running.until_ready("a").await;
    running
        .patch(
            "a",
            json!({"metadata": {"labels": {"l": "1"}, "annotations": {"other": "1"}}}),
        )
        .await;
    let patch = json!({"status": {"observedIgnore": "touched"}});
    let touched = running
        .api()
        .patch_status(
            "a",
            &kube::api::PatchParams::default(),
            &kube::api::Patch::Merge(&patch),
        )
        .await
        .unwrap();
    running.until_seen(&touched).await;
    running.until_idle().await;
    assert_eq!(running.reconciles("a"), 1);
    let edited = running.patch("a", json!({"spec": {"interval": "2h"}})).await;
    let calls = running
        .until_called("the reconcile of the edit", |calls| calls.len() == 2)
        .await;
    assert_eq!(
        (calls[1].causes, calls[1].generation),
        (Causes::from(Cause::Spec), edited.metadata.generation)
    );
    running.stop().await;
}
