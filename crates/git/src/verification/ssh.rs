//! SSH signatures of the namespace `git`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ssh_key::encoding::Decode as _;
use ssh_key::public::KeyData;
use ssh_key::{Algorithm, HashAlg, PublicKey, SshSig};

use super::authorized_keys;

/// What Git's signatures are made for.
const NAMESPACE: &str = "git";

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";

/// Verifies an armored signature with the first of the keys that made it, and names that by its fingerprint.
pub(super) fn verify(signature: &[u8], payload: &[u8], texts: &[Vec<u8>]) -> Result<String, String> {
    let signature =
        unarmor(signature).map_err(|reason| format!("unable to unarmor SSH signature: {reason}"))?;
    let mut unreadable = None;
    let mut attempted = false;
    let mut reasons = vec!["no matching key".to_owned()];
    for text in texts {
        let keys = match authorized_keys::read(text) {
            Ok(keys) => keys,
            Err(reason) => {
                unreadable.get_or_insert(reason);
                continue;
            }
        };
        attempted = true;
        for key in keys {
            match verify_by(&key, &signature, payload) {
                Ok(()) => return Ok(key.fingerprint(HashAlg::Sha256).to_string()),
                Err(reason) if reasons.contains(&reason) => {}
                Err(reason) => reasons.push(reason),
            }
        }
    }
    match unreadable {
        Some(reason) if !attempted => Err(format!(
            "unable to parse authorized keys: unable to parse authorized key: {reason}"
        )),
        _ => Err(format!(
            "unable to verify payload with any of the given authorized keys: {}",
            reasons.join("\n")
        )),
    }
}

fn unarmor(signature: &[u8]) -> Result<SshSig, String> {
    let text = std::str::from_utf8(signature).map_err(|_| "invalid PEM block")?;
    let body = text
        .strip_prefix(BEGIN)
        .and_then(|text| text.split_once(END))
        .map(|(body, _)| body)
        .ok_or("invalid PEM block")?;
    let body: String = body.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(body).map_err(|_| "invalid PEM block")?;
    let mut reader = bytes.as_slice();
    let signature = SshSig::decode(&mut reader).map_err(|error| error.to_string())?;
    if reader.is_empty() {
        Ok(signature)
    } else {
        Err("bytes are left over".to_owned())
    }
}

fn verify_by(key: &PublicKey, signature: &SshSig, payload: &[u8]) -> Result<(), String> {
    if key.key_data() != signature.public_key() {
        return Err("public key does not match".to_owned());
    }
    if signature.namespace() != NAMESPACE {
        return Err("namespace does not match".to_owned());
    }
    match key.key_data() {
        KeyData::Rsa(rsa) => verify_by_rsa(rsa, signature, payload),
        _ => key
            .verify(NAMESPACE, payload, signature)
            .map_err(|_| "ssh: signature did not verify".to_owned()),
    }
}

/// By way of ring: the keys may have up to 8192 bits.
fn verify_by_rsa(
    key: &ssh_key::public::RsaPublicKey,
    signature: &SshSig,
    payload: &[u8],
) -> Result<(), String> {
    let parameters = match signature.signature().algorithm() {
        Algorithm::Rsa {
            hash: Some(HashAlg::Sha256),
        } => &ring::signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        Algorithm::Rsa {
            hash: Some(HashAlg::Sha512),
        } => &ring::signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        other => {
            return Err(format!(
                "ssh: signature type {} for key type ssh-rsa",
                other.as_str()
            ));
        }
    };
    let failed = |_| "crypto/rsa: verification error".to_owned();
    let signed =
        SshSig::signed_data(NAMESPACE, signature.hash_alg(), payload).map_err(|error| error.to_string())?;
    let positive = |number: &ssh_key::Mpint| {
        number
            .as_positive_bytes()
            .map(<[u8]>::to_vec)
            .ok_or_else(|| "crypto/rsa: invalid public key".to_owned())
    };
    let components = ring::signature::RsaPublicKeyComponents {
        n: positive(key.n())?,
        e: positive(key.e())?,
    };
    components
        .verify(parameters, &signed, signature.signature().as_bytes())
        .map_err(failed)
}
