//! The token endpoint of Entra ID.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use reqwest::Method;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use url::Url;

use super::AzureToken;
use crate::provider::{Exchange, ProviderError};
use crate::secret::SecretBytes;
use crate::signing::{Algorithm, SigningKey};
use crate::token_http::TokenRequest;

const DEFAULT_AUTHORITY: &str = "https://login.microsoftonline.com/";

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The life of a token by which a client with a certificate shows who it is.
const CERTIFICATE_LIFE: SignedDuration = SignedDuration::from_mins(10);

/// The longest life that an answer is believed to give, in seconds.
const LONGEST_LIFE: i64 = 30 * 24 * 60 * 60;

/// What a client shows who it is with.
pub(super) enum Assertion<'a> {
    /// A secret that it shares with Entra ID.
    Secret(&'a SecretBytes),
    /// A token of an issuer that Entra ID trusts.
    Token(&'a SecretBytes),
    /// A certificate with its private key, both PEM in one text.
    Certificate(&'a SecretBytes),
}

/// A client of a tenant.
#[derive(Debug)]
pub(super) struct Client {
    endpoint: Url,
    id: String,
}

#[derive(Serialize)]
struct Claims<'c> {
    aud: &'c str,
    iss: &'c str,
    sub: &'c str,
    jti: String,
    nbf: i64,
    exp: i64,
}

#[derive(Deserialize)]
pub(super) struct Answer {
    access_token: String,
    expires_in: Seconds,
}

/// A number, which some services write as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(i64),
    Text(String),
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
    #[serde(default)]
    error_description: String,
}

impl Answer {
    /// The token, counted from when the answer came. Without a sensible life it is not kept.
    pub(super) fn into_token(self) -> AzureToken {
        let seconds = match self.expires_in {
            Seconds::Number(number) => number,
            Seconds::Text(text) => text.parse().unwrap_or(0),
        };
        let life = SignedDuration::from_secs(seconds.clamp(0, LONGEST_LIFE));
        let now = Timestamp::now();
        AzureToken {
            value: self.access_token.into(),
            expires_at: now.checked_add(life).unwrap_or(now),
        }
    }
}

/// What a service says where it refuses.
pub(super) fn message(body: &[u8]) -> Option<String> {
    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    Some(format!("{}: {}", refusal.error, refusal.error_description))
}

impl Client {
    /// A client at the authority of `AZURE_AUTHORITY_HOST`, else at the public cloud's.
    pub(super) fn new(exchange: &Exchange<'_>, tenant: &str, id: &str) -> Result<Self, ProviderError> {
        let authority = exchange
            .environment
            .get("AZURE_AUTHORITY_HOST")
            .unwrap_or_else(|| DEFAULT_AUTHORITY.to_owned());
        let tenant_is_valid = !tenant.is_empty()
            && tenant
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte));
        if !tenant_is_valid {
            return Err(ProviderError::Configuration(format!(
                "invalid tenantID '{tenant}': it may hold letters, digits, '-' and '.'"
            )));
        }
        let address = format!("{}/{tenant}/oauth2/v2.0/token", authority.trim_end_matches('/'));
        let endpoint = Url::parse(&address)
            .map_err(|error| ProviderError::Configuration(format!("AZURE_AUTHORITY_HOST: {error}")))?;
        if endpoint.scheme() != "https" {
            return Err(ProviderError::configuration(
                "cannot use an authority host without https",
            ));
        }
        Ok(Self {
            endpoint,
            id: id.to_owned(),
        })
    }

    /// A token for the scopes of the exchange.
    pub(super) async fn token(
        &self,
        exchange: &Exchange<'_>,
        assertion: Assertion<'_>,
    ) -> Result<AzureToken, ProviderError> {
        let scope = exchange.options.scopes.join(" ");
        let signed;
        let (key, value) = match assertion {
            Assertion::Secret(secret) => ("client_secret", secret),
            Assertion::Token(token) => ("client_assertion", token),
            Assertion::Certificate(pem) => {
                signed = self.sign(pem, Timestamp::now())?;
                ("client_assertion", &signed)
            }
        };
        let value = value
            .expose_text()
            .ok_or_else(|| ProviderError::configuration("the credentials of the client are no text"))?;
        let mut fields = vec![
            ("client_id", self.id.as_str()),
            ("grant_type", "client_credentials"),
            ("scope", scope.as_str()),
        ];
        if key == "client_assertion" {
            fields.push(("client_assertion_type", ASSERTION_TYPE));
        }
        fields.push((key, value.trim()));
        let answer = TokenRequest::new(Method::POST, self.endpoint.clone())
            .header("accept", "application/json")
            .form(&fields)
            .send(&exchange.clients.services)
            .await?;
        Ok(answer.json::<Answer>(message)?.into_token())
    }

    fn sign(&self, pem: &SecretBytes, now: Timestamp) -> Result<SecretBytes, ProviderError> {
        let invalid = |reason: String| {
            ProviderError::Configuration(format!("the client certificate cannot be used: {reason}"))
        };
        let certificate = CertificateDer::from_pem_slice(pem.expose()).map_err(|_| {
            invalid(
                "there is no PEM certificate; PKCS 12 is not supported, convert it with openssl".to_owned(),
            )
        })?;
        let key = SigningKey::from_pem(pem.expose()).map_err(invalid)?;
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate.as_ref());
        let now = now.as_second();
        let claims = Claims {
            aud: self.endpoint.as_str(),
            iss: &self.id,
            sub: &self.id,
            jti: uuid::Uuid::new_v4().to_string(),
            nbf: now,
            exp: now + CERTIFICATE_LIFE.as_secs(),
        };
        let thumbprint = URL_SAFE_NO_PAD.encode(digest);
        key.token(Algorithm::Ps256, Some(&thumbprint), &claims)
            .map_err(invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::provider::TokenOptions;
    use crate::token_http::TokenClients;

    fn endpoint(authority: &str, tenant: &str) -> Result<String, String> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let exchange = Exchange {
            options: &TokenOptions::default(),
            environment: &Environment::of_variables([("AZURE_AUTHORITY_HOST", authority)]),
            clients: &TokenClients::new(None).unwrap(),
        };
        Client::new(&exchange, tenant, "c")
            .map(|client| client.endpoint.into())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_endpoint_is_below_the_authority_and_never_without_tls() {
        assert_eq!(
            endpoint("", "t").unwrap(),
            "https://login.microsoftonline.com/t/oauth2/v2.0/token"
        );
        assert_eq!(
            endpoint("https://login.microsoftonline.us/", "t.example").unwrap(),
            "https://login.microsoftonline.us/t.example/oauth2/v2.0/token"
        );
        assert_eq!(
            endpoint("http://localhost", "t").unwrap_err(),
            "cannot use an authority host without https"
        );
        for tenant in ["", "../x", "a/b", "a?b"] {
            let message = endpoint("", tenant).unwrap_err();
            assert!(message.starts_with("invalid tenantID"), "{message}");
        }
    }

    #[test]
    fn lives_are_numbers_or_texts_and_bounded() {
        let life = |expires_in: &str| {
            let json = format!(r#"{{"access_token":"t","expires_in":{expires_in}}}"#);
            let answer: Answer = serde_json::from_str(&json).unwrap();
            let left = answer.into_token().expires_at.duration_since(Timestamp::now());
            (left.as_secs_f64() / 60.0).round()
        };
        assert_eq!(
            (life("3600"), life("\"3600\""), life("-5"), life("\"x\"")),
            (60.0, 60.0, 0.0, 0.0)
        );
        assert_eq!(life("9223372036854775807"), 43_200.0);
    }
}
