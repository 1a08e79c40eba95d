//! Keys for repositories that are reached over SSH, as the commands that make Secrets take or make them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sluice_auth::keys;
use sluice_git::{Budget, KeyPair, KeyPairKind, RemoteUrl};

use super::secret::Fields;
use crate::command::bootstrap::blocking;
use crate::error::{CommandError, Result};
use crate::password::Password;

/// How long a server is waited for that is to show its host key.
const SCAN_TIMEOUT: Duration = Duration::from_secs(30);

/// The port of SSH.
const DEFAULT_PORT: u16 = 22;

/// Which key opens the repository: one from a file, or a new one of some kind.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SshKey {
    /// Kind of the SSH key that is made
    #[arg(long, value_name = "KIND", value_parser = ["rsa", "ecdsa", "ed25519"], default_value = "ecdsa")]
    pub(crate) ssh_key_algorithm: String,
    /// Length of an RSA key in bits, a multiple of 8
    #[arg(long, value_name = "BITS", value_parser = rsa_bits, default_value = "2048")]
    pub(crate) ssh_rsa_bits: usize,
    /// Curve of an ECDSA key
    #[arg(long, value_name = "CURVE", value_parser = ["p256", "p384", "p521"], default_value = "p384")]
    pub(crate) ssh_ecdsa_curve: String,
    /// File with the private key for SSH, in place of a new one
    #[arg(long, value_name = "FILE")]
    pub(crate) private_key_file: Option<PathBuf>,
}

/// A key with the hosts that it may be shown to.
pub(super) struct SshIdentity {
    pair: KeyPair,
    /// Of the private key.
    passphrase: Option<Password>,
    /// The line of `known_hosts` with the key that the server shows.
    pub(super) known_hosts: String,
}

fn rsa_bits(text: &str) -> std::result::Result<usize, String> {
    let bits: usize = text.parse().map_err(|error| format!("{error}"))?;
    match bits {
        0..1024 => Err("RSA key bit size must be at least 1024".to_owned()),
        bits if bits % 8 != 0 => Err("RSA key bit size must be a multiple of 8".to_owned()),
        bits => Ok(bits),
    }
}

impl SshKey {
    /// The key: read from the file, or made.
    ///
    /// # Errors
    /// The file is no private key, or `passphrase` is not that of the key in it.
    pub(crate) async fn pair(&self, passphrase: Option<&str>) -> Result<KeyPair> {
        if let Some(file) = &self.private_key_file {
            return read(file, passphrase);
        }
        let kind = match (self.ssh_key_algorithm.as_str(), self.ssh_ecdsa_curve.as_str()) {
            ("rsa", _) => KeyPairKind::Rsa(self.ssh_rsa_bits),
            ("ed25519", _) => KeyPairKind::Ed25519,
            (_, "p256") => KeyPairKind::EcdsaP256,
            (_, "p521") => KeyPairKind::EcdsaP521,
            _ => KeyPairKind::EcdsaP384,
        };
        blocking(move || KeyPair::generate(kind).map_err(|error| CommandError::new(error.to_string()))).await
    }

    /// The key, and the host key that the server of `url` shows.
    ///
    /// # Errors
    /// See [`pair`](Self::pair); or the server does not answer.
    pub(super) async fn identity(&self, url: &RemoteUrl, password: Option<&Password>) -> Result<SshIdentity> {
        // A new key has no passphrase: a password would only keep controllers from reading it.
        let passphrase =
            password.filter(|password| self.private_key_file.is_some() && !password.expose().is_empty());
        let pair = self.pair(passphrase.map(Password::expose)).await?;
        let (host, port) = (url.host().to_owned(), url.port().unwrap_or(DEFAULT_PORT));
        let scan = move || {
            sluice_git::scan_host_keys(&host, port, &[], &Budget::new(SCAN_TIMEOUT)).map_err(|error| {
                CommandError::new(error.to_string()).with_hint("check --url and the network")
            })
        };
        let (known_hosts, _) = blocking(scan).await?;
        Ok(SshIdentity {
            pair,
            passphrase: passphrase.cloned(),
            known_hosts,
        })
    }
}

fn read(file: &Path, passphrase: Option<&str>) -> Result<KeyPair> {
    let named = |error: &dyn std::fmt::Display| {
        CommandError::new(format!("--private-key-file {}: {error}", file.display()))
    };
    let pem = zeroize::Zeroizing::new(std::fs::read(file).map_err(|error| named(&error))?);
    let passphrase = passphrase.filter(|text| !text.is_empty()).map(str::as_bytes);
    sluice_git::load_key_pair(&pem, passphrase).map_err(|error| {
        named(&error).with_hint("--password is the passphrase of the key; leave it out if it has none")
    })
}

impl SshIdentity {
    /// What the repository must let in.
    pub(super) fn public_key(&self) -> &str {
        self.pair.public_key.trim_end()
    }

    /// The Secret's fields by Flux's conventions.
    ///
    /// # Errors
    /// The private key is no text.
    pub(super) fn fields(&self) -> Result<Fields> {
        let private = std::str::from_utf8(self.pair.private_key.expose())
            .map_err(|_| CommandError::new("the private key is not PEM"))?;
        let mut fields = Fields::from([
            (keys::SSH_IDENTITY, Password::new(private)),
            (keys::SSH_PUBLIC_KEY, Password::new(&self.pair.public_key)),
            (keys::SSH_KNOWN_HOSTS, Password::new(&self.known_hosts)),
        ]);
        if let Some(passphrase) = &self.passphrase {
            fields.insert(keys::PASSWORD, passphrase.clone());
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_rsa_keys_are_checked_as_in_flux() {
        assert_eq!(rsa_bits("4096"), Ok(4096));
        assert_eq!(
            rsa_bits("1016").unwrap_err(),
            "RSA key bit size must be at least 1024"
        );
        assert_eq!(
            rsa_bits("1025").unwrap_err(),
            "RSA key bit size must be a multiple of 8"
        );
        assert!(rsa_bits("many").is_err());
    }
}
