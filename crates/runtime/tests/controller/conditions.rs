//! What is written to the status, and how often.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use sluice_api::conditions::source::{ARTIFACT_IN_STORAGE, FETCH_FAILED};
use sluice_api::conditions::{READY, RECONCILING, STALLED};
use sluice_runtime::{Conclusion, ReconcileError, Summary, conditions};

use crate::harness::{NAME, Options, done, plane, start, succeed};

#[tokio::test]
async fn conditions_of_others_survive_and_the_status_belongs_to_the_controller() {
    // COM-009, COM-030, COM-031
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    running.create("a").await;
    let object = running.until_ready("a").await;
    let mut list = serde_json::to_value(&object.status.as_ref().unwrap().conditions).unwrap();
    list.as_array_mut().unwrap().push(json!({
        "type": "Audited", "status": "True", "reason": "ByHand", "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }));
    let patch = json!({"status": {"conditions": list, "observedIgnore": "theirs"}});
    running
        .api()
        .patch_status("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    running.patch("a", json!({"spec": {"interval": "2h"}})).await;
    let object = running
        .until("a", "the edit observed", |object| {
            object
                .status
                .as_ref()
                .and_then(|status| status.observed_generation)
                == object.metadata.generation
        })
        .await;
    let status = object.status.as_ref().unwrap();
    let order: Vec<&str> = status
        .conditions
        .iter()
        .map(|c| c.condition_type.as_str())
        .collect();
    assert_eq!(order, [READY, "Audited"]);
    assert_eq!(
        status.observed_ignore.as_deref(),
        Some("theirs"),
        "fields of others survive"
    );
    let ready = &status.conditions[0];
    assert_eq!(
        (ready.observed_generation, ready.reason.as_str()),
        (object.metadata.generation, "Succeeded")
    );
    let owned = object.metadata.managed_fields.unwrap().into_iter().any(|entry| {
        entry.manager.as_deref() == Some(NAME)
            && entry.subresource.as_deref() == Some("status")
            && entry
                .fields_v1
                .is_some_and(|fields| fields.0.to_string().contains("f:observedGeneration"))
    });
    assert!(owned);
    running.stop().await;
}

#[tokio::test]
async fn a_failing_object_keeps_the_old_observed_generation_until_it_is_fixed() {
    // COM-010, COM-016
    let Some(plane) = plane().await else { return };
    let conclusion = Conclusion::Summarized(Summary {
        conditions: &[FETCH_FAILED, ARTIFACT_IN_STORAGE, STALLED, RECONCILING],
        negative: &[FETCH_FAILED, STALLED, RECONCILING],
        bipolar: &[],
    });
    let running = start(
        plane,
        Options {
            conclusion,
            ..Options::default()
        },
        |context, _| {
            Box::pin(async move {
                conditions::mark_progress(
                    &mut context.object,
                    false,
                    "Progressing",
                    "reconciliation in progress",
                );
                if context.object.spec.ignore.as_deref() == Some("broken") {
                    return Err(ReconcileError::backoff("GitOperationFailed", "cannot clone")
                        .with_condition(FETCH_FAILED));
                }
                conditions::delete(&mut context.object, FETCH_FAILED);
                conditions::mark_true(&mut context.object, ARTIFACT_IN_STORAGE, "Succeeded", "stored");
                Ok(sluice_runtime::Outcome::done(Duration::from_secs(3600)))
            })
        },
    )
    .await;
    running.create("a").await;
    running.until_ready("a").await;
    let broken = running.patch("a", json!({"spec": {"ignore": "broken"}})).await;
    let failed = running
        .until("a", "failed", |object| {
            sluice_testbed::wait::has_condition(object, READY, "False")
        })
        .await;
    let status = failed.status.unwrap();
    assert_ne!(status.observed_generation, broken.metadata.generation);
    let shown: Vec<String> = status
        .conditions
        .iter()
        .map(|c| format!("{}={} {}", c.condition_type, c.status, c.reason))
        .collect();
    assert_eq!(
        shown,
        [
            "Reconciling=True ProgressingWithRetry",
            "Ready=False GitOperationFailed",
            "FetchFailed=True GitOperationFailed",
            "ArtifactInStorage=True Succeeded",
        ]
    );
    let fixed = running.patch("a", json!({"spec": {"ignore": null}})).await;
    let object = running.until_ready("a").await;
    assert_eq!(
        object.status.unwrap().observed_generation,
        fixed.metadata.generation
    );
    running.stop().await;
}

#[tokio::test]
async fn a_reconcile_that_changes_nothing_writes_nothing_and_one_that_does_writes_once() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    running.create("a").await;
    running.until_ready("a").await;
    running.until_idle().await;
    let log = plane.audit_log().await.unwrap();
    let mark = log.mark().await.unwrap();
    running
        .controller
        .queue
        .add(running.key("a"), sluice_runtime::Cause::Schedule);
    running
        .until_called("the second reconcile", |calls| calls.len() == 2)
        .await;
    running.until_idle().await;
    let requests = log.since(mark).await.unwrap().by_user_agent(&running.agent());
    assert_eq!(requests.count(), 0, "{:?}", requests.table());
    let mark = log.mark().await.unwrap();
    running.request("a", "now").await;
    running
        .until_called("the third reconcile", |calls| calls.len() == 3)
        .await;
    running.until_idle().await;
    let requests = log.since(mark).await.unwrap().by_user_agent(&running.agent());
    assert_eq!(requests.count(), 1, "{:?}", requests.table());
    running.stop().await;
}

#[tokio::test]
async fn conflicts_with_other_writers_are_resolved_without_losing_either() {
    // COM-031
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, _| {
        Box::pin(async move {
            // Someone else writes between our read and our write, each time.
            let api = kube::Api::<sluice_api::source::GitRepository>::namespaced(
                crate::harness::plane().await.unwrap().client().await.unwrap(),
                &context.key().namespace,
            );
            let name = context.key().name.clone();
            let live: Value = serde_json::to_value(api.get(&name).await.unwrap()).unwrap();
            let mut list = live["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            list.push(json!({
                "type": format!("Foreign{}", list.len()), "status": "True", "reason": "ByHand", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }));
            let patch = json!({"status": {"conditions": list}});
            api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&patch))
                .await
                .unwrap();
            done(context)
        })
    })
    .await;
    running.create("a").await;
    let object = running.until_ready("a").await;
    assert!(conditions::has(&object, "Foreign0"));
    running.request("a", "again").await;
    let object = running
        .until("a", "the request answered", |object| {
            object
                .status
                .as_ref()
                .is_some_and(|status| status.last_handled_reconcile_at.is_some())
        })
        .await;
    assert!(
        conditions::has(&object, "Foreign0") && conditions::has(&object, "Foreign2"),
        "{object:?}"
    );
    assert!(conditions::is_true(&object, READY));
    running.stop().await;
}
