//! A small HTTP server that keeps what is posted to it, such as events meant for notification-controller.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use serde_json::Value;

use crate::{Error, Result};

/// One request that the sink got.
#[derive(Debug, Clone)]
pub struct Received {
    /// Such as `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body as it came.
    pub body: Vec<u8>,
    /// The status that it was answered with.
    pub answered: u16,
}

impl Received {
    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// The first header of that name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct Record {
    received: Vec<Received>,
    next: VecDeque<u16>,
    usual: Option<u16>,
}

#[derive(Default)]
struct Shared {
    record: Mutex<Record>,
    grown: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running sink. It answers 200 unless told otherwise. Dropping it ends it.
pub struct Sink {
    url: String,
    shared: Arc<Shared>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Sink")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Sink {
    /// Starts a sink on a free loopback port, in a thread of its own.
    pub fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")
            .map_err(Error::io("listen on the loopback address"))?;
        listener
            .set_nonblocking(true)
            .map_err(Error::io("listen on the loopback address"))?;
        let address = listener
            .local_addr()
            .map_err(Error::io("listen on the loopback address"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("make a tokio runtime"))?;
        let shared = Arc::new(Shared::default());
        let state = Arc::clone(&shared);
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                let router = Router::new()
                    .fallback(record)
                    .layer(DefaultBodyLimit::max(64 << 20))
                    .with_state(state);
                // Dropping the server closes all connections, idle or not.
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self {
            url: format!("http://{address}"),
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The sink's address, such as `http://127.0.0.1:PORT`; every path below it is taken.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What came so far.
    pub fn received(&self) -> Vec<Received> {
        self.shared.lock().received.clone()
    }

    /// Forgets what came so far.
    pub fn clear(&self) {
        self.shared.lock().received.clear();
    }

    /// Answers all further requests with this status.
    pub fn answer(&self, status: u16) {
        self.shared.lock().usual = Some(status);
    }

    /// Answers the next requests with these statuses, one each, and later ones as before.
    pub fn answer_next(&self, statuses: &[u16]) {
        self.shared.lock().next.extend(statuses);
    }

    /// Waits until so many requests have come that the condition holds for, and returns those.
    pub fn wait_for(
        &self,
        count: usize,
        timeout: Duration,
        condition: impl Fn(&Received) -> bool,
    ) -> Result<Vec<Received>> {
        let began = Instant::now();
        let mut record = self.shared.lock();
        loop {
            let matching: Vec<_> = record
                .received
                .iter()
                .filter(|each| condition(each))
                .cloned()
                .collect();
            if matching.len() >= count {
                return Ok(matching);
            }
            let Some(left) = timeout.checked_sub(began.elapsed()) else {
                let bodies: Vec<_> = record
                    .received
                    .iter()
                    .map(|each| String::from_utf8_lossy(&each.body).into_owned())
                    .collect();
                let last = format!("{} matching; all: {}", matching.len(), bodies.join("\n"));
                return Err(Error::Timeout {
                    what: format!("{count} requests to the sink"),
                    after: timeout,
                    last,
                });
            };
            record = self
                .shared
                .grown
                .wait_timeout(record, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn record(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let mut record = shared.lock();
    let answered = record.next.pop_front().or(record.usual).unwrap_or(200);
    let headers = headers
        .iter()
        .map(|(name, value)| {
            (
                name.as_str().to_owned(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    record.received.push(Received {
        method: method.to_string(),
        path: uri.to_string(),
        headers,
        body: body.to_vec(),
        answered,
    });
    drop(record);
    shared.grown.notify_all();
    StatusCode::from_u16(answered).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loopback;

    const LIMIT: Duration = Duration::from_secs(30);

    #[test]
    fn requests_are_kept_and_answered_as_told() {
        let sink = Sink::start().unwrap();
        sink.answer_next(&[500, 429]);
        let post =
            |body: &str| loopback::request("POST", &format!("{}/a?b=c", sink.url()), body.as_bytes(), LIMIT);
        assert_eq!(post(r#"{"n": 1}"#).unwrap().0, 500);
        assert_eq!(post(r#"{"n": 2}"#).unwrap().0, 429);
        assert_eq!(post(r#"{"n": 3}"#).unwrap().0, 200);
        sink.answer(404);
        assert_eq!(post("text").unwrap().0, 404);
        let received = sink.received();
        assert_eq!(received.len(), 4);
        assert_eq!(
            (received[1].path.as_str(), received[1].method.as_str()),
            ("/a?b=c", "POST")
        );
        assert_eq!(received[2].json()["n"], 3);
        assert_eq!(received[3].json(), Value::Null);
        assert_eq!(received[0].header("content-length"), Some("8"));
    }

    #[test]
    fn waiting_ends_when_enough_has_come() {
        let sink = Sink::start().unwrap();
        let url = format!("{}/later", sink.url());
        let poster = std::thread::spawn(move || loopback::request("POST", &url, b"x", LIMIT).unwrap());
        let matching = sink
            .wait_for(1, LIMIT, |received| received.path == "/later")
            .unwrap();
        assert_eq!(matching.len(), 1);
        poster.join().unwrap();
        let error = sink.wait_for(2, Duration::from_millis(10), |_| true).unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
    }

    #[test]
    fn dropped_sink_refuses_connections() {
        let sink = Sink::start().unwrap();
        let url = sink.url().to_owned();
        drop(sink);
        assert!(loopback::request("GET", &url, b"", LIMIT).is_err());
    }
}
