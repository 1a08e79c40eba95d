//! JSON Web Tokens by which a holder of a private key shows who it is.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Serialize;

use crate::secret::SecretBytes;

/// A key that signs tokens.
pub(crate) struct SigningKey(RsaKeyPair);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SigningKey")
    }
}

/// How tokens are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// RSA with PKCS 1.5 and SHA-256.
    Rs256,
    /// RSA-PSS with SHA-256.
    Ps256,
}

#[derive(Serialize)]
struct Header<'h> {
    alg: &'static str,
    typ: &'static str,
    #[serde(rename = "x5t#S256", skip_serializing_if = "Option::is_none")]
    thumbprint: Option<&'h str>,
}

impl SigningKey {
    /// Reads an RSA key, PEM, in either of the usual forms.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|_| "invalid key: Key must be a PEM encoded PKCS1 or PKCS8 key".to_owned())?;
        let pair = match &key {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return Err("key is not a valid RSA private key".to_owned()),
        };
        pair.map(Self)
            .map_err(|error| format!("key is not a valid RSA private key: {error}"))
    }

    /// Makes a token of these claims. With the thumbprint of a certificate the header names it.
    ///
    /// # Errors
    /// The system has no random numbers, or the claims cannot be written.
    pub(crate) fn token(
        &self,
        algorithm: Algorithm,
        thumbprint: Option<&str>,
        claims: &impl Serialize,
    ) -> Result<SecretBytes, String> {
        let (alg, encoding): (_, &'static dyn RsaEncoding) = match algorithm {
            Algorithm::Rs256 => ("RS256", &RSA_PKCS1_SHA256),
            Algorithm::Ps256 => ("PS256", &RSA_PSS_SHA256),
        };
        let header = Header {
            alg,
            typ: "JWT",
            thumbprint,
        };
        let encode = |bytes: serde_json::Result<Vec<u8>>| {
            bytes
                .map(|bytes| URL_SAFE_NO_PAD.encode(bytes))
                .map_err(|error| error.to_string())
        };
        let signed = format!(
            "{}.{}",
            encode(serde_json::to_vec(&header))?,
            encode(serde_json::to_vec(claims))?
        );
        let mut signature = vec![0; self.0.public().modulus_len()];
        self.0
            .sign(encoding, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| "the token cannot be signed".to_owned())?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)).into())
    }
}
