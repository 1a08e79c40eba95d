//! What can be wrong with a Secret, in Flux's words.

use std::fmt;

/// A Secret's namespace and name; printed as `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretName {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for SecretName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}

/// Why a Secret does not give the credentials that it was asked for. No text holds a secret value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A key that is needed is not there.
    #[error("secret '{secret}': key '{key}' not found")]
    KeyNotFound {
        /// The Secret.
        secret: SecretName,
        /// The key.
        key: &'static str,
    },
    /// Of user name and password only one is there.
    #[error("secret '{secret}': malformed basic auth - has '{present}' but missing '{missing}'")]
    MalformedBasicAuth {
        /// The Secret.
        secret: SecretName,
        /// The key that is there.
        present: &'static str,
        /// The key that is not.
        missing: &'static str,
    },
    /// Of certificate and private key only one is there.
    #[error("secret '{secret}' contains '{present}' but missing '{missing}'")]
    HalfCertificate {
        /// The Secret.
        secret: SecretName,
        /// The key that is there.
        present: &'static str,
        /// The key that is not.
        missing: &'static str,
    },
    /// Neither a certificate authority nor a client certificate.
    #[error("secret '{0}' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'")]
    NoCertificates(SecretName),
    /// The certificate authority is no PEM certificate.
    #[error("failed to parse CA certificate")]
    BadAuthority,
    /// Certificate or private key are no PEM, or do not belong together.
    #[error("failed to parse TLS certificate and key: {0}")]
    BadCertificate(String),
    /// The proxy's address is there but empty.
    #[error("secret '{0}': proxy address is empty")]
    EmptyProxy(SecretName),
    /// The proxy's address is too long.
    #[error("secret '{secret}': proxy URL exceeds maximum length of {limit} characters")]
    LongProxy {
        /// The Secret.
        secret: SecretName,
        /// The limit.
        limit: usize,
    },
    /// The proxy's address is no URL.
    #[error("secret '{secret}': failed to parse proxy address: {reason}")]
    BadProxy {
        /// The Secret.
        secret: SecretName,
        /// What is wrong with it.
        reason: String,
    },
    /// The proxy's address has a scheme that is not known.
    #[error(
        "secret '{secret}': proxy URL must use one of the supported schemes (http, https, socks5), got '{scheme}'"
    )]
    ProxyScheme {
        /// The Secret.
        secret: SecretName,
        /// The scheme found.
        scheme: String,
    },
    /// The owner and the identifier of a GitHub App's installation are both there, or neither is.
    #[error(
        "secret '{0}' must contain exactly one of 'githubAppInstallationOwner' or 'githubAppInstallationID'"
    )]
    GitHubInstallation(SecretName),
    /// Git: a password without a user name.
    #[error("invalid '{0}' auth option: 'password' requires 'username' to be set")]
    PasswordWithoutUsername(String),
    /// Git over SSH: the Secret lacks a key.
    #[error("invalid 'ssh' auth option: '{0}' is required")]
    SshOption(&'static str),
    /// Git: a URL of a scheme that is not known.
    #[error("unknown transport '{0}'")]
    Transport(String),
    /// A value that must be text is none.
    #[error("{key}: is not valid UTF-8")]
    NotText {
        /// The key or the part of the URL.
        key: &'static str,
    },
    /// Git: user name and password from the URL together with a bearer token.
    #[error("basic auth and bearer token cannot be set at the same time")]
    BasicAndBearer,
}

impl AuthError {
    /// Whether a key simply is not there, as when asking whether a Secret holds credentials of a kind.
    pub fn is_key_not_found(&self) -> bool {
        matches!(self, Self::KeyNotFound { .. })
    }
}
