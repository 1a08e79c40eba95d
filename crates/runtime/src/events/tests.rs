//! Posting to a real HTTP server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use sluice_api::source::GitRepository;

use super::*;
use crate::telemetry::Metrics;

/// A receiver that gives the listed answers, then 200.
#[derive(Clone, Default)]
struct Receiver {
    answers: Arc<Mutex<Vec<StatusCode>>>,
    received: Arc<Mutex<Vec<Value>>>,
}

impl Receiver {
    async fn start(answers: &[StatusCode]) -> (Self, String) {
        let receiver = Self {
            answers: Arc::new(Mutex::new(answers.to_vec())),
            ..Self::default()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/", post(Self::receive))
            .with_state(receiver.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (receiver, address)
    }

    async fn receive(State(this): State<Self>, body: axum::Json<Value>) -> StatusCode {
        this.received.lock().unwrap().push(body.0);
        let mut answers = this.answers.lock().unwrap();
        if answers.is_empty() {
            StatusCode::OK
        } else {
            answers.remove(0)
        }
    }

    fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

/// A client that reaches nothing: Kubernetes Events are tested against a real API server.
fn no_cluster() -> kube::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = kube::Config::new("http://127.0.0.1:9".parse().unwrap());
    kube::Client::try_from(config).unwrap()
}

fn repository() -> GitRepository {
    GitRepository {
        metadata: ObjectMeta {
            name: Some("fleet".to_owned()),
            namespace: Some("flux-system".to_owned()),
            uid: Some("u".to_owned()),
            resource_version: Some("7".to_owned()),
            annotations: Some(
                [
                    ("event.toolkit.fluxcd.io/env".to_owned(), "prod".to_owned()),
                    ("other/env".to_owned(), "no".to_owned()),
                ]
                .into(),
            ),
            ..ObjectMeta::default()
        },
        ..GitRepository::default()
    }
}

async fn emit(address: &str, events: impl IntoIterator<Item = Event>) {
    let options = RecorderOptions {
        controller: "source-controller".to_owned(),
        events_address: address.to_owned(),
    };
    let (recorder, tasks) = Recorder::start(no_cluster(), options, Metrics::new().unwrap()).unwrap();
    for event in events {
        recorder.emit(&repository(), event);
    }
    tasks.flush(Duration::from_secs(30)).await;
}

#[tokio::test]
async fn events_are_posted_with_all_fields_and_the_objects_own_metadata() {
    // COM-012, COM-014
    let (receiver, address) = Receiver::start(&[]).await;
    let event = Event::info("NewArtifact", "stored artifact")
        .with_metadata("source.toolkit.fluxcd.io/revision", "main@sha1:1");
    emit(&address, [event]).await;
    let mut document = receiver.received.lock().unwrap()[0].clone();
    let timestamp = document["timestamp"].take();
    assert_eq!(timestamp.as_str().unwrap().len(), "2026-05-01T12:00:00Z".len());
    let host = document
        .as_object_mut()
        .unwrap()
        .remove("reportingInstance")
        .unwrap();
    assert!(!host.as_str().unwrap().is_empty());
    let expected = json!({
        "involvedObject": {
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "name": "fleet",
            "namespace": "flux-system", "uid": "u", "resourceVersion": "7",
        },
        "severity": "info",
        "timestamp": null,
        "message": "stored artifact",
        "reason": "NewArtifact",
        "metadata": {
            "source.toolkit.fluxcd.io/revision": "main@sha1:1",
            "event.toolkit.fluxcd.io/env": "prod",
        },
        "reportingController": "source-controller",
    });
    assert_eq!(document, expected);
}

#[tokio::test]
async fn traces_are_never_posted() {
    // COM-013
    let (receiver, address) = Receiver::start(&[]).await;
    emit(
        &address,
        [
            Event::trace("ArtifactUpToDate", "nothing new"),
            Event::error("Failed", "no"),
        ],
    )
    .await;
    let received = receiver.received.lock().unwrap();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0]["severity"], "error");
}

#[tokio::test]
async fn a_duplicate_is_not_posted_again_and_a_server_error_is() {
    // COM-015
    let (receiver, address) = Receiver::start(&[StatusCode::TOO_MANY_REQUESTS]).await;
    emit(&address, [Event::info("A", "a")]).await;
    assert_eq!(receiver.count(), 1);
    let (receiver, address) = Receiver::start(&[StatusCode::INTERNAL_SERVER_ERROR]).await;
    emit(&address, [Event::info("A", "a")]).await;
    assert_eq!(receiver.count(), 2);
    let (receiver, address) = Receiver::start(&[StatusCode::BAD_REQUEST]).await;
    emit(&address, [Event::info("A", "a")]).await;
    assert_eq!(receiver.count(), 1);
}

#[tokio::test]
async fn events_of_one_object_arrive_in_their_order() {
    let (receiver, address) = Receiver::start(&[]).await;
    emit(
        &address,
        (0..20).map(|number| Event::info("Step", number.to_string())),
    )
    .await;
    let received = receiver.received.lock().unwrap();
    let order: Vec<&str> = received
        .iter()
        .map(|document| document["message"].as_str().unwrap())
        .collect();
    let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(order, expected);
}

#[test]
fn long_texts_are_cut_at_the_limit_of_receivers() {
    let cut = EventDocument::cut_message(&"é".repeat(40_000));
    assert_eq!(cut.chars().count(), 39_000);
    assert_eq!(EventDocument::cut_message("short"), "short");
}

#[tokio::test]
async fn an_address_that_is_no_url_is_refused_with_the_flags_name() {
    let options = RecorderOptions {
        controller: "c".to_owned(),
        events_address: "not a url".to_owned(),
    };
    let error = Recorder::start(no_cluster(), options, Metrics::new().unwrap()).unwrap_err();
    assert!(error.to_string().contains("--events-addr"), "{error}");
}
