//! Certificates from a Secret.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::data::{SecretData, keys};
use crate::error::AuthError;
use crate::secret::SecretBytes;

/// A client certificate with its private key, both PEM, checked to be parseable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate chain, the client's own first.
    pub chain: Vec<u8>,
    /// The private key.
    pub private_key: SecretBytes,
}

/// What a Secret says about TLS; at least one of both is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Certificate authorities, PEM.
    pub authorities: Option<Vec<u8>>,
    /// The certificate that the client shows.
    pub client: Option<ClientCertificate>,
}

impl Tls {
    /// Reads `ca.crt`, `tls.crt` and `tls.key`, or their old names `caFile`, `certFile` and `keyFile`, each
    /// for itself (COM-033).
    ///
    /// # Errors
    /// Neither is there, half a certificate is there, or one cannot be parsed.
    pub fn from_secret(secret: &SecretData) -> Result<Self, AuthError> {
        let read = |key, legacy| {
            secret
                .get_or_legacy(key, legacy)
                .filter(|value| !value.is_empty())
        };
        let chain = read(keys::TLS_CERTIFICATE, keys::LEGACY_TLS_CERTIFICATE);
        let private_key = read(keys::TLS_PRIVATE_KEY, keys::LEGACY_TLS_PRIVATE_KEY);
        let authorities = read(keys::CA_CERTIFICATE, keys::LEGACY_CA_CERTIFICATE);
        let half = |present, missing| AuthError::HalfCertificate {
            secret: secret.name().clone(),
            present,
            missing,
        };
        let client = match (chain, private_key) {
            (Some(chain), Some(key)) => Some(Self::client(chain.expose(), key)?),
            (Some(_), None) => return Err(half(keys::TLS_CERTIFICATE, keys::TLS_PRIVATE_KEY)),
            (None, Some(_)) => return Err(half(keys::TLS_PRIVATE_KEY, keys::TLS_CERTIFICATE)),
            (None, None) => None,
        };
        if client.is_none() && authorities.is_none() {
            return Err(AuthError::NoCertificates(secret.name().clone()));
        }
        let authorities = authorities
            .map(|pem| Self::authorities(pem.expose()))
            .transpose()?;
        Ok(Self { authorities, client })
    }

    /// Checks a client certificate: chain and key are PEM, and they belong together if the provider of
    /// cryptography can tell.
    ///
    /// # Errors
    /// [`AuthError::BadCertificate`].
    pub fn client(chain: &[u8], private_key: &SecretBytes) -> Result<ClientCertificate, AuthError> {
        let bad = |reason: String| AuthError::BadCertificate(reason);
        let certificates: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<_, _>>()
            .map_err(|error| bad(error.to_string()))?;
        if certificates.is_empty() {
            return Err(bad("failed to find any PEM data in certificate input".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(private_key.expose())
            .map_err(|error| bad(format!("private key: {error}")))?;
        let provider = rustls::crypto::ring::default_provider();
        rustls::sign::CertifiedKey::from_der(certificates, key, &provider)
            .map_err(|error| bad(error.to_string()))?;
        Ok(ClientCertificate {
            chain: chain.to_vec(),
            private_key: private_key.clone(),
        })
    }

    /// Checks certificate authorities: at least one certificate that a trust store accepts.
    ///
    /// # Errors
    /// [`AuthError::BadAuthority`].
    pub fn authorities(pem: &[u8]) -> Result<Vec<u8>, AuthError> {
        let mut store = rustls::RootCertStore::empty();
        let (added, _) = store.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).flatten());
        if added == 0 {
            Err(AuthError::BadAuthority)
        } else {
            Ok(pem.to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pem {
        certificate: String,
        key: String,
    }

    fn pem() -> Pem {
        let generated = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        Pem {
            certificate: generated.cert.pem(),
            key: generated.signing_key.serialize_pem(),
        }
    }

    fn read(data: &[(&str, &str)]) -> Result<Tls, AuthError> {
        SecretData::new("apps", "certs", data.iter().map(|(key, value)| (*key, *value))).tls()
    }

    #[test]
    fn old_keys_are_read_and_new_ones_preferred() {
        let (new, old) = (pem(), pem());
        let legacy = read(&[
            ("certFile", &old.certificate),
            ("keyFile", &old.key),
            ("caFile", &old.certificate),
        ])
        .unwrap();
        assert_eq!(legacy.authorities.as_deref(), Some(old.certificate.as_bytes()));
        assert_eq!(
            legacy.client.unwrap().private_key,
            SecretBytes::from(old.key.as_str())
        );
        let both = read(&[("ca.crt", &new.certificate), ("caFile", &old.certificate)]).unwrap();
        assert_eq!(both.authorities.as_deref(), Some(new.certificate.as_bytes()));
        assert_eq!(both.client, None);
    }

    #[test]
    fn what_is_missing_or_broken_is_named() {
        let (mine, other) = (pem(), pem());
        let message = |data: &[(&str, &str)]| read(data).unwrap_err().to_string();
        assert_eq!(
            message(&[]),
            "secret 'apps/certs' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'"
        );
        assert_eq!(
            message(&[("tls.crt", &mine.certificate)]),
            "secret 'apps/certs' contains 'tls.crt' but missing 'tls.key'"
        );
        assert_eq!(
            message(&[("keyFile", &mine.key)]),
            "secret 'apps/certs' contains 'tls.key' but missing 'tls.crt'"
        );
        assert_eq!(
            message(&[("ca.crt", "not a certificate")]),
            "failed to parse CA certificate"
        );
        for key in ["not a key", other.key.as_str()] {
            let text = message(&[("tls.crt", &mine.certificate), ("tls.key", key)]);
            assert!(
                text.starts_with("failed to parse TLS certificate and key: "),
                "{text}"
            );
        }
    }
}
