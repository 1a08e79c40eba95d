//! Credentials, TLS, redirects and proxies.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use sluice_git::{
    Authentication, ClientCertificate, ErrorKind, Proxy, Reference, Remote, RemoteUrl, Secret, Tls,
};

use crate::repository::Repository;
use crate::server::{Behaviour, Server};
use crate::{Bench, install_provider};

const BASIC: &str = "Basic Ym9iOmh1bnRlcjI=";

fn basic(password: &str) -> Authentication {
    Authentication::Basic {
        username: "bob".into(),
        password: Secret::new(password),
    }
}

fn bench(behaviour: Behaviour) -> Bench {
    let repository = Repository::new();
    repository.commit("first", 1_700_000_000);
    Bench::with(repository, behaviour)
}

// SRC-003
#[test]
fn each_kind_of_credentials_opens_the_door_and_wrong_ones_do_not() {
    let demanding = |text: &str| Behaviour {
        authorization: Some(text.to_owned()),
        ..Behaviour::default()
    };
    for (expected, authentication) in [
        (BASIC, basic("hunter2")),
        ("Bearer hunter2", Authentication::Bearer(Secret::new("hunter2"))),
    ] {
        let bench = bench(demanding(expected));
        let remote = Remote {
            authentication,
            ..bench.server.remote()
        };
        bench.fetch_from(&remote, &Reference::default()).unwrap();
        for wrong in [Authentication::None, basic("hunter3")] {
            let error = bench
                .fetch_from(
                    &Remote {
                        authentication: wrong,
                        ..remote.clone()
                    },
                    &Reference::default(),
                )
                .unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Authentication);
            let url = bench.server.url("/repo.git");
            assert_eq!(
                error.to_string(),
                format!("unable to clone '{url}': authentication required: no luck")
            );
        }
        assert_eq!(bench.leftovers(), 0);
    }
    let bench = bench(demanding(BASIC));
    let url = format!("http://bob:hunter2@localhost:{}/repo.git", bench.server.port());
    bench
        .fetch_from(
            &Remote::new(RemoteUrl::parse(&url).unwrap()),
            &Reference::default(),
        )
        .unwrap();
    let absent = Remote::new(RemoteUrl::parse(&url.replace("repo.git", "none.git")).unwrap());
    let error = bench.fetch_from(&absent, &Reference::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.to_string().contains("repository not found") && !error.to_string().contains("hunter2"),
        "{error}"
    );
}

/// A private authority with a server certificate for localhost and a client certificate.
struct Authority {
    pem: Vec<u8>,
    server: (String, String),
    client: (String, String),
}

fn authority() -> Authority {
    let mut parameters = CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate().unwrap()).unwrap();
    let issue = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &issuer)
            .unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    Authority {
        pem: issuer.pem().into_bytes(),
        server: issue("localhost"),
        client: issue("client"),
    }
}

impl Authority {
    fn server_config(&self, demand_client: bool) -> Arc<ServerConfig> {
        install_provider();
        let chain = vec![CertificateDer::from_pem_slice(self.server.0.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.server.1.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(&self.pem).unwrap())
            .unwrap();
        let builder = ServerConfig::builder();
        let builder = if demand_client {
            builder.with_client_cert_verifier(WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        Arc::new(builder.with_single_cert(chain, key).unwrap())
    }

    fn trust(&self) -> Tls {
        Tls {
            certificate_authorities: Some(self.pem.clone()),
            client_certificate: None,
        }
    }

    fn identity(&self) -> Tls {
        let client = ClientCertificate {
            certificate: self.client.0.clone().into_bytes(),
            key: Secret::new(self.client.1.clone()),
        };
        Tls {
            client_certificate: Some(client),
            ..self.trust()
        }
    }
}

#[test]
fn private_authorities_are_trusted_only_if_given() {
    let authority = authority();
    let tls = Some(authority.server_config(false));
    let bench = bench(Behaviour {
        authorization: Some(BASIC.into()),
        tls,
        ..Behaviour::default()
    });
    let remote = Remote {
        authentication: basic("hunter2"),
        ..bench.server.remote()
    };
    let error = bench.fetch_from(&remote, &Reference::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network, "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    bench
        .fetch_from(
            &Remote {
                tls: authority.trust(),
                ..remote.clone()
            },
            &Reference::default(),
        )
        .unwrap();
    let broken = Tls {
        certificate_authorities: Some(b"no PEM".to_vec()),
        client_certificate: None,
    };
    let error = bench
        .fetch_from(
            &Remote {
                tls: broken,
                ..remote
            },
            &Reference::default(),
        )
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.to_string().ends_with("failed to parse CA certificate"),
        "{error}"
    );
}

#[test]
fn client_certificate_is_shown_to_a_server_that_demands_it() {
    let authority = authority();
    let bench = bench(Behaviour {
        tls: Some(authority.server_config(true)),
        ..Behaviour::default()
    });
    let remote = Remote {
        tls: authority.trust(),
        ..bench.server.remote()
    };
    assert_eq!(
        bench
            .fetch_from(&remote, &Reference::default())
            .unwrap_err()
            .kind(),
        ErrorKind::Network
    );
    bench
        .fetch_from(
            &Remote {
                tls: authority.identity(),
                ..remote
            },
            &Reference::default(),
        )
        .unwrap();
}

#[test]
fn redirects_are_followed_and_credentials_stay_with_their_host() {
    let target = bench(Behaviour::default());
    let redirecting = |to: String| {
        let redirect = Some(("/old.git".to_owned(), to));
        Server::start(
            target.repository.root(),
            Behaviour {
                redirect,
                ..Behaviour::default()
            },
        )
    };
    let old = |server: &Server| Remote {
        authentication: basic("hunter2"),
        ..Remote::new(RemoteUrl::parse(&server.url("/old.git")).unwrap())
    };
    let same_host = redirecting("/repo.git".to_owned());
    target
        .fetch_from(&old(&same_host), &Reference::default())
        .unwrap();
    let seen = same_host.take_seen();
    assert!(seen.iter().all(|seen| {
        seen.headers
            .get("authorization")
            .is_some_and(|value| value == BASIC)
    }));
    assert!(
        seen.iter().skip(1).all(|seen| seen.path.starts_with("/repo.git")),
        "the new address is kept"
    );

    let other_host = redirecting(target.server.url("/repo.git"));
    target.server.take_seen();
    target
        .fetch_from(&old(&other_host), &Reference::default())
        .unwrap();
    let seen = target.server.take_seen();
    assert_eq!(seen.len(), 3);
    assert!(
        seen.iter()
            .all(|seen| !seen.headers.contains_key("authorization")),
        "another port is another host"
    );

    let looping = redirecting("/old.git".to_owned());
    let error = target
        .fetch_from(&old(&looping), &Reference::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(
        error.to_string().contains("stopped after 10 redirects"),
        "{error}"
    );
    assert_eq!(looping.take_seen().len(), 11);
}

#[test]
fn proxy_gets_its_own_credentials() {
    let bench = bench(Behaviour::default());
    let remote = Remote {
        proxy: Some(Proxy {
            address: format!("http://localhost:{}", bench.server.port()),
            username: Some("proxy".into()),
            password: Some(Secret::new("secret")),
        }),
        ..Remote::new(RemoteUrl::parse("http://git.example.test/repo.git").unwrap())
    };
    bench.fetch_from(&remote, &Reference::default()).unwrap();
    for seen in bench.server.take_seen() {
        assert_eq!(seen.headers["host"], "git.example.test");
        assert_eq!(seen.headers["proxy-authorization"], "Basic cHJveHk6c2VjcmV0");
        assert!(seen.headers["user-agent"].starts_with("git/sluice-"));
    }
    let unusable = Proxy {
        address: "ftp://localhost".into(),
        username: None,
        password: None,
    };
    let error = bench
        .fetch_from(
            &Remote {
                proxy: Some(unusable),
                ..remote
            },
            &Reference::default(),
        )
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
