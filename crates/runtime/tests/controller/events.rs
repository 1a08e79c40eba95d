//! Kubernetes Events.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event as CoreEvent;
use kube::Api;
use sluice_runtime::{Event, Outcome, ReconcileError};
use sluice_testbed::wait;

use crate::harness::{Options, PATIENCE, Running, done, plane, start};

async fn until_events(
    running: &Running,
    what: &str,
    condition: impl Fn(&[CoreEvent]) -> bool,
) -> Vec<CoreEvent> {
    let api: Api<CoreEvent> = Api::namespaced(running.client.clone(), running.namespace.name());
    wait::until_all(&api, PATIENCE, what, condition).await.unwrap()
}

#[tokio::test]
async fn events_appear_on_the_object_under_the_controllers_name_and_equal_ones_are_counted() {
    // COM-011, COM-013
    let Some(plane) = plane().await else { return };
    let running = start(plane, Options::default(), |context, _| {
        Box::pin(async move {
            context.emit(
                Event::trace("ArtifactUpToDate", "nothing new").with_metadata("example.com/key", "value"),
            );
            match context.requested_at() {
                Some("fail") => Err(ReconcileError::stalled("URLInvalid", "bad address")),
                _ => {
                    done(context)?;
                    let event = Event::info("ReconciliationSucceeded", "finished");
                    Ok(Outcome::done_with(Duration::from_secs(3600), event))
                }
            }
        })
    })
    .await;
    running.create("a").await;
    running.until_ready("a").await;
    running.request("a", "fail").await;
    let count = |events: &[CoreEvent], reason: &str| {
        events
            .iter()
            .find(|event| event.reason.as_deref() == Some(reason))
            .and_then(|event| event.count)
    };
    let events = until_events(&running, "three kinds of events", |events| {
        count(events, "ArtifactUpToDate") == Some(2)
            && count(events, "URLInvalid").is_some()
            && count(events, "ReconciliationSucceeded").is_some()
    })
    .await;
    assert_eq!(events.len(), 3);
    for event in &events {
        let kind = if event.reason.as_deref() == Some("URLInvalid") {
            "Warning"
        } else {
            "Normal"
        };
        assert_eq!(event.type_.as_deref(), Some(kind));
        assert_eq!(event.involved_object.name.as_deref(), Some("a"));
        assert_eq!(event.involved_object.kind.as_deref(), Some("GitRepository"));
        let component = event.source.as_ref().and_then(|source| source.component.clone());
        assert_eq!(component, Some(running.agent()));
        assert_eq!(event.reporting_component, component);
    }
    let trace = events
        .iter()
        .find(|event| event.reason.as_deref() == Some("ArtifactUpToDate"))
        .unwrap();
    assert_eq!(
        trace
            .metadata
            .annotations
            .as_ref()
            .unwrap()
            .get("example.com/key")
            .map(String::as_str),
        Some("value")
    );
    assert_eq!(trace.message.as_deref(), Some("nothing new"));
    running.stop().await;
}
