//! What the clouds have in common.

use std::fmt::Debug;

use async_trait::async_trait;
use jiff::Timestamp;
use url::Url;

use crate::environment::Environment;
use crate::git::HttpCredentials;
use crate::secret::SecretBytes;
use crate::service_account::Account;
use crate::token_cache::Token;
use crate::token_http::{TokenClients, TokenRequestError};

/// Why a cloud gave no token or credentials.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The process, the object or the ServiceAccount is not set up for it.
    #[error("{0}")]
    Configuration(String),
    /// A service gave none.
    #[error(transparent)]
    Request(#[from] TokenRequestError),
}

impl ProviderError {
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::Configuration(message.into())
    }
}

/// What a token is for. Clouds ignore what they do not know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenOptions {
    /// Audiences of the Kubernetes token, in place of the cloud's own.
    pub audiences: Vec<String>,
    /// The scopes that the token is for (Azure, GCP).
    pub scopes: Vec<String>,
    /// The region of the token service (AWS).
    pub sts_region: Option<String>,
    /// The address of the token service (AWS).
    pub sts_endpoint: Option<String>,
    /// Certificate authorities of what the token is for, PEM. They only keep cached tokens apart.
    pub certificate_authorities: Option<String>,
}

/// What a cloud is asked with.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// What the token is for.
    pub options: &'a TokenOptions,
    /// The variables that configure the cloud's SDKs.
    pub environment: &'a Environment,
    /// How to reach the cloud.
    pub clients: &'a TokenClients,
}

/// A cloud that gives access tokens to the controller itself and to ServiceAccounts.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What the cloud gives.
    type Token: Token + Debug;

    /// The cloud's name in specs.
    fn name(&self) -> &'static str;

    /// The audiences of Kubernetes tokens that the cloud accepts.
    ///
    /// # Errors
    /// They cannot be found out.
    async fn audiences(
        &self,
        account: &Account,
        exchange: &Exchange<'_>,
    ) -> Result<Vec<String>, ProviderError>;

    /// The cloud's identity that a ServiceAccount stands for, as its annotations say.
    ///
    /// # Errors
    /// They do not say so, or not properly.
    fn identity(&self, account: &Account) -> Result<String, ProviderError>;

    /// A token for the identity of the process.
    ///
    /// # Errors
    /// See [`ProviderError`].
    async fn controller_token(&self, exchange: &Exchange<'_>) -> Result<Self::Token, ProviderError>;

    /// A token for a ServiceAccount that has a Kubernetes token for the cloud's audience.
    ///
    /// # Errors
    /// See [`ProviderError`].
    async fn account_token(
        &self,
        kubernetes_token: &SecretBytes,
        account: &Account,
        exchange: &Exchange<'_>,
    ) -> Result<Self::Token, ProviderError>;
}

/// Credentials for a Git repository, with their end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitLogin {
    /// The credentials.
    pub credentials: HttpCredentials,
    /// When they end.
    pub expires_at: Option<Timestamp>,
}

impl Token for GitLogin {
    fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

/// A cloud that has Git repositories.
pub trait GitProvider: Provider {
    /// What distinguishes the credentials of a repository from those of others with the same access token.
    ///
    /// # Errors
    /// The address is none of the cloud's.
    fn git_input(&self, url: &Url) -> Result<String, ProviderError>;

    /// What an access token for a repository must be for.
    ///
    /// # Errors
    /// The address is none of the cloud's.
    fn git_token_options(&self, url: &Url) -> Result<TokenOptions, ProviderError>;

    /// Makes credentials for a repository out of an access token.
    ///
    /// # Errors
    /// The address is none of the cloud's.
    fn git_login(&self, url: &Url, token: &Self::Token, now: Timestamp) -> Result<GitLogin, ProviderError>;
}
