//! Tokens of service accounts as credentials for other clusters.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, Response};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::client::Body;
use kube::{Api, Client};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower::Service;

use crate::object::ObjectKey;

/// Where a Pod finds the token of its service account.
const OWN_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// Objects may not name service accounts.
    #[error("ObjectLevelWorkloadIdentity feature gate is not enabled")]
    GateClosed,
    /// The controller does not run as a Pod, or its token is none.
    #[error("failed to create provider access token for the controller: {0}")]
    Own(String),
    /// The service account does not exist.
    #[error("failed to get service account '{0}': {1}")]
    Account(ObjectKey, String),
    /// The API server gives no token.
    #[error("failed to create kubernetes token for service account '{0}': {1}")]
    Request(ObjectKey, String),
}

/// Gives tokens of one service account for one audience, each for four fifths of its life.
pub(super) struct TokenSource {
    client: Client,
    namespace: String,
    /// The service account; `None`: the controller's own.
    account: Option<String>,
    audiences: Vec<String>,
    current: Mutex<Option<(HeaderValue, Instant)>>,
}

impl TokenSource {
    pub(super) fn new(
        client: Client,
        namespace: &str,
        account: Option<String>,
        audiences: Vec<String>,
    ) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            account,
            audiences,
            current: Mutex::new(None),
        }
    }

    /// The header that carries a token that is good for a while.
    pub(super) async fn header(&self) -> Result<HeaderValue, TokenError> {
        let mut current = self.current.lock().await;
        if let Some((header, renewal)) = &*current
            && Instant::now() < *renewal
        {
            return Ok(header.clone());
        }
        let key = match &self.account {
            Some(account) => ObjectKey::new(self.namespace.clone(), account.clone()),
            None => own_account().await?,
        };
        let (token, life) = self.request(&key).await?;
        let invalid = |error: http::header::InvalidHeaderValue| TokenError::Request(key, error.to_string());
        let mut header = HeaderValue::from_str(&format!("Bearer {token}")).map_err(invalid)?;
        header.set_sensitive(true);
        *current = Some((header.clone(), Instant::now() + life.mul_f64(0.8)));
        Ok(header)
    }

    async fn request(&self, key: &ObjectKey) -> Result<(String, Duration), TokenError> {
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &key.namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences: Some(self.audiences.clone()),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let answer = api
            .create_token_request(&key.name, &PostParams::default(), &request)
            .await
            .map_err(|error| match error {
                kube::Error::Api(status) if status.code == 404 => {
                    TokenError::Account(key.clone(), status.message)
                }
                kube::Error::Api(status) => TokenError::Request(key.clone(), status.message),
                other => TokenError::Request(key.clone(), other.to_string()),
            })?;
        let status = answer.status.unwrap_or_default();
        let (Some(token), Some(end)) = (status.token, status.expiration_timestamp) else {
            let problem = "the answer holds no token".to_owned();
            return Err(TokenError::Request(key.clone(), problem));
        };
        let life = end.0.duration_since(Timestamp::now());
        Ok((token, Duration::try_from(life).unwrap_or_default()))
    }
}

/// The service account that the controller's Pod runs as.
async fn own_account() -> Result<ObjectKey, TokenError> {
    let token = tokio::fs::read_to_string(OWN_TOKEN).await.map_err(|error| {
        TokenError::Own(format!(
            "failed to read service account token file {OWN_TOKEN}: {error}"
        ))
    })?;
    subject(&token).ok_or_else(|| TokenError::Own(format!("{OWN_TOKEN} holds no token of a service account")))
}

/// The service account that a token was made for. The token is not checked: it is the process's own.
fn subject(token: &str) -> Option<ObjectKey> {
    let payload = URL_SAFE_NO_PAD.decode(token.trim().split('.').nth(1)?).ok()?;
    let payload: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    let name = payload
        .get("sub")?
        .as_str()?
        .strip_prefix("system:serviceaccount:")?;
    let (namespace, name) = name.split_once(':')?;
    Some(ObjectKey::new(namespace, name))
}

/// A view of a client whose requests carry the source's tokens.
pub(super) fn with_token(client: Client, source: Arc<TokenSource>) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(
        WithToken {
            inner: client,
            source,
        },
        namespace,
    )
}

#[derive(Clone)]
struct WithToken {
    inner: Client,
    source: Arc<TokenSource>,
}

impl Service<Request<Body>> for WithToken {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let Self { inner, source } = self.clone();
        async move {
            let header = source
                .header()
                .await
                .map_err(|error| kube::Error::Service(error.into()))?;
            request.headers_mut().insert(AUTHORIZATION, header);
            inner.send(request).await
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_service_account() {
        let payload =
            URL_SAFE_NO_PAD.encode(r#"{"sub":"system:serviceaccount:flux-system:kustomize-controller"}"#);
        let key = subject(&format!("header.{payload}.signature\n")).unwrap();
        assert_eq!(key, ObjectKey::new("flux-system", "kustomize-controller"));
        assert!(subject("x").is_none());
    }
}
