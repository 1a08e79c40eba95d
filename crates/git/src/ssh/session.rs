//! Connects, checks the host's key, and logs in.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use russh::client::{self, Config, GexParams, Handle};
use russh::keys::{HashAlg, PrivateKeyWithHashAlg, PublicKeyOrCertificate};
use russh::{AlgorithmKind, Preferred, SshId};
use tokio::net::TcpStream;

use super::known_hosts::{HostKeyError, HostKeyProblem, KnownHosts, refusal_of};
use super::private_key::PrivateKey;
use super::public_key::PublicKey;
use super::{Access, Endpoint, certificate};
use crate::{Error, ErrorKind};

/// How long one of several addresses of a host is waited for.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// What a host must show.
pub(crate) enum Trust {
    /// A key that is known.
    Known(KnownHosts),
    /// Any key: it is noted, and the connection ends there.
    Noted,
}

/// Judges the key that the host shows.
pub(crate) struct Judge {
    endpoint: Endpoint,
    trust: Trust,
    finding: Arc<Mutex<Finding>>,
}

/// What a host showed.
#[derive(Debug, Default)]
pub(crate) struct Finding {
    /// The key.
    pub(crate) shown: Option<PublicKey>,
    /// Why it is not trusted.
    refusal: Option<HostKeyError>,
}

impl client::Handler for Judge {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let finding = self.judge(shown);
        let trusted = finding.refusal.is_none() && matches!(self.trust, Trust::Known(_));
        *self.finding.lock().unwrap_or_else(PoisonError::into_inner) = finding;
        Ok(trusted)
    }
}

impl Judge {
    fn judge(&self, shown: &PublicKeyOrCertificate) -> Finding {
        let Endpoint { host, port } = &self.endpoint;
        let key = match certificate::public_key(shown.public_key().key_data()) {
            Ok(key) => key,
            Err(problem) => {
                let unreadable = PublicKey::unreadable();
                return Finding {
                    shown: None,
                    refusal: Some(refusal_of(problem, host, *port, &unreadable)),
                };
            }
        };
        let refusal = match (&self.trust, shown.certificate()) {
            (Trust::Noted, _) => None,
            (Trust::Known(known), None) => known.check(host, *port, &key).err(),
            (Trust::Known(known), Some(certificate)) => {
                certificate::check(certificate, known, &self.endpoint)
                    .err()
                    .map(|problem| refusal_of(problem, host, *port, &key))
            }
        };
        Finding {
            shown: Some(key),
            refusal,
        }
    }
}

/// A connection whose server has shown its key.
pub(crate) struct Connected {
    /// The session, unless the key was only to be noted or was refused.
    pub(crate) outcome: Result<Handle<Judge>, Error>,
    /// The key.
    pub(crate) shown: Option<PublicKey>,
}

/// Connects and exchanges keys.
pub(crate) async fn connect(endpoint: &Endpoint, trust: Trust, preferred: Preferred) -> Connected {
    let finding = Arc::new(Mutex::new(Finding::default()));
    let judge = Judge {
        endpoint: endpoint.clone(),
        trust,
        finding: Arc::clone(&finding),
    };
    let outcome = shake_hands(endpoint, judge, preferred).await;
    let finding = std::mem::take(&mut *finding.lock().unwrap_or_else(PoisonError::into_inner));
    let outcome = match finding.refusal {
        Some(refusal) => Err(Error::new(
            kind_of(&refusal.problem),
            format!("ssh: handshake failed: {refusal}"),
        )),
        None => outcome,
    };
    Connected {
        outcome,
        shown: finding.shown,
    }
}

fn kind_of(problem: &HostKeyProblem) -> ErrorKind {
    match problem {
        HostKeyProblem::Unknown
        | HostKeyProblem::Mismatch
        | HostKeyProblem::Revoked
        | HostKeyProblem::Certificate(_) => ErrorKind::Authentication,
    }
}

async fn shake_hands(
    endpoint: &Endpoint,
    judge: Judge,
    preferred: Preferred,
) -> Result<Handle<Judge>, Error> {
    let config = Config {
        client_id: SshId::Standard(concat!("SSH-2.0-sluice_", env!("CARGO_PKG_VERSION")).into()),
        preferred,
        nodelay: true,
        gex: groups()?,
        ..Config::default()
    };
    let stream = dial(endpoint).await?;
    client::connect_stream(Arc::new(config), stream, judge)
        .await
        .map_err(|error| handshake_error(endpoint, error))
}

/// Groups for key exchange that are strong enough and do not take seconds.
fn groups() -> Result<GexParams, Error> {
    GexParams::new(2048, 3072, 8192)
        .map_err(|error| Error::new(ErrorKind::Unsupported, format!("ssh: {error}")))
}

async fn dial(endpoint: &Endpoint) -> Result<TcpStream, Error> {
    let network = |text: String| Error::new(ErrorKind::Network, text);
    let addresses = tokio::net::lookup_host((endpoint.host.as_str(), endpoint.port))
        .await
        .map_err(|error| network(format!("dial tcp: lookup {}: {error}", endpoint.host)))?;
    let mut last = network(format!("dial tcp: lookup {}: no such host", endpoint.host));
    for address in addresses {
        let reason = match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Without it small packets wait for others; nothing fails.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => reason_of(&error),
            Err(_) => "i/o timeout".to_owned(),
        };
        last = network(format!("dial tcp {address}: connect: {reason}"));
    }
    Err(last)
}

/// A system error without its number, in lower case, as Go prints it.
fn reason_of(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(characters).collect()
    })
}

fn handshake_error(endpoint: &Endpoint, error: russh::Error) -> Error {
    let (kind, text) = match error {
        russh::Error::NoCommonAlgo { kind, ours, theirs } => {
            let what = match kind {
                AlgorithmKind::Kex => "key exchange",
                AlgorithmKind::Key => "host key",
                AlgorithmKind::Cipher => "cipher",
                AlgorithmKind::Compression => "compression",
                AlgorithmKind::Mac => "MAC",
            };
            let remedy = match kind {
                AlgorithmKind::Key => "; put a host key of one of the kinds that it has into known_hosts",
                _ => "",
            };
            let text = format!(
                "ssh: no common algorithm for {what} with {endpoint}; we offered: [{}], peer offered: [{}]{remedy}",
                ours.join(" "),
                theirs.join(" ")
            );
            (ErrorKind::Authentication, text)
        }
        russh::Error::IO(error) => (ErrorKind::Network, reason_of(&error)),
        russh::Error::HUP | russh::Error::Disconnect => {
            (ErrorKind::Network, format!("{endpoint} closed the connection"))
        }
        error => (ErrorKind::Protocol, format!("ssh: {error}")),
    };
    Error::new(kind, format!("ssh: handshake failed: {text}"))
}

/// Logs in with the private key.
pub(crate) async fn authenticate(session: &mut Handle<Judge>, access: &Access) -> Result<(), Error> {
    let broken =
        |error: russh::Error| Error::new(ErrorKind::Network, format!("ssh: handshake failed: {error}"));
    for hash in hashes(session, &access.key).await.map_err(broken)? {
        let key = PrivateKeyWithHashAlg::new(Arc::clone(access.key.key()), hash);
        let result = session
            .authenticate_publickey(access.user.as_str(), key)
            .await
            .map_err(broken)?;
        if result.success() {
            return Ok(());
        }
    }
    let key = access.key.public_key().map_or_else(
        |error| error.to_string(),
        |key| format!("{} {}", key.kind(), key.fingerprint()),
    );
    Err(Error::new(
        ErrorKind::Authentication,
        format!(
            "ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain: the server does not let in user '{}' with the key {key}; give this key access to the repository",
            access.user
        ),
    ))
}

/// How to sign with a key, in the order of trying: RSA keys with the hashes that the server takes, where it says so;
/// SHA-1 where it takes nothing better.
async fn hashes(session: &Handle<Judge>, key: &PrivateKey) -> Result<Vec<Option<HashAlg>>, russh::Error> {
    const SHA_512: Option<HashAlg> = Some(HashAlg::Sha512);
    const SHA_256: Option<HashAlg> = Some(HashAlg::Sha256);
    if !key.key().algorithm().is_rsa() {
        return Ok(vec![None]);
    }
    Ok(match session.best_supported_rsa_hash().await? {
        // A server may say that it takes both and then take one.
        Some(SHA_512) => vec![SHA_512, SHA_256],
        Some(hash) => vec![hash],
        None => vec![SHA_512, SHA_256, None],
    })
}
