//! Amazon Web Services: credentials of the controller and of ServiceAccounts, signatures, and CodeCommit.

mod chain;
mod codecommit;
mod metadata;
mod shared_config;
mod sigv4;
mod sts;

use std::sync::LazyLock;

use async_trait::async_trait;
use jiff::Timestamp;
use regex::Regex;

use crate::provider::{Exchange, Provider, ProviderError};
use crate::secret::SecretBytes;
use crate::service_account::Account;
use crate::token_cache::Token;

pub use codecommit::codecommit_region;
pub use sigv4::{Payload, Scope, SignedHeaders, SigningRequest, sign};
pub use sts::validate_sts_endpoint;

/// The audience of Kubernetes tokens.
const AUDIENCE: &str = "sts.amazonaws.com";

/// The annotation of a ServiceAccount that names its role.
const ROLE_ANNOTATION: &str = "eks.amazonaws.com/role-arn";

const ROLE_PATTERN: &str = r"^arn:aws[\w-]*:iam::[0-9]{1,30}:role/.{1,200}$";

const NO_REGION: &str = "AWS_REGION environment variable is not set in the Flux controller. if you have properly \
     configured IAM Roles for Service Accounts (IRSA) or EKS Pod Identity, please delete/replace the controller pod \
     so the EKS admission controllers can inject this environment variable, or set it manually if the cluster is not \
     EKS";

const NO_OBJECT_REGION: &str = "an AWS region is required for authenticating with a service account. please \
     configure one in the object spec";

/// Access keys of AWS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsCredentials {
    /// The public part.
    pub access_key_id: String,
    /// The secret that signs.
    pub secret_access_key: SecretBytes,
    /// The token that goes with keys that end; empty for others.
    pub session_token: SecretBytes,
    /// When they end.
    pub expires_at: Option<Timestamp>,
}

impl Token for AwsCredentials {
    fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

/// The provider `aws`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aws;

#[async_trait]
impl Provider for Aws {
    type Token = AwsCredentials;

    fn name(&self) -> &'static str {
        "aws"
    }

    async fn audiences(&self, _: &Account, _: &Exchange<'_>) -> Result<Vec<String>, ProviderError> {
        Ok(vec![AUDIENCE.to_owned()])
    }

    fn identity(&self, account: &Account) -> Result<String, ProviderError> {
        role(account)
    }

    async fn controller_token(&self, exchange: &Exchange<'_>) -> Result<AwsCredentials, ProviderError> {
        let region = exchange
            .options
            .sts_region
            .clone()
            .or_else(|| exchange.environment.get("AWS_REGION"))
            .ok_or_else(|| ProviderError::configuration(NO_REGION))?;
        if let Some(endpoint) = &exchange.options.sts_endpoint {
            validate_sts_endpoint(endpoint)?;
        }
        chain::credentials(exchange, &region).await
    }

    async fn account_token(
        &self,
        kubernetes_token: &SecretBytes,
        account: &Account,
        exchange: &Exchange<'_>,
    ) -> Result<AwsCredentials, ProviderError> {
        let Some(region) = exchange.options.sts_region.as_deref() else {
            return Err(ProviderError::configuration(NO_OBJECT_REGION));
        };
        if let Some(endpoint) = &exchange.options.sts_endpoint {
            validate_sts_endpoint(endpoint)?;
        }
        let session = format!(
            "{}.{}.{region}.fluxcd.io",
            account.name.name, account.name.namespace
        );
        let request = sts::WebIdentity {
            role: &role(account)?,
            session: &session,
            token: kubernetes_token,
        };
        sts::assume_role_with_web_identity(exchange, region, &request).await
    }
}

fn role(account: &Account) -> Result<String, ProviderError> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ROLE_PATTERN).ok());
    let role = account
        .annotations
        .get(ROLE_ANNOTATION)
        .map_or("", String::as_str);
    if PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(role)) {
        return Ok(role.to_owned());
    }
    Err(ProviderError::Configuration(format!(
        "invalid {ROLE_ANNOTATION} annotation: '{role}'. must match {ROLE_PATTERN}"
    )))
}

/// The domain of the services in a region.
fn domain(region: &str) -> &'static str {
    const DOMAINS: [(&str, &str); 6] = [
        ("cn-", "amazonaws.com.cn"),
        ("us-iso-", "c2s.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov"),
        ("eu-isoe-", "cloud.adc-e.uk"),
        ("us-isof-", "csp.hci.ic.gov"),
        ("eusc-", "amazonaws.eu"),
    ];
    DOMAINS
        .iter()
        .find(|(prefix, _)| region.starts_with(prefix))
        .map_or("amazonaws.com", |(_, domain)| domain)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::service_account::AccountName;

    #[test]
    fn roles_are_checked() {
        let account = |role: Option<&str>| Account {
            name: AccountName {
                namespace: "apps".to_owned(),
                name: "robot".to_owned(),
            },
            annotations: role
                .map(|role| (ROLE_ANNOTATION.to_owned(), role.to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
        };
        for good in [
            "arn:aws:iam::123456789012:role/flux",
            "arn:aws-us-gov:iam::1:role/a/b",
        ] {
            assert_eq!(role(&account(Some(good))).unwrap(), good);
        }
        for bad in ["", "flux", "arn:aws:iam::x:role/flux", "arn:aws:iam::1:user/flux"] {
            assert_eq!(
                role(&account(Some(bad))).unwrap_err().to_string(),
                format!(
                    r"invalid eks.amazonaws.com/role-arn annotation: '{bad}'. must match ^arn:aws[\w-]*:iam::[0-9]{{1,30}}:role/.{{1,200}}$"
                )
            );
        }
        assert!(role(&account(None)).is_err());
    }

    #[test]
    fn regions_have_their_partition_s_domain() {
        for (region, expected) in [
            ("eu-west-1", "amazonaws.com"),
            ("us-gov-west-1", "amazonaws.com"),
            ("cn-north-1", "amazonaws.com.cn"),
            ("us-iso-east-1", "c2s.ic.gov"),
            ("us-isob-east-1", "sc2s.sgov.gov"),
            ("eusc-de-east-1", "amazonaws.eu"),
        ] {
            assert_eq!(domain(region), expected, "{region}");
        }
    }
}
