//! Acting as another identity.

use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{HeaderName, HeaderValue};
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tower::Service;

use crate::error::RuntimeError;

/// Whom requests are made for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The user name.
    pub user: String,
    /// The groups; empty: those that the API server gives to the user.
    pub groups: Vec<String>,
}

impl Identity {
    /// The identity of a service account.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            user: format!("system:serviceaccount:{namespace}:{name}"),
            groups: Vec::new(),
        }
    }
}

/// Adds impersonation headers to each request.
#[derive(Clone)]
pub(super) struct Impersonate {
    inner: Client,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Impersonate {
    pub(super) fn new(inner: Client, identity: &Identity) -> Result<Self, RuntimeError> {
        let value = |text: &str| {
            HeaderValue::from_str(text).map_err(|_| RuntimeError::Configuration {
                name: "impersonation".to_owned(),
                message: format!("'{}' cannot be a user or group name", text.escape_debug()),
            })
        };
        let mut headers = vec![(
            HeaderName::from_static("impersonate-user"),
            value(&identity.user)?,
        )];
        for group in &identity.groups {
            headers.push((HeaderName::from_static("impersonate-group"), value(group)?));
        }
        Ok(Self { inner, headers })
    }
}

impl Service<Request<Body>> for Impersonate {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        for (name, value) in &self.headers {
            request.headers_mut().append(name, value.clone());
        }
        let client = self.inner.clone();
        async move { client.send(request).await }.boxed()
    }
}
