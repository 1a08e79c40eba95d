//! Servers that note what they are asked, and keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{KeyPair as _, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::Value;
use sluice_auth::{ClientOptions, Environment, Exchange, TokenClients, TokenOptions};
use sluice_testbed::https::LocalServer;
use sluice_testbed::tls::Certificates;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The fields of a form.
    pub(crate) fn form(&self) -> HashMap<String, String> {
        url::form_urlencoded::parse(&self.body).into_owned().collect()
    }
}

type Answers = dyn Fn(&Asked) -> (u16, String) + Send + Sync;

/// A server that answers as it is told and notes what it is asked.
pub(crate) struct Recorder {
    pub(crate) server: LocalServer,
    asked: Arc<Mutex<Vec<Asked>>>,
    certificates: Option<Certificates>,
}

impl Recorder {
    pub(crate) async fn http(answers: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> Self {
        let asked = Arc::default();
        let server = LocalServer::http(router(Arc::new(answers), &asked))
            .await
            .unwrap();
        Self {
            server,
            asked,
            certificates: None,
        }
    }

    pub(crate) async fn https(answers: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> Self {
        let asked = Arc::default();
        let certificates = Certificates::new().unwrap();
        let router = router(Arc::new(answers), &asked);
        let server = LocalServer::https(&certificates, router).await.unwrap();
        Self {
            server,
            asked,
            certificates: Some(certificates),
        }
    }

    pub(crate) fn url(&self) -> String {
        let scheme = if self.certificates.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.server.address())
    }

    /// What was asked since the last call.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// Clients that trust this server.
    pub(crate) fn clients(&self) -> TokenClients {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let options = ClientOptions {
            authorities: self
                .certificates
                .as_ref()
                .map(|certificates| certificates.authority.clone().into_bytes()),
            ..ClientOptions::default()
        };
        TokenClients {
            services: options.build().unwrap(),
            machine: options.build().unwrap(),
        }
    }
}

fn router(answers: Arc<Answers>, asked: &Arc<Mutex<Vec<Asked>>>) -> Router {
    let asked = asked.clone();
    Router::new().fallback(
        async move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let request = Asked {
                method,
                target: uri.path_and_query().unwrap().to_string(),
                headers,
                body: body.to_vec(),
            };
            let (status, body) = answers(&request);
            asked.lock().unwrap().push(request);
            (StatusCode::from_u16(status).unwrap(), body)
        },
    )
}

/// What a provider is asked with.
pub(crate) struct Asking {
    pub(crate) options: TokenOptions,
    pub(crate) environment: Environment,
    pub(crate) clients: TokenClients,
}

impl Asking {
    pub(crate) fn new(server: &Recorder, options: TokenOptions, variables: &[(&str, &str)]) -> Self {
        Self {
            options,
            environment: Environment::of_variables(variables.iter().copied()),
            clients: server.clients(),
        }
    }

    pub(crate) fn exchange(&self) -> Exchange<'_> {
        Exchange {
            options: &self.options,
            environment: &self.environment,
            clients: &self.clients,
        }
    }
}

/// Checks a token's signature by the public half of a key, and gives its header and its claims.
pub(crate) fn verify(
    token: &str,
    private_key: &str,
    algorithm: &'static dyn VerificationAlgorithm,
) -> (Value, Value) {
    let pair = match PrivateKeyDer::from_pem_slice(private_key.as_bytes()).unwrap() {
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).unwrap(),
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap(),
        _ => panic!("not an RSA key"),
    };
    let (signed, signature) = token.rsplit_once('.').unwrap();
    UnparsedPublicKey::new(algorithm, pair.public_key().as_ref())
        .verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
        .unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let read = |part: &str| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    (read(header), read(claims))
}
