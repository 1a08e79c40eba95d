//! Which algorithms are offered to a server.

use std::borrow::Cow;

use russh::keys::{Algorithm, EcdsaCurve, HashAlg};
use russh::{Preferred, compression, kex};

use super::known_hosts::KnownHosts;
use crate::{Error, ErrorKind};

/// Choices of algorithms, most preferred first. An empty list leaves the choice to this crate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshAlgorithms {
    /// Key exchange, such as `curve25519-sha256`.
    pub key_exchange: Vec<String>,
    /// Host keys, such as `ssh-ed25519` or `rsa-sha2-512`. A given list replaces what `known_hosts` suggests.
    pub host_key: Vec<String>,
}

/// Key exchanges, as Go's client orders them, with OpenSSH's larger groups at the end.
const KEY_EXCHANGES: [kex::Name; 12] = [
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::ECDH_SHA2_NISTP256,
    kex::ECDH_SHA2_NISTP384,
    kex::ECDH_SHA2_NISTP521,
    kex::DH_G14_SHA256,
    kex::DH_G16_SHA512,
    kex::DH_GEX_SHA256,
    kex::DH_G15_SHA512,
    kex::DH_G17_SHA512,
    kex::DH_G18_SHA512,
];

/// Not key exchanges: they tell the server what this client understands beyond the oldest standard.
const EXTENSIONS: [kex::Name; 2] = [
    kex::EXTENSION_SUPPORT_AS_CLIENT,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
];

/// The suffix of the names of algorithms for certificates.
const CERTIFICATE_SUFFIX: &str = "-cert-v01@openssh.com";

const fn ecdsa(curve: EcdsaCurve) -> Algorithm {
    Algorithm::Ecdsa { curve }
}

const fn rsa(hash: Option<HashAlg>) -> Algorithm {
    Algorithm::Rsa { hash }
}

/// Host keys as Go's client orders them, which decides what a scan finds.
const HOST_KEYS: [Algorithm; 7] = [
    ecdsa(EcdsaCurve::NistP256),
    ecdsa(EcdsaCurve::NistP384),
    ecdsa(EcdsaCurve::NistP521),
    rsa(Some(HashAlg::Sha256)),
    rsa(Some(HashAlg::Sha512)),
    rsa(None),
    Algorithm::Ed25519,
];

/// Certificates of hosts, without those signed with SHA-1.
const CERTIFICATES: [Algorithm; 6] = [
    Algorithm::Ed25519,
    ecdsa(EcdsaCurve::NistP256),
    ecdsa(EcdsaCurve::NistP384),
    ecdsa(EcdsaCurve::NistP521),
    rsa(Some(HashAlg::Sha512)),
    rsa(Some(HashAlg::Sha256)),
];

impl SshAlgorithms {
    /// What is offered to a host: of the kinds of host keys those that `known_hosts` holds for it, since a server
    /// shows one key only; all of them if it holds none, so that the refusal can name what the server shows.
    ///
    /// # Errors
    /// A given list names nothing that is supported.
    pub(crate) fn preferred(&self, known: Option<(&KnownHosts, &str, u16)>) -> Result<Preferred, Error> {
        let (keys, certificates) = if self.host_key.is_empty() {
            match known {
                Some((known, host, port)) => known_keys(known, host, port),
                None => (HOST_KEYS.to_vec(), Vec::new()),
            }
        } else {
            named_keys(&self.host_key)?
        };
        let mut exchanges = match self.key_exchange.is_empty() {
            true => KEY_EXCHANGES.to_vec(),
            false => named_exchanges(&self.key_exchange)?,
        };
        exchanges.extend(EXTENSIONS);
        Ok(Preferred {
            kex: Cow::Owned(exchanges),
            key: Cow::Owned(keys),
            host_key_certificates: Cow::Owned(certificates),
            // What a server sends must not grow when it is unpacked.
            compression: Cow::Borrowed(&[compression::NONE]),
            ..Preferred::DEFAULT
        })
    }
}

fn known_keys(known: &KnownHosts, host: &str, port: u16) -> (Vec<Algorithm>, Vec<Algorithm>) {
    if known.wants_certificate(host, port) {
        return (HOST_KEYS.to_vec(), CERTIFICATES.to_vec());
    }
    let mut keys = Vec::new();
    for kind in known.kinds(host, port) {
        match kind {
            "ssh-rsa" => keys.extend([Some(HashAlg::Sha512), Some(HashAlg::Sha256), None].map(rsa)),
            kind => keys.extend(supported(kind)),
        }
    }
    match keys.is_empty() {
        true => (HOST_KEYS.to_vec(), Vec::new()),
        false => (keys, Vec::new()),
    }
}

fn supported(name: &str) -> Option<Algorithm> {
    match Algorithm::new(name).ok()? {
        Algorithm::Dsa | Algorithm::Other(_) => None,
        algorithm => Some(algorithm),
    }
}

fn named_keys(names: &[String]) -> Result<(Vec<Algorithm>, Vec<Algorithm>), Error> {
    let (mut keys, mut certificates) = (Vec::new(), Vec::new());
    for name in names {
        if name.ends_with(CERTIFICATE_SUFFIX) {
            certificates.extend(
                CERTIFICATES
                    .iter()
                    .find(|algorithm| algorithm.to_certificate_type() == *name)
                    .cloned(),
            );
        } else {
            keys.extend(supported(name));
        }
    }
    if keys.is_empty() && certificates.is_empty() {
        let known: Vec<String> = HOST_KEYS.iter().map(ToString::to_string).collect();
        return Err(unsupported("host key", names, &known));
    }
    Ok((keys, certificates))
}

fn named_exchanges(names: &[String]) -> Result<Vec<kex::Name>, Error> {
    let found: Vec<kex::Name> = kex::ALL_KEX_ALGORITHMS
        .iter()
        .filter(|exchange| ***exchange != kex::NONE)
        .map(|exchange| **exchange)
        .collect();
    let wanted: Vec<kex::Name> = names
        .iter()
        .filter_map(|name| found.iter().find(|exchange| exchange.as_ref() == name))
        .copied()
        .collect();
    if wanted.is_empty() {
        let known: Vec<String> = found
            .iter()
            .map(|exchange| exchange.as_ref().to_owned())
            .collect();
        return Err(unsupported("key exchange", names, &known));
    }
    Ok(wanted)
}

fn unsupported(what: &str, names: &[String], known: &[String]) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "ssh: none of the {what} algorithms '{}' is supported: use some of {}",
            names.join(","),
            known.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";

    fn offered(lines: &str, algorithms: &SshAlgorithms) -> (Vec<String>, usize) {
        let known = KnownHosts::parse(lines.as_bytes()).unwrap();
        let preferred = algorithms.preferred(Some((&known, "a.example", 22))).unwrap();
        let names = preferred.key.iter().map(ToString::to_string).collect();
        (names, preferred.host_key_certificates.len())
    }

    #[test]
    fn only_kinds_that_are_known_for_the_host_are_offered() {
        let all = SshAlgorithms::default();
        let ed25519 = (vec!["ssh-ed25519".to_owned()], 0);
        assert_eq!(offered(&format!("a.example {KEY}"), &all), ed25519);
        assert_eq!(
            offered(&format!("b.example {KEY}"), &all).0.len(),
            HOST_KEYS.len()
        );
        let authority = format!("@cert-authority a.example {KEY}");
        assert_eq!(
            offered(&authority, &all),
            (offered("", &all).0, CERTIFICATES.len())
        );
        let both = format!("{authority}\na.example {KEY}");
        assert_eq!(offered(&both, &all), ed25519);
    }

    #[test]
    fn given_lists_replace_the_choice_and_unknown_names_are_passed_over() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let algorithms = SshAlgorithms {
            key_exchange: names(&["nonsense", "ecdh-sha2-nistp384", "none"]),
            host_key: names(&["rsa-sha2-256", "ssh-dss", "ssh-ed25519-cert-v01@openssh.com"]),
        };
        let (keys, certificates) = offered(&format!("a.example {KEY}"), &algorithms);
        assert_eq!((keys, certificates), (names(&["rsa-sha2-256"]), 1));
        let preferred = algorithms.preferred(None).unwrap();
        assert_eq!(preferred.kex[0].as_ref(), "ecdh-sha2-nistp384");
        assert_eq!(preferred.kex.len(), 1 + EXTENSIONS.len());
        for wrong in [
            SshAlgorithms {
                key_exchange: names(&["none"]),
                ..SshAlgorithms::default()
            },
            SshAlgorithms {
                host_key: names(&["ssh-dss"]),
                ..SshAlgorithms::default()
            },
        ] {
            assert_eq!(wrong.preferred(None).unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}
