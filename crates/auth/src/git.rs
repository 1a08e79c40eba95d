//! How to log in to a Git server: from its URL and its Secret, joined as Flux joins them.

use url::Url;

use crate::data::{BasicAuth, SecretData, SshIdentity, keys};
use crate::error::AuthError;
use crate::secret::SecretBytes;
use crate::tls::{ClientCertificate, Tls};

/// The user of SSH repositories whose URL names none.
const SSH_USER: &str = "git";

/// How a client shows who it is over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpCredentials {
    /// Not at all.
    Anonymous,
    /// By user name and password; the password may be empty.
    Basic(BasicAuth),
    /// By `Authorization: Bearer`.
    Bearer(SecretBytes),
}

/// How to log in to a Git server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitCredentials {
    /// Over HTTP or HTTPS.
    Http {
        /// Who we are.
        credentials: HttpCredentials,
        /// Certificate authorities beside the system's, PEM.
        authorities: Option<Vec<u8>>,
        /// The certificate that the client shows.
        client: Option<ClientCertificate>,
    },
    /// Over SSH.
    Ssh {
        /// The user.
        user: String,
        /// The key and the known hosts.
        identity: SshIdentity,
    },
}

impl GitCredentials {
    /// Joins a URL and the Secret of a `secretRef`, if there is one.
    ///
    /// Over HTTP a bearer token, if the Secret has one, wins over the Secret's user name and password; what
    /// the Secret leaves open is taken from the URL. A client certificate counts only if both its halves are
    /// there, as in Flux.
    ///
    /// # Errors
    /// A password without a user name, a bearer token together with a user name from the URL, SSH without
    /// key or known hosts, certificates that cannot be parsed, or another scheme.
    pub fn new(url: &Url, secret: Option<&SecretData>) -> Result<Self, AuthError> {
        match url.scheme() {
            "http" | "https" => Self::http(url, secret),
            "ssh" => Self::ssh(url, secret),
            other => Err(AuthError::Transport(other.to_owned())),
        }
    }

    fn http(url: &Url, secret: Option<&SecretData>) -> Result<Self, AuthError> {
        let get = |key| {
            secret
                .and_then(|secret| secret.get(key))
                .filter(|value| !value.is_empty())
        };
        let token = secret.and_then(|secret| secret.get(keys::BEARER_TOKEN));
        let (mut username, mut password) = (String::new(), SecretBytes::default());
        if token.is_none() {
            if let Some(value) = get(keys::USERNAME) {
                username = value
                    .expose_text()
                    .ok_or(AuthError::NotText { key: keys::USERNAME })?
                    .to_owned();
            }
            password = get(keys::PASSWORD).cloned().unwrap_or_default();
        }
        if username.is_empty() {
            username = unescape(url.username())?;
        }
        if password.is_empty() {
            password = url
                .password()
                .map(unescape)
                .transpose()?
                .unwrap_or_default()
                .into();
        }
        let token = token.filter(|token| !token.is_empty());
        let credentials = match (token, username.is_empty(), password.is_empty()) {
            (Some(token), true, true) => HttpCredentials::Bearer(token.clone()),
            (Some(_), ..) => return Err(AuthError::BasicAndBearer),
            (None, true, true) => HttpCredentials::Anonymous,
            (None, true, false) => {
                return Err(AuthError::PasswordWithoutUsername(url.scheme().to_owned()));
            }
            (None, false, _) => HttpCredentials::Basic(BasicAuth { username, password }),
        };
        let authorities = get(keys::CA_CERTIFICATE).or_else(|| get(keys::LEGACY_CA_CERTIFICATE));
        let client = match (get(keys::TLS_CERTIFICATE), get(keys::TLS_PRIVATE_KEY)) {
            (Some(chain), Some(key)) => Some(Tls::client(chain.expose(), key)?),
            _ => None,
        };
        Ok(Self::Http {
            credentials,
            authorities: authorities
                .map(|pem| Tls::authorities(pem.expose()))
                .transpose()?,
            client,
        })
    }

    fn ssh(url: &Url, secret: Option<&SecretData>) -> Result<Self, AuthError> {
        if url.host_str().unwrap_or_default().is_empty() {
            return Err(AuthError::SshOption("host"));
        }
        let require = |key: &'static str| {
            secret
                .and_then(|secret| secret.get(key))
                .filter(|value| !value.is_empty())
                .ok_or(AuthError::SshOption(key))
        };
        let identity = SshIdentity {
            private_key: require(keys::SSH_IDENTITY)?.clone(),
            known_hosts: require(keys::SSH_KNOWN_HOSTS)?.expose().to_vec(),
            public_key: None,
            passphrase: require(keys::PASSWORD).ok().cloned(),
        };
        let user = unescape(url.username())?;
        let user = if user.is_empty() {
            SSH_USER.to_owned()
        } else {
            user
        };
        Ok(Self::Ssh { user, identity })
    }
}

/// Undoes percent escapes in the user information of a URL.
fn unescape(text: &str) -> Result<String, AuthError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).map_err(|_| AuthError::NotText {
        key: "user information of the URL",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(url: &str, data: &[(&str, &str)]) -> Result<GitCredentials, AuthError> {
        let secret = SecretData::new("apps", "git", data.iter().map(|(key, value)| (*key, *value)));
        GitCredentials::new(&Url::parse(url).unwrap(), (!secret.is_empty()).then_some(&secret))
    }

    fn http(url: &str, data: &[(&str, &str)]) -> String {
        match credentials(url, data) {
            Ok(GitCredentials::Http {
                credentials: HttpCredentials::Anonymous,
                ..
            }) => "anonymous".to_owned(),
            Ok(GitCredentials::Http {
                credentials: HttpCredentials::Basic(auth),
                ..
            }) => {
                format!("{}:{}", auth.username, auth.password.expose_text().unwrap())
            }
            Ok(GitCredentials::Http {
                credentials: HttpCredentials::Bearer(token),
                ..
            }) => {
                format!("bearer {}", token.expose_text().unwrap())
            }
            Ok(GitCredentials::Ssh { .. }) => "ssh".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn url_and_secret_are_joined_as_flux_joins_them() {
        // SRC-003
        type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
        let cases: [Case<'_>; 10] = [
            ("https://host/r", &[], "anonymous"),
            ("https://a:b%40c@host/r", &[], "a:b@c"),
            ("https://a@host/r", &[], "a:"),
            ("https://host/r", &[("username", "u"), ("password", "p")], "u:p"),
            (
                "https://a:b@host/r",
                &[("username", "u"), ("password", "p")],
                "u:p",
            ),
            ("https://a:b@host/r", &[("username", "u")], "u:b"),
            (
                "http://host/r",
                &[("password", "p")],
                "invalid 'http' auth option: 'password' requires 'username' to be set",
            ),
            ("https://host/r", &[("bearerToken", "t")], "bearer t"),
            (
                "https://host/r",
                &[("bearerToken", "t"), ("username", "u"), ("password", "p")],
                "bearer t",
            ),
            (
                "https://a:b@host/r",
                &[("bearerToken", "t")],
                "basic auth and bearer token cannot be set at the same time",
            ),
        ];
        for (url, data, expected) in cases {
            assert_eq!(http(url, data), expected, "{url} {data:?}");
        }
    }

    #[test]
    fn ssh_wants_key_and_known_hosts_and_defaults_to_the_user_git() {
        let full = [("identity", "key"), ("known_hosts", "host ssh-ed25519 AAAA")];
        let user = |url: &str| match credentials(url, &full).unwrap() {
            GitCredentials::Ssh { user, .. } => user,
            GitCredentials::Http { .. } => panic!("not over SSH"),
        };
        assert_eq!(user("ssh://host/r"), "git");
        assert_eq!(user("ssh://me@host/r"), "me");
        assert_eq!(
            http("ssh://host/r", &full[..1]),
            "invalid 'ssh' auth option: 'known_hosts' is required"
        );
        assert_eq!(
            http("ssh://host/r", &[]),
            "invalid 'ssh' auth option: 'identity' is required"
        );
        assert_eq!(http("ftp://host/r", &[]), "unknown transport 'ftp'");
    }

    #[test]
    fn nothing_secret_is_printed() {
        let basic = credentials("https://host/r", &[("username", "u"), ("password", "hunter2")]);
        let ssh = credentials("ssh://host/r", &[("identity", "hunter2"), ("known_hosts", "h")]);
        assert!(!format!("{basic:?} {ssh:?}").contains("hunter2"));
    }
}
