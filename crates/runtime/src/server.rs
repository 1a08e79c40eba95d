//! The process's own HTTP endpoints: metrics, and health for the kubelet.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::error::RuntimeError;
use crate::telemetry::Metrics;

/// Whether the process is ready; `/readyz` answers with it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Health {
    ready: Arc<AtomicBool>,
}

impl Health {
    /// Says whether the process is ready.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// Whether the process is ready.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }
}

/// Listens on an address in Go's form: `:8080`, `127.0.0.1:0`, `host:port`. Without a host, on all addresses of both families.
///
/// # Errors
/// [`RuntimeError::Listen`], which names the flag.
pub async fn listen(flag: &'static str, address: &str) -> Result<TcpListener, RuntimeError> {
    let failed = |source| RuntimeError::Listen {
        flag,
        address: address.to_owned(),
        source,
    };
    let Some(port) = address.strip_prefix(':') else {
        return TcpListener::bind(address).await.map_err(failed);
    };
    let port: u16 = port
        .parse()
        .map_err(|_| failed(std::io::ErrorKind::InvalidInput.into()))?;
    match TcpListener::bind(SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port)).await {
        Ok(listener) => Ok(listener),
        // Hosts without IPv6.
        Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => {
            TcpListener::bind(("0.0.0.0", port)).await.map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

/// Serves `/metrics` until the token is cancelled.
pub(crate) async fn serve_metrics(listener: TcpListener, metrics: Metrics, stop: CancellationToken) {
    let router = Router::new()
        .route("/metrics", get(show_metrics))
        .with_state(metrics);
    serve(listener, router, stop).await;
}

/// Serves `/healthz` and `/readyz` until the token is cancelled.
pub(crate) async fn serve_health(listener: TcpListener, health: Health, stop: CancellationToken) {
    let router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(show_ready))
        .with_state(health);
    serve(listener, router, stop).await;
}

async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    // Serving ends only with the token; accept errors are retried inside.
    let _ = axum::serve(listener, router)
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await;
}

async fn show_metrics(State(metrics): State<Metrics>) -> impl IntoResponse {
    match metrics.encode() {
        Ok(text) => (
            StatusCode::OK,
            [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
            text,
        ),
        Err(error) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            [(header::CONTENT_TYPE, "text/plain; charset=utf-8")],
            error.to_string().into_bytes(),
        ),
    }
}

async fn show_ready(State(health): State<Health>) -> impl IntoResponse {
    match health.is_ready() {
        true => (StatusCode::OK, "ok"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "not ready: the caches are not filled yet",
        ),
    }
}
