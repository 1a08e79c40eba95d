//! Key pairs for Secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use russh::keys::key::safe_rng;
use russh::keys::ssh_key::private::{KeypairData, RsaKeypair};
use russh::keys::{Algorithm, EcdsaCurve, PrivateKey as Key};
use zeroize::Zeroizing;

use super::private_key::{PrivateKey, PrivateKeyError, is_encrypted};
use crate::Secret;

/// The kind of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyPairKind {
    /// ECDSA on P-256.
    EcdsaP256,
    /// ECDSA on P-384, the choice of `flux`.
    #[default]
    EcdsaP384,
    /// ECDSA on P-521.
    EcdsaP521,
    /// Ed25519.
    Ed25519,
    /// RSA with this many bits.
    Rsa(usize),
}

/// A private key with its public half, as Secrets hold them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// For the key `identity`: PEM.
    pub private_key: Secret,
    /// For the key `identity.pub`: kind and base64, with a line end.
    pub public_key: String,
}

impl KeyPair {
    /// Makes a key; the private half is PKCS#8, as `flux` writes it. RSA takes seconds.
    ///
    /// # Errors
    /// A number of bits that RSA cannot have, or that takes too long (beyond 8192).
    pub fn generate(kind: KeyPairKind) -> Result<Self, PrivateKeyError> {
        let failed = |error: &dyn std::fmt::Display| {
            PrivateKeyError::Malformed(format!("key pair generation failed, error: {error}"))
        };
        let random = |algorithm| Key::random(&mut safe_rng(), algorithm);
        let ecdsa = |curve| random(Algorithm::Ecdsa { curve });
        let key = match kind {
            KeyPairKind::EcdsaP256 => ecdsa(EcdsaCurve::NistP256),
            KeyPairKind::EcdsaP384 => ecdsa(EcdsaCurve::NistP384),
            KeyPairKind::EcdsaP521 => ecdsa(EcdsaCurve::NistP521),
            KeyPairKind::Ed25519 => random(Algorithm::Ed25519),
            KeyPairKind::Rsa(bits) if (1024..=8192).contains(&bits) && bits % 8 == 0 => {
                RsaKeypair::random(&mut safe_rng(), bits)
                    .and_then(|pair| Key::new(KeypairData::Rsa(pair), ""))
            }
            KeyPairKind::Rsa(bits) => {
                return Err(failed(&format!(
                    "{bits} RSA bits: use a multiple of 8 from 2048 to 8192"
                )));
            }
        };
        let key = key.map_err(|error| failed(&error))?;
        let content = russh::keys::pkcs8::encode_pkcs8(&key).map_err(|error| failed(&error))?;
        let content = Zeroizing::new(content);
        Ok(Self {
            private_key: Secret::new(pem(&content).as_bytes()),
            public_key: authorized(&PrivateKey::new(key))?,
        })
    }
}

/// Reads a private key that a user gave, and derives its public half. As in `flux`, a passphrase for a key that
/// has none is an error.
///
/// # Errors
/// See [`PrivateKeyError`].
pub fn load_key_pair(pem: &[u8], passphrase: Option<&[u8]>) -> Result<KeyPair, PrivateKeyError> {
    let passphrase = passphrase.filter(|passphrase| !passphrase.is_empty());
    let key = PrivateKey::parse(pem, passphrase)?;
    if passphrase.is_some() && !is_encrypted(pem) {
        return Err(PrivateKeyError::Malformed(
            "ssh: not an encrypted key: leave the passphrase out".to_owned(),
        ));
    }
    Ok(KeyPair {
        private_key: Secret::new(pem),
        public_key: authorized(&key)?,
    })
}

fn authorized(key: &PrivateKey) -> Result<String, PrivateKeyError> {
    Ok(format!("{}\n", key.public_key()?))
}

fn pem(content: &[u8]) -> Zeroizing<String> {
    let encoded = Zeroizing::new(STANDARD.encode(content));
    let mut text = Zeroizing::new("-----BEGIN PRIVATE KEY-----\n".to_owned());
    for (index, character) in encoded.chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text.push_str("\n-----END PRIVATE KEY-----\n");
    text
}
