//! OpenPGP signatures.

use std::io::BufReader;

use jiff::Timestamp;
use pgp::armor::{BlockType, Dearmor};
use pgp::composed::{Deserializable as _, DetachedSignature, PublicOrSecret, SignedPublicKey};
use pgp::packet::{Signature, SignatureType};
use pgp::types::{KeyDetails, KeyVersion};

use super::certificate::{Certificate, hexadecimal, is_sound};

/// Verifies an armored signature by the first key ring that holds its key, and names that by the id of its
/// primary key.
pub(super) fn verify(
    signature: &[u8],
    payload: &[u8],
    key_rings: &[Vec<u8>],
    now: Timestamp,
) -> Result<String, String> {
    let mut unreadable = None;
    let mut attempted = false;
    let signatures = read_signatures(signature);
    for key_ring in key_rings {
        match read_key_ring(key_ring) {
            Ok(keys) => {
                attempted = true;
                if let Some(id) = verify_by(&keys, &signatures, payload, now) {
                    return Ok(id);
                }
            }
            Err(reason) => {
                unreadable.get_or_insert(reason);
            }
        }
    }
    match unreadable {
        Some(reason) if !attempted => Err(format!("unable to read armored key ring: {reason}")),
        _ => Err("unable to verify payload with any of the given key rings: no matching key".to_owned()),
    }
}

/// The keys of an armored key ring. Those that cannot be read are left out while there are others.
fn read_key_ring(text: &[u8]) -> Result<Vec<SignedPublicKey>, String> {
    let mut dearmor = Dearmor::new(text);
    dearmor
        .read_header()
        .map_err(|_| "openpgp: invalid argument: no armored data found".to_owned())?;
    match &dearmor.typ {
        Some(BlockType::PublicKey | BlockType::PrivateKey) => {}
        other => {
            let found = other.as_ref().map(ToString::to_string).unwrap_or_default();
            return Err(format!(
                "openpgp: invalid argument: expected public or private key block, got: {found}"
            ));
        }
    }
    let keys = PublicOrSecret::from_bytes_many(BufReader::new(dearmor)).map_err(|error| error.to_string())?;
    let mut reason = None;
    let mut readable = Vec::new();
    for key in keys {
        match key {
            Ok(PublicOrSecret::Public(key)) => readable.push(key),
            Ok(PublicOrSecret::Secret(key)) => readable.push(key.to_public_key()),
            Err(error) => {
                reason.get_or_insert(error.to_string());
            }
        }
    }
    match reason {
        Some(reason) if readable.is_empty() => Err(reason),
        _ => Ok(readable),
    }
}

/// The signatures of an armored block up to the first packet that is none.
fn read_signatures(armored: &[u8]) -> Vec<Signature> {
    let Ok((signatures, _)) = DetachedSignature::from_armor_many(armored) else {
        return Vec::new();
    };
    signatures
        .map_while(Result::ok)
        .map(|detached| detached.signature)
        .collect()
}

/// Of several signatures the first counts whose key is in the ring.
fn verify_by(
    keys: &[SignedPublicKey],
    signatures: &[Signature],
    payload: &[u8],
    now: Timestamp,
) -> Option<String> {
    for signature in signatures {
        let of_data = matches!(signature.typ(), Some(SignatureType::Binary | SignatureType::Text));
        let issuers = issuers(signature);
        if issuers.is_empty() || !of_data || !is_sound(signature) {
            return None;
        }
        let mut found = false;
        for key in keys.iter().filter(|key| may_be_by(key, &issuers)) {
            let Some(certificate) = Certificate::read(key.clone()) else {
                continue;
            };
            match certificate.verify(signature, &issuers, payload, now) {
                Some(true) => return Some(certificate.id()),
                Some(false) => found = true,
                None => {}
            }
        }
        if found {
            return None;
        }
    }
    None
}

/// Whether one of the ids is that of the key or of a subkey, before anything is verified.
fn may_be_by(key: &SignedPublicKey, issuers: &[String]) -> bool {
    let named = |key: &dyn KeyDetails| issuers.contains(&hexadecimal(key.legacy_key_id().as_ref()));
    named(&key.primary_key) || key.public_subkeys.iter().any(|subkey| named(&subkey.key))
}

/// The ids of the keys that a signature says it was made with.
fn issuers(signature: &Signature) -> Vec<String> {
    let ids = signature
        .issuer_key_id()
        .into_iter()
        .map(|id| hexadecimal(id.as_ref()));
    let from_fingerprints = signature
        .issuer_fingerprint()
        .into_iter()
        .filter_map(|fingerprint| {
            let bytes = fingerprint.as_bytes();
            let id = match fingerprint.version() {
                Some(KeyVersion::V6 | KeyVersion::V5) => bytes.get(..8),
                _ => bytes.len().checked_sub(8).and_then(|start| bytes.get(start..)),
            };
            id.map(hexadecimal)
        });
    ids.chain(from_fingerprints).collect()
}
