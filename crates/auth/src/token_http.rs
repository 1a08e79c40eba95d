//! Requests for tokens: short, bounded, and without anything secret in what errors say.

use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use url::Url;

use crate::data::Proxy;
use crate::http::{ClientError, ClientOptions, describe};

/// The time for one request for a token, its answer included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest answer that is read, in bytes. Tokens have a few thousand.
const LONGEST_ANSWER: usize = 1 << 20;

/// The longest part of an unexpected answer that errors show, in characters.
const SHOWN: usize = 512;

/// Why a service gave no token. Addresses are shown without query, user and password.
#[derive(Debug, thiserror::Error)]
pub enum TokenRequestError {
    /// No client could be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The service could not be reached, or broke off.
    #[error("{method} {url}: {reason}")]
    Connection {
        /// The request's method.
        method: Method,
        /// The request's address.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The service refused.
    #[error("{method} {url}: {status}: {message}")]
    Refused {
        /// The request's method.
        method: Method,
        /// The request's address.
        url: String,
        /// The answer's status.
        status: StatusCode,
        /// What the service says about it.
        message: String,
    },
    /// The service's answer is not what the protocol has.
    #[error("{method} {url}: the answer cannot be read: {reason}")]
    Answer {
        /// The request's method.
        method: Method,
        /// The request's address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A request for a token.
pub(crate) struct TokenRequest {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<zeroize::Zeroizing<String>>,
}

/// The answer to a request for a token.
pub(crate) struct TokenAnswer {
    method: Method,
    url: String,
    status: StatusCode,
    body: zeroize::Zeroizing<Vec<u8>>,
}

impl TokenRequest {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: HeaderMap::new(),
            body: None,
        }
    }

    /// Adds a header whose value is not shown. One that cannot be sent is left out, so that the service tells.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(mut value) = reqwest::header::HeaderValue::from_str(value) {
            value.set_sensitive(true);
            self.headers.insert(name, value);
        }
        self
    }

    /// Sends fields as a form does.
    pub(crate) fn form(mut self, fields: &[(&str, &str)]) -> Self {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        self.body = Some(form.finish().into());
        self.header("content-type", "application/x-www-form-urlencoded; charset=utf-8")
    }

    /// Sends the request and reads the whole answer, whatever its status.
    pub(crate) async fn send(self, client: &reqwest::Client) -> Result<TokenAnswer, TokenRequestError> {
        let shown = without_secrets(&self.url);
        let mut request = client
            .request(self.method.clone(), self.url)
            .headers(self.headers);
        if let Some(body) = self.body {
            request = request.body(body.to_string());
        }
        let failed = |error: reqwest::Error| TokenRequestError::Connection {
            method: self.method.clone(),
            url: shown.clone(),
            reason: describe(&error.without_url()),
        };
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        let mut body = zeroize::Zeroizing::new(Vec::new());
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Err(TokenRequestError::Answer {
                    method: self.method,
                    url: shown,
                    reason: format!("it is longer than {LONGEST_ANSWER} bytes"),
                });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(TokenAnswer {
            method: self.method,
            url: shown,
            status,
            body,
        })
    }
}

impl TokenAnswer {
    /// The body of a success. `message` finds what the service says in the body of anything else.
    pub(crate) fn success(
        &self,
        message: impl FnOnce(&[u8]) -> Option<String>,
    ) -> Result<&[u8], TokenRequestError> {
        if self.status.is_success() {
            return Ok(&self.body);
        }
        let text = String::from_utf8_lossy(&self.body);
        Err(TokenRequestError::Refused {
            method: self.method.clone(),
            url: self.url.clone(),
            status: self.status,
            message: message(&self.body)
                .unwrap_or_else(|| text.trim().to_owned())
                .chars()
                .take(SHOWN)
                .collect(),
        })
    }

    /// The JSON of a success.
    pub(crate) fn json<T: serde::de::DeserializeOwned>(
        &self,
        message: impl FnOnce(&[u8]) -> Option<String>,
    ) -> Result<T, TokenRequestError> {
        let body = self.success(message)?;
        // The values are secrets: serde's own text could show one.
        serde_json::from_slice(body)
            .map_err(|error| self.unreadable(format!("line {}, column {}", error.line(), error.column())))
    }

    /// The error of a success that is not what the protocol has.
    pub(crate) fn unreadable(&self, reason: impl Into<String>) -> TokenRequestError {
        TokenRequestError::Answer {
            method: self.method.clone(),
            url: self.url.clone(),
            reason: reason.into(),
        }
    }
}

/// The clients for requests for tokens.
#[derive(Debug, Clone)]
pub struct TokenClients {
    /// For services of the cloud: through the object's proxy if it has one, else the environment's.
    pub services: reqwest::Client,
    /// For services of the machine itself, such as those that give its credentials: through no proxy, so that
    /// nobody who may set one sees them.
    pub machine: reqwest::Client,
}

impl TokenClients {
    /// Makes both clients. Neither follows redirections: a token request has no business elsewhere.
    ///
    /// # Errors
    /// The proxy cannot be used.
    pub fn new(proxy: Option<&Proxy>) -> Result<Self, ClientError> {
        let options = ClientOptions {
            proxy: proxy.cloned(),
            timeout: Some(TIMEOUT),
            user_agent: Some(concat!("sluice/", env!("CARGO_PKG_VERSION")).to_owned()),
            ..ClientOptions::default()
        };
        let build = |builder: reqwest::ClientBuilder| {
            builder
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .map_err(|error| ClientError::Client(describe(&error)))
        };
        let machine = ClientOptions {
            proxy: None,
            ..options.clone()
        };
        Ok(Self {
            services: build(options.builder()?)?,
            machine: build(machine.builder()?.no_proxy())?,
        })
    }
}

/// An address for messages.
fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    // An address that cannot hold credentials has none.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.into()
}
