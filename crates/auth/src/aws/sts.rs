//! The Security Token Service.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use reqwest::Method;
use serde::Deserialize;
use url::Url;

use super::{AwsCredentials, domain};
use crate::provider::{Exchange, ProviderError};
use crate::secret::SecretBytes;
use crate::token_http::TokenRequest;

const ENDPOINT_PATTERN: &str = r"^https://(.+\.)?sts(-fips)?(\.[^.]+)?(\.vpce)?\.amazonaws\.com$";

const VERSION: &str = "2011-06-15";

/// A role to take on by a token of some other issuer.
pub(super) struct WebIdentity<'a> {
    pub(super) role: &'a str,
    pub(super) session: &'a str,
    pub(super) token: &'a SecretBytes,
}

#[derive(Deserialize)]
struct AssumedByWebIdentity {
    #[serde(rename = "AssumeRoleWithWebIdentityResult")]
    result: AssumedResult,
}

#[derive(Deserialize)]
struct AssumedResult {
    #[serde(rename = "Credentials")]
    credentials: AssumedCredentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct AssumedCredentials {
    access_key_id: String,
    secret_access_key: String,
    session_token: String,
    expiration: Timestamp,
}

#[derive(Deserialize)]
struct ErrorAnswer {
    #[serde(rename = "Error")]
    error: ErrorDetail,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorDetail {
    code: String,
    #[serde(default)]
    message: String,
}

/// Checks that an address from a spec is one of AWS's own token service.
///
/// # Errors
/// It is not.
pub fn validate_sts_endpoint(endpoint: &str) -> Result<(), ProviderError> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(ENDPOINT_PATTERN).ok());
    if PATTERN.as_ref().is_some_and(|pattern| pattern.is_match(endpoint)) {
        return Ok(());
    }
    Err(ProviderError::Configuration(format!(
        "invalid STS endpoint: '{endpoint}'. must match {ENDPOINT_PATTERN}"
    )))
}

/// Takes on a role. The request is not signed: its token shows who asks.
pub(super) async fn assume_role_with_web_identity(
    exchange: &Exchange<'_>,
    region: &str,
    identity: &WebIdentity<'_>,
) -> Result<AwsCredentials, ProviderError> {
    let token = identity.token.expose_text().unwrap_or_default();
    let request = TokenRequest::new(Method::POST, endpoint(exchange, region)?).form(&[
        ("Action", "AssumeRoleWithWebIdentity"),
        ("Version", VERSION),
        ("RoleArn", identity.role),
        ("RoleSessionName", identity.session),
        ("WebIdentityToken", token.trim()),
    ]);
    let answer = request.send(&exchange.clients.services).await?;
    let body = String::from_utf8_lossy(answer.success(error_message)?);
    // What the reader says could show what it read.
    let assumed: AssumedByWebIdentity =
        quick_xml::de::from_str(&body).map_err(|_| answer.unreadable("there are no credentials in it"))?;
    let credentials = assumed.result.credentials;
    Ok(AwsCredentials {
        access_key_id: credentials.access_key_id,
        secret_access_key: credentials.secret_access_key.into(),
        session_token: credentials.session_token.into(),
        expires_at: Some(credentials.expiration),
    })
}

fn error_message(body: &[u8]) -> Option<String> {
    let answer: ErrorAnswer = quick_xml::de::from_str(std::str::from_utf8(body).ok()?).ok()?;
    Some(format!("{}: {}", answer.error.code, answer.error.message))
}

/// The address of the service: the spec's, else that of the environment as the SDKs have it, else the region's.
fn endpoint(exchange: &Exchange<'_>, region: &str) -> Result<Url, ProviderError> {
    let environment = exchange.environment;
    let ignored = environment
        .get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let configured = || {
        let named = environment.get("AWS_ENDPOINT_URL_STS");
        named
            .or_else(|| environment.get("AWS_ENDPOINT_URL"))
            .filter(|_| !ignored)
    };
    let fips = environment
        .get("AWS_USE_FIPS_ENDPOINT")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let host = if fips { "sts-fips" } else { "sts" };
    if !region
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return Err(ProviderError::Configuration(format!(
            "invalid AWS region: '{region}'"
        )));
    }
    let address = exchange
        .options
        .sts_endpoint
        .clone()
        .or_else(configured)
        .unwrap_or_else(|| format!("https://{host}.{region}.{}", domain(region)));
    Url::parse(&address)
        .map_err(|error| ProviderError::Configuration(format!("invalid STS endpoint: '{address}': {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::provider::TokenOptions;
    use crate::token_http::TokenClients;

    fn address(variables: &[(&str, &str)], option: Option<&str>, region: &str) -> Result<String, String> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = TokenOptions {
            sts_endpoint: option.map(str::to_owned),
            ..TokenOptions::default()
        };
        let exchange = Exchange {
            options: &options,
            environment: &Environment::of_variables(variables.iter().copied()),
            clients: &TokenClients::new(None).unwrap(),
        };
        endpoint(&exchange, region)
            .map(String::from)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_endpoint_is_the_spec_s_the_environment_s_or_the_region_s() {
        let own = ("AWS_ENDPOINT_URL_STS", "http://localhost:1");
        let all = ("AWS_ENDPOINT_URL", "http://localhost:2");
        let ignore = ("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
        let fips = ("AWS_USE_FIPS_ENDPOINT", "true");
        for (variables, option, region, expected) in [
            (&[][..], None, "eu-west-1", "https://sts.eu-west-1.amazonaws.com/"),
            (
                &[],
                None,
                "cn-north-1",
                "https://sts.cn-north-1.amazonaws.com.cn/",
            ),
            (
                &[fips],
                None,
                "us-east-1",
                "https://sts-fips.us-east-1.amazonaws.com/",
            ),
            (&[all], None, "eu-west-1", "http://localhost:2/"),
            (&[all, own], None, "eu-west-1", "http://localhost:1/"),
            (
                &[own, ignore],
                None,
                "eu-west-1",
                "https://sts.eu-west-1.amazonaws.com/",
            ),
            (
                &[own],
                Some("https://sts.amazonaws.com"),
                "eu-west-1",
                "https://sts.amazonaws.com/",
            ),
        ] {
            assert_eq!(address(variables, option, region).unwrap(), expected);
        }
        assert_eq!(
            address(&[], None, "evil.example/").unwrap_err(),
            "invalid AWS region: 'evil.example/'"
        );
    }

    #[test]
    fn endpoints_of_specs_are_aws_s_own() {
        for good in [
            "https://sts.amazonaws.com",
            "https://sts.us-east-1.amazonaws.com",
            "https://sts-fips.us-east-1.amazonaws.com",
            "https://vpce-002b7cc8966426bc6-njisq19r.sts.us-east-1.vpce.amazonaws.com",
        ] {
            validate_sts_endpoint(good).unwrap();
        }
        for bad in [
            "http://sts.amazonaws.com",
            "https://sts.amazonaws.com/",
            "https://sts.amazonaws.com.example.org",
            "https://example.org",
        ] {
            assert_eq!(
                validate_sts_endpoint(bad).unwrap_err().to_string(),
                format!(
                    r"invalid STS endpoint: '{bad}'. must match ^https://(.+\.)?sts(-fips)?(\.[^.]+)?(\.vpce)?\.amazonaws\.com$"
                )
            );
        }
    }

    #[test]
    fn refusals_are_read() {
        let body = br#"<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>ExpiredTokenException</Code><Message>Token expired</Message></Error><RequestId>1</RequestId></ErrorResponse>"#;
        assert_eq!(
            error_message(body).as_deref(),
            Some("ExpiredTokenException: Token expired")
        );
        assert_eq!(error_message(b"<html>"), None);
    }
}
