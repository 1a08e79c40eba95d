//! A node's server of logs: what the API server asks when it is asked for a pod's log.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sluice_testbed::tls::Certificates;

/// Serves one text as the log of every container.
pub(crate) struct Kubelet {
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    grown: Condvar,
}

impl Kubelet {
    /// Starts it with these lines; it ends with the process.
    pub(crate) fn start(lines: &[&str]) -> Self {
        let certificates = Certificates::new().unwrap();
        let chain = vec![CertificateDer::from_pem_slice(certificates.server_certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(certificates.server_key.as_bytes()).unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let configuration = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let configuration = Arc::new(configuration);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let log = Arc::new(Log {
            lines: Mutex::new(lines.iter().map(|line| (*line).to_owned()).collect()),
            grown: Condvar::new(),
        });
        let kubelet = Self {
            port: listener.local_addr().unwrap().port(),
            log: Arc::clone(&log),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (configuration, log) = (Arc::clone(&configuration), Arc::clone(&log));
                std::thread::spawn(move || answer(stream, configuration, &log));
            }
        });
        kubelet
    }

    /// Adds a line, which those who follow get to see.
    pub(crate) fn add(&self, line: &str) {
        self.log.lines.lock().unwrap().push(line.to_owned());
        self.log.grown.notify_all();
    }
}

fn answer(stream: TcpStream, configuration: Arc<ServerConfig>, log: &Log) -> Option<()> {
    let connection = ServerConnection::new(configuration).ok()?;
    let mut reader = BufReader::new(StreamOwned::new(connection, stream));
    loop {
        let mut request = String::new();
        reader.read_line(&mut request).ok().filter(|read| *read > 0)?;
        let mut header = String::new();
        while header != "\r\n" {
            header.clear();
            reader.read_line(&mut header).ok().filter(|read| *read > 0)?;
        }
        let follows = request.contains("follow=true");
        let tail = request
            .split(['?', '&', ' '])
            .find_map(|part| part.strip_prefix("tailLines="));
        let stream = reader.get_mut();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
            .ok()?;
        let mut lines = log.lines.lock().unwrap();
        let mut sent = tail.map_or(0, |tail| lines.len().saturating_sub(tail.parse().unwrap_or(0)));
        loop {
            for line in &lines[sent..] {
                write!(stream, "{:x}\r\n{line}\n\r\n", line.len() + 1).ok()?;
            }
            stream.flush().ok()?;
            sent = lines.len();
            if !follows {
                break;
            }
            lines = log.grown.wait(lines).unwrap();
        }
        drop(lines);
        stream.write_all(b"0\r\n\r\n").ok()?;
        stream.flush().ok()?;
    }
}
