//! Bootstrap over SSH: the key that opens the repository, and the host that it is shown to.

use std::time::Duration;

use serde_json::{Map, Value, json};
use sluice_auth::{SecretBytes, SecretData, keys};
use sluice_git::{Budget, KeyPair, RemoteUrl, Secret, SshAlgorithms, SshCredentials};

use super::repository::blocking;
use crate::error::{CommandError, Result};
use crate::output::Console;

/// How long a server is waited for that is to show its host key.
const SCAN_TIMEOUT: Duration = Duration::from_secs(30);

/// The port of SSH.
const DEFAULT_PORT: u16 = 22;

/// A private key with the known hosts for its repository.
#[derive(Clone)]
pub(crate) struct SshAccess {
    user: String,
    identity: SecretBytes,
    public_key: String,
    passphrase: Option<SecretBytes>,
    /// The host as this machine reaches it.
    known_hosts: String,
    /// The host as the cluster reaches it.
    followed_hosts: String,
    algorithms: SshAlgorithms,
}

/// A private key with its passphrase, if it has one.
pub(crate) struct SshAccessKey {
    pub(crate) pair: KeyPair,
    pub(crate) passphrase: Option<SecretBytes>,
}

impl SshAccessKey {
    /// The key of a Secret, if it has one.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn stored(secret: &SecretData) -> Result<Option<Self>> {
        let Some(identity) = secret.get(keys::SSH_IDENTITY) else {
            return Ok(None);
        };
        let passphrase = secret
            .get(keys::PASSWORD)
            .filter(|text| !text.is_empty())
            .cloned();
        let pair = sluice_git::load_key_pair(identity.expose(), passphrase.as_ref().map(SecretBytes::expose))
            .map_err(|error| {
                CommandError::new(format!("the key in Secret {}: {error}", secret.name()))
                    .with_hint("give another one with --private-key-file")
            })?;
        Ok(Some(Self { pair, passphrase }))
    }
}

impl SshAccess {
    /// Asks the server of `url` for its host key; that of `followed` too, by which the cluster reaches it.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) async fn gather(
        url: &RemoteUrl,
        followed: &RemoteUrl,
        key: &SshAccessKey,
        host_key_algorithms: &[String],
        console: &Console,
    ) -> Result<Self> {
        let known_hosts = scan(url, host_key_algorithms, console).await?;
        let same = (url.host(), url.port()) == (followed.host(), followed.port());
        let followed_hosts = match same {
            true => known_hosts.clone(),
            false => scan(followed, host_key_algorithms, console).await?,
        };
        console.success(&format!("public key: {}", key.pair.public_key.trim_end()));
        Ok(Self {
            user: url.username().to_owned(),
            identity: SecretBytes::from(key.pair.private_key.expose().to_vec()),
            public_key: key.pair.public_key.clone(),
            passphrase: key.passphrase.clone(),
            known_hosts,
            followed_hosts,
            algorithms: SshAlgorithms {
                host_key: host_key_algorithms.to_vec(),
                ..SshAlgorithms::default()
            },
        })
    }

    /// The Secret's fields by Flux's conventions.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let text = |bytes: &SecretBytes| json!(String::from_utf8_lossy(bytes.expose()));
        let mut fields = Map::from_iter([
            (keys::SSH_IDENTITY.to_owned(), text(&self.identity)),
            (keys::SSH_PUBLIC_KEY.to_owned(), json!(self.public_key)),
            (keys::SSH_KNOWN_HOSTS.to_owned(), json!(self.followed_hosts)),
        ]);
        if let Some(passphrase) = &self.passphrase {
            fields.insert(keys::PASSWORD.to_owned(), text(passphrase));
        }
        fields
    }

    /// What logs in.
    pub(crate) fn credentials(&self) -> SshCredentials {
        SshCredentials {
            user: self.user.clone(),
            identity: Secret::new(self.identity.expose()),
            passphrase: self.passphrase.as_ref().map(|text| Secret::new(text.expose())),
            known_hosts: self.known_hosts.clone().into_bytes(),
            algorithms: self.algorithms.clone(),
        }
    }
}

/// The line for `known_hosts` with the key that a server shows.
async fn scan(url: &RemoteUrl, algorithms: &[String], console: &Console) -> Result<String> {
    let (host, port) = (url.host().to_owned(), url.port().unwrap_or(DEFAULT_PORT));
    let algorithms = algorithms.to_vec();
    let scanned = blocking(move || {
        sluice_git::scan_host_keys(&host, port, &algorithms, &Budget::new(SCAN_TIMEOUT))
            .map_err(|error| CommandError::new(error.to_string()).with_hint("check --url and the network"))
    });
    let (line, key) = scanned.await?;
    console.success(&format!(
        "host key of {}: {} {}",
        url.host(),
        key.kind(),
        key.fingerprint()
    ));
    Ok(line)
}

/// The address that the cluster follows: with a user, and with another host if it reaches the server under one.
/// A user that was given wins over the one in the URL, unless it is the default.
///
/// # Errors
/// The address is none.
pub(crate) fn address(url: &str, username: &str, hostname: Option<&str>) -> Result<String> {
    let invalid = |error: &dyn std::fmt::Display| CommandError::new(format!("--url: {error}"));
    let mut parsed = url::Url::parse(url).map_err(|error| invalid(&error))?;
    if parsed.username().is_empty() || username != DEFAULT_USER {
        parsed
            .set_username(username)
            .map_err(|()| invalid(&"it takes no user"))?;
    }
    // Keys, not passwords, open the door; a password has no place in a manifest.
    parsed
        .set_password(None)
        .map_err(|()| invalid(&"it takes no user"))?;
    if let Some(hostname) = hostname {
        let (host, port) = match hostname.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (hostname, None),
        };
        let port = port
            .map(str::parse::<u16>)
            .transpose()
            .map_err(|error| CommandError::new(format!("--ssh-hostname {hostname}: {error}")))?;
        parsed
            .set_host(Some(host))
            .map_err(|error| CommandError::new(format!("--ssh-hostname {hostname}: {error}")))?;
        parsed.set_port(port).map_err(|()| invalid(&"it takes no port"))?;
    }
    Ok(parsed.into())
}

/// The user of repositories whose URL names none.
pub(crate) const DEFAULT_USER: &str = "git";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_has_a_user_and_the_host_that_the_cluster_reaches() {
        let address = |url, user, host| address(url, user, host).unwrap();
        assert_eq!(address("ssh://host/r", "git", None), "ssh://git@host/r");
        assert_eq!(address("ssh://me@host:22/r", "git", None), "ssh://me@host:22/r");
        assert_eq!(address("ssh://me:pw@host/r", "you", None), "ssh://you@host/r");
        assert_eq!(
            address("ssh://me@host:22/r", "git", Some("inner:2222")),
            "ssh://me@inner:2222/r"
        );
        assert_eq!(
            address("ssh://host:1/r", "git", Some("inner")),
            "ssh://git@inner/r"
        );
        assert_eq!(address("ssh://host/r", "git", Some("[::1]")), "ssh://git@[::1]/r");
        assert!(super::address("ssh://host/r", "git", Some("inner:x")).is_err());
    }
}
