//! The data of a Secret and what Flux reads from it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use url::Url;

use crate::error::{AuthError, SecretName};
use crate::secret::SecretBytes;
use crate::tls::Tls;

/// The keys of Flux's conventions.
pub mod keys {
    /// A client certificate, PEM.
    pub const TLS_CERTIFICATE: &str = "tls.crt";
    /// A client certificate's private key, PEM.
    pub const TLS_PRIVATE_KEY: &str = "tls.key";
    /// Certificate authorities, PEM.
    pub const CA_CERTIFICATE: &str = "ca.crt";
    /// The old name of [`TLS_CERTIFICATE`].
    pub const LEGACY_TLS_CERTIFICATE: &str = "certFile";
    /// The old name of [`TLS_PRIVATE_KEY`].
    pub const LEGACY_TLS_PRIVATE_KEY: &str = "keyFile";
    /// The old name of [`CA_CERTIFICATE`].
    pub const LEGACY_CA_CERTIFICATE: &str = "caFile";
    /// A user name.
    pub const USERNAME: &str = "username";
    /// A password, or the passphrase of an SSH key.
    pub const PASSWORD: &str = "password";
    /// The URL of a proxy.
    pub const ADDRESS: &str = "address";
    /// A token for `Authorization: Bearer`.
    pub const BEARER_TOKEN: &str = "bearerToken";
    /// A token of some API.
    pub const TOKEN: &str = "token";
    /// An SSH private key.
    pub const SSH_IDENTITY: &str = "identity";
    /// The public half of [`SSH_IDENTITY`].
    pub const SSH_PUBLIC_KEY: &str = "identity.pub";
    /// The SSH hosts that are known.
    pub const SSH_KNOWN_HOSTS: &str = "known_hosts";
    /// A GitHub App's number.
    pub const GITHUB_APP_ID: &str = "githubAppID";
    /// A GitHub App's private key, PEM.
    pub const GITHUB_APP_PRIVATE_KEY: &str = "githubAppPrivateKey";
    /// The account in which a GitHub App is installed.
    pub const GITHUB_APP_INSTALLATION_OWNER: &str = "githubAppInstallationOwner";
    /// The number of a GitHub App's installation.
    pub const GITHUB_APP_INSTALLATION_ID: &str = "githubAppInstallationID";
    /// The API of a GitHub of one's own.
    pub const GITHUB_APP_BASE_URL: &str = "githubAppBaseURL";
}

/// The longest proxy address in bytes.
const LONGEST_PROXY_ADDRESS: usize = 2048;

/// A user name and its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BasicAuth {
    /// The user name.
    pub username: String,
    /// The password.
    pub password: SecretBytes,
}

/// A key for SSH and the hosts that it may be shown to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshIdentity {
    /// The private key in PEM or OpenSSH format.
    pub private_key: SecretBytes,
    /// The public key, if given.
    pub public_key: Option<Vec<u8>>,
    /// Lines in the format of `known_hosts`.
    pub known_hosts: Vec<u8>,
    /// The passphrase of the private key, if it has one.
    pub passphrase: Option<SecretBytes>,
}

/// Where a GitHub App is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHubInstallation {
    /// In the account of this organisation or user.
    Owner(String),
    /// Under this number.
    Id(String),
}

/// A GitHub App that acts for Flux.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubApp {
    /// The App's number.
    pub id: String,
    /// Its private key, PEM.
    pub private_key: SecretBytes,
    /// Its installation.
    pub installation: GitHubInstallation,
    /// The API, if not that of github.com; used exactly as given.
    pub base_url: Option<String>,
}

/// A proxy for HTTP.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its URL, without credentials.
    pub url: Url,
    /// The credentials that it wants. The password may be empty.
    pub credentials: Option<BasicAuth>,
}

impl Proxy {
    /// The URL with the credentials in it: for keys that are hashed, never for people.
    pub(crate) fn url_with_credentials(&self) -> zeroize::Zeroizing<String> {
        let mut url = self.url.clone();
        if let Some(credentials) = &self.credentials {
            // A proxy's URL has a host and can hold both.
            let _ = url.set_username(&credentials.username);
            let password = credentials.password.expose_text().filter(|text| !text.is_empty());
            let _ = url.set_password(password);
        }
        zeroize::Zeroizing::new(url.into())
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host = self.url.host_str().unwrap_or_default();
        formatter
            .debug_struct("Proxy")
            .field("host", &host)
            .field("credentials", &self.credentials)
            .finish()
    }
}

/// The data of a Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretData {
    name: SecretName,
    kind: String,
    data: BTreeMap<String, SecretBytes>,
}

impl From<Secret> for SecretData {
    fn from(secret: Secret) -> Self {
        let name = SecretName {
            namespace: secret.metadata.namespace.unwrap_or_default(),
            name: secret.metadata.name.unwrap_or_default(),
        };
        let kind = secret.type_.unwrap_or_else(|| "Opaque".to_owned());
        let data = secret.data.unwrap_or_default();
        Self {
            name,
            kind,
            data: data
                .into_iter()
                .map(|(key, value)| (key, value.0.into()))
                .collect(),
        }
    }
}

impl SecretData {
    /// A Secret from its parts, for tests and for the command line.
    pub fn new<K: Into<String>, V: Into<SecretBytes>>(
        namespace: &str,
        name: &str,
        data: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        Self {
            name: SecretName {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            },
            kind: "Opaque".to_owned(),
            data: data
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        }
    }

    /// The Secret's namespace and name.
    pub fn name(&self) -> &SecretName {
        &self.name
    }

    /// The Secret's type, such as `Opaque` or `kubernetes.io/tls`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&SecretBytes> {
        self.data.get(key)
    }

    /// All keys with their values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SecretBytes)> {
        self.data.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there is no data at all.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The value under `key`, or under its old name, which is logged as a warning.
    pub(crate) fn get_or_legacy(&self, key: &'static str, legacy: &'static str) -> Option<&SecretBytes> {
        if let Some(value) = self.data.get(key) {
            return Some(value);
        }
        let value = self.data.get(legacy)?;
        tracing::warn!(secret = %self.name, key = legacy, preferred = key, "using legacy key in secret data");
        Some(value)
    }

    fn require(&self, key: &'static str) -> Result<&SecretBytes, AuthError> {
        self.data.get(key).ok_or_else(|| AuthError::KeyNotFound {
            secret: self.name.clone(),
            key,
        })
    }

    fn text(&self, key: &'static str) -> Result<Option<String>, AuthError> {
        let Some(value) = self.data.get(key) else {
            return Ok(None);
        };
        value
            .expose_text()
            .map(|text| Some(text.to_owned()))
            .ok_or(AuthError::NotText { key })
    }

    /// Certificate authorities and client certificate. See [`Tls::from_secret`].
    ///
    /// # Errors
    /// Neither is there, half a certificate is there, or one cannot be parsed.
    pub fn tls(&self) -> Result<Tls, AuthError> {
        Tls::from_secret(self)
    }

    /// User name and password, which must both be there but may be empty.
    ///
    /// # Errors
    /// [`AuthError::KeyNotFound`] if neither is there; [`AuthError::MalformedBasicAuth`] if one is missing.
    pub fn basic_auth(&self) -> Result<BasicAuth, AuthError> {
        let malformed = |present, missing| AuthError::MalformedBasicAuth {
            secret: self.name.clone(),
            present,
            missing,
        };
        match (self.text(keys::USERNAME)?, self.data.get(keys::PASSWORD)) {
            (None, None) => Err(AuthError::KeyNotFound {
                secret: self.name.clone(),
                key: keys::USERNAME,
            }),
            (Some(_), None) => Err(malformed(keys::USERNAME, keys::PASSWORD)),
            (None, Some(_)) => Err(malformed(keys::PASSWORD, keys::USERNAME)),
            (Some(username), Some(password)) => Ok(BasicAuth {
                username,
                password: password.clone(),
            }),
        }
    }

    /// The token for `Authorization: Bearer`.
    ///
    /// # Errors
    /// It is not there.
    pub fn bearer_token(&self) -> Result<SecretBytes, AuthError> {
        self.require(keys::BEARER_TOKEN).cloned()
    }

    /// The token of an API.
    ///
    /// # Errors
    /// It is not there.
    pub fn token(&self) -> Result<SecretBytes, AuthError> {
        self.require(keys::TOKEN).cloned()
    }

    /// The SSH key and the known hosts.
    ///
    /// # Errors
    /// One of them is not there.
    pub fn ssh_identity(&self) -> Result<SshIdentity, AuthError> {
        Ok(SshIdentity {
            private_key: self.require(keys::SSH_IDENTITY)?.clone(),
            known_hosts: self.require(keys::SSH_KNOWN_HOSTS)?.expose().to_vec(),
            public_key: self
                .get(keys::SSH_PUBLIC_KEY)
                .map(|value| value.expose().to_vec()),
            passphrase: self
                .get(keys::PASSWORD)
                .filter(|value| !value.is_empty())
                .cloned(),
        })
    }

    /// The GitHub App.
    ///
    /// # Errors
    /// Number or private key are not there, or not exactly one way to find the installation is.
    pub fn github_app(&self) -> Result<GitHubApp, AuthError> {
        let id = self
            .text(keys::GITHUB_APP_ID)?
            .ok_or_else(|| AuthError::KeyNotFound {
                secret: self.name.clone(),
                key: keys::GITHUB_APP_ID,
            })?;
        let private_key = self.require(keys::GITHUB_APP_PRIVATE_KEY)?.clone();
        let owner = self.text(keys::GITHUB_APP_INSTALLATION_OWNER)?;
        let installation = match (owner, self.text(keys::GITHUB_APP_INSTALLATION_ID)?) {
            (Some(owner), None) => GitHubInstallation::Owner(owner),
            (None, Some(id)) => GitHubInstallation::Id(id),
            _ => return Err(AuthError::GitHubInstallation(self.name.clone())),
        };
        Ok(GitHubApp {
            id,
            private_key,
            installation,
            base_url: self.text(keys::GITHUB_APP_BASE_URL)?,
        })
    }

    /// The proxy.
    ///
    /// # Errors
    /// The address is missing, empty, too long, no URL, or of a scheme other than http, https and socks5.
    pub fn proxy(&self) -> Result<Proxy, AuthError> {
        let secret = || self.name.clone();
        self.require(keys::ADDRESS)?;
        let address = self.text(keys::ADDRESS)?.unwrap_or_default();
        if address.is_empty() {
            return Err(AuthError::EmptyProxy(secret()));
        }
        if address.len() > LONGEST_PROXY_ADDRESS {
            return Err(AuthError::LongProxy {
                secret: secret(),
                limit: LONGEST_PROXY_ADDRESS,
            });
        }
        let mut url = Url::parse(&address).map_err(|error| AuthError::BadProxy {
            secret: secret(),
            reason: error.to_string(),
        })?;
        if !matches!(url.scheme(), "http" | "https" | "socks5") {
            return Err(AuthError::ProxyScheme {
                secret: secret(),
                scheme: url.scheme().to_owned(),
            });
        }
        let in_url = (!url.username().is_empty()).then(|| BasicAuth {
            username: url.username().to_owned(),
            password: url.password().unwrap_or_default().into(),
        });
        // A URL without a host cannot hold credentials and has none.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        let credentials = match self.text(keys::USERNAME)? {
            Some(username) => Some(BasicAuth {
                username,
                password: self.get(keys::PASSWORD).cloned().unwrap_or_default(),
            }),
            None => in_url,
        };
        Ok(Proxy { url, credentials })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(data: &[(&str, &str)]) -> SecretData {
        SecretData::new("apps", "login", data.iter().map(|(key, value)| (*key, *value)))
    }

    #[test]
    fn basic_auth_wants_both_halves() {
        let message = |data: &[(&str, &str)]| secret(data).basic_auth().unwrap_err().to_string();
        assert_eq!(message(&[]), "secret 'apps/login': key 'username' not found");
        assert_eq!(
            message(&[("username", "u")]),
            "secret 'apps/login': malformed basic auth - has 'username' but missing 'password'"
        );
        assert_eq!(
            message(&[("password", "p")]),
            "secret 'apps/login': malformed basic auth - has 'password' but missing 'username'"
        );
        let auth = secret(&[("username", "u"), ("password", "p")])
            .basic_auth()
            .unwrap();
        assert_eq!(
            (auth.username.as_str(), auth.password.expose_text()),
            ("u", Some("p"))
        );
        assert!(!format!("{auth:?}").contains("\"p\""));
    }

    #[test]
    fn proxies_are_checked_and_lose_their_credentials_from_the_url() {
        let proxy = secret(&[("address", "http://a:b@proxy.example:3128")])
            .proxy()
            .unwrap();
        assert_eq!(proxy.url.as_str(), "http://proxy.example:3128/");
        let credentials = proxy.credentials.unwrap();
        assert_eq!(
            (credentials.username.as_str(), credentials.password.expose_text()),
            ("a", Some("b"))
        );
        let proxy = secret(&[
            ("address", "socks5://proxy:1"),
            ("username", "u"),
            ("password", "p"),
        ])
        .proxy()
        .unwrap();
        assert_eq!(proxy.credentials.unwrap().username, "u");
        let message = |address: &str| secret(&[("address", address)]).proxy().unwrap_err().to_string();
        assert_eq!(message(""), "secret 'apps/login': proxy address is empty");
        assert_eq!(
            message("ftp://proxy"),
            "secret 'apps/login': proxy URL must use one of the supported schemes (http, https, socks5), got 'ftp'"
        );
        assert_eq!(
            message(&format!("http://{}", "a".repeat(2048))),
            "secret 'apps/login': proxy URL exceeds maximum length of 2048 characters"
        );
        assert_eq!(
            secret(&[]).proxy().unwrap_err().to_string(),
            "secret 'apps/login': key 'address' not found"
        );
    }

    #[test]
    fn a_github_app_names_exactly_one_installation() {
        let base = [("githubAppID", "7"), ("githubAppPrivateKey", "k")];
        let with = |more: &[(&str, &str)]| secret(&[&base, more].concat()).github_app();
        assert_eq!(
            with(&[("githubAppInstallationOwner", "org")])
                .unwrap()
                .installation,
            GitHubInstallation::Owner("org".to_owned())
        );
        assert_eq!(
            with(&[("githubAppInstallationID", "9")]).unwrap().installation,
            GitHubInstallation::Id("9".to_owned())
        );
        let both = [
            ("githubAppInstallationOwner", "org"),
            ("githubAppInstallationID", "9"),
        ];
        for broken in [with(&[]), with(&both)] {
            assert_eq!(
                broken.unwrap_err().to_string(),
                "secret 'apps/login' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'"
            );
        }
    }
}
