//! The client stack: one shared transport under thin layers.
//!
//! Plain requests share one HTTP/2 connection where the API server offers it, so that many parallel patches do not open a connection
//! each. Watches have connections of their own, so that no limit on streams and no full window of one can hold up the others. Views for
//! other identities add impersonation headers to the same transport and cost next to nothing.

mod availability;
mod impersonation;
mod kubeconfig;
mod remote;
mod throttle;
mod token;
mod transport;

use std::path::PathBuf;

use http::{Method, Request};
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};
use tracing::debug;

pub use availability::{Availability, Returns};
pub use impersonation::Identity;
pub use kubeconfig::single_context;
pub use remote::{RemoteClusters, RemoteError, RemotePolicy};
pub use token::TokenError;

use crate::error::RuntimeError;
use crate::lease::Fence;
use crate::telemetry::Metrics;
use impersonation::Impersonate;
use throttle::Throttle;
use transport::Transport;

/// How to reach and use the API server.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The `User-Agent` of all requests: `<controller>/<version>`.
    pub user_agent: String,
    /// Sustained requests per second (`--kube-api-qps`); not above zero: no limit.
    pub qps: f64,
    /// Requests in a burst (`--kube-api-burst`).
    pub burst: u32,
    /// Refuses writes once leadership is lost.
    pub fence: Fence,
    /// Learns from the requests whether the API server can be reached.
    pub availability: Availability,
    /// A kubeconfig file (`--kubeconfig`); `None`: `$KUBECONFIG`, or the Pod's service account.
    pub kubeconfig: Option<PathBuf>,
}

/// Connects to an API server.
///
/// Client-side throttling is switched off where the API server has Priority and Fairness, which does it better.
///
/// # Errors
/// If the configuration cannot be read or is not usable.
pub async fn connect(options: &ClientOptions, metrics: &Metrics) -> Result<Client, RuntimeError> {
    let config = load(options).await?;
    let throttle = match has_priority_and_fairness(&config, options, metrics).await {
        true => Throttle::unlimited(),
        false => Throttle::new(options.qps, options.burst),
    };
    build(&config, options, throttle, metrics)
}

/// A client for a configuration made elsewhere, such as a kubeconfig from a Secret, with the given limits.
///
/// # Errors
/// If TLS or authentication cannot be set up from it.
pub fn connect_with(
    config: &Config,
    options: &ClientOptions,
    metrics: &Metrics,
) -> Result<Client, RuntimeError> {
    build(
        config,
        options,
        Throttle::new(options.qps, options.burst),
        metrics,
    )
}

/// A view of a client that acts as another identity, over the same connections.
///
/// # Errors
/// [`RuntimeError::Configuration`] if the identity holds characters that HTTP headers cannot carry.
pub fn impersonating(client: &Client, identity: &Identity) -> Result<Client, RuntimeError> {
    let service = Impersonate::new(client.clone(), identity)?;
    Ok(Client::new(service, client.default_namespace()))
}

async fn load(options: &ClientOptions) -> Result<Config, RuntimeError> {
    let failed = |error: BoxError| RuntimeError::Kubeconfig(error);
    match &options.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(|error| failed(error.into()))?;
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
                .await
                .map_err(|error| failed(error.into()))
        }
        None => Config::infer().await.map_err(|error| failed(error.into())),
    }
}

fn build(
    config: &Config,
    options: &ClientOptions,
    throttle: Throttle,
    metrics: &Metrics,
) -> Result<Client, RuntimeError> {
    let failed = |error: kube::Error| RuntimeError::Kubeconfig(error.into());
    let transport = Transport::new(config, options, throttle, metrics.clone())?;
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(failed)?)
        .layer(config.extra_headers_layer().map_err(failed)?)
        .map_err(BoxError::from)
        .service(transport);
    Ok(Client::new(service, config.default_namespace.clone()))
}

/// Whether the API server throttles by itself: its answers then name the flow that a request belongs to.
async fn has_priority_and_fairness(config: &Config, options: &ClientOptions, metrics: &Metrics) -> bool {
    let Ok(client) = build(config, options, Throttle::unlimited(), metrics) else {
        return false;
    };
    let request = Request::builder()
        .method(Method::HEAD)
        .uri("/livez/ping")
        .body(Body::empty());
    let Ok(request) = request else { return false };
    match client.send(request).await {
        Ok(response) => response.headers().contains_key("x-kubernetes-pf-flowschema-uid"),
        Err(error) => {
            debug!(%error, "cannot tell whether the API server has Priority and Fairness; throttling requests");
            false
        }
    }
}
