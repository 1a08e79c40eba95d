//! ServiceAccounts as identities of objects.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::secret::SecretBytes;

/// A ServiceAccount's namespace and name; printed as `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AccountName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for AccountName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// A ServiceAccount that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Which one.
    pub name: AccountName,
    /// Its annotations, by which clouds know it.
    pub annotations: BTreeMap<String, String>,
}

/// Why a ServiceAccount cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// It cannot be read.
    #[error("failed to get service account '{account}': {reason}")]
    Get {
        /// The ServiceAccount.
        account: AccountName,
        /// What the API server said.
        reason: String,
    },
    /// The ServiceAccount of `--default-service-account` is not in the object's namespace.
    #[error(
        "failed to get service account '{0}': the specified default service account does not exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster administrator for help"
    )]
    NoDefault(AccountName),
    /// The API server makes no token for it.
    #[error("failed to create kubernetes token for service account '{account}': {reason}")]
    Token {
        /// The ServiceAccount.
        account: AccountName,
        /// What the API server said.
        reason: String,
    },
}

/// Reads a ServiceAccount. `is_default` says that the object names none and the controller's flag does.
pub(crate) async fn read(
    client: &Client,
    account: AccountName,
    is_default: bool,
) -> Result<Account, AccountError> {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), &account.namespace);
    match api.get(&account.name).await {
        Ok(found) => Ok(Account {
            name: account,
            annotations: found.metadata.annotations.unwrap_or_default(),
        }),
        Err(kube::Error::Api(status)) if status.code == 404 && is_default => {
            Err(AccountError::NoDefault(account))
        }
        Err(error) => Err(AccountError::Get {
            account,
            reason: describe(&error),
        }),
    }
}

/// Asks the API server for a token of a ServiceAccount for some audiences, with the API server's own choice of
/// how long it lives.
pub(crate) async fn request_token(
    client: &Client,
    account: &AccountName,
    audiences: &[String],
) -> Result<SecretBytes, AccountError> {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), &account.namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: Some(audiences.to_vec()),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let failed = |reason| AccountError::Token {
        account: account.clone(),
        reason,
    };
    let answer = api
        .create_token_request(&account.name, &PostParams::default(), &request)
        .await
        .map_err(|error| failed(describe(&error)))?;
    let token = answer.status.and_then(|status| status.token);
    token
        .filter(|token| !token.is_empty())
        .map(SecretBytes::from)
        .ok_or_else(|| failed("the answer holds no token".to_owned()))
}

/// The API server's own words where there are some.
fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
