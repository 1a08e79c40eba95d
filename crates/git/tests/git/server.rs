//! Serves repositories through git's own http-backend, on loopback.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sluice_git::{Remote, RemoteUrl};

use crate::repository::environment;

/// Changes the body of an answer.
pub(crate) type Damage = Arc<dyn Fn(Vec<u8>) -> Vec<u8> + Send + Sync>;

/// How a server behaves.
#[derive(Default, Clone)]
pub(crate) struct Behaviour {
    /// The `Authorization` header that is demanded.
    pub(crate) authorization: Option<String>,
    /// Speak TLS.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Redirect every request for a path below the first to the second, which may be a full URL.
    pub(crate) redirect: Option<(String, String)>,
    /// Send half of each answer with a pack, then close.
    pub(crate) cut_packs: bool,
    /// Change the body of each answer.
    pub(crate) damage: Option<Damage>,
    /// Accept requests and never answer.
    pub(crate) silent: bool,
    /// Ignore the header by which clients ask for protocol version 2.
    pub(crate) old_protocol: bool,
}

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// A running server; dropping it stops accepting.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    seen: Arc<Mutex<Vec<Seen>>>,
    stopped: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(root: &Path, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if behaviour.tls.is_some() { "https" } else { "http" };
        let (seen, stopped) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::<AtomicBool>::default());
        let root: PathBuf = root.to_owned();
        let acceptor = std::thread::spawn({
            let (seen, stopped) = (Arc::clone(&seen), Arc::clone(&stopped));
            move || {
                for stream in listener.incoming() {
                    if stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    let (root, behaviour) = (root.clone(), behaviour.clone());
                    let (seen, stopped) = (Arc::clone(&seen), Arc::clone(&stopped));
                    std::thread::spawn(move || serve(stream.unwrap(), &root, &behaviour, &seen, &stopped));
                }
            }
        });
        Self {
            address,
            scheme,
            seen,
            stopped,
            acceptor: Some(acceptor),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://localhost:{}{path}", self.scheme, self.address.port())
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The repository `repo.git` without credentials.
    pub(crate) fn remote(&self) -> Remote {
        Remote::new(RemoteUrl::parse(&self.url("/repo.git")).unwrap())
    }

    /// The requests so far, which are forgotten.
    pub(crate) fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

fn serve(
    stream: TcpStream,
    root: &Path,
    behaviour: &Behaviour,
    seen: &Mutex<Vec<Seen>>,
    stopped: &AtomicBool,
) {
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    match &behaviour.tls {
        Some(config) => {
            let connection = ServerConnection::new(Arc::clone(config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            answer(&mut stream, root, behaviour, seen, stopped);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        None => answer(&mut { stream }, root, behaviour, seen, stopped),
    }
}

fn answer(
    stream: &mut (impl Read + Write),
    root: &Path,
    behaviour: &Behaviour,
    seen: &Mutex<Vec<Seen>>,
    stopped: &AtomicBool,
) {
    let Some(request) = read_request(stream) else {
        return;
    };
    seen.lock().unwrap().push(request.clone());
    while behaviour.silent && !stopped.load(Ordering::Relaxed) {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let authorized = behaviour
        .authorization
        .as_ref()
        .is_none_or(|expected| request.headers.get("authorization") == Some(expected));
    let redirect = behaviour.redirect.as_ref().and_then(|(from, to)| {
        request
            .path
            .strip_prefix(from.as_str())
            .map(|rest| format!("{to}{rest}"))
    });
    // The client may hang up first.
    let _ = if let Some(location) = redirect {
        let head = format!("HTTP/1.1 301 Moved Permanently\r\nLocation: {location}\r\n");
        stream.write_all(format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n").as_bytes())
    } else if authorized {
        backend(stream, root, behaviour, &request)
    } else {
        stream
            .write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 7\r\nConnection: close\r\n\r\nno luck")
    };
    let _ = stream.flush();
}

fn read_request(stream: &mut impl Read) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    // A proxy is asked for a whole URL.
    let path = match target.strip_prefix("http://") {
        Some(rest) => rest[rest.find('/').unwrap()..].to_owned(),
        None => target,
    };
    Some(Seen {
        method,
        path,
        headers,
        body,
    })
}

fn backend(
    stream: &mut impl Write,
    root: &Path,
    behaviour: &Behaviour,
    request: &Seen,
) -> std::io::Result<()> {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .envs(environment())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1");
    command
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request.method);
    command
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string());
    if !behaviour.old_protocol {
        command.env("GIT_PROTOCOL", header("git-protocol"));
    }
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let body = request.body.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&body));
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let sent = relay(stream, &mut output, behaviour);
    drop(output);
    let _ = writer.join().unwrap();
    child.wait().unwrap();
    sent
}

/// Turns the program's answer into one of HTTP.
fn relay(stream: &mut impl Write, output: &mut impl BufRead, behaviour: &Behaviour) -> std::io::Result<()> {
    let (mut status, mut head) = ("200 OK".to_owned(), String::new());
    loop {
        let mut line = String::new();
        output.read_line(&mut line)?;
        match line.trim_end() {
            "" => break,
            line => match line.strip_prefix("Status: ") {
                Some(text) => text.clone_into(&mut status),
                None => head.push_str(&format!("{line}\r\n")),
            },
        }
    }
    let head = format!("HTTP/1.1 {status}\r\n{head}Connection: close\r\n");
    if let Some(damage) = &behaviour.damage {
        let mut body = Vec::new();
        output.read_to_end(&mut body)?;
        stream.write_all(format!("{head}\r\n").as_bytes())?;
        return stream.write_all(&damage(body));
    }
    if behaviour.cut_packs {
        return send_cut(stream, &head, output);
    }
    // The end of the connection ends the body.
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    std::io::copy(output, stream).map(|_| ())
}

/// Announces the whole body and, if it holds a pack, sends three quarters of it.
fn send_cut(stream: &mut impl Write, head: &str, output: &mut impl Read) -> std::io::Result<()> {
    let mut body = Vec::new();
    output.read_to_end(&mut body)?;
    let has_pack = body.windows(4).any(|window| window == b"PACK");
    let length = if has_pack {
        body.len() - body.len() / 4
    } else {
        body.len()
    };
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes())?;
    stream.write_all(&body[..length])
}
