//! Tokens of GitHub Apps.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::data::{BasicAuth, GitHubApp, GitHubInstallation, Proxy};
use crate::http::{ClientError, ClientOptions, describe};
use crate::secret::SecretBytes;
use crate::signing::{Algorithm, SigningKey};
use crate::tls::Tls;
use crate::token_cache::{InvolvedObject, Token, TokenCache};
use crate::token_http::{TokenRequest, TokenRequestError};

/// The user name that goes with a token of an App.
const USERNAME: &str = "x-access-token";

const DEFAULT_API: &str = "https://api.github.com/";

/// How far back tokens of the App itself are dated, so that a clock that is a little early does no harm.
const DRIFT: SignedDuration = SignedDuration::from_secs(30);

/// The life of tokens of the App itself, from the time to which they are dated.
const LIFE: SignedDuration = SignedDuration::from_mins(2);

/// The time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Hosts that are not reached through a proxy.
const LOCAL_HOSTS: &str = "localhost,127.0.0.0/8,::1";

/// Why a GitHub App has no token.
#[derive(Debug, thiserror::Error)]
pub enum GitHubAppError {
    /// Its number is missing or none.
    #[error("app ID must be provided to use github app authentication")]
    Id,
    /// Its installation is missing, or the number of it is none.
    #[error("app installation owner or ID must be provided to use github app authentication")]
    Installation,
    /// Its private key is missing.
    #[error("private key must be provided to use github app authentication")]
    NoKey,
    /// Its private key cannot be used.
    #[error("could not parse private key: {0}")]
    Key(String),
    /// The API's address is none.
    #[error("invalid API URL: {0}")]
    Address(String),
    /// No client could be made.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The App is installed neither in an organisation of that name nor for a user of that name.
    #[error(
        "failed to find organization installation: {organization}\nfailed to find user installation: {user}"
    )]
    NotInstalled {
        /// What the API says about the organisation.
        organization: Box<TokenRequestError>,
        /// What the API says about the user.
        user: Box<TokenRequestError>,
    },
    /// The API refused.
    #[error(transparent)]
    Request(#[from] TokenRequestError),
    /// What the App is called could not be found out.
    #[error("failed to get app information: {0}")]
    Slug(#[source] TokenRequestError),
}

/// A token of an installation of an App.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubAppToken {
    /// The token.
    pub value: SecretBytes,
    /// What the App is called, if that was asked for.
    pub slug: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Token for GitHubAppToken {
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

impl GitHubAppToken {
    /// User name and password for Git.
    pub fn basic_auth(&self) -> BasicAuth {
        BasicAuth {
            username: USERNAME.to_owned(),
            password: self.value.clone(),
        }
    }
}

/// Gets tokens of one installation of one App.
#[derive(Debug)]
pub struct GitHubAppClient {
    id: NonZeroU64,
    installation: Installation,
    key: SigningKey,
    api: Url,
    http: reqwest::Client,
    with_slug: bool,
    cache_key: String,
}

#[derive(Debug)]
enum Installation {
    Owner(String),
    Id(NonZeroU64),
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

#[derive(Deserialize)]
struct Found {
    id: NonZeroU64,
}

#[derive(Deserialize)]
struct Described {
    slug: String,
}

#[derive(Deserialize)]
struct Created {
    token: String,
    expires_at: Timestamp,
}

#[derive(Deserialize)]
struct Refusal {
    message: String,
}

fn message(body: &[u8]) -> Option<String> {
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    Some(refusal.message)
}

impl GitHubAppClient {
    /// A client for an App, with the certificates and the proxy that reach the API. With `with_slug` tokens say
    /// what the App is called. A proxy is not used for the loopback.
    ///
    /// # Errors
    /// Number, installation or private key cannot be used, or no client can be made.
    pub fn new(
        app: &GitHubApp,
        tls: Option<&Tls>,
        proxy: Option<&Proxy>,
        with_slug: bool,
    ) -> Result<Self, GitHubAppError> {
        let id = app.id.parse().map_err(|_| GitHubAppError::Id)?;
        let installation = match &app.installation {
            GitHubInstallation::Owner(owner) if !owner.is_empty() => Installation::Owner(owner.clone()),
            GitHubInstallation::Id(id) => {
                Installation::Id(id.parse().map_err(|_| GitHubAppError::Installation)?)
            }
            GitHubInstallation::Owner(_) => return Err(GitHubAppError::Installation),
        };
        if app.private_key.is_empty() {
            return Err(GitHubAppError::NoKey);
        }
        Ok(Self {
            id,
            installation,
            key: SigningKey::from_pem(app.private_key.expose()).map_err(GitHubAppError::Key)?,
            api: api(app.base_url.as_deref())?,
            http: http(tls, proxy)?,
            with_slug,
            cache_key: cache_key(app, with_slug),
        })
    }

    /// A token: the cache's if it has one.
    ///
    /// # Errors
    /// See [`GitHubAppError`].
    pub async fn token(
        &self,
        cache: Option<&TokenCache>,
        involved: &InvolvedObject,
    ) -> Result<Arc<GitHubAppToken>, GitHubAppError> {
        match cache {
            Some(cache) => {
                cache
                    .get_or_fetch(&self.cache_key, Some(involved), self.create())
                    .await
            }
            None => self.create().await.map(Arc::new),
        }
    }

    async fn create(&self) -> Result<GitHubAppToken, GitHubAppError> {
        let signed = self.sign(Timestamp::now())?;
        let slug = if self.with_slug {
            let described: Result<Described, _> = self.ask(Method::GET, &["app"], &signed).await;
            Some(described.map_err(GitHubAppError::Slug)?.slug)
        } else {
            None
        };
        let installation = match &self.installation {
            Installation::Id(id) => *id,
            Installation::Owner(owner) => self.find(owner, &signed).await?,
        };
        let path = ["app", "installations", &installation.to_string(), "access_tokens"];
        let created: Created = self.ask(Method::POST, &path, &signed).await?;
        Ok(GitHubAppToken {
            value: created.token.into(),
            slug,
            expires_at: created.expires_at,
        })
    }

    /// A token of the App itself. GitHub takes whole seconds only.
    fn sign(&self, now: Timestamp) -> Result<SecretBytes, GitHubAppError> {
        let issued = now.as_second() - DRIFT.as_secs();
        let claims = Claims {
            iat: issued,
            exp: issued + LIFE.as_secs(),
            iss: self.id.to_string(),
        };
        self.key
            .token(Algorithm::Rs256, None, &claims)
            .map_err(GitHubAppError::Key)
    }

    async fn find(&self, owner: &str, signed: &SecretBytes) -> Result<NonZeroU64, GitHubAppError> {
        let find = async |kind| -> Result<Found, TokenRequestError> {
            self.ask(Method::GET, &[kind, owner, "installation"], signed)
                .await
        };
        let organization = match find("orgs").await {
            Ok(found) => return Ok(found.id),
            Err(error) => error,
        };
        match find("users").await {
            Ok(found) => Ok(found.id),
            Err(user) => Err(GitHubAppError::NotInstalled {
                organization: Box::new(organization),
                user: Box::new(user),
            }),
        }
    }

    async fn ask<T: serde::de::DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        signed: &SecretBytes,
    ) -> Result<T, TokenRequestError> {
        let mut url = self.api.clone();
        // An address with a host has a path.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let token = signed.expose_text().unwrap_or_default();
        let bearer = zeroize::Zeroizing::new(format!("Bearer {token}"));
        let answer = TokenRequest::new(method, url)
            .header("accept", "application/vnd.github+json")
            .header("authorization", &bearer)
            .send(&self.http)
            .await?;
        answer.json(message)
    }
}

/// The API's address: used as it is, also where a GitHub Enterprise would have it below `/api/v3`.
fn api(base: Option<&str>) -> Result<Url, GitHubAppError> {
    let base = base.filter(|base| !base.is_empty()).unwrap_or(DEFAULT_API);
    let url = Url::parse(base).map_err(|error| GitHubAppError::Address(error.to_string()))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err(GitHubAppError::Address(format!(
            "scheme '{}' is neither http nor https",
            url.scheme()
        )))
    }
}

fn http(tls: Option<&Tls>, proxy: Option<&Proxy>) -> Result<reqwest::Client, ClientError> {
    let options = ClientOptions {
        authorities: tls.and_then(|tls| tls.authorities.clone()),
        client: tls.and_then(|tls| tls.client.clone()),
        proxy: proxy.cloned(),
        proxy_exceptions: Some(LOCAL_HOSTS.to_owned()),
        timeout: Some(TIMEOUT),
        user_agent: Some(concat!("sluice/", env!("CARGO_PKG_VERSION")).to_owned()),
        ..ClientOptions::default()
    };
    options
        .builder()?
        .build()
        .map_err(|error| ClientError::Client(describe(&error)))
}

/// Flux's key: whatever makes the token.
fn cache_key(app: &GitHubApp, with_slug: bool) -> String {
    let (owner, id) = match &app.installation {
        GitHubInstallation::Owner(owner) => (owner.as_str(), "0"),
        GitHubInstallation::Id(id) => ("", id.as_str()),
    };
    let head = format!(
        "githubAppID={},githubAppInstallationOwner={owner},githubAppInstallationID={id},githubAppBaseURL={},githubAppPrivateKey=",
        app.id,
        app.base_url.as_deref().unwrap_or_default(),
    );
    let mut hasher = ring::digest::Context::new(&ring::digest::SHA256);
    hasher.update(head.as_bytes());
    hasher.update(app.private_key.expose());
    hasher.update(format!(",reflectSlug={with_slug}").as_bytes());
    hex::encode(hasher.finish())
}

#[cfg(test)]
mod tests;
