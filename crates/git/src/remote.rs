//! How to reach a remote.

use crate::{RemoteUrl, Secret};

/// A remote repository with everything needed to talk to it.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Where the repository is.
    pub url: RemoteUrl,
    /// How to authenticate. Sent to the host of `url` only, never to where a redirect leads.
    pub authentication: Authentication,
    /// Trust and client identity for https.
    pub tls: Tls,
    /// The proxy to go through. `None` follows `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; a given proxy
    /// replaces all three.
    pub proxy: Option<Proxy>,
    /// The `User-Agent` header. Some hosts answer Git clients only, so it should start with `git/`.
    pub user_agent: String,
}

impl Remote {
    /// A remote with the authentication of its URL's user information, if any, and defaults otherwise.
    pub fn new(url: RemoteUrl) -> Self {
        let authentication = match (url.username(), url.password()) {
            ("", None) => Authentication::None,
            (username, password) => Authentication::Basic {
                username: username.to_owned(),
                password: password.cloned().unwrap_or_else(|| Secret::new([])),
            },
        };
        Self {
            url,
            authentication,
            tls: Tls::default(),
            proxy: None,
            user_agent: concat!("git/sluice-", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Credentials for http and https.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Authentication {
    /// No credentials.
    #[default]
    None,
    /// HTTP basic authentication.
    Basic {
        /// The user name.
        username: String,
        /// The password or token.
        password: Secret,
    },
    /// A bearer token.
    Bearer(Secret),
}

/// Why credentials make no sense. The texts are Flux's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticationError {
    /// Both kinds of credentials are given.
    #[error("basic auth and bearer token cannot be set at the same time")]
    BasicAndBearer,
    /// A password without a user name.
    #[error("invalid '{0}' auth option: 'password' requires 'username' to be set")]
    PasswordWithoutUsername(String),
}

impl Authentication {
    /// Chooses credentials as Flux does from a Secret's fields: a bearer token is used if there is one,
    /// else user name and password, each taken from the URL where the Secret has none.
    ///
    /// # Errors
    /// See [`AuthenticationError`]; a bearer token in the Secret beside user information in the URL counts
    /// as both.
    pub fn from_parts(
        url: &RemoteUrl,
        username: &str,
        password: Option<Secret>,
        bearer_token: Option<Secret>,
    ) -> Result<Self, AuthenticationError> {
        let username = if username.is_empty() {
            url.username()
        } else {
            username
        };
        let password = password
            .filter(|secret| !secret.is_empty())
            .or_else(|| url.password().cloned());
        let has_password = password.as_ref().is_some_and(|secret| !secret.is_empty());
        let bearer_token = bearer_token.filter(|secret| !secret.is_empty());
        if username.is_empty() && has_password {
            return Err(AuthenticationError::PasswordWithoutUsername(
                url.scheme().to_owned(),
            ));
        }
        match bearer_token {
            Some(_) if !username.is_empty() || has_password => Err(AuthenticationError::BasicAndBearer),
            Some(token) => Ok(Self::Bearer(token)),
            None if username.is_empty() => Ok(Self::None),
            None => Ok(Self::Basic {
                username: username.to_owned(),
                password: password.unwrap_or_else(|| Secret::new([])),
            }),
        }
    }
}

/// Trust and identity for https.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Further certificate authorities as PEM, beside those of the system.
    pub certificate_authorities: Option<Vec<u8>>,
    /// The identity that is shown to a remote that asks for one.
    pub client_certificate: Option<ClientCertificate>,
}

/// A certificate with its key, both PEM.
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The certificate, followed by intermediate ones if any.
    pub certificate: Vec<u8>,
    /// The private key.
    pub key: Secret,
}

/// A proxy for http and https remotes.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Address with the scheme `http`, `https` or `socks5`. User information in it is used as well.
    pub address: String,
    /// The user name, if the proxy wants one.
    pub username: Option<String>,
    /// The password that goes with `username`.
    pub password: Option<Secret>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(
        url: &str,
        username: &str,
        password: &str,
        token: &str,
    ) -> Result<Authentication, AuthenticationError> {
        let secret = |text: &str| (!text.is_empty()).then(|| Secret::new(text));
        Authentication::from_parts(
            &RemoteUrl::parse(url).unwrap(),
            username,
            secret(password),
            secret(token),
        )
    }

    // SRC-003
    #[test]
    fn bearer_token_beside_basic_credentials_is_refused() {
        let plain = "https://example.com/x";
        assert_eq!(
            choose(plain, "bob", "pw", "token").unwrap_err(),
            AuthenticationError::BasicAndBearer
        );
        assert_eq!(
            choose("https://bob@example.com/x", "", "", "token").unwrap_err(),
            AuthenticationError::BasicAndBearer
        );
        assert_eq!(
            choose(plain, "", "", "token").unwrap(),
            Authentication::Bearer(Secret::new("token"))
        );
        assert_eq!(
            choose(plain, "", "pw", "").unwrap_err().to_string(),
            "invalid 'https' auth option: 'password' requires 'username' to be set"
        );
    }

    #[test]
    fn fields_missing_in_the_secret_come_from_the_url() {
        let expected = Authentication::Basic {
            username: "bob".into(),
            password: Secret::new("pw"),
        };
        assert_eq!(
            choose("https://bob:pw@example.com/x", "", "", "").unwrap(),
            expected
        );
        assert_eq!(
            choose("https://eve:pw@example.com/x", "bob", "", "").unwrap(),
            expected
        );
        assert_eq!(
            choose("https://example.com/x", "", "", "").unwrap(),
            Authentication::None
        );
    }

    #[test]
    fn debug_output_holds_no_secret() {
        let remote = Remote::new(RemoteUrl::parse("https://bob:hunter2@example.com/x").unwrap());
        assert!(!format!("{remote:?}").contains("hunter2"));
    }
}
