//! Git over SSH, against the real `sshd`; known hosts and keys, against the libraries that Flux is built from.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod connections;
mod hosts;
mod keys;
mod known_hosts;
#[path = "../git/repository.rs"]
#[expect(dead_code, reason = "shared with other tests")]
mod repository;
mod scanning;

use std::time::Duration;

use sluice_git::{
    Budget, Checkout, Error, Reference, Remote, RemoteUrl, Secret, SshAlgorithms, SshCredentials,
};
use sluice_testbed::ssh::{KeyPair, SshServer, SshServerOptions};
use sluice_testbed::tools;

use repository::Repository;

/// A repository, a server that lets in one key, and a scratch directory.
struct Bench {
    repository: Repository,
    server: SshServer,
    key: KeyPair,
    scratch: tempfile::TempDir,
}

impl Bench {
    /// `None` where there is no `sshd`.
    fn start(options: &SshServerOptions) -> Option<Self> {
        let server = tools::require_or_skip(SshServer::start_with(options))?;
        let key = KeyPair::generate(&["-t", "ed25519"], "").unwrap();
        server.authorize(&key.public).unwrap();
        Some(Self {
            repository: Repository::new(),
            server,
            key,
            scratch: tempfile::tempdir().unwrap(),
        })
    }

    fn url(&self) -> String {
        self.server.url(&self.repository.directory())
    }

    fn credentials(&self) -> SshCredentials {
        SshCredentials {
            user: self.server.user().to_owned(),
            identity: Secret::new(self.key.private.as_str()),
            passphrase: None,
            known_hosts: self.server.known_hosts().into_bytes(),
            algorithms: SshAlgorithms::default(),
        }
    }

    fn remote(&self) -> Remote {
        self.remote_with(self.credentials())
    }

    fn remote_with(&self, credentials: SshCredentials) -> Remote {
        remote(&self.url(), credentials)
    }

    fn fetch(&self, remote: &Remote) -> Result<Checkout, Error> {
        sluice_git::fetch(remote, &Reference::default(), self.scratch.path(), &budget())
    }

    fn fails(&self, credentials: SshCredentials) -> Error {
        self.fetch(&self.remote_with(credentials)).unwrap_err()
    }
}

fn remote(url: &str, credentials: SshCredentials) -> Remote {
    Remote {
        ssh: Some(credentials),
        ..Remote::new(RemoteUrl::parse(url).unwrap())
    }
}

fn budget() -> Budget {
    Budget::new(Duration::from_secs(60))
}
