//! Private keys, in every form in which Flux takes them.

use std::fmt;
use std::sync::Arc;

use russh::keys::ssh_key::private::{EcdsaKeypair, EcdsaPrivateKey, KeypairData};
use russh::keys::ssh_key::public::EcdsaPublicKey;
use russh::keys::ssh_key::{HashAlg, LineEnding};
use russh::keys::{Algorithm, PrivateKey as Key};
use zeroize::Zeroizing;

use super::pem::Block;
use super::public_key::PublicKey;
use super::wire::Reader;

/// What an OpenSSH key begins with.
const MAGIC: &[u8] = b"openssh-key-v1\0";

/// Nobody's key is longer, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// The most rounds of bcrypt that are computed; ssh-keygen's default is 24, and a round takes milliseconds.
const MAX_ROUNDS: u32 = 4096;

/// A private key, ready for use. Cheap to clone; prints as its public half.
#[derive(Clone)]
pub struct PrivateKey(Arc<Key>);

/// Why text is no private key. The texts are those of Go's `ssh` package, which Flux shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrivateKeyError {
    /// There is no PEM block.
    #[error("ssh: no key found")]
    NotFound,
    /// The PEM block is of another kind.
    #[error("ssh: unsupported key type {0:?}")]
    Unsupported(String),
    /// A passphrase is needed, and none was given.
    #[error("ssh: this private key is passphrase protected")]
    PassphraseMissing,
    /// The passphrase is wrong.
    #[error("x509: decryption password incorrect")]
    Passphrase,
    /// The block's content makes no sense.
    #[error("{0}")]
    Malformed(String),
}

fn malformed(reason: &str) -> PrivateKeyError {
    PrivateKeyError::Malformed(format!("ssh: {reason}"))
}

impl PrivateKey {
    /// Reads a key from PEM: `OPENSSH PRIVATE KEY`, `RSA PRIVATE KEY`, `EC PRIVATE KEY` or `PRIVATE KEY`
    /// (PKCS#8) with an Ed25519, ECDSA (P-256, P-384, P-521) or RSA key in it. The passphrase counts only if the
    /// key is encrypted, which it may be in OpenSSH's format or in the old way of PEM; encrypted PKCS#8 is refused,
    /// as in Flux.
    ///
    /// # Errors
    /// See [`PrivateKeyError`].
    pub fn parse(pem: &[u8], passphrase: Option<&[u8]>) -> Result<Self, PrivateKeyError> {
        if pem.len() > MAX_BYTES {
            return Err(malformed("the private key is too long"));
        }
        let passphrase = passphrase.filter(|passphrase| !passphrase.is_empty());
        let block = Block::find(pem).ok_or(PrivateKeyError::NotFound)?;
        let content = match (block.is_encrypted(), block.kind.as_str()) {
            (_, "OPENSSH PRIVATE KEY") => return parse_openssh(&block.bytes, passphrase),
            (true, "RSA PRIVATE KEY" | "EC PRIVATE KEY") => {
                block.decrypt(passphrase.ok_or(PrivateKeyError::PassphraseMissing)?)?
            }
            (false, "RSA PRIVATE KEY" | "EC PRIVATE KEY" | "PRIVATE KEY") => block.bytes.clone(),
            _ => return Err(PrivateKeyError::Unsupported(block.kind)),
        };
        let content = match block.kind.as_str() {
            "RSA PRIVATE KEY" => wrap_rsa(&content),
            _ => content,
        };
        russh::keys::pkcs8::decode_pkcs8(&content, None)
            .map(Self::new)
            .map_err(|error| match block.is_encrypted() {
                // What a wrong passphrase leaves behind is noise.
                true => PrivateKeyError::Passphrase,
                false => malformed(&format!("cannot decode private key: {error}")),
            })
    }

    pub(crate) fn new(key: Key) -> Self {
        Self(Arc::new(key))
    }

    pub(crate) fn key(&self) -> &Arc<Key> {
        &self.0
    }

    /// The public half.
    ///
    /// # Errors
    /// The key is of a kind that Flux does not know.
    pub fn public_key(&self) -> Result<PublicKey, PrivateKeyError> {
        let blob = self
            .0
            .public_key()
            .to_bytes()
            .map_err(|error| malformed(&error.to_string()))?;
        PublicKey::parse(&blob).map_err(|error| PrivateKeyError::Malformed(error.to_string()))
    }

    /// The key in OpenSSH's format, not encrypted.
    ///
    /// # Errors
    /// The key cannot be encoded.
    pub fn to_openssh(&self) -> Result<Zeroizing<String>, PrivateKeyError> {
        self.0
            .to_openssh(LineEnding::LF)
            .map_err(|error| malformed(&error.to_string()))
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PrivateKey({:?})", self.public_key().ok())
    }
}

/// Whether a private key needs a passphrase. What is no key needs none.
pub fn is_encrypted(pem: &[u8]) -> bool {
    PrivateKey::parse(pem, None) == Err(PrivateKeyError::PassphraseMissing)
}

impl PartialEq for PrivateKey {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

fn parse_openssh(bytes: &[u8], passphrase: Option<&[u8]>) -> Result<PrivateKey, PrivateKeyError> {
    let head = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| malformed("invalid openssh private key format"))?;
    let mut reader = Reader::new(head);
    let (cipher, derivation, options) = (|| {
        let texts = (reader.string()?, reader.string()?, reader.string()?);
        Ok(texts)
    })()
    .map_err(|super::wire::Short| malformed("short read"))?;
    let is_encrypted = cipher != b"none" || derivation != b"none";
    if is_encrypted {
        check_encryption(cipher, derivation, options)?;
    }
    let section = private_section(reader).unwrap_or_default();
    let key = match Key::from_bytes(bytes) {
        Ok(key) => key,
        Err(error) => {
            let short = (!is_encrypted).then(|| parse_short_number(section)).flatten();
            return short.ok_or_else(|| malformed(&format!("malformed OpenSSH key: {error}")));
        }
    };
    match key.algorithm() {
        Algorithm::Ed25519 | Algorithm::Ecdsa { .. } | Algorithm::Rsa { .. } => {}
        // A security token holds the rest of these keys.
        _ => return Err(malformed("unhandled key type")),
    }
    if !is_encrypted {
        return Ok(PrivateKey::new(key));
    }
    let passphrase = passphrase.ok_or(PrivateKeyError::PassphraseMissing)?;
    key.decrypt(passphrase)
        .map(PrivateKey::new)
        .ok()
        .or_else(|| parse_short_number(&decrypt(&key, section, passphrase)?))
        .ok_or(PrivateKeyError::Passphrase)
}

/// The part that may be encrypted, of a file that holds one key.
fn private_section(mut reader: Reader<'_>) -> Option<&[u8]> {
    let count = reader.number().ok()?;
    let _public_key = reader.string().ok()?;
    reader.string().ok().filter(|_| count == 1)
}

fn decrypt(key: &Key, section: &[u8], passphrase: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (secret, start) = key.kdf().derive_key_and_iv(key.cipher(), passphrase).ok()?;
    let mut section = Zeroizing::new(section.to_vec());
    key.cipher().decrypt(&secret, &start, &mut section, None).ok()?;
    Some(section)
}

/// The key in a private section whose number begins with a zero byte, as one of 256 does: the zero is left out by
/// those who write keys, and the library knows no number of less than 32 bytes, which only keys of P-256 can have.
fn parse_short_number(section: &[u8]) -> Option<PrivateKey> {
    let mut reader = Reader::new(section);
    let same = reader.number().ok()? == reader.number().ok()?;
    let kind = reader.string().ok()?;
    if !same || kind != b"ecdsa-sha2-nistp256" {
        return None;
    }
    let _curve = reader.string().ok()?;
    let (point, number, comment) = (
        reader.string().ok()?,
        reader.string().ok()?,
        reader.string().ok()?,
    );
    if !reader.rest().iter().copied().eq((1..).take(reader.rest().len())) {
        return None;
    }
    let mut whole = Zeroizing::new([0; 32]);
    let start = whole.len().checked_sub(number.len())?;
    whole[start..].copy_from_slice(number);
    let EcdsaPublicKey::NistP256(public) = EcdsaPublicKey::from_sec1_bytes(point).ok()? else {
        return None;
    };
    let pair = EcdsaKeypair::NistP256 {
        public,
        private: EcdsaPrivateKey::from(*whole),
    };
    let comment = String::from_utf8_lossy(comment).into_owned();
    let key = Key::new(KeypairData::Ecdsa(pair), comment).ok()?;
    // Both halves belong together if one verifies what the other has signed.
    let signature = key.sign("halves", HashAlg::Sha256, kind).ok()?;
    key.public_key().verify("halves", kind, &signature).ok()?;
    Some(PrivateKey::new(key))
}

fn check_encryption(cipher: &[u8], derivation: &[u8], options: &[u8]) -> Result<(), PrivateKeyError> {
    let text = String::from_utf8_lossy;
    if derivation != b"bcrypt" {
        return Err(malformed(&format!(
            "unknown KDF {:?}, only supports \"bcrypt\"",
            text(derivation)
        )));
    }
    if !matches!(cipher, b"aes256-ctr" | b"aes256-cbc") {
        return Err(malformed(&format!(
            "unknown cipher {:?}, only supports \"aes256-ctr\" or \"aes256-cbc\"",
            text(cipher)
        )));
    }
    let mut reader = Reader::new(options);
    let rounds = reader.string().and_then(|_| reader.number());
    match rounds {
        Ok(1..=MAX_ROUNDS) => Ok(()),
        Ok(rounds) => Err(malformed(&format!(
            "the key's passphrase takes {rounds} rounds, more than the limit of {MAX_ROUNDS}: set it anew with ssh-keygen -p -a 24"
        ))),
        Err(_) => Err(malformed("short read")),
    }
}

/// Puts a PKCS#1 key into PKCS#8.
fn wrap_rsa(key: &[u8]) -> Zeroizing<Vec<u8>> {
    /// Version 0, and the algorithm rsaEncryption without parameters.
    const HEAD: [u8; 18] = [
        0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05,
        0x00,
    ];
    let mut inner = Zeroizing::new(HEAD.to_vec());
    put_element(&mut inner, 0x04, key);
    let mut whole = Zeroizing::new(Vec::new());
    put_element(&mut whole, 0x30, &inner);
    whole
}

/// Appends an element of DER.
fn put_element(output: &mut Vec<u8>, tag: u8, content: &[u8]) {
    let length = content.len().to_be_bytes();
    let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    output.push(tag);
    match length {
        [] => output.push(0),
        [short @ 0..=0x7f] => output.push(*short),
        // At most eight bytes.
        long => {
            output.push(0x80 | long.len().to_le_bytes()[0]);
            output.extend_from_slice(long);
        }
    }
    output.extend_from_slice(content);
}
