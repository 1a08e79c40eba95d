//! Posting events to notification-controller's address.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use reqwest::StatusCode;
use serde::Serialize;
use sluice_api::meta::Timestamp;

/// Longest text of a posted event, in characters.
const MESSAGE_LIMIT: usize = 39_000;

/// How often a post is tried.
const ATTEMPTS: u32 = 5;

/// The time that one try may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The pause after the first failed try; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The document that is posted: Flux's event API (`event.toolkit.fluxcd.io`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventDocument {
    /// The object that the event is about.
    pub involved_object: ObjectReference,
    /// `info` or `error`.
    pub severity: &'static str,
    /// When it was emitted, in whole seconds.
    pub timestamp: Timestamp,
    /// The text, at most 39,000 characters.
    pub message: String,
    /// The CamelCase reason.
    pub reason: String,
    /// Revision, digest and the like, and the object's own event annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// The controller's name.
    pub reporting_controller: String,
    /// The host's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reporting_instance: String,
}

impl EventDocument {
    /// Cuts the text to what receivers accept.
    pub(crate) fn cut_message(message: &str) -> String {
        match message.char_indices().nth(MESSAGE_LIMIT) {
            Some((end, _)) => message.get(..end).unwrap_or(message).to_owned(),
            None => message.to_owned(),
        }
    }
}

/// Why an event was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostError {
    #[error("the receiver answered {0}")]
    Refused(StatusCode),
    #[error("{0}")]
    Transport(#[source] reqwest::Error),
}

/// Posts documents to one address.
#[derive(Clone, Debug)]
pub(crate) struct Webhook {
    client: reqwest::Client,
    address: url::Url,
}

impl Webhook {
    /// A poster for this address.
    pub(crate) fn new(address: url::Url) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().timeout(TIMEOUT).build()?;
        Ok(Self { client, address })
    }

    /// Posts one document. Connection errors and server errors are tried again, a refusal is final: a 429 means that the receiver
    /// has seen an equal event.
    pub(crate) async fn post(&self, document: &EventDocument) -> Result<(), PostError> {
        let mut attempt = 1;
        loop {
            let error = match self.client.post(self.address.clone()).json(document).send().await {
                Ok(response) if response.status().is_success() => return Ok(()),
                Ok(response) => {
                    let status = response.status();
                    let final_answer = !status.is_server_error() || status == StatusCode::NOT_IMPLEMENTED;
                    if final_answer {
                        return match status {
                            StatusCode::TOO_MANY_REQUESTS => Ok(()),
                            status => Err(PostError::Refused(status)),
                        };
                    }
                    PostError::Refused(status)
                }
                Err(error) => PostError::Transport(error),
            };
            if attempt == ATTEMPTS {
                return Err(error);
            }
            tokio::time::sleep(FIRST_PAUSE * 2u32.pow(attempt - 1)).await;
            attempt += 1;
        }
    }
}
