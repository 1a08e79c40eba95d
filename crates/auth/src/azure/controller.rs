//! Where the process itself has tokens of Azure from: the first way that the environment describes.

use reqwest::Method;
use url::Url;

use super::AzureToken;
use super::entra::{Answer, Assertion, Client, message};
use crate::environment::Environment;
use crate::provider::{Exchange, ProviderError};
use crate::secret::SecretBytes;
use crate::token_http::TokenRequest;

const METADATA_HOST: &str = "http://169.254.169.254";

const METADATA_VERSION: &str = "2018-02-01";

/// How the process gets tokens.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    /// As a client of a tenant, by a secret.
    Secret {
        tenant: String,
        client: String,
        secret: SecretBytes,
    },
    /// As a client of a tenant, by a certificate in a file.
    Certificate {
        tenant: String,
        client: String,
        file: String,
    },
    /// As a client of a tenant, by a Kubernetes token in a file.
    WorkloadIdentity {
        tenant: String,
        client: String,
        file: String,
    },
    /// By the machine's identity, or one of several that it has.
    ManagedIdentity { client: Option<String> },
}

impl Source {
    /// The first way whose variables are all there, in the order of Flux. What comes after it is not tried where
    /// it fails.
    fn of(environment: &Environment) -> Result<Self, ProviderError> {
        let get = |name: &str| environment.get(name);
        let identity = get("AZURE_TENANT_ID").zip(get("AZURE_CLIENT_ID"));
        if let Some((tenant, client)) = identity {
            if let Some(secret) = get("AZURE_CLIENT_SECRET") {
                return Ok(Self::Secret {
                    tenant,
                    client,
                    secret: secret.into(),
                });
            }
            if let Some(file) = get("AZURE_CLIENT_CERTIFICATE_PATH") {
                if get("AZURE_CLIENT_CERTIFICATE_PASSWORD").is_some() {
                    return Err(ProviderError::configuration(
                        "AZURE_CLIENT_CERTIFICATE_PASSWORD: encrypted certificates are not supported; give one without password",
                    ));
                }
                return Ok(Self::Certificate { tenant, client, file });
            }
            if get("AZURE_USERNAME").is_some() {
                return Err(ProviderError::configuration(
                    "AZURE_USERNAME: logging in by user name and password is not supported, as Entra ID demands more of users; give the controller an identity of its own",
                ));
            }
        }
        let all = [
            "AZURE_CLIENT_ID",
            "AZURE_FEDERATED_TOKEN_FILE",
            "AZURE_AUTHORITY_HOST",
            "AZURE_TENANT_ID",
        ];
        if let (Some(client), Some(file), Some(_), Some(tenant)) =
            all.map(|name| environment.lookup(name)).into()
        {
            return Ok(Self::WorkloadIdentity { tenant, client, file });
        }
        Ok(Self::ManagedIdentity {
            client: get("AZURE_CLIENT_ID"),
        })
    }
}

/// A token for the identity of the process.
pub(super) async fn token(exchange: &Exchange<'_>) -> Result<AzureToken, ProviderError> {
    match Source::of(exchange.environment)? {
        Source::Secret {
            tenant,
            client,
            secret,
        } => {
            let client = Client::new(exchange, &tenant, &client)?;
            client.token(exchange, Assertion::Secret(&secret)).await
        }
        Source::Certificate { tenant, client, file } => {
            let client = Client::new(exchange, &tenant, &client)?;
            let pem = read("AZURE_CLIENT_CERTIFICATE_PATH", &file).await?;
            client.token(exchange, Assertion::Certificate(&pem)).await
        }
        Source::WorkloadIdentity { tenant, client, file } => {
            let client = Client::new(exchange, &tenant, &client)?;
            let token = read("AZURE_FEDERATED_TOKEN_FILE", &file).await?;
            client.token(exchange, Assertion::Token(&token)).await
        }
        Source::ManagedIdentity { client } => managed_identity(exchange, client.as_deref()).await,
    }
}

async fn read(variable: &str, file: &str) -> Result<SecretBytes, ProviderError> {
    let read = tokio::fs::read(file).await;
    read.map(SecretBytes::new)
        .map_err(|error| ProviderError::Configuration(format!("{variable} {file}: {error}")))
}

/// Asks the machine's metadata service.
async fn managed_identity(
    exchange: &Exchange<'_>,
    client: Option<&str>,
) -> Result<AzureToken, ProviderError> {
    let [scope] = exchange.options.scopes.as_slice() else {
        return Err(ProviderError::configuration(
            "ManagedIdentityCredential.GetToken() requires exactly one scope",
        ));
    };
    let host = exchange
        .environment
        .get("AZURE_POD_IDENTITY_AUTHORITY_HOST")
        .unwrap_or_else(|| METADATA_HOST.to_owned());
    let address = format!("{}/metadata/identity/oauth2/token", host.trim_end_matches('/'));
    let mut url = Url::parse(&address).map_err(|error| {
        ProviderError::Configuration(format!("AZURE_POD_IDENTITY_AUTHORITY_HOST: {error}"))
    })?;
    let resource = scope.strip_suffix("/.default").unwrap_or(scope);
    url.query_pairs_mut()
        .append_pair("api-version", METADATA_VERSION)
        .append_pair("resource", resource);
    if let Some(client) = client {
        url.query_pairs_mut().append_pair("client_id", client);
    }
    let answer = TokenRequest::new(Method::GET, url)
        .header("metadata", "true")
        .send(&exchange.clients.machine)
        .await?;
    Ok(answer.json::<Answer>(message)?.into_token())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_way_that_the_environment_describes_is_taken() {
        let (tenant, client) = (("AZURE_TENANT_ID", "t"), ("AZURE_CLIENT_ID", "c"));
        let secret = ("AZURE_CLIENT_SECRET", "hunter2");
        let certificate = ("AZURE_CLIENT_CERTIFICATE_PATH", "/c.pem");
        let file = ("AZURE_FEDERATED_TOKEN_FILE", "/token");
        let host = ("AZURE_AUTHORITY_HOST", "https://login.example/");
        let source = |variables: &[(&str, &str)]| {
            Source::of(&Environment::of_variables(variables.iter().copied()))
                .map_err(|error| error.to_string())
        };
        let (t, c) = ("t".to_owned(), "c".to_owned());
        assert_eq!(
            source(&[tenant, client, secret, certificate, file, host]),
            Ok(Source::Secret {
                tenant: t.clone(),
                client: c.clone(),
                secret: "hunter2".into()
            })
        );
        assert_eq!(
            source(&[tenant, client, certificate, file, host]),
            Ok(Source::Certificate {
                tenant: t.clone(),
                client: c.clone(),
                file: "/c.pem".to_owned()
            })
        );
        assert_eq!(
            source(&[tenant, client, file, host]),
            Ok(Source::WorkloadIdentity {
                tenant: t,
                client: c.clone(),
                file: "/token".to_owned()
            })
        );
        assert_eq!(
            source(&[client, file]),
            Ok(Source::ManagedIdentity { client: Some(c) })
        );
        assert_eq!(source(&[]), Ok(Source::ManagedIdentity { client: None }));
        assert!(source(&[tenant, client, ("AZURE_USERNAME", "u")]).is_err());
        assert!(!format!("{:?}", source(&[tenant, client, secret])).contains("hunter2"));
    }
}
