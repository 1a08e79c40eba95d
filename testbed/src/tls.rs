//! Certificates for test servers and their clients, made anew for each test.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

use crate::{Error, Result};

/// An authority, a server's certificate for `localhost` and `127.0.0.1`, and a client's certificate, all PEM.
#[derive(Clone)]
pub struct Certificates {
    /// The authority's certificate: what clients and servers are told to trust.
    pub authority: String,
    /// The server's certificate.
    pub server_certificate: String,
    /// The server's private key.
    pub server_key: String,
    /// The client's certificate, for servers that ask for one.
    pub client_certificate: String,
    /// The client's private key.
    pub client_key: String,
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Certificates").finish_non_exhaustive()
    }
}

impl Certificates {
    /// Makes a set that has nothing in common with any other.
    pub fn new() -> Result<Self> {
        Self::for_hosts(&[])
    }

    /// Makes a set whose server's certificate is good for these hosts as well.
    pub fn for_hosts(hosts: &[&str]) -> Result<Self> {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        authority
            .distinguished_name
            .push(DnType::CommonName, "test authority");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let (server_certificate, server_key) = issue(
            &authority,
            ["localhost", "127.0.0.1"]
                .iter()
                .chain(hosts)
                .map(|host| (*host).to_owned())
                .collect(),
            "test server",
            ExtendedKeyUsagePurpose::ServerAuth,
        )?;
        let (client_certificate, client_key) = issue(
            &authority,
            Vec::new(),
            "test client",
            ExtendedKeyUsagePurpose::ClientAuth,
        )?;
        Ok(Self {
            authority: authority.pem(),
            server_certificate,
            server_key,
            client_certificate,
            client_key,
        })
    }

    /// Writes the set into a directory, for servers that read files.
    pub fn write(&self, directory: &Path) -> Result<CertificateFiles> {
        let write = |name: &str, content: &str| {
            let path = directory.join(name);
            std::fs::write(&path, content).map_err(Error::io(format!("write {}", path.display())))?;
            Ok::<_, Error>(path)
        };
        Ok(CertificateFiles {
            authority: write("ca.crt", &self.authority)?,
            server_certificate: write("server.crt", &self.server_certificate)?,
            server_key: write("server.key", &self.server_key)?,
        })
    }
}

/// Where [`Certificates::write`] put what a server needs.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The authority's certificate.
    pub authority: PathBuf,
    /// The server's certificate.
    pub server_certificate: PathBuf,
    /// The server's private key.
    pub server_key: PathBuf,
}

fn issue(
    authority: &CertifiedIssuer<'_, KeyPair>,
    names: Vec<String>,
    common_name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> Result<(String, String)> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok((certificate.pem(), key.serialize_pem()))
}
