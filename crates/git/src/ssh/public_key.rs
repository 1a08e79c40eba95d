//! Public keys in the form that goes over the wire and stands in `known_hosts`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use num_bigint::BigInt;
use sha2::{Digest, Sha256};

use super::wire::{Reader, Short, put_integer, put_string};

/// The suffix of the names of certificates.
const CERTIFICATE_SUFFIX: &str = "-cert-v01@openssh.com";

/// Formats of signatures made by security tokens.
const TOKEN_SIGNATURES: [&[u8]; 4] = [
    b"sk-ssh-ed25519@openssh.com",
    b"sk-ssh-ed25519-cert-v01@openssh.com",
    b"sk-ecdsa-sha2-nistp256@openssh.com",
    b"sk-ecdsa-sha2-nistp256-cert-v01@openssh.com",
];

/// A public key or host certificate. What is accepted is what Go's `ssh.ParsePublicKey` accepts.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PublicKey {
    kind: String,
    blob: Vec<u8>,
}

/// Why bytes are no public key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    /// The bytes end too early.
    #[error("ssh: short read")]
    Short,
    /// A kind of key that is not known.
    #[error("ssh: unknown key algorithm: {0}")]
    Unknown(String),
    /// Something follows the key.
    #[error("ssh: trailing junk in public key")]
    Trailing,
    /// A value that no key of this kind may hold.
    #[error("ssh: {0}")]
    Value(&'static str),
}

impl From<Short> for PublicKeyError {
    fn from(_: Short) -> Self {
        Self::Short
    }
}

impl PublicKey {
    /// Reads a key from the wire's form.
    ///
    /// # Errors
    /// See [`PublicKeyError`].
    pub fn parse(blob: &[u8]) -> Result<Self, PublicKeyError> {
        let mut reader = Reader::new(blob);
        let kind = String::from_utf8_lossy(reader.string()?).into_owned();
        let parsed = match certified_kind(&kind) {
            Some(certified) => {
                check_certificate(&mut reader, certified)?;
                Self {
                    kind,
                    blob: blob.to_vec(),
                }
            }
            None => parse_plain(&kind, &mut reader)?,
        };
        match reader.is_empty() {
            true => Ok(parsed),
            false => Err(PublicKeyError::Trailing),
        }
    }

    /// Stands for a key that could not be read.
    pub(crate) fn unreadable() -> Self {
        Self {
            kind: "unknown".to_owned(),
            blob: Vec::new(),
        }
    }

    /// The kind, such as `ssh-ed25519`; of an RSA key always `ssh-rsa`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The wire's form, integers in their shortest form.
    pub fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// The fingerprint as `ssh-keygen -l` prints it: `SHA256:` and base64.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(&self.blob)))
    }
}

/// Kind and base64, as in `known_hosts` and `authorized_keys`.
impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, STANDARD.encode(&self.blob))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PublicKey({} {})", self.kind, self.fingerprint())
    }
}

/// The kind of key in a certificate of kind `kind`.
fn certified_kind(kind: &str) -> Option<&str> {
    Some(match kind.strip_suffix(CERTIFICATE_SUFFIX)? {
        "sk-ssh-ed25519" => "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256" => "sk-ecdsa-sha2-nistp256@openssh.com",
        plain @ ("ssh-rsa"
        | "ssh-dss"
        | "ssh-ed25519"
        | "ecdsa-sha2-nistp256"
        | "ecdsa-sha2-nistp384"
        | "ecdsa-sha2-nistp521") => plain,
        _ => return None,
    })
}

/// Reads the fields after the kind and returns the whole key in its shortest form.
fn parse_plain(kind: &str, reader: &mut Reader<'_>) -> Result<PublicKey, PublicKeyError> {
    let mut kind = kind.to_owned();
    let mut blob = Vec::new();
    put_string(&mut blob, kind.as_bytes());
    match kind.as_str() {
        "ssh-rsa" => {
            let (exponent, modulus) = (reader.integer()?, reader.integer()?);
            check_exponent(&exponent)?;
            put_integer(&mut blob, &exponent);
            put_integer(&mut blob, &modulus);
        }
        "ssh-dss" => {
            let mut integers = Vec::new();
            for _ in 0..4 {
                integers.push(reader.integer()?);
            }
            if integers.first().is_some_and(|prime| prime.bits() != 1024) {
                return Err(PublicKeyError::Value("unsupported DSA key size"));
            }
            for integer in &integers {
                put_integer(&mut blob, integer);
            }
        }
        "ssh-ed25519" => put_string(&mut blob, edwards_point(reader)?),
        "sk-ssh-ed25519@openssh.com" => {
            put_string(&mut blob, edwards_point(reader)?);
            put_string(&mut blob, reader.string()?);
        }
        "ecdsa-sha2-nistp256" | "ecdsa-sha2-nistp384" | "ecdsa-sha2-nistp521" => {
            let (curve, point) = curve_point(reader)?;
            // The curve decides, whatever the name before it says.
            kind = format!("ecdsa-sha2-{curve}");
            blob.clear();
            put_string(&mut blob, kind.as_bytes());
            put_string(&mut blob, curve.as_bytes());
            put_string(&mut blob, point);
        }
        "sk-ecdsa-sha2-nistp256@openssh.com" => {
            let (curve, point) = curve_point(reader)?;
            if curve != "nistp256" {
                return Err(PublicKeyError::Value("unsupported curve"));
            }
            put_string(&mut blob, curve.as_bytes());
            put_string(&mut blob, point);
            put_string(&mut blob, reader.string()?);
        }
        _ => return Err(PublicKeyError::Unknown(kind)),
    }
    Ok(PublicKey { kind, blob })
}

fn check_exponent(exponent: &BigInt) -> Result<(), PublicKeyError> {
    if exponent.bits() > 24 {
        return Err(PublicKeyError::Value("exponent too large"));
    }
    if *exponent < BigInt::from(3) || !exponent.bit(0) {
        return Err(PublicKeyError::Value("incorrect exponent"));
    }
    Ok(())
}

fn edwards_point<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], PublicKeyError> {
    let point = reader.string()?;
    match point.len() {
        32 => Ok(point),
        _ => Err(PublicKeyError::Value("invalid size for Ed25519 public key")),
    }
}

fn curve_point<'a>(reader: &mut Reader<'a>) -> Result<(&'a str, &'a [u8]), PublicKeyError> {
    let curve = std::str::from_utf8(reader.string()?).unwrap_or_default();
    let point = reader.string()?;
    let on_curve = match curve {
        "nistp256" => point.len() == 65 && p256::PublicKey::from_sec1_bytes(point).is_ok(),
        "nistp384" => point.len() == 97 && p384::PublicKey::from_sec1_bytes(point).is_ok(),
        "nistp521" => point.len() == 133 && p521::PublicKey::from_sec1_bytes(point).is_ok(),
        _ => return Err(PublicKeyError::Value("unsupported curve")),
    };
    match on_curve {
        true => Ok((curve, point)),
        false => Err(PublicKeyError::Value("invalid curve point")),
    }
}

/// Reads a certificate's fields after its kind, to its end.
fn check_certificate(reader: &mut Reader<'_>, certified: &str) -> Result<(), PublicKeyError> {
    reader.string()?; // nonce
    parse_plain(certified, reader)?;
    reader.long_number()?; // serial
    reader.number()?; // type
    reader.string()?; // key id
    let mut principals = Reader::new(reader.string()?);
    while !principals.is_empty() {
        principals.string()?;
    }
    reader.long_number()?; // valid after
    reader.long_number()?; // valid before
    check_options(reader.string()?)?; // critical options
    check_options(reader.string()?)?; // extensions
    reader.string()?; // reserved
    let authority = reader.string()?;
    let signature = reader.string()?;
    if !reader.is_empty() {
        return Err(PublicKeyError::Trailing);
    }
    check_authority(authority)?;
    let mut signature = Reader::new(signature);
    let format = signature.string()?;
    signature.string()?;
    // Keys on security tokens add a counter.
    if !signature.is_empty() && !TOKEN_SIGNATURES.contains(&format) {
        return Err(PublicKeyError::Value("signature parse error"));
    }
    Ok(())
}

/// Authorities are plain keys: a certificate that vouches for a certificate is refused, not descended into.
fn check_authority(blob: &[u8]) -> Result<(), PublicKeyError> {
    let mut reader = Reader::new(blob);
    let kind = String::from_utf8_lossy(reader.string()?).into_owned();
    parse_plain(&kind, &mut reader)?;
    match reader.is_empty() {
        true => Ok(()),
        false => Err(PublicKeyError::Trailing),
    }
}

fn check_options(bytes: &[u8]) -> Result<(), PublicKeyError> {
    let mut reader = Reader::new(bytes);
    let mut last: Option<&[u8]> = None;
    while !reader.is_empty() {
        let name = reader.string()?;
        if last.is_some_and(|last| name <= last) {
            return Err(PublicKeyError::Value(
                "certificate options are not in lexical order",
            ));
        }
        last = Some(name);
        let value = reader.string()?;
        if !value.is_empty() {
            let mut inner = Reader::new(value);
            inner.string()?;
            if !inner.is_empty() {
                return Err(PublicKeyError::Value(
                    "unexpected trailing data after certificate option value",
                ));
            }
        }
    }
    Ok(())
}
