//! Judges certificates of hosts.

use jiff::Timestamp;
use russh::keys::Certificate;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::ssh_key::public::KeyData;

use super::Endpoint;
use super::known_hosts::{HostKeyProblem, KnownHosts};
use super::public_key::PublicKey;

/// Whether a certificate proves that its key is the host's: signed by an authority that `known` holds for the
/// host, for hosts, for this one, and valid now.
///
/// # Errors
/// What speaks against it.
pub(crate) fn check(
    certificate: &Certificate,
    known: &KnownHosts,
    endpoint: &Endpoint,
) -> Result<(), HostKeyProblem> {
    let problem = |reason: String| HostKeyProblem::Certificate(reason);
    if certificate.cert_type() != CertType::Host {
        return Err(problem(
            "certificate presented as a host key is for users".to_owned(),
        ));
    }
    let authority = public_key(certificate.signature_key())?;
    let own = public_key(certificate.public_key())?;
    let whole = certificate
        .to_bytes()
        .ok()
        .and_then(|bytes| PublicKey::parse(&bytes).ok())
        .ok_or_else(|| problem("the certificate is damaged".to_owned()))?;
    known.check_authority(&endpoint.host, endpoint.port, &[&own, &whole], &authority)?;
    if let Some((option, _)) = certificate.critical_options().iter().next() {
        return Err(problem(format!(
            "unsupported critical option {option:?} in certificate"
        )));
    }
    let principals = certificate.valid_principals();
    if !principals.is_empty() && !principals.contains(&endpoint.host) {
        return Err(problem(format!(
            "principal {:?} not in the set of valid principals for given certificate: {principals:?}",
            endpoint.host
        )));
    }
    let now = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
    if now < certificate.valid_after() {
        return Err(problem("cert is not yet valid".to_owned()));
    }
    if now >= certificate.valid_before() {
        return Err(problem("cert has expired".to_owned()));
    }
    certificate
        .verify_signature()
        .map_err(|_| problem("certificate signature does not verify".to_owned()))
}

/// A key of the transport's library as one of ours.
pub(crate) fn public_key(key: &KeyData) -> Result<PublicKey, HostKeyProblem> {
    russh::keys::PublicKey::new(key.clone(), "")
        .to_bytes()
        .ok()
        .and_then(|bytes| PublicKey::parse(&bytes).ok())
        .ok_or_else(|| {
            HostKeyProblem::Certificate("the host key is damaged or of an unknown kind".to_owned())
        })
}
