//! Private keys: made, read, written and used.

use std::convert::Infallible;

use der::asn1::{Any, BitString, Null, ObjectIdentifier, OctetString, Uint};
use der::{Decode, Encode, Sequence};
use dsa::{Components, KeySize};
use p256::elliptic_curve::Generate;
use p256::elliptic_curve::sec1::ToSec1Point;
use rand::RngCore;
use rand::rngs::StdRng;
use rsa::RsaPrivateKey;
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPrivateKey, EncodeRsaPublicKey};
use rsa::pkcs8::PrivateKeyInfoRef;
use rsa::rand_core::{TryCryptoRng, TryRng};
use rsa::sha2::Sha256;
use rsa::signature::{RandomizedSigner, SignatureEncoding, Signer};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};

use super::pem;

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const RSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");
const CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
const ECDSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const ECDSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
const ECDSA_SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.4");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// The size of keys that the functions for certificates make, in bits.
const CERTIFICATE_BITS: usize = 2_048;

/// The size of RSA keys that `genPrivateKey` makes, in bits.
const KEY_BITS: usize = 4_096;

/// A private key of a kind that sprig knows.
pub(super) enum PrivateKey {
    Rsa(Box<RsaPrivateKey>),
    P256(p256::SecretKey),
    P384(p384::SecretKey),
    P521(p521::SecretKey),
    Ed25519(Box<ed25519_dalek::SigningKey>),
    /// Can be made, read and written, and signs nothing.
    Dsa(Box<DsaKey>),
}

/// What sprig writes for DSA keys: OpenSSL's format.
#[derive(Sequence)]
pub(super) struct DsaKey {
    version: u8,
    p: Uint,
    q: Uint,
    g: Uint,
    y: Uint,
    x: Uint,
}

/// A key on a curve as RFC 5915 has it.
#[derive(Sequence)]
struct CurveKey {
    version: u8,
    private_key: OctetString,
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT", optional = "true")]
    curve: Option<ObjectIdentifier>,
    #[asn1(context_specific = "1", tag_mode = "EXPLICIT", optional = "true")]
    public_key: Option<BitString>,
}

/// A key as PKCS #8 has it, without attributes.
#[derive(Sequence)]
struct WrappedKey {
    version: u8,
    algorithm: AlgorithmIdentifierOwned,
    private_key: OctetString,
}

/// The random numbers of the render, for the crates that ask for them by newer traits.
struct Source<'run>(&'run mut StdRng);

impl TryRng for Source<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Source<'_> {}

/// The words of an error of one of the crates.
fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl PrivateKey {
    /// A key of the kind that `genPrivateKey` was asked for; None if there is no such kind.
    pub(super) fn generate(kind: &[u8], random: &mut StdRng) -> Option<Result<Self, String>> {
        let mut source = Source(random);
        Some(match kind {
            b"" | b"rsa" => rsa_key(&mut source, KEY_BITS),
            b"dsa" => dsa_key(&mut source),
            b"ecdsa" => Ok(Self::P256(p256::SecretKey::generate_from_rng(&mut source))),
            b"ed25519" => {
                let mut seed = [0; 32];
                source.0.fill_bytes(&mut seed);
                Ok(Self::Ed25519(Box::new(seed.into())))
            }
            _ => return None,
        })
    }

    /// The key of a certificate that comes without one.
    pub(super) fn for_certificate(random: &mut StdRng) -> Result<Self, String> {
        rsa_key(&mut Source(random), CERTIFICATE_BITS)
    }

    /// Reads the first block of a text.
    pub(super) fn from_pem(text: &[u8]) -> Result<Self, String> {
        let block = pem::decode(text).ok_or("no PEM data in input")?;
        let label = String::from_utf8_lossy(&block.label);
        if label == "PRIVATE KEY" {
            return unwrap_key(&block.bytes).map_err(|error| format!("decoding PEM as PKCS#8: {error}"));
        }
        let Some(kind) = label.strip_suffix(" PRIVATE KEY") else {
            return Err(format!("no private key data in PEM block of type {label}"));
        };
        let parsing = |error: String| format!("parsing {kind} private key from PEM: {error}");
        match kind {
            "RSA" => read_rsa(&block.bytes).map_err(parsing),
            "EC" => read_curve_key(None, &block.bytes).map_err(parsing),
            "DSA" => match DsaKey::from_der(&block.bytes) {
                Ok(key) => Ok(Self::Dsa(Box::new(key))),
                Err(error) => Err(parsing(words(error))),
            },
            _ => Err(format!("invalid private key type {label}")),
        }
    }

    /// Writes the key in the format that is usual for its kind.
    pub(super) fn to_pem(&self) -> Result<String, String> {
        match self {
            Self::Rsa(key) => pem::encode("RSA PRIVATE KEY", key.to_pkcs1_der().map_err(words)?.as_bytes()),
            Self::Dsa(key) => pem::encode("DSA PRIVATE KEY", &key.to_der().map_err(words)?),
            Self::Ed25519(key) => {
                let seed = OctetString::new(key.to_bytes()).and_then(|seed| seed.to_der());
                let wrapped = WrappedKey {
                    version: 0,
                    algorithm: algorithm(ED25519, None),
                    private_key: seed.and_then(OctetString::new).map_err(words)?,
                };
                pem::encode("PRIVATE KEY", &wrapped.to_der().map_err(words)?)
            }
            Self::P256(key) => write_curve_key(P256, &key.to_bytes(), self),
            Self::P384(key) => write_curve_key(P384, &key.to_bytes(), self),
            Self::P521(key) => write_curve_key(P521, &key.to_bytes(), self),
        }
    }

    /// The public key as certificates hold it.
    pub(super) fn public_key(&self) -> Result<SubjectPublicKeyInfoOwned, String> {
        let curve = |curve: ObjectIdentifier| {
            let parameters = Any::encode_from(&curve).map_err(words)?;
            Ok::<_, String>(algorithm(CURVE, Some(parameters)))
        };
        let algorithm = match self {
            Self::Rsa(_) => algorithm(RSA, Some(Any::from(Null))),
            Self::P256(_) => curve(P256)?,
            Self::P384(_) => curve(P384)?,
            Self::P521(_) => curve(P521)?,
            Self::Ed25519(_) => algorithm(ED25519, None),
            Self::Dsa(_) => return Err("x509: unsupported public key type: *dsa.PublicKey".to_owned()),
        };
        Ok(SubjectPublicKeyInfoOwned {
            algorithm,
            subject_public_key: BitString::from_bytes(&self.public_bytes()?).map_err(words)?,
        })
    }

    fn public_bytes(&self) -> Result<Vec<u8>, String> {
        Ok(match self {
            Self::Rsa(key) => key.as_public_key().to_pkcs1_der().map_err(words)?.into_vec(),
            Self::P256(key) => key.public_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::P384(key) => key.public_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::P521(key) => key.public_key().to_sec1_point(false).as_bytes().to_vec(),
            Self::Ed25519(key) => key.verifying_key().to_bytes().to_vec(),
            Self::Dsa(key) => key.y.as_bytes().to_vec(),
        })
    }

    /// How certificates name the way in which this key signs.
    pub(super) fn signature_algorithm(&self) -> Result<AlgorithmIdentifierOwned, String> {
        Ok(match self {
            Self::Rsa(_) => algorithm(RSA_SHA256, Some(Any::from(Null))),
            Self::P256(_) => algorithm(ECDSA_SHA256, None),
            Self::P384(_) => algorithm(ECDSA_SHA384, None),
            Self::P521(_) => algorithm(ECDSA_SHA512, None),
            Self::Ed25519(_) => algorithm(ED25519, None),
            Self::Dsa(_) => {
                return Err("x509: certificate private key does not implement crypto.Signer".to_owned());
            }
        })
    }

    /// Signs with [`Self::signature_algorithm`].
    pub(super) fn sign(&self, message: &[u8], random: &mut StdRng) -> Result<Vec<u8>, String> {
        Ok(match self {
            Self::Rsa(key) => {
                let key = rsa::pkcs1v15::SigningKey::<Sha256>::new((**key).clone());
                let signature = key.try_sign_with_rng(&mut Source(random), message);
                signature.map_err(words)?.to_vec()
            }
            Self::P256(key) => {
                let signature: p256::ecdsa::DerSignature = p256::ecdsa::SigningKey::from(key).sign(message);
                signature.as_bytes().to_vec()
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::DerSignature = p384::ecdsa::SigningKey::from(key).sign(message);
                signature.as_bytes().to_vec()
            }
            Self::P521(key) => {
                let signature: p521::ecdsa::DerSignature = p521::ecdsa::SigningKey::from(key).sign(message);
                signature.as_bytes().to_vec()
            }
            Self::Ed25519(key) => key.sign(message).to_vec(),
            Self::Dsa(_) => {
                return Err("x509: certificate private key does not implement crypto.Signer".to_owned());
            }
        })
    }
}

fn algorithm(oid: ObjectIdentifier, parameters: Option<Any>) -> AlgorithmIdentifierOwned {
    AlgorithmIdentifierOwned { oid, parameters }
}

fn rsa_key(source: &mut Source<'_>, bits: usize) -> Result<PrivateKey, String> {
    let key = RsaPrivateKey::new(source, bits).map_err(words)?;
    Ok(PrivateKey::Rsa(Box::new(key)))
}

fn dsa_key(source: &mut Source<'_>) -> Result<PrivateKey, String> {
    let Ok(components) = Components::try_generate_from_rng_with_key_size(source, KeySize::DSA_2048_256);
    let Ok(key) = dsa::SigningKey::try_generate_from_rng_with_components(source, components);
    let public = key.verifying_key();
    let number = |bytes: Box<[u8]>| Uint::new(&bytes).map_err(words);
    Ok(PrivateKey::Dsa(Box::new(DsaKey {
        version: 0,
        p: number(public.components().p().to_be_bytes())?,
        q: number(public.components().q().to_be_bytes())?,
        g: number(public.components().g().to_be_bytes())?,
        y: number(public.y().to_be_bytes())?,
        x: number(key.x().to_be_bytes())?,
    })))
}

/// What Go says where a key is in another of the formats.
fn other_format(bytes: &[u8], formats: &[&str]) -> Option<String> {
    let format = formats.iter().find(|format| match **format {
        "EC" => CurveKey::from_der(bytes).is_ok(),
        "PKCS8" => PrivateKeyInfoRef::from_der(bytes).is_ok(),
        _ => rsa::pkcs1::RsaPrivateKey::from_der(bytes).is_ok(),
    })?;
    Some(format!(
        "x509: failed to parse private key (use Parse{format}PrivateKey instead for this key format)"
    ))
}

fn read_rsa(bytes: &[u8]) -> Result<PrivateKey, String> {
    let key = RsaPrivateKey::from_pkcs1_der(bytes)
        .map_err(|error| other_format(bytes, &["EC", "PKCS8"]).unwrap_or_else(|| words(error)))?;
    Ok(PrivateKey::Rsa(Box::new(key)))
}

/// Reads a key on a curve that the key itself names, or the wrapping around it.
fn read_curve_key(curve: Option<ObjectIdentifier>, bytes: &[u8]) -> Result<PrivateKey, String> {
    let key = CurveKey::from_der(bytes).map_err(|error| {
        other_format(bytes, &["PKCS8", "PKCS1"])
            .unwrap_or_else(|| format!("x509: failed to parse EC private key: {error}"))
    })?;
    if key.version != 1 {
        return Err(format!("x509: unknown EC private key version {}", key.version));
    }
    let invalid = |_| "ecdsa: invalid private key".to_owned();
    let number = key.private_key.as_bytes();
    match curve.or(key.curve) {
        Some(P256) => p256::SecretKey::from_slice(&scalar(number, 32)?)
            .map(PrivateKey::P256)
            .map_err(invalid),
        Some(P384) => p384::SecretKey::from_slice(&scalar(number, 48)?)
            .map(PrivateKey::P384)
            .map_err(invalid),
        Some(P521) => p521::SecretKey::from_slice(&scalar(number, 66)?)
            .map(PrivateKey::P521)
            .map_err(invalid),
        _ => Err("x509: unknown elliptic curve".to_owned()),
    }
}

/// A number of exactly `size` bytes; some programs write leading zeros too many or too few.
fn scalar(number: &[u8], size: usize) -> Result<Vec<u8>, String> {
    let excess = number.len().saturating_sub(size);
    if number[..excess].iter().any(|byte| *byte != 0) {
        return Err("x509: invalid private key length".to_owned());
    }
    let number = &number[excess..];
    Ok([&vec![0; size - number.len()], number].concat())
}

fn write_curve_key(curve: ObjectIdentifier, number: &[u8], key: &PrivateKey) -> Result<String, String> {
    let key = CurveKey {
        version: 1,
        private_key: OctetString::new(number).map_err(words)?,
        curve: Some(curve),
        public_key: Some(BitString::from_bytes(&key.public_bytes()?).map_err(words)?),
    };
    pem::encode("EC PRIVATE KEY", &key.to_der().map_err(words)?)
}

/// Reads a key in the format that holds all kinds.
fn unwrap_key(bytes: &[u8]) -> Result<PrivateKey, String> {
    let key = PrivateKeyInfoRef::from_der(bytes)
        .map_err(|error| other_format(bytes, &["EC", "PKCS1"]).unwrap_or_else(|| words(error)))?;
    let inner = key.private_key.as_bytes();
    let embedded =
        |kind, error: String| format!("x509: failed to parse {kind} private key embedded in PKCS#8: {error}");
    match key.algorithm.oid {
        RSA => read_rsa(inner).map_err(|error| embedded("RSA", error)),
        CURVE => {
            let curve = key.algorithm.parameters.and_then(|curve| curve.decode_as().ok());
            read_curve_key(curve, inner).map_err(|error| embedded("EC", error))
        }
        ED25519 => {
            let seed = OctetString::from_der(inner)
                .map_err(|error| format!("x509: invalid Ed25519 private key: {error}"))?;
            let seed: [u8; 32] = seed.as_bytes().try_into().map_err(|_| {
                format!(
                    "x509: invalid Ed25519 private key length: {}",
                    seed.as_bytes().len()
                )
            })?;
            Ok(PrivateKey::Ed25519(Box::new(seed.into())))
        }
        other => Err(format!(
            "x509: PKCS#8 wrapping contained private key with unknown algorithm: {other}"
        )),
    }
}
