//! How to reach a remote.

use crate::{RemoteUrl, Secret, SshCredentials};

/// A remote repository with everything needed to talk to it.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Where the repository is.
    pub url: RemoteUrl,
    /// How to authenticate over http and https. Sent to the host of `url` only, never to where a redirect leads.
    pub authentication: Authentication,
    /// How to log in over ssh, and which hosts are known.
    pub ssh: Option<SshCredentials>,
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
            ssh: None,
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

    #[test]
    fn user_information_of_the_url_is_the_default_authentication() {
        let remote = |text| Remote::new(RemoteUrl::parse(text).unwrap()).authentication;
        let expected = Authentication::Basic {
            username: "bob".into(),
            password: Secret::new("pw"),
        };
        assert_eq!(remote("https://bob:pw@example.com/x"), expected);
        assert_eq!(remote("https://example.com/x"), Authentication::None);
    }

    #[test]
    fn debug_output_holds_no_secret() {
        let remote = Remote::new(RemoteUrl::parse("https://bob:hunter2@example.com/x").unwrap());
        assert!(!format!("{remote:?}").contains("hunter2"));
    }
}
