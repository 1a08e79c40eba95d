//! Whether commits and tags are signed by somebody who is trusted.
//!
//! OpenPGP signatures are held against armored key rings, SSH signatures against lines in the format of
//! `authorized_keys`, as Flux does it; no program is started and no key leaves the process.

mod authorized_keys;
mod certificate;
mod pgp;
mod ssh;

use std::fmt;

use jiff::Timestamp;

use crate::{Commit, Tag};

/// The ending of names under which SSH keys are stored.
const SSH_SUFFIX: &str = ".sshpub";

/// What signs an object, told by the first line of the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SignatureKind {
    /// An OpenPGP signature.
    OpenPgp,
    /// An SSH signature.
    Ssh,
    /// An S/MIME signature.
    X509,
    /// Something else.
    Unknown,
    /// No signature.
    Empty,
}

impl SignatureKind {
    /// The kind of an armored signature.
    pub fn of(signature: Option<&[u8]>) -> Self {
        let Some(signature) = signature.filter(|signature| !signature.is_empty()) else {
            return Self::Empty;
        };
        let text = signature.trim_ascii_start();
        let kinds = [
            (&b"-----BEGIN PGP SIGNATURE-----"[..], Self::OpenPgp),
            (b"-----BEGIN SSH SIGNATURE-----", Self::Ssh),
            (b"-----BEGIN SIGNED MESSAGE-----", Self::X509),
        ];
        kinds
            .into_iter()
            .find(|(start, _)| text.starts_with(start))
            .map_or(Self::Unknown, |(_, kind)| kind)
    }
}

impl fmt::Display for SignatureKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OpenPgp => "openpgp",
            Self::Ssh => "ssh",
            Self::X509 => "x509",
            Self::Unknown => "unknown",
            Self::Empty => "empty",
        })
    }
}

/// Why a commit or tag is not trusted. The texts are Flux's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerificationError {
    /// It is signed with OpenPGP, and there are only SSH keys.
    #[error("PGP signature detected but no PGP public keys found in secret (keys with .asc suffix)")]
    NoKeyRings,
    /// It is signed with SSH, and there are only OpenPGP key rings.
    #[error("SSH signature detected but no SSH public keys found in secret (keys with .sshpub suffix)")]
    NoAuthorizedKeys,
    /// It is not signed, or in a way that cannot be verified.
    #[error("unsupported signature type: {0}")]
    Unsupported(SignatureKind),
    /// The signature is none of the trusted keys', or not one of this object.
    #[error("unable to verify Git {object}: {reason}")]
    Failed {
        /// What was to be verified.
        object: &'static str,
        /// Why it cannot be.
        reason: String,
    },
}

/// The keys that are trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerificationKeys {
    key_rings: Vec<Vec<u8>>,
    authorized_keys: Vec<Vec<u8>>,
}

impl VerificationKeys {
    /// The keys from the entries of a Secret: under names that end in `.sshpub` lines of SSH keys, under all
    /// others armored OpenPGP key rings.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut keys = Self::default();
        for (name, contents) in entries {
            let target = if name.ends_with(SSH_SUFFIX) {
                &mut keys.authorized_keys
            } else {
                &mut keys.key_rings
            };
            target.push(contents.to_vec());
        }
        keys
    }

    /// The key that signed, as the success message names it.
    fn verify(
        &self,
        signature: Option<&[u8]>,
        payload: &[u8],
        objects: (&'static str, &'static str),
        now: Timestamp,
    ) -> Result<String, VerificationError> {
        let kind = SignatureKind::of(signature);
        let signature = signature.unwrap_or_default().trim_ascii();
        let failed = |object| move |reason| VerificationError::Failed { object, reason };
        match kind {
            SignatureKind::OpenPgp if self.key_rings.is_empty() => Err(VerificationError::NoKeyRings),
            SignatureKind::OpenPgp => {
                pgp::verify(signature, payload, &self.key_rings, now).map_err(failed(objects.0))
            }
            SignatureKind::Ssh if self.authorized_keys.is_empty() => Err(VerificationError::NoAuthorizedKeys),
            SignatureKind::Ssh => {
                ssh::verify(signature, payload, &self.authorized_keys).map_err(failed(objects.1))
            }
            other => Err(VerificationError::Unsupported(other)),
        }
    }
}

impl Commit {
    /// Verifies the commit's own signature and names the key that made it: the key id of an OpenPGP key's
    /// primary key in 16 hexadecimal digits, or the SHA-256 fingerprint of an SSH key. OpenPGP keys and
    /// signatures must be valid at `now`.
    ///
    /// # Errors
    /// See [`VerificationError`].
    pub fn verify(&self, keys: &VerificationKeys, now: Timestamp) -> Result<String, VerificationError> {
        let objects = ("commit", "commit SSH signature");
        keys.verify(self.signature.as_deref(), &self.signed_payload, objects, now)
    }
}

impl Tag {
    /// Verifies the tag's own signature, as [`Commit::verify`] does a commit's.
    ///
    /// # Errors
    /// See [`VerificationError`].
    pub fn verify(&self, keys: &VerificationKeys, now: Timestamp) -> Result<String, VerificationError> {
        let objects = ("tag", "tag SSH signature");
        keys.verify(self.signature.as_deref(), &self.signed_payload, objects, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_kind() {
        let kind = |text: &str| SignatureKind::of(Some(text.as_bytes())).to_string();
        assert_eq!(kind(" \n-----BEGIN PGP SIGNATURE-----\n"), "openpgp");
        assert_eq!(kind("-----BEGIN SSH SIGNATURE-----"), "ssh");
        assert_eq!(kind("-----BEGIN SIGNED MESSAGE-----"), "x509");
        assert_eq!(kind("-----BEGIN PGP MESSAGE-----"), "unknown");
        assert_eq!(kind(" "), "unknown");
        assert_eq!(kind(""), "empty");
        assert_eq!(SignatureKind::of(None).to_string(), "empty");
    }

    #[test]
    fn keys_are_told_apart_by_the_names_of_their_entries() {
        let keys = VerificationKeys::from_entries([
            ("a.asc", &b"ring"[..]),
            ("b.sshpub", b"line"),
            ("c.txt", b"other"),
        ]);
        assert_eq!(keys.key_rings, [b"ring".to_vec(), b"other".to_vec()]);
        assert_eq!(keys.authorized_keys, [b"line".to_vec()]);
    }

    #[test]
    fn keys_of_the_wrong_kind_and_other_signatures_are_named() {
        let ssh = VerificationKeys::from_entries([("a.sshpub", &b""[..])]);
        let pgp = VerificationKeys::from_entries([("a.asc", &b""[..])]);
        let verify = |keys: &VerificationKeys, signature: &[u8]| {
            keys.verify(
                Some(signature),
                b"x",
                ("commit", "commit SSH signature"),
                Timestamp::UNIX_EPOCH,
            )
            .unwrap_err()
            .to_string()
        };
        assert_eq!(
            verify(&ssh, b"-----BEGIN PGP SIGNATURE-----"),
            "PGP signature detected but no PGP public keys found in secret (keys with .asc suffix)"
        );
        assert_eq!(
            verify(&pgp, b"-----BEGIN SSH SIGNATURE-----"),
            "SSH signature detected but no SSH public keys found in secret (keys with .sshpub suffix)"
        );
        assert_eq!(
            verify(&pgp, b"-----BEGIN SIGNED MESSAGE-----"),
            "unsupported signature type: x509"
        );
        assert_eq!(verify(&pgp, b""), "unsupported signature type: empty");
    }
}
