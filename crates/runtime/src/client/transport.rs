//! The bottom of the client stack: connections, limits, retries and counting.

use std::task::{Context, Poll};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client as HttpClient, Error as HttpError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::Config;
use kube::client::{Body, ConfigExt};
use tokio::time::{Instant, sleep, timeout};
use tower::{BoxError, Service};

use super::throttle::Throttle;
use super::{Availability, ClientOptions};
use crate::error::RuntimeError;
use crate::lease::{Fence, FenceError};
use crate::telemetry::Metrics;

/// How often a request is tried.
const ATTEMPTS: u32 = 5;

/// The time in which an answer other than a watch's has to begin. The API server's own limit is a minute.
const ANSWER_TIME: Duration = Duration::from_secs(90);

/// How long connecting may take.
const CONNECT_TIME: Duration = Duration::from_secs(15);

/// How often an idle connection is checked, so that a peer that vanished is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(20);

/// The longest pause that an API server may ask for before a retry.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

type Pool = HttpClient<HttpsConnector<HttpConnector>, Body>;

/// Sends requests; clones share the connections.
#[derive(Clone)]
pub(super) struct Transport {
    requests: Pool,
    watches: Pool,
    user_agent: HeaderValue,
    fence: Fence,
    availability: Availability,
    throttle: Throttle,
    metrics: Metrics,
}

/// An API server that does not answer.
#[derive(Debug, thiserror::Error)]
#[error("no answer from the Kubernetes API within {} s", ANSWER_TIME.as_secs())]
struct NoAnswer;

impl Transport {
    pub(super) fn new(
        config: &Config,
        options: &ClientOptions,
        throttle: Throttle,
        metrics: Metrics,
    ) -> Result<Self, RuntimeError> {
        let user_agent = HeaderValue::from_str(&options.user_agent)
            .map_err(|error| RuntimeError::Kubeconfig(error.into()))?;
        Ok(Self {
            requests: pool(config, true)?,
            watches: pool(config, false)?,
            user_agent,
            fence: options.fence.clone(),
            availability: options.availability.clone(),
            throttle,
            metrics,
        })
    }

    async fn send(self, mut request: Request<Body>) -> Result<Response<Incoming>, BoxError> {
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        let watch = is_watch(&request);
        let mut attempt = 1;
        loop {
            self.throttle.acquire().await;
            let spare = copy(&request);
            let result = self.send_once(request, watch).await;
            let Some(spare) = spare.filter(|_| attempt < ATTEMPTS) else {
                return result;
            };
            match pause_before_retry(&spare, &result, attempt) {
                Some(pause) => sleep(pause).await,
                None => return result,
            }
            request = spare;
            attempt += 1;
        }
    }

    async fn send_once(&self, request: Request<Body>, watch: bool) -> Result<Response<Incoming>, BoxError> {
        let started = Instant::now();
        let method = request.method().clone();
        let host = request
            .uri()
            .authority()
            .map(ToString::to_string)
            .unwrap_or_default();
        let safe = is_safe(&method);
        let result: Result<Response<Incoming>, BoxError> = if watch {
            self.watches.request(request).await.map_err(BoxError::from)
        } else {
            // What was refused before it was sent does not count as a request.
            let left = if safe { None } else { self.fence.check()? };
            let limit = left.map_or(ANSWER_TIME, |left| left.min(ANSWER_TIME));
            match timeout(limit, self.requests.request(request)).await {
                Ok(result) => result.map_err(BoxError::from),
                Err(_) if left.is_some_and(|left| left < ANSWER_TIME) => Err(FenceError.into()),
                Err(_) => Err(NoAnswer.into()),
            }
        };
        let code = match &result {
            Ok(response) => {
                self.availability.answered();
                response.status().as_str().to_owned()
            }
            Err(error) => {
                if !error.is::<FenceError>() {
                    self.availability.lost();
                }
                "<error>".to_owned()
            }
        };
        self.metrics
            .requested(method.as_str(), &host, &code, started.elapsed());
        result
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.clone().send(request).boxed()
    }
}

fn pool(config: &Config, multiplexed: bool) -> Result<Pool, RuntimeError> {
    let failed = |error: BoxError| RuntimeError::Kubeconfig(error);
    if let Some(proxy) = &config.proxy_url {
        return Err(failed(
            format!("the kubeconfig asks for the proxy {proxy}: proxies to the API server are not supported")
                .into(),
        ));
    }
    let tls = config
        .rustls_client_config()
        .map_err(|error| failed(error.into()))?;
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name =
            rustls::pki_types::ServerName::try_from(name.clone()).map_err(|error| failed(error.into()))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(CONNECT_TIME));
    http.set_keepalive(Some(KEEP_ALIVE));
    http.set_keepalive_interval(Some(KEEP_ALIVE / 4));
    http.set_keepalive_retries(Some(4));
    let connector = match multiplexed {
        true => builder.enable_all_versions().wrap_connector(http),
        false => builder.enable_http1().wrap_connector(http),
    };
    Ok(HttpClient::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(90))
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(KEEP_ALIVE)
        .http2_adaptive_window(true)
        .build(connector))
}

fn is_watch(request: &Request<Body>) -> bool {
    request
        .uri()
        .query()
        .is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"))
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// A copy for a retry; bodies that are streams cannot be sent twice.
fn copy(request: &Request<Body>) -> Option<Request<Body>> {
    let mut copy = Request::new(request.body().try_clone()?);
    copy.method_mut().clone_from(request.method());
    copy.uri_mut().clone_from(request.uri());
    copy.headers_mut().clone_from(request.headers());
    Some(copy)
}

/// How long to wait before the same request is sent again; `None` if it must not be: requests that change something are repeated only
/// when the API server has refused them and says when to come back.
fn pause_before_retry(
    request: &Request<Body>,
    result: &Result<Response<Incoming>, BoxError>,
    attempt: u32,
) -> Option<Duration> {
    match result {
        Ok(response) => {
            let status = response.status();
            if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
                return None;
            }
            let seconds: u64 = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
            Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
        }
        Err(error) => {
            let safe = is_safe(request.method());
            let unsent = error
                .downcast_ref::<HttpError>()
                .is_some_and(HttpError::is_connect);
            (safe || unsent).then(|| Duration::from_millis(100) * 2u32.pow(attempt))
        }
    }
}
