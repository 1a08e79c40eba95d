//! HTTPS servers that pass for the services of clouds, and a proxy by which programs find them under the names of
//! the real ones.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::serve::Listener;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::tls::Certificates;
use crate::{Error, Result};

/// The longest head of a request that the proxy reads, in lines.
const LONGEST_HEAD: usize = 100;

/// A server on the loopback, as a task of the runtime that starts it. Dropping it ends it.
#[derive(Debug)]
pub struct LocalServer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl LocalServer {
    /// Serves plain HTTP.
    pub async fn http(router: Router) -> Result<Self> {
        let listener = bind().await?;
        let address = listener
            .local_addr()
            .map_err(Error::io("listen on the loopback"))?;
        let task = tokio::spawn(async move {
            // A server of a test has nobody to tell when it ends.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, task })
    }

    /// Serves HTTPS with the certificates' server.
    pub async fn https(certificates: &Certificates, router: Router) -> Result<Self> {
        let tcp = bind().await?;
        let address = tcp.local_addr().map_err(Error::io("listen on the loopback"))?;
        let acceptor = acceptor(certificates)?;
        let task = tokio::spawn(async move {
            // A server of a test has nobody to tell when it ends.
            let _ = axum::serve(TlsListener { tcp, acceptor }, router).await;
        });
        Ok(Self { address, task })
    }

    /// A proxy that takes `CONNECT` only, to these names with their ports, such as `example.com:443`.
    pub async fn proxy(routes: &[(&str, SocketAddr)]) -> Result<Self> {
        let listener = bind().await?;
        let address = listener
            .local_addr()
            .map_err(Error::io("listen on the loopback"))?;
        let routes: Arc<HashMap<String, SocketAddr>> = Arc::new(
            routes
                .iter()
                .map(|(name, address)| ((*name).to_owned(), *address))
                .collect(),
        );
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let routes = routes.clone();
                tokio::spawn(async move {
                    // A client that goes away is no matter.
                    let _ = tunnel(stream, &routes).await;
                });
            }
        });
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn bind() -> Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", 0))
        .await
        .map_err(Error::io("listen on the loopback"))
}

fn acceptor(certificates: &Certificates) -> Result<TlsAcceptor> {
    let invalid = |error: &dyn std::fmt::Display| Error::Failed {
        what: "make a TLS server".to_owned(),
        output: error.to_string(),
    };
    let chain = CertificateDer::from_pem_slice(certificates.server_certificate.as_bytes())
        .map_err(|error| invalid(&error))?;
    let key =
        PrivateKeyDer::from_pem_slice(certificates.server_key.as_bytes()).map_err(|error| invalid(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid(&error))?
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .map_err(|error| invalid(&error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.tcp).await;
            // A client that does not trust the certificate goes away; the next one may.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

async fn tunnel(stream: TcpStream, routes: &HashMap<String, SocketAddr>) -> std::io::Result<()> {
    let mut client = BufReader::new(stream);
    let mut request = String::new();
    client.read_line(&mut request).await?;
    for _ in 0..LONGEST_HEAD {
        let mut line = String::new();
        client.read_line(&mut line).await?;
        if line.trim().is_empty() {
            break;
        }
    }
    let target = request
        .strip_prefix("CONNECT ")
        .and_then(|rest| rest.split(' ').next());
    let Some(address) = target.and_then(|target| routes.get(target)) else {
        let refusal = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        return client.write_all(refusal.as_bytes()).await;
    };
    let mut server = TcpStream::connect(address).await?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
