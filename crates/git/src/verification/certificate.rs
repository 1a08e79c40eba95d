//! OpenPGP certificates: which of their keys may sign at a given time.
//!
//! Only what the primary key has signed itself counts: user ids and subkeys without a valid signature of it
//! are as if they were not there.

use jiff::Timestamp;
use pgp::composed::{SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{PublicKey, RevocationCode, Signature, SignatureType, SubpacketData};
use pgp::types::{Duration, KeyDetails, KeyVersion, SignedUser, Tag};

/// A certificate whose own signatures were verified.
#[derive(Debug)]
pub(super) struct Certificate {
    primary: PublicKey,
    revocations: Vec<Signature>,
    identity_revocations: Vec<Signature>,
    own: Signature,
    subkeys: Vec<Subkey>,
}

#[derive(Debug)]
struct Subkey {
    key: pgp::packet::PublicSubkey,
    binding: Signature,
    revocations: Vec<Signature>,
}

/// A user id with the primary key's signatures on it.
struct Identity {
    own: Signature,
    revocations: Vec<Signature>,
}

impl Certificate {
    /// Verifies what holds a certificate together. `None` if nothing does.
    pub(super) fn read(key: SignedPublicKey) -> Option<Self> {
        let SignedPublicKey {
            primary_key: primary,
            details,
            public_subkeys,
        } = key;
        // A key that names somebody else to revoke it cannot be judged.
        let revocations = details.revocation_signatures;
        if !revocations
            .iter()
            .all(|revocation| is_sound(revocation) && revocation.verify_key(&primary).is_ok())
        {
            return None;
        }
        let (own, identity_revocations) = if primary.version() == KeyVersion::V6 {
            let direct = details
                .direct_signatures
                .into_iter()
                .filter(|signature| signature.typ() == Some(SignatureType::Key));
            let own = newest(
                direct.filter(|signature| is_sound(signature) && signature.verify_key(&primary).is_ok()),
            )?;
            (own, Vec::new())
        } else {
            let identities = details.users.iter().filter_map(|user| identity(user, &primary));
            let identity = identities.reduce(|best, next| if prefers(&best, &next) { next } else { best })?;
            (identity.own, identity.revocations)
        };
        let subkeys = public_subkeys
            .into_iter()
            .filter_map(|subkey| bind(subkey, &primary))
            .collect();
        Some(Self {
            primary,
            revocations,
            identity_revocations,
            own,
            subkeys,
        })
    }

    /// The key id of the primary key in 16 hexadecimal digits.
    pub(super) fn id(&self) -> String {
        hexadecimal(self.primary.legacy_key_id().as_ref())
    }

    /// Whether one of the keys has made the signature and may have. `None` if no key of this certificate with
    /// the right to sign has one of the ids.
    pub(super) fn verify(
        &self,
        signature: &Signature,
        ids: &[String],
        payload: &[u8],
        now: Timestamp,
    ) -> Option<bool> {
        let names = |key: &dyn KeyDetails| ids.contains(&hexadecimal(key.legacy_key_id().as_ref()));
        let mut found = None;
        if names(&self.primary) && may_sign(&self.own) {
            let verified = signature.verify(&self.primary, payload).is_ok();
            found = Some(verified && self.is_valid(signature, now));
        }
        for subkey in &self.subkeys {
            if found == Some(true) {
                break;
            }
            if names(&subkey.key) && may_sign(&subkey.binding) {
                let verified = signature.verify(&subkey.key, payload).is_ok();
                found = Some(verified && self.is_valid(signature, now) && subkey.is_valid(now));
            }
        }
        found
    }

    fn is_valid(&self, signature: &Signature, now: Timestamp) -> bool {
        [signature, &self.own]
            .into_iter()
            .all(|signature| !has_unknown_notation(signature) && !is_expired(signature, now))
            && !is_revoked(&self.revocations, now)
            && !is_revoked(&self.identity_revocations, now)
            && !is_key_expired(&self.primary, &self.own, now)
    }
}

impl Subkey {
    fn is_valid(&self, now: Timestamp) -> bool {
        let embedded = self.binding.embedded_signature();
        embedded
            .into_iter()
            .chain([&self.binding])
            .all(|signature| !has_unknown_notation(signature) && !is_expired(signature, now))
            && !is_revoked(&self.revocations, now)
            && !is_key_expired(&self.key, &self.binding, now)
    }
}

/// The valid signatures of the primary key on a user id; `None` if it never signed that.
fn identity(user: &SignedUser, primary: &PublicKey) -> Option<Identity> {
    let own = user.signatures.iter().filter(|signature| {
        is_by(signature, primary)
            && is_sound(signature)
            && signature
                .verify_certification(primary, Tag::UserId, &user.id)
                .is_ok()
    });
    let (revocations, certifications): (Vec<_>, Vec<_>) = own
        .cloned()
        .partition(|signature| signature.typ() == Some(SignatureType::CertRevocation));
    Some(Identity {
        own: newest(certifications)?,
        revocations,
    })
}

/// Whether a later user id is preferred to an earlier one: the rules by which go-crypto finds the primary.
fn prefers(best: &Identity, next: &Identity) -> bool {
    if best.revocations.len() != next.revocations.len() {
        return best.revocations.len() > next.revocations.len();
    }
    match (best.own.is_primary(), next.own.is_primary()) {
        (true, false) => false,
        (false, true) => true,
        _ => seconds(&next.own) > seconds(&best.own),
    }
}

/// A subkey with its newest binding; `None` if the primary key never bound it, or if it may sign and does not
/// itself agree to belong to the primary key.
fn bind(subkey: SignedPublicSubKey, primary: &PublicKey) -> Option<Subkey> {
    let SignedPublicSubKey { key, signatures } = subkey;
    let sound = signatures
        .into_iter()
        .filter(|signature| is_sound(signature) && signature.verify_subkey_binding(primary, &key).is_ok());
    let (revocations, bindings): (Vec<_>, Vec<_>) =
        sound.partition(|signature| signature.typ() == Some(SignatureType::SubkeyRevocation));
    let agreed = bindings.into_iter().filter(|binding| {
        !binding.key_flags().sign()
            || binding
                .embedded_signature()
                .is_some_and(|back| is_sound(back) && back.verify_primary_key_binding(&key, primary).is_ok())
    });
    Some(Subkey {
        binding: newest(agreed)?,
        revocations,
        key,
    })
}

/// Whether a signature rests on a hash that is still trusted (SHA-1 is, with collisions detected, as in
/// go-crypto) and demands nothing that is not understood.
pub(super) fn is_sound(signature: &Signature) -> bool {
    let Some(config) = signature.config() else {
        return false;
    };
    let understood = config.hashed_subpackets().all(|subpacket| {
        let unknown = matches!(
            subpacket.data,
            SubpacketData::Other(..) | SubpacketData::Experimental(..)
        );
        !(subpacket.is_critical && unknown)
    });
    understood && !matches!(config.hash_alg, HashAlgorithm::Md5 | HashAlgorithm::Ripemd160)
}

fn is_by(signature: &Signature, key: &PublicKey) -> bool {
    let (id, fingerprint) = (key.legacy_key_id(), key.fingerprint());
    signature.issuer_key_id().into_iter().any(|issuer| *issuer == id)
        || signature
            .issuer_fingerprint()
            .into_iter()
            .any(|issuer| *issuer == fingerprint)
}

fn may_sign(own: &Signature) -> bool {
    own.key_flags().sign()
}

fn has_unknown_notation(signature: &Signature) -> bool {
    signature.config().is_none_or(|config| {
        config
            .hashed_subpackets()
            .any(|subpacket| subpacket.is_critical && matches!(subpacket.data, SubpacketData::Notation(_)))
    })
}

fn is_revoked(revocations: &[Signature], now: Timestamp) -> bool {
    revocations.iter().any(|revocation| {
        revocation.revocation_reason_code() == Some(&RevocationCode::KeyCompromised)
            || !is_expired(revocation, now)
    })
}

/// Signatures of the future are as bad as those of the past.
fn is_expired(signature: &Signature, now: Timestamp) -> bool {
    let Some(created) = seconds(signature) else {
        return true;
    };
    created > now.as_second() || is_over(created, signature.signature_expiration_time(), now)
}

fn is_key_expired(key: &impl KeyDetails, own: &Signature, now: Timestamp) -> bool {
    let created = i64::from(key.created_at().as_secs());
    created > now.as_second() || is_over(created, own.key_expiration_time(), now)
}

fn is_over(created: i64, life: Option<Duration>, now: Timestamp) -> bool {
    let life = life.map_or(0, |life| i64::from(life.as_secs()));
    life != 0 && now.as_second() > created + life
}

fn seconds(signature: &Signature) -> Option<i64> {
    signature.created().map(|created| i64::from(created.as_secs()))
}

fn newest(signatures: impl IntoIterator<Item = Signature>) -> Option<Signature> {
    // Of equal ones the first.
    signatures.into_iter().reduce(|best, next| {
        if seconds(&next) > seconds(&best) {
            next
        } else {
            best
        }
    })
}

/// Upper case digits, as key ids are written.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
