//! SSH, in process: which hosts are known, which key is shown to them, and the connection itself.

mod algorithms;
mod base64;
mod certificate;
mod channel;
mod encrypted_pem;
mod generate;
mod known_hosts;
mod pattern;
mod pem;
mod private_key;
mod public_key;
mod scan;
mod session;
mod wire;

pub use algorithms::SshAlgorithms;
pub use generate::{KeyPair, KeyPairKind, load_key_pair};
pub use known_hosts::{HostKeyError, HostKeyProblem, KnownHosts, KnownHostsError};
pub use private_key::{PrivateKey, PrivateKeyError, is_encrypted};
pub use public_key::{PublicKey, PublicKeyError};
pub use scan::scan_host_keys;

pub(crate) use channel::{Link, LinkReader, LinkWriter};

use crate::{Error, ErrorKind, RemoteUrl, Secret};

/// The port of SSH.
const DEFAULT_PORT: u16 = 22;

/// The longest name of a host in bytes; no resolver takes a longer one.
const MAX_HOST_BYTES: usize = 255;

/// How to log in over SSH. Keys and lines are read when the connection is made.
#[derive(Debug, Clone)]
pub struct SshCredentials {
    /// The user.
    pub user: String,
    /// The private key; see [`PrivateKey::parse`].
    pub identity: Secret,
    /// The passphrase of the private key, if it has one.
    pub passphrase: Option<Secret>,
    /// The hosts that are known; see [`KnownHosts`].
    pub known_hosts: Vec<u8>,
    /// Algorithms to offer.
    pub algorithms: SshAlgorithms,
}

/// Credentials that have been read.
pub(crate) struct Access {
    pub(crate) user: String,
    pub(crate) key: PrivateKey,
    pub(crate) known_hosts: KnownHosts,
    pub(crate) algorithms: SshAlgorithms,
}

impl SshCredentials {
    /// Reads key and known hosts. Takes a while if the key has a passphrase.
    ///
    /// # Errors
    /// One of them cannot be read.
    pub(crate) fn read(&self) -> Result<Access, Error> {
        let invalid = |reason: &dyn std::fmt::Display| {
            Error::whole(
                ErrorKind::Invalid,
                format!("unable to construct auth method with options: {reason}"),
            )
        };
        let passphrase = self.passphrase.as_ref().map(Secret::expose);
        let key = PrivateKey::parse(self.identity.expose(), passphrase).map_err(|error| invalid(&error))?;
        let known_hosts = KnownHosts::parse(&self.known_hosts).map_err(|error| invalid(&error))?;
        Ok(Access {
            user: self.user.clone(),
            key,
            known_hosts,
            algorithms: self.algorithms.clone(),
        })
    }
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The host without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    pub(crate) fn new(host: &str, port: u16) -> Result<Self, Error> {
        if host.is_empty() || host.len() > MAX_HOST_BYTES {
            return Err(Error::new(
                ErrorKind::Invalid,
                "the host's name is empty or too long",
            ));
        }
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host);
        Ok(Self {
            host: bare.to_owned(),
            port,
        })
    }

    pub(crate) fn of(url: &RemoteUrl) -> Result<Self, Error> {
        Self::new(url.host(), url.port().unwrap_or(DEFAULT_PORT))
    }
}

/// `host:port`, with brackets around an address that holds colons.
impl std::fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(formatter, "[{}]:{}", self.host, self.port),
            false => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}
