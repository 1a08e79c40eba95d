//! Certificates as sprig has Go write them.

use core::net::IpAddr;
use std::time::Duration;

use der::asn1::{
    Any, BitString, Ia5String, Int, ObjectIdentifier, OctetString, PrintableString, Utf8StringRef,
};
use der::{DateTime, Decode, Encode, Sequence};
use rand::RngCore;
use rand::rngs::StdRng;
use sha2::{Digest, Sha256};
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};

use super::key::PrivateKey;
use super::pem;
use crate::quote::quoted;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const SUBJECT_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.14");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const AUTHORITY_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.35");
const EXTENDED_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
const SERVER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");

/// What a certificate is to say.
pub(super) struct Request {
    pub(super) common_name: Vec<u8>,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) names: Vec<Vec<u8>>,
    pub(super) days: i64,
    pub(super) is_authority: bool,
    /// The time of the render, since 1970.
    pub(super) now: Duration,
}

/// Who signs.
pub(super) struct Issuer {
    subject: Any,
    key_id: Option<OctetString>,
    public_key: SubjectPublicKeyInfoOwned,
    key: PrivateKey,
}

/// What is signed: X.509's `TBSCertificate`.
#[derive(Sequence)]
struct Body {
    #[asn1(context_specific = "0", tag_mode = "EXPLICIT")]
    version: u8,
    serial_number: Int,
    signature: AlgorithmIdentifierOwned,
    issuer: Any,
    validity: Validity<Raw>,
    subject: Any,
    public_key: SubjectPublicKeyInfoOwned,
    #[asn1(context_specific = "3", tag_mode = "EXPLICIT")]
    extensions: Vec<Extension>,
}

#[derive(Sequence)]
struct Signed {
    body: Body,
    algorithm: AlgorithmIdentifierOwned,
    signature: BitString,
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Issuer {
    /// Reads the certificate and the key of an authority.
    pub(super) fn read(certificate: &[u8], key: &[u8]) -> Result<Self, String> {
        let block = pem::decode(certificate).ok_or("unable to decode certificate")?;
        let certificate = read(&block.bytes)
            .map_err(|error| format!("error parsing certificate: decodedSignerCert.Bytes: {error}"))?;
        let key = PrivateKey::from_pem(key).map_err(|error| format!("error parsing private key: {error}"))?;
        let body = certificate.tbs_certificate();
        let key_id = body.get_extension::<SubjectKeyIdentifier>().map_err(words)?;
        Ok(Self {
            subject: Any::encode_from(body.subject()).map_err(words)?,
            key_id: key_id.map(|(_, id)| id.0).filter(|id| !id.as_bytes().is_empty()),
            public_key: body.subject_public_key_info().clone(),
            key,
        })
    }
}

/// Reads a certificate.
pub(super) fn read(bytes: &[u8]) -> Result<CertificateInner<Raw>, String> {
    CertificateInner::from_der(bytes).map_err(words)
}

/// Makes the certificate for a key and signs it: by the issuer, or by the key itself.
pub(super) fn sign(
    request: &Request,
    key: &PrivateKey,
    issuer: Option<&Issuer>,
    random: &mut StdRng,
) -> Result<String, String> {
    let failure = |error: String| format!("error creating certificate: {error}");
    let signer = issuer.map_or(key, |issuer| &issuer.key);
    let algorithm = signer.signature_algorithm().map_err(failure)?;
    let public_key = key.public_key().map_err(failure)?;
    let subject = name(&request.common_name).map_err(failure)?;
    if let Some(issuer) = issuer
        && issuer.key.public_key().map_err(failure)? != issuer.public_key
    {
        let message = "x509: provided PrivateKey doesn't match parent's PublicKey";
        return Err(failure(message.to_owned()));
    }
    let authority = issuer.filter(|issuer| issuer.subject != subject);
    let authority = authority.and_then(|issuer| issuer.key_id.clone());
    let body = Body {
        version: 2,
        serial_number: serial_number(random).map_err(failure)?,
        signature: algorithm.clone(),
        issuer: issuer.map_or_else(|| subject.clone(), |issuer| issuer.subject.clone()),
        validity: validity(request.now, request.days).map_err(failure)?,
        extensions: extensions(request, &public_key, authority).map_err(failure)?,
        subject,
        public_key,
    };
    let bytes = body.to_der().map_err(|error| failure(words(error)))?;
    let signature = signer.sign(&bytes, random).map_err(failure)?;
    let signed = Signed {
        body,
        algorithm,
        signature: BitString::from_bytes(&signature).map_err(|error| failure(words(error)))?,
    };
    pem::encode(
        "CERTIFICATE",
        &signed.to_der().map_err(|error| failure(words(error)))?,
    )
}

/// A random number of 128 bits.
fn serial_number(random: &mut StdRng) -> Result<Int, String> {
    // A zero before the number, or the first bit would be its sign.
    let mut number = [0; 17];
    random.fill_bytes(&mut number[1..]);
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let first = match number.get(zeros) {
        Some(byte) if *byte < 0x80 => zeros,
        _ => zeros.saturating_sub(1),
    };
    Int::new(&number[first..]).map_err(words)
}

/// From now on for so many days, which may be fewer than none.
fn validity(now: Duration, days: i64) -> Result<Validity<Raw>, String> {
    const DAY: i64 = 86_400 * 1_000_000_000;
    // Go's durations are nanoseconds, and turn over.
    let length = i128::from(DAY.wrapping_mul(days));
    let start = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX);
    let time = |nanoseconds: i128| {
        let seconds = u64::try_from(nanoseconds.div_euclid(1_000_000_000))
            .map_err(|_| "the certificate would end before 1970".to_owned())?;
        let time = DateTime::from_unix_duration(Duration::from_secs(seconds)).map_err(words)?;
        Ok::<_, String>(Time::from(time))
    };
    Ok(Validity::new(time(start)?, time(start.saturating_add(length))?))
}

/// A name that consists of a common name, or of nothing.
fn name(common_name: &[u8]) -> Result<Any, String> {
    let text = std::str::from_utf8(common_name).map_err(|_| "asn1: string not valid UTF-8")?;
    let mut parts = Vec::new();
    if !text.is_empty() {
        let value = match PrintableString::new(text) {
            Ok(text) => Any::encode_from(&text),
            Err(_) => Any::encode_from(&Utf8StringRef::new(text).map_err(words)?),
        };
        let attribute = AttributeTypeAndValue {
            oid: COMMON_NAME,
            value: value.map_err(words)?,
        };
        let mut set = der::asn1::SetOfVec::new();
        set.insert(attribute).map_err(words)?;
        parts.push(set);
    }
    Any::encode_from(&parts).map_err(words)
}

fn extensions(
    request: &Request,
    public_key: &SubjectPublicKeyInfoOwned,
    authority: Option<OctetString>,
) -> Result<Vec<Extension>, String> {
    let mut usages = KeyUsages::KeyEncipherment | KeyUsages::DigitalSignature;
    if request.is_authority {
        usages |= KeyUsages::KeyCertSign;
    }
    let constraints = BasicConstraints {
        ca: request.is_authority,
        path_len_constraint: None,
    };
    let mut all = vec![
        extension(KEY_USAGE, true, &KeyUsage(usages))?,
        extension(EXTENDED_USAGE, false, &ExtendedKeyUsage(vec![SERVER, CLIENT]))?,
        extension(CONSTRAINTS, true, &constraints)?,
    ];
    if request.is_authority {
        let digest = Sha256::digest(public_key.subject_public_key.raw_bytes());
        let id = OctetString::new(&digest[..20]).map_err(words)?;
        all.push(extension(SUBJECT_KEY, false, &SubjectKeyIdentifier(id))?);
    }
    if authority.is_some() {
        let id = AuthorityKeyIdentifier {
            key_identifier: authority,
            ..AuthorityKeyIdentifier::default()
        };
        all.push(extension(AUTHORITY_KEY, false, &id)?);
    }
    let names = alternative_names(request)?;
    if !names.is_empty() {
        let critical = request.common_name.is_empty();
        all.push(extension(ALTERNATIVE_NAMES, critical, &SubjectAltName(names))?);
    }
    Ok(all)
}

fn extension(id: ObjectIdentifier, critical: bool, value: &impl Encode) -> Result<Extension, String> {
    Ok(Extension {
        extn_id: id,
        critical,
        extn_value: value.to_der().and_then(OctetString::new).map_err(words)?,
    })
}

fn alternative_names(request: &Request) -> Result<Vec<GeneralName>, String> {
    let mut all = Vec::new();
    for name in &request.names {
        let text = std::str::from_utf8(name).ok().filter(|name| name.is_ascii());
        let Some(text) = text else {
            return Err(format!(
                "x509: {} cannot be encoded as an IA5String",
                quoted(name)
            ));
        };
        all.push(GeneralName::DnsName(Ia5String::new(text).map_err(words)?));
    }
    all.extend(request.addresses.iter().copied().map(GeneralName::from));
    Ok(all)
}
