//! Waits, panics, retries and the end of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::api::DeleteParams;
use serde_json::json;
use sluice_runtime::{Cause, Outcome, ReconcileError, Waiting};
use sluice_testbed::wait;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::harness::{Options, PATIENCE, Step, done, plane, start, succeed};

fn one_at_a_time() -> Options {
    Options {
        flags: vec!["--concurrent=1".to_owned()],
        ..Options::default()
    }
}

/// A wait of an hour with this state.
fn wait_long(state: u32) -> crate::harness::Answer {
    let deadline = Instant::now() + Duration::from_secs(3600);
    Ok(Outcome::Waiting(Waiting::new("the test", deadline, state)))
}

#[tokio::test]
async fn a_wait_frees_its_slot_and_goes_on_with_its_state_when_rung() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, one_at_a_time(), |context, step| {
        Box::pin(async move {
            match (context.key().name.as_str(), step) {
                ("waits", Step::Reconcile) => wait_long(7),
                ("waits", Step::Resume(state)) if state < 9 => wait_long(state + 1),
                _ => done(context),
            }
        })
    })
    .await;
    running.create("waits").await;
    running.until_called("the wait", |calls| calls.len() == 1).await;
    running.create("other").await;
    running.until_ready("other").await;
    for count in [1, 2, 3] {
        running.until_idle().await;
        running.controller.queue.add(running.key("waits"), Cause::Managed);
        running
            .until_called("going on", |calls| {
                calls
                    .iter()
                    .filter(|call| matches!(call.step, Step::Resume(_)))
                    .count()
                    == count
            })
            .await;
    }
    running.until_ready("waits").await;
    let steps: Vec<Step> = running.calls("waits").iter().map(|call| call.step).collect();
    assert_eq!(
        steps,
        [Step::Reconcile, Step::Resume(7), Step::Resume(8), Step::Resume(9)]
    );
    running.stop().await;
}

#[tokio::test]
async fn a_wait_ends_at_its_deadline_and_keeps_what_it_does_not_wait_for() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, step| {
        Box::pin(async move {
            match step {
                Step::Reconcile if !context.causes().contains(Cause::Source) => {
                    let deadline = Instant::now() + Duration::from_secs(2);
                    Ok(Outcome::Waiting(Waiting::new("the test", deadline, 1)))
                }
                _ => done(context),
            }
        })
    })
    .await;
    running.create("a").await;
    running.until_called("the wait", |calls| calls.len() == 1).await;
    running.until_idle().await;
    running.controller.queue.add(running.key("a"), Cause::Source);
    let calls = running
        .until_called("the reconcile after the wait", |calls| calls.len() == 3)
        .await;
    assert_eq!(
        (calls[1].step, calls[1].causes),
        (Step::Resume(1), Cause::Deadline.into())
    );
    assert_eq!(
        (calls[2].step, calls[2].causes),
        (Step::Reconcile, Cause::Source.into())
    );
    running.stop().await;
}

#[tokio::test]
async fn a_new_spec_a_request_a_suspension_and_a_deletion_are_seen_in_mid_wait() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, step| {
        Box::pin(async move {
            if step == Step::Finalize {
                done(context)
            } else {
                wait_long(1)
            }
        })
    })
    .await;
    running.create("a").await;
    running.until_called("the wait", |calls| calls.len() == 1).await;
    running.patch("a", json!({"spec": {"interval": "2h"}})).await;
    running
        .until_called("the reconcile of the new spec", |calls| calls.len() == 2)
        .await;
    running.request("a", "now").await;
    running
        .until_called("the requested reconcile", |calls| calls.len() == 3)
        .await;
    running.patch("a", json!({"spec": {"suspend": true}})).await;
    running
        .until("a", "the request noted by the suspended object", |object| {
            object
                .status
                .as_ref()
                .is_some_and(|status| status.last_handled_reconcile_at.as_deref() == Some("now"))
        })
        .await;
    running.controller.queue.add(running.key("a"), Cause::Managed);
    running.until_idle().await;
    running.patch("a", json!({"spec": {"suspend": false}})).await;
    running
        .until_called("the reconcile after the suspension", |calls| calls.len() == 4)
        .await;
    running.api().delete("a", &DeleteParams::default()).await.unwrap();
    wait::until_gone(&running.api(), "a", PATIENCE).await.unwrap();
    let steps: Vec<Step> = running.calls("a").iter().map(|call| call.step).collect();
    assert!(
        !steps.iter().any(|step| matches!(step, Step::Resume(_))),
        "{steps:?}"
    );
    running.stop().await;
}

#[tokio::test]
async fn a_panic_is_caught_and_harms_no_other_object() {
    let Some(plane) = plane().await else { return };
    let calm = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&calm);
    let running = start(plane, one_at_a_time(), move |context, _| {
        let calm = Arc::clone(&calm);
        Box::pin(async move {
            if context.key().name == "panics" && !calm.load(Ordering::SeqCst) {
                panic!("as the test wants it");
            }
            done(context)
        })
    })
    .await;
    running.create("panics").await;
    running.until_called("two panics", |calls| calls.len() >= 2).await;
    running.create("other").await;
    running.until_ready("other").await;
    assert!(
        running
            .metrics()
            .await
            .contains("controller_runtime_reconcile_panics_total")
    );
    switch.store(true, Ordering::SeqCst);
    running.until_ready("panics").await;
    running.stop().await;
}

#[tokio::test]
async fn a_change_during_a_reconcile_runs_it_again() {
    let Some(plane) = plane().await else { return };
    let gate = Arc::new(Semaphore::new(0));
    let door = Arc::clone(&gate);
    let running = start(plane, Options::default(), move |context, _| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            gate.acquire().await.unwrap().forget();
            done(context)
        })
    })
    .await;
    running.create("a").await;
    running
        .until_called("the first reconcile", |calls| calls.len() == 1)
        .await;
    let edited = running.patch("a", json!({"spec": {"interval": "2h"}})).await;
    door.add_permits(2);
    running
        .until_called("the second reconcile", |calls| calls.len() == 2)
        .await;
    let object = running.until_ready("a").await;
    assert_eq!(
        object.status.unwrap().observed_generation,
        edited.metadata.generation
    );
    running.stop().await;
}

#[tokio::test]
async fn stopping_lets_a_reconcile_end_and_write_its_status() {
    // COM-029
    let Some(plane) = plane().await else { return };
    let running = start(plane, one_at_a_time(), |context, _| {
        Box::pin(async move {
            context.shutdown().cancelled().await;
            done(context)
        })
    })
    .await;
    running.create("a").await;
    running.create("b").await;
    let calls = running
        .until_called("the first reconcile", |calls| calls.len() == 1)
        .await;
    let api = running.api();
    let first = calls[0].name.clone();
    let second = if first == "a" { "b" } else { "a" };
    running.stop.cancel();
    wait::until_ready(&api, &first, PATIENCE).await.unwrap();
    let untouched = api.get(second).await.unwrap();
    assert!(untouched.status.is_none_or(|status| status.conditions.is_empty()));
    running.stop().await;
}

#[tokio::test]
async fn an_interrupted_reconcile_leaves_the_status_as_it_was() {
    // COM-029
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, _| {
        Box::pin(async move {
            if !context.is_requested() {
                return done(context);
            }
            context.shutdown().cancelled().await;
            Err(ReconcileError::backoff("GitOperationFailed", "interrupted"))
        })
    })
    .await;
    running.create("a").await;
    let before = running.until_ready("a").await;
    running.request("a", "now").await;
    running
        .until_called("the second reconcile", |calls| calls.len() == 2)
        .await;
    let api = running.api();
    running.stop.cancel();
    let key = running.key("a");
    wait::until_some(PATIENCE, "the end of the reconcile", || async {
        (running.controller.queue.load().1 == 0).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(api.get(&key.name).await.unwrap().status, before.status);
    running.stop().await;
}

#[tokio::test]
async fn failures_are_retried_with_back_off() {
    // COM-026
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, _| {
        Box::pin(async move {
            match context.failures() {
                failures if failures < 4 => Err(ReconcileError::backoff("Failed", format!("try {failures}"))),
                _ => done(context),
            }
        })
    })
    .await;
    running.create("a").await;
    running.until_ready("a").await;
    assert_eq!(running.reconciles("a"), 5);
    running.stop().await;
}

#[tokio::test]
async fn many_objects_are_all_reconciled_once() {
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), succeed).await;
    for number in 0..30 {
        running.create(&format!("object-{number}")).await;
    }
    wait::until_all(&running.api(), PATIENCE, "all ready", |objects| {
        objects.len() == 30 && objects.iter().all(wait::is_ready)
    })
    .await
    .unwrap();
    running.until_idle().await;
    for number in 0..30 {
        assert_eq!(running.reconciles(&format!("object-{number}")), 1);
    }
    running.stop().await;
}
