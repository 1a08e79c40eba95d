//! Microsoft Azure: tokens of Entra ID for the controller and for ServiceAccounts, and Azure DevOps.

mod controller;
mod entra;

use async_trait::async_trait;
use jiff::Timestamp;
use url::Url;

use crate::git::HttpCredentials;
use crate::provider::{Exchange, GitLogin, GitProvider, Provider, ProviderError, TokenOptions};
use crate::secret::SecretBytes;
use crate::service_account::Account;
use crate::token_cache::Token;

use entra::{Assertion, Client};

/// The audience of Kubernetes tokens.
const AUDIENCE: &str = "api://AzureADTokenExchange";

const TENANT_ANNOTATION: &str = "azure.workload.identity/tenant-id";
const CLIENT_ANNOTATION: &str = "azure.workload.identity/client-id";

/// What tokens may be for.
pub mod scopes {
    /// Azure DevOps: its Git repositories and its API.
    pub const DEVOPS: &str = "499b84ac-1321-427f-aa17-267ca6975798/.default";
    /// Blob storage.
    pub const BLOB_STORAGE: &str = "https://storage.azure.com/.default";
    /// Event Hubs. The two slashes belong there.
    pub const EVENT_HUBS: &str = "https://eventhubs.azure.net//.default";
}

/// A token of Entra ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureToken {
    /// The token, for `Authorization: Bearer`.
    pub value: SecretBytes,
    /// When it ends.
    pub expires_at: Timestamp,
}

impl Token for AzureToken {
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

/// The provider `azure`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Azure;

#[async_trait]
impl Provider for Azure {
    type Token = AzureToken;

    fn name(&self) -> &'static str {
        "azure"
    }

    async fn audiences(&self, _: &Account, _: &Exchange<'_>) -> Result<Vec<String>, ProviderError> {
        Ok(vec![AUDIENCE.to_owned()])
    }

    fn identity(&self, account: &Account) -> Result<String, ProviderError> {
        let (tenant, client) = annotations(account)?;
        Ok(format!("{tenant}/{client}"))
    }

    async fn controller_token(&self, exchange: &Exchange<'_>) -> Result<AzureToken, ProviderError> {
        controller::token(exchange).await
    }

    async fn account_token(
        &self,
        kubernetes_token: &SecretBytes,
        account: &Account,
        exchange: &Exchange<'_>,
    ) -> Result<AzureToken, ProviderError> {
        let (tenant, client) = annotations(account)?;
        let client = Client::new(exchange, tenant, client)?;
        client.token(exchange, Assertion::Token(kubernetes_token)).await
    }
}

impl GitProvider for Azure {
    /// A token is good for all repositories.
    fn git_input(&self, _: &Url) -> Result<String, ProviderError> {
        Ok("azure-devops".to_owned())
    }

    fn git_token_options(&self, _: &Url) -> Result<TokenOptions, ProviderError> {
        Ok(TokenOptions {
            scopes: vec![scopes::DEVOPS.to_owned()],
            ..TokenOptions::default()
        })
    }

    fn git_login(&self, _: &Url, token: &AzureToken, _: Timestamp) -> Result<GitLogin, ProviderError> {
        Ok(GitLogin {
            credentials: HttpCredentials::Bearer(token.value.clone()),
            expires_at: Some(token.expires_at),
        })
    }
}

/// The tenant and the client that a ServiceAccount stands for.
fn annotations(account: &Account) -> Result<(&str, &str), ProviderError> {
    let get = |what: &str, annotation: &str| {
        account
            .annotations
            .get(annotation)
            .map(String::as_str)
            .ok_or_else(|| {
                ProviderError::Configuration(format!(
                    "azure {what} ID is not set in the service account annotation {annotation}"
                ))
            })
    };
    Ok((
        get("tenant", TENANT_ANNOTATION)?,
        get("client", CLIENT_ANNOTATION)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_account::AccountName;

    #[test]
    fn a_service_account_names_tenant_and_client() {
        let account = |annotations: &[(&str, &str)]| Account {
            name: AccountName {
                namespace: "apps".to_owned(),
                name: "robot".to_owned(),
            },
            annotations: annotations
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let identity = |annotations: &[(&str, &str)]| {
            Azure
                .identity(&account(annotations))
                .map_err(|error| error.to_string())
        };
        let (tenant, client) = ((TENANT_ANNOTATION, "t"), (CLIENT_ANNOTATION, "c"));
        assert_eq!(identity(&[tenant, client]), Ok("t/c".to_owned()));
        assert_eq!(
            identity(&[client]).unwrap_err(),
            "azure tenant ID is not set in the service account annotation azure.workload.identity/tenant-id"
        );
        assert_eq!(
            identity(&[tenant]).unwrap_err(),
            "azure client ID is not set in the service account annotation azure.workload.identity/client-id"
        );
    }
}
