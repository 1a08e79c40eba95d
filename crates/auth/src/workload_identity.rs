//! Tokens of clouds for objects: by the identity of the controller or of a ServiceAccount, cached.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use url::Url;

use crate::data::Proxy;
use crate::environment::Environment;
use crate::http::ClientError;
use crate::provider::{Exchange, GitLogin, GitProvider, Provider, ProviderError, TokenOptions};
use crate::service_account::{self, Account, AccountError, AccountName};
use crate::token_cache::{InvolvedObject, TokenCache, cache_key};
use crate::token_http::TokenClients;

/// Why an object gets no token.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Objects may not have identities of their own.
    #[error("ObjectLevelWorkloadIdentity feature gate is not enabled")]
    GateClosed,
    /// The ServiceAccount cannot be used.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// The audience of Kubernetes tokens cannot be found out.
    #[error("failed to get provider audience: {0}")]
    Audience(#[source] ProviderError),
    /// The ServiceAccount's annotations do not name an identity of the cloud.
    #[error("failed to get provider identity from service account '{account}' annotations: {source}")]
    Annotations {
        /// The ServiceAccount.
        account: AccountName,
        /// What is wrong with them.
        source: Box<ProviderError>,
    },
    /// The cloud gives the controller no token.
    #[error("failed to create provider access token for the controller: {0}")]
    Controller(#[source] ProviderError),
    /// The cloud gives the ServiceAccount no token.
    #[error("failed to create provider access token for service account '{account}': {source}")]
    Exchange {
        /// The ServiceAccount.
        account: AccountName,
        /// What went wrong.
        source: Box<ProviderError>,
    },
    /// The proxy cannot be used.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The repository is none of the cloud's.
    #[error("{0}")]
    Repository(#[source] ProviderError),
    /// There is no access token for a repository.
    #[error("failed to get access token for Git repository: {0}")]
    GitToken(#[source] Box<IdentityError>),
    /// No credentials could be made out of an access token.
    #[error("failed to create Git credentials: {0}")]
    GitLogin(#[source] ProviderError),
}

/// What a controller has for getting tokens.
#[derive(Clone)]
pub struct WorkloadIdentityOptions {
    /// The client, as the controller itself.
    pub client: Client,
    /// Whether objects may have identities of their own (the gate `ObjectLevelWorkloadIdentity`).
    pub object_level: bool,
    /// The ServiceAccount of objects that name none (`--default-service-account`).
    pub default_service_account: Option<String>,
    /// Where tokens are kept.
    pub cache: Option<TokenCache>,
    /// The variables that configure clouds.
    pub environment: Environment,
}

/// Gets tokens for objects.
#[derive(Clone)]
pub struct WorkloadIdentity(Arc<WorkloadIdentityOptions>);

impl std::fmt::Debug for WorkloadIdentity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("WorkloadIdentity")
            .field("object_level", &self.0.object_level)
            .field("default_service_account", &self.0.default_service_account)
            .field("cache", &self.0.cache)
            .finish_non_exhaustive()
    }
}

/// An object that needs a token.
#[derive(Debug, Clone)]
pub struct Requester<'a> {
    /// The ServiceAccount that it names.
    pub service_account: Option<&'a str>,
    /// The proxy that it names.
    pub proxy: Option<&'a Proxy>,
    /// What metrics call it.
    pub involved: &'a InvolvedObject,
}

/// Whose token it is.
struct Subject {
    account: Option<Account>,
    /// Of the Kubernetes token; empty for the controller unless given.
    audiences: Vec<String>,
    /// The cloud's identity; empty for the controller.
    identity: String,
}

impl WorkloadIdentity {
    /// Gets tokens by these means.
    pub fn new(options: WorkloadIdentityOptions) -> Self {
        Self(Arc::new(options))
    }

    /// Where tokens are kept.
    pub fn cache(&self) -> Option<&TokenCache> {
        self.0.cache.as_ref()
    }

    /// An access token of a cloud, for the ServiceAccount that the object names, else for the default one, else
    /// for the controller itself.
    ///
    /// # Errors
    /// See [`IdentityError`].
    pub async fn access_token<P: Provider>(
        &self,
        provider: &P,
        requester: &Requester<'_>,
        options: &TokenOptions,
    ) -> Result<Arc<P::Token>, IdentityError> {
        let clients = TokenClients::new(requester.proxy)?;
        let exchange = self.exchange(options, &clients);
        let subject = self.subject(provider, requester, &exchange).await?;
        self.token_of(provider, requester, &exchange, &subject)
            .await
            .map(|(token, _)| token)
    }

    /// Credentials of a cloud for a Git repository, by the same identities.
    ///
    /// # Errors
    /// See [`IdentityError`].
    pub async fn git_login<P: GitProvider>(
        &self,
        provider: &P,
        requester: &Requester<'_>,
        url: &Url,
    ) -> Result<Arc<GitLogin>, IdentityError> {
        let input = provider.git_input(url).map_err(IdentityError::Repository)?;
        let options = provider
            .git_token_options(url)
            .map_err(IdentityError::Repository)?;
        let in_git = |error| IdentityError::GitToken(Box::new(error));
        let clients = TokenClients::new(requester.proxy)?;
        let exchange = self.exchange(&options, &clients);
        let subject = self
            .subject(provider, requester, &exchange)
            .await
            .map_err(in_git)?;
        let (token, key) = self
            .token_of(provider, requester, &exchange, &subject)
            .await
            .map_err(in_git)?;
        let login = async {
            provider
                .git_login(url, &token, Timestamp::now())
                .map_err(IdentityError::GitLogin)
        };
        let key = cache_key(&[
            format!("accessTokenCacheKey={key}"),
            format!("gitRepositoryCacheKey={input}"),
        ]);
        match &self.0.cache {
            Some(cache) => cache.get_or_fetch(&key, Some(requester.involved), login).await,
            None => login.await.map(Arc::new),
        }
    }

    fn exchange<'e>(&'e self, options: &'e TokenOptions, clients: &'e TokenClients) -> Exchange<'e> {
        Exchange {
            options,
            environment: &self.0.environment,
            clients,
        }
    }

    async fn subject<P: Provider>(
        &self,
        provider: &P,
        requester: &Requester<'_>,
        exchange: &Exchange<'_>,
    ) -> Result<Subject, IdentityError> {
        let default = self.0.default_service_account.as_deref();
        let is_default = requester.service_account.is_none();
        let Some(name) = requester.service_account.or(default) else {
            return Ok(Subject {
                account: None,
                audiences: exchange.options.audiences.clone(),
                identity: String::new(),
            });
        };
        let name = AccountName {
            namespace: requester.involved.namespace.clone(),
            name: name.to_owned(),
        };
        let account = service_account::read(&self.0.client, name, is_default).await?;
        let audiences = if exchange.options.audiences.is_empty() {
            provider
                .audiences(&account, exchange)
                .await
                .map_err(IdentityError::Audience)?
        } else {
            exchange.options.audiences.clone()
        };
        let identity = provider
            .identity(&account)
            .map_err(|source| IdentityError::Annotations {
                account: account.name.clone(),
                source: Box::new(source),
            })?;
        Ok(Subject {
            account: Some(account),
            audiences,
            identity,
        })
    }

    /// The token, and the key under which it is kept.
    async fn token_of<P: Provider>(
        &self,
        provider: &P,
        requester: &Requester<'_>,
        exchange: &Exchange<'_>,
        subject: &Subject,
    ) -> Result<(Arc<P::Token>, String), IdentityError> {
        let key = access_token_key(provider.name(), subject, exchange.options, requester.proxy);
        let fetch = self.fetch(provider, exchange, subject);
        let token = match &self.0.cache {
            Some(cache) => cache.get_or_fetch(&key, Some(requester.involved), fetch).await?,
            None => Arc::new(fetch.await?),
        };
        Ok((token, key))
    }

    async fn fetch<P: Provider>(
        &self,
        provider: &P,
        exchange: &Exchange<'_>,
        subject: &Subject,
    ) -> Result<P::Token, IdentityError> {
        let Some(account) = &subject.account else {
            return provider
                .controller_token(exchange)
                .await
                .map_err(IdentityError::Controller);
        };
        if !self.0.object_level {
            return Err(IdentityError::GateClosed);
        }
        let token = service_account::request_token(&self.0.client, &account.name, &subject.audiences).await?;
        provider
            .account_token(&token, account, exchange)
            .await
            .map_err(|source| IdentityError::Exchange {
                account: account.name.clone(),
                source: Box::new(source),
            })
    }
}

/// Flux's key: whatever changes what the token is good for, and who may see it.
fn access_token_key(
    provider: &str,
    subject: &Subject,
    options: &TokenOptions,
    proxy: Option<&Proxy>,
) -> String {
    let mut parts = vec![format!("provider={provider}")];
    if !subject.audiences.is_empty() {
        parts.push(format!("audiences={}", subject.audiences.join(",")));
    }
    if let Some(account) = &subject.account {
        parts.push(format!("providerIdentity={}", subject.identity));
        parts.push(format!("serviceAccountName={}", account.name.name));
        parts.push(format!("serviceAccountNamespace={}", account.name.namespace));
    }
    if !options.scopes.is_empty() {
        parts.push(format!("scopes={}", options.scopes.join(",")));
    }
    if let Some(region) = &options.sts_region {
        parts.push(format!("stsRegion={region}"));
    }
    if let Some(endpoint) = &options.sts_endpoint {
        parts.push(format!("stsEndpoint={endpoint}"));
    }
    if let Some(proxy) = proxy {
        parts.push(format!("proxyURL={}", proxy.url_with_credentials().as_str()));
    }
    if let Some(authorities) = &options.certificate_authorities {
        parts.push(format!("caData={authorities}"));
    }
    cache_key(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::SecretData;

    fn digest(lines: &[&str]) -> String {
        cache_key(lines)
    }

    #[test]
    fn keys_have_flux_s_parts_in_flux_s_order() {
        // SRC-084
        let controller = Subject {
            account: None,
            audiences: Vec::new(),
            identity: String::new(),
        };
        let azure = TokenOptions {
            scopes: vec!["a/.default".to_owned(), "b".to_owned()],
            ..TokenOptions::default()
        };
        assert_eq!(
            access_token_key("azure", &controller, &azure, None),
            digest(&["provider=azure", "scopes=a/.default,b"])
        );
        let tenant = Subject {
            account: Some(Account {
                name: AccountName {
                    namespace: "apps".to_owned(),
                    name: "robot".to_owned(),
                },
                annotations: std::collections::BTreeMap::new(),
            }),
            audiences: vec!["sts.amazonaws.com".to_owned()],
            identity: "arn:aws:iam::1:role/x".to_owned(),
        };
        let aws = TokenOptions {
            sts_region: Some("us-east-1".to_owned()),
            sts_endpoint: Some("https://sts.amazonaws.com".to_owned()),
            certificate_authorities: Some("PEM".to_owned()),
            ..TokenOptions::default()
        };
        let proxy = SecretData::new(
            "apps",
            "proxy",
            [
                ("address", "http://proxy:3128"),
                ("username", "u"),
                ("password", "p"),
            ],
        )
        .proxy()
        .unwrap();
        assert_eq!(
            access_token_key("aws", &tenant, &aws, Some(&proxy)),
            digest(&[
                "provider=aws",
                "audiences=sts.amazonaws.com",
                "providerIdentity=arn:aws:iam::1:role/x",
                "serviceAccountName=robot",
                "serviceAccountNamespace=apps",
                "stsRegion=us-east-1",
                "stsEndpoint=https://sts.amazonaws.com",
                "proxyURL=http://u:p@proxy:3128/",
                "caData=PEM",
            ])
        );
    }
}
