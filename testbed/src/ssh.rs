//! Git over SSH: the real `sshd`, and the key pairs that it takes.

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::{Error, Result, tools};

/// Folders of programs for administrators, which are not in everyone's `PATH`.
const ADMINISTRATION: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/sbin"];

/// Where `sshd` locks its unprivileged part in; as root it wants this to exist.
const EMPTY_FOLDER: &str = "/run/sshd";

/// How a server is set up. The default has an Ed25519 host key and tells sessions the wanted version of Git's
/// protocol.
#[derive(Debug, Clone)]
pub struct SshServerOptions {
    /// Host keys, as arguments of `ssh-keygen`, such as `["-t", "ecdsa", "-b", "384"]`.
    pub host_keys: Vec<Vec<&'static str>>,
    /// Show certificates of an authority for the host keys.
    pub certified: bool,
    /// Let clients choose the version of Git's protocol.
    pub protocol_variable: bool,
    /// Further lines of `sshd_config`.
    pub lines: Vec<&'static str>,
}

impl Default for SshServerOptions {
    fn default() -> Self {
        Self {
            host_keys: vec![vec!["-t", "ed25519"]],
            certified: false,
            protocol_variable: true,
            lines: Vec::new(),
        }
    }
}

/// A running SSH server, for the user who runs the test. Dropping it ends it and its sessions.
///
/// The listener is the test's own, and each connection is handed to an `sshd` of its own: there is no port to
/// lose and no process that outlives the test.
#[derive(Debug)]
pub struct SshServer {
    directory: tempfile::TempDir,
    address: SocketAddr,
    user: String,
    authority: Option<KeyPair>,
    host_keys: Vec<KeyPair>,
    accepted: Arc<Accepted>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Accepted {
    is_stopping: AtomicBool,
    sessions: Mutex<Vec<Child>>,
}

/// A key pair made by `ssh-keygen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPair {
    /// The private half.
    pub private: String,
    /// The public half: kind, base64, comment.
    pub public: String,
}

impl KeyPair {
    /// Makes a pair; `arguments` such as `["-t", "rsa", "-b", "2048", "-m", "PEM"]`.
    pub fn generate(arguments: &[&str], passphrase: &str) -> Result<Self> {
        let directory = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
        Self::generate_in(directory.path(), "key", arguments, passphrase)
    }

    fn generate_in(directory: &Path, name: &str, arguments: &[&str], passphrase: &str) -> Result<Self> {
        let file = directory.join(name);
        let mut command = Command::new(tools::system("ssh-keygen")?);
        command
            .args(["-q", "-C", "test", "-N", passphrase])
            .args(arguments)
            .arg("-f")
            .arg(&file);
        tools::pipe(&mut command, Vec::new())?;
        Ok(Self {
            private: read(&file)?,
            public: read(&file.with_extension("pub"))?,
        })
    }
}

fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).map_err(Error::io(format!("read {}", file.display())))
}

fn write(file: &Path, content: &str) -> Result<()> {
    std::fs::write(file, content).map_err(Error::io(format!("write {}", file.display())))
}

/// The server program.
fn program() -> Result<PathBuf> {
    tools::system("sshd").or_else(|_| {
        ADMINISTRATION
            .iter()
            .map(|folder| Path::new(folder).join("sshd"))
            .find(|file| file.is_file())
            .ok_or_else(|| Error::Missing {
                what: "program sshd".to_owned(),
                path: PathBuf::from("$PATH"),
                remedy: "install it: apt-get install openssh-server",
            })
    })
}

impl SshServer {
    /// Starts a server with the default options.
    pub fn start() -> Result<Self> {
        Self::start_with(&SshServerOptions::default())
    }

    /// Starts a server that lets nobody in yet; see [`authorize`](Self::authorize).
    pub fn start_with(options: &SshServerOptions) -> Result<Self> {
        let program = program()?;
        let user = tools::pipe(Command::new(tools::system("id")?).arg("-un"), Vec::new())?;
        let user = String::from_utf8_lossy(&user).trim().to_owned();
        if user == "root" {
            std::fs::create_dir_all(EMPTY_FOLDER).map_err(Error::io(format!("create {EMPTY_FOLDER}")))?;
        }
        let directory = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("listen"))?;
        let mut server = Self {
            address: listener.local_addr().map_err(Error::io("listen"))?,
            directory,
            user,
            authority: None,
            host_keys: Vec::new(),
            accepted: Arc::default(),
            acceptor: None,
        };
        server.configure(options)?;
        let accepted = Arc::clone(&server.accepted);
        let (configuration, log) = (server.file("sshd_config"), server.file("log"));
        server.acceptor = Some(std::thread::spawn(move || {
            accept(&listener, &program, &configuration, &log, &accepted);
        }));
        Ok(server)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn configure(&mut self, options: &SshServerOptions) -> Result<()> {
        let mut lines = vec![
            "LogLevel VERBOSE".to_owned(),
            "PidFile none".to_owned(),
            "UsePAM no".to_owned(),
            "StrictModes no".to_owned(),
            "PasswordAuthentication no".to_owned(),
            "KbdInteractiveAuthentication no".to_owned(),
            "PermitRootLogin prohibit-password".to_owned(),
            format!("AuthorizedKeysFile {}", self.file("authorized_keys").display()),
        ];
        if options.protocol_variable {
            lines.push("AcceptEnv GIT_PROTOCOL".to_owned());
        }
        if options.certified {
            let authority = KeyPair::generate_in(self.directory.path(), "authority", &["-t", "ed25519"], "")?;
            self.authority = Some(authority);
        }
        for (index, arguments) in options.host_keys.iter().enumerate() {
            let name = format!("host_key_{index}");
            let pair = KeyPair::generate_in(self.directory.path(), &name, arguments, "")?;
            lines.push(format!("HostKey {}", self.file(&name).display()));
            if options.certified {
                self.certify(&name)?;
                let certificate = self.file(&format!("{name}-cert.pub"));
                lines.push(format!("HostCertificate {}", certificate.display()));
            }
            self.host_keys.push(pair);
        }
        lines.extend(options.lines.iter().map(|line| (*line).to_owned()));
        write(&self.file("authorized_keys"), "")?;
        write(&self.file("log"), "")?;
        write(&self.file("sshd_config"), &(lines.join("\n") + "\n"))
    }

    fn certify(&self, name: &str) -> Result<()> {
        let mut command = Command::new(tools::system("ssh-keygen")?);
        command
            .args(["-q", "-h", "-I", "host", "-n", "127.0.0.1", "-V", "-5m:+1d", "-s"])
            .arg(self.file("authority"))
            .arg(self.file(name).with_extension("pub"));
        tools::pipe(&mut command, Vec::new()).map(drop)
    }

    /// The port, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The user to log in as.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The address of a repository in this directory, such as [`Repository::directory`].
    ///
    /// [`Repository::directory`]: crate::git::Repository::directory
    pub fn url(&self, directory: &Path) -> String {
        format!("ssh://{}@{}{}", self.user, self.address, directory.display())
    }

    /// The lines for `known_hosts`, one for each host key.
    pub fn known_hosts(&self) -> String {
        let host = format!("[127.0.0.1]:{}", self.port());
        self.host_keys
            .iter()
            .map(|pair| format!("{host} {}", pair.public))
            .collect()
    }

    /// The line for `known_hosts` with the authority of the host certificates, if there is one.
    pub fn authority_line(&self) -> Option<String> {
        let public = &self.authority.as_ref()?.public;
        Some(format!("@cert-authority [127.0.0.1]:{} {public}", self.port()))
    }

    /// The host keys.
    pub fn host_keys(&self) -> &[KeyPair] {
        &self.host_keys
    }

    /// Lets in whoever has the private half of `public`, and nobody else.
    pub fn authorize(&self, public: &str) -> Result<()> {
        write(&self.file("authorized_keys"), public)
    }

    /// What the server has logged.
    pub fn log(&self) -> Result<String> {
        let mut text = String::new();
        std::fs::File::open(self.file("log"))
            .and_then(|mut file| file.read_to_string(&mut text))
            .map_err(Error::io("read the log of sshd"))?;
        Ok(text)
    }

    /// Ends the server; its address then refuses connections.
    pub fn stop(&mut self) {
        self.accepted.is_stopping.store(true, Ordering::SeqCst);
        if let Some(acceptor) = self.acceptor.take() {
            // Wakes it; it may have ended already.
            let _ = TcpStream::connect(self.address);
            let _ = acceptor.join();
        }
        let sessions = std::mem::take(&mut *lock(&self.accepted));
        for mut session in sessions {
            let _ = session.kill();
            let _ = session.wait();
        }
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(accepted: &Accepted) -> std::sync::MutexGuard<'_, Vec<Child>> {
    accepted.sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands each connection to a process of its own, until told to stop.
fn accept(listener: &TcpListener, program: &Path, configuration: &Path, log: &Path, accepted: &Accepted) {
    for stream in listener.incoming() {
        if accepted.is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let session = stream.and_then(|stream| serve(stream, program, configuration, log));
        let mut sessions = lock(accepted);
        // Ended ones are waited for here, so that none stays behind.
        sessions.retain_mut(|session| matches!(session.try_wait(), Ok(None)));
        sessions.extend(session.ok());
    }
}

fn serve(stream: TcpStream, program: &Path, configuration: &Path, log: &Path) -> std::io::Result<Child> {
    let output = stream.try_clone()?;
    let log = std::fs::OpenOptions::new().append(true).open(log)?;
    Command::new(program)
        .args(["-i", "-e", "-f"])
        .arg(configuration)
        .stdin(Stdio::from(OwnedFd::from(stream)))
        .stdout(Stdio::from(OwnedFd::from(output)))
        .stderr(log)
        .spawn()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;
    use crate::tools::require_or_skip;

    #[test]
    fn server_greets_and_refuses_connections_once_stopped() {
        let Some(mut server) = require_or_skip(SshServer::start()) else {
            return;
        };
        let stream = TcpStream::connect(server.address).unwrap();
        let mut greeting = String::new();
        BufReader::new(stream).read_line(&mut greeting).unwrap();
        assert!(greeting.starts_with("SSH-2.0-OpenSSH"), "{greeting}");
        server.stop();
        assert!(TcpStream::connect(server.address).is_err());
    }
}
