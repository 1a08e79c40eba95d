//! Credentials that the machine gives to what runs on it: EKS Pod Identity, ECS, and EC2 instance roles.

use std::net::IpAddr;

use jiff::Timestamp;
use reqwest::Method;
use serde::Deserialize;
use url::Url;

use super::AwsCredentials;
use crate::environment::Environment;
use crate::provider::{Exchange, ProviderError};
use crate::token_http::{TokenRequest, TokenRequestError};

/// Where ECS gives credentials.
const ECS_HOST: &str = "http://169.254.170.2";

/// Hosts of the machine that may be asked without TLS, beside the loopback.
const MACHINE_HOSTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];

const EC2_IPV4: &str = "http://169.254.169.254";
const EC2_IPV6: &str = "http://[fd00:ec2::254]";

const EC2_TOKEN_SECONDS: &str = "300";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    access_key_id: String,
    secret_access_key: String,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    expiration: Option<Timestamp>,
}

impl From<Answer> for AwsCredentials {
    fn from(answer: Answer) -> Self {
        Self {
            access_key_id: answer.access_key_id,
            secret_access_key: answer.secret_access_key.into(),
            session_token: answer.token.unwrap_or_default().into(),
            expires_at: answer.expiration,
        }
    }
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default)]
    code: String,
    message: String,
}

fn message(body: &[u8]) -> Option<String> {
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    Some(format!("{} {}", refusal.code, refusal.message).trim().to_owned())
}

/// The address at which a container gets its credentials, if the environment names one.
pub(super) fn container_address(environment: &Environment) -> Result<Option<Url>, ProviderError> {
    let address = match environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
        Some(path) => format!("{ECS_HOST}{path}"),
        None => match environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            Some(address) => address,
            None => return Ok(None),
        },
    };
    let invalid = |reason: String| {
        ProviderError::Configuration(format!(
            "the address of container credentials in the environment cannot be used: {reason}"
        ))
    };
    let url = Url::parse(&address).map_err(|error| invalid(error.to_string()))?;
    let host = url
        .host_str()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']');
    let loopback = host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    if url.scheme() == "https" || loopback || MACHINE_HOSTS.contains(&host) {
        return Ok(Some(url));
    }
    Err(invalid(format!(
        "{host} is neither the machine's own nor reached over TLS"
    )))
}

/// Asks for a container's credentials.
pub(super) async fn container_credentials(
    exchange: &Exchange<'_>,
    url: Url,
) -> Result<AwsCredentials, ProviderError> {
    let mut request = TokenRequest::new(Method::GET, url).header("accept", "application/json");
    let token = match exchange.environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(file) => Some(tokio::fs::read_to_string(&file).await.map_err(|error| {
            ProviderError::Configuration(format!(
                "failed to read the file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE {file}: {error}"
            ))
        })?),
        None => exchange.environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
    };
    if let Some(token) = token {
        request = request.header("authorization", token.trim());
    }
    let answer = request.send(&exchange.clients.machine).await?;
    Ok(answer.json::<Answer>(message)?.into())
}

/// Asks for the credentials of the role of the EC2 instance, by version 2 of the metadata service.
pub(super) async fn instance_credentials(exchange: &Exchange<'_>) -> Result<AwsCredentials, ProviderError> {
    let environment = exchange.environment;
    let disabled = environment
        .get("AWS_EC2_METADATA_DISABLED")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if disabled {
        return Err(ProviderError::configuration(
            "no EC2 IMDS role found: access disabled to EC2 IMDS by AWS_EC2_METADATA_DISABLED",
        ));
    }
    let base = environment
        .get("AWS_EC2_METADATA_SERVICE_ENDPOINT")
        .unwrap_or_else(|| {
            let six = environment
                .get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE")
                .is_some_and(|mode| mode.eq_ignore_ascii_case("ipv6"));
            if six { EC2_IPV6 } else { EC2_IPV4 }.to_owned()
        });
    let ask = |method: Method, path: &str| {
        let address = format!("{}/latest/{path}", base.trim_end_matches('/'));
        Url::parse(&address)
            .map(|url| TokenRequest::new(method, url))
            .map_err(|error| {
                ProviderError::Configuration(format!("AWS_EC2_METADATA_SERVICE_ENDPOINT: {error}"))
            })
    };
    let client = &exchange.clients.machine;
    let found =
        |error: TokenRequestError| ProviderError::Configuration(format!("no EC2 IMDS role found: {error}"));
    let answer = ask(Method::PUT, "api/token")?
        .header("x-aws-ec2-metadata-token-ttl-seconds", EC2_TOKEN_SECONDS)
        .send(client)
        .await
        .map_err(found)?;
    let token = answer.success(|_| None).map_err(found)?;
    let token = zeroize::Zeroizing::new(String::from_utf8_lossy(token).trim().to_owned());
    const ROLES: &str = "meta-data/iam/security-credentials/";
    let answer = ask(Method::GET, ROLES)?
        .header("x-aws-ec2-metadata-token", &token)
        .send(client)
        .await
        .map_err(found)?;
    let roles = String::from_utf8_lossy(answer.success(|_| None).map_err(found)?).into_owned();
    let role = roles.lines().next().unwrap_or_default().trim();
    if role.is_empty() {
        return Err(found(answer.unreadable("it names no role")));
    }
    let answer = ask(Method::GET, &format!("{ROLES}{role}"))?
        .header("x-aws-ec2-metadata-token", &token)
        .send(client)
        .await?;
    Ok(answer.json::<Answer>(message)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        container_address(&Environment::of_variables(variables.iter().copied()))
            .map(|url| url.map(String::from))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn containers_are_given_credentials_by_their_machine_only() {
        let full = |address| [("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)];
        assert_eq!(address(&[]), Ok(None));
        assert_eq!(
            address(&[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")]),
            Ok(Some("http://169.254.170.2/v2/x".to_owned()))
        );
        for good in [
            "http://169.254.170.23/v1/credentials",
            "http://[fd00:ec2::23]/v1/credentials",
            "http://127.0.0.1:9/x",
            "http://localhost:9/x",
            "https://example.com/x",
        ] {
            assert_eq!(address(&full(good)), Ok(Some(good.to_owned())));
        }
        for bad in ["http://example.com/x", "http://169.254.170.23.example.com/x"] {
            let message = address(&full(bad)).unwrap_err();
            assert!(
                message.ends_with("is neither the machine's own nor reached over TLS"),
                "{message}"
            );
        }
    }
}
