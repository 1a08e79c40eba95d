//! Single files over HTTP.

use std::cell::OnceCell;
use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use reqwest::{Client, Response, redirect};
use sluice_kustomize::GitAddress;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::Limits;

/// Redirects followed for one file, as Go's client does.
const MAX_REDIRECTS: usize = 10;

/// How often a wait looks whether it was cancelled.
const CANCELLATION_CHECK: Duration = Duration::from_millis(200);

/// Connections to file servers, made when the first file is asked for.
#[derive(Default)]
pub(crate) struct FileClient(OnceCell<Connections>);

struct Connections {
    runtime: Runtime,
    client: Client,
}

impl Connections {
    fn new() -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let client = Client::builder()
            .user_agent(concat!("sluice/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::custom(follow))
            .build();
        Ok(Self {
            runtime: runtime.map_err(|error| error.to_string())?,
            client: client.map_err(|error| describe(&error))?,
        })
    }
}

/// Follows a redirect unless it gives up TLS.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    if attempt.previous().len() > MAX_REDIRECTS {
        return attempt.error("stopped after 10 redirects");
    }
    let was_safe = attempt
        .previous()
        .last()
        .is_some_and(|url| url.scheme() == "https");
    if was_safe && attempt.url().scheme() != "https" {
        return attempt.error("refused to follow a redirect from https to http");
    }
    attempt.follow()
}

impl FileClient {
    /// Reads the file at an address within the time that is `allowed`.
    ///
    /// # Errors
    /// Why the file could not be had, in words for the user.
    pub(crate) fn get(&self, address: &str, allowed: Duration, limits: &Limits) -> Result<Bytes, String> {
        let url = Url::parse(address).map_err(|error| error.to_string())?;
        let connections = match self.0.get() {
            Some(connections) => connections,
            None => {
                let made = Connections::new()?;
                self.0.get_or_init(|| made)
            }
        };
        let end = Instant::now() + allowed;
        connections.runtime.block_on(async {
            let request = connections.client.get(url).send();
            let mut response = bounded(request, end, limits).await??;
            check_status(&response, address)?;
            let mut contents = BytesMut::new();
            while let Some(chunk) = bounded(response.chunk(), end, limits).await?? {
                if (contents.len() + chunk.len()) as u64 > limits.file_bytes {
                    return Err(format!("the file has more than {} bytes", limits.file_bytes));
                }
                contents.extend_from_slice(&chunk);
            }
            Ok(contents.freeze())
        })
    }
}

/// Waits until the time is over or the build was cancelled.
async fn bounded<T>(
    future: impl Future<Output = reqwest::Result<T>>,
    end: Instant,
    limits: &Limits,
) -> Result<Result<T, String>, String> {
    let mut future = std::pin::pin!(future);
    loop {
        if limits.cancelled.load(Ordering::Relaxed) {
            return Err("operation cancelled".to_owned());
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("the file did not come in time".to_owned());
        }
        let slice = left.min(CANCELLATION_CHECK);
        if let Ok(outcome) = tokio::time::timeout(slice, future.as_mut()).await {
            return Ok(outcome.map_err(|error| describe(&error)));
        }
    }
}

fn check_status(response: &Response, address: &str) -> Result<(), String> {
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    // kustomize goes on to clone such an address.
    if GitAddress::parse(address).is_some() {
        return Err("URL is a git repository".to_owned());
    }
    let reason = status.canonical_reason().unwrap_or_default();
    let hint = match status {
        StatusCode::NOT_FOUND => "; check the address",
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            "; only what everybody may read, or what the address holds credentials for, can be fetched"
        }
        _ => "",
    };
    Err(format!(
        "HTTP Error: status code {} ({reason}){hint}",
        status.as_u16()
    ))
}

/// The whole chain of an error in one line, without the address, which may hold a password.
fn describe(error: &reqwest::Error) -> String {
    let mut text = if error.is_redirect() {
        String::new()
    } else if error.is_connect() {
        "unable to connect".to_owned()
    } else {
        "the transfer failed".to_owned()
    };
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
