//! HTTP clients with certificates and proxies from Secrets.

use std::time::Duration;

use crate::data::Proxy;
use crate::tls::ClientCertificate;

/// Which certificate authorities a client trusts when some are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Roots {
    /// The system's and the given ones, as the source controllers do.
    #[default]
    WithSystem,
    /// The given ones alone, as the notification controller does.
    Only,
}

/// Why a client could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A certificate or key is not accepted.
    #[error("failed to configure TLS: {0}")]
    Tls(String),
    /// The proxy is not accepted.
    #[error("failed to configure proxy: {0}")]
    Proxy(String),
    /// The client as a whole is not accepted.
    #[error("failed to configure HTTP client: {0}")]
    Client(String),
}

/// What a client for one server is made of. Install a crypto provider for rustls before building one.
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// Certificate authorities, PEM.
    pub authorities: Option<Vec<u8>>,
    /// Whether they come beside the system's or replace them.
    pub roots: Roots,
    /// The certificate that the client shows.
    pub client: Option<ClientCertificate>,
    /// The proxy. It replaces those of the environment, `NO_PROXY` included; without one the environment's
    /// hold.
    pub proxy: Option<Proxy>,
    /// Hosts that are reached without `proxy`, as `NO_PROXY` lists them.
    pub proxy_exceptions: Option<String>,
    /// The time for a whole request with its answer.
    pub timeout: Option<Duration>,
    /// What the client calls itself.
    pub user_agent: Option<String>,
}

impl ClientOptions {
    /// A builder with these options set, for what else a caller needs.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn builder(&self) -> Result<reqwest::ClientBuilder, ClientError> {
        let tls = |error: reqwest::Error| ClientError::Tls(describe(&error));
        let mut builder = reqwest::Client::builder();
        if let Some(pem) = &self.authorities {
            let certificates = reqwest::Certificate::from_pem_bundle(pem).map_err(tls)?;
            builder = match self.roots {
                Roots::WithSystem => builder.tls_certs_merge(certificates),
                Roots::Only => builder.tls_certs_only(certificates),
            };
        }
        if let Some(client) = &self.client {
            let pem = zeroize::Zeroizing::new([client.private_key.expose(), b"\n", &client.chain].concat());
            builder = builder.identity(reqwest::Identity::from_pem(&pem).map_err(tls)?);
        }
        if let Some(proxy) = &self.proxy {
            let exceptions = self
                .proxy_exceptions
                .as_deref()
                .and_then(reqwest::NoProxy::from_string);
            builder = builder.no_proxy().proxy(to_reqwest(proxy)?.no_proxy(exceptions));
        }
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(timeout);
        }
        if let Some(agent) = &self.user_agent {
            builder = builder.user_agent(agent);
        }
        Ok(builder)
    }

    /// The client.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn build(&self) -> Result<reqwest::Client, ClientError> {
        self.builder()?
            .build()
            .map_err(|error| ClientError::Client(describe(&error)))
    }
}

fn to_reqwest(proxy: &Proxy) -> Result<reqwest::Proxy, ClientError> {
    let made = reqwest::Proxy::all(proxy.url.as_str());
    let mut made = made.map_err(|error| ClientError::Proxy(describe(&error)))?;
    if let Some(credentials) = &proxy.credentials {
        let password = credentials.password.expose_text().unwrap_or_default();
        made = made.basic_auth(&credentials.username, password);
    }
    Ok(made)
}

/// An error with its whole chain of causes: the outermost text alone says little.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
