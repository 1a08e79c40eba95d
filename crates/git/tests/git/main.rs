//! Fetching from and pushing to the real git, over its own HTTP server program.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod authentication;
mod damage;
mod faults;
mod fetching;
mod pushing;
mod repository;
mod selecting;
mod server;
mod signing;
mod submodules;
mod trees;

use std::path::Path;
use std::time::Duration;

use sluice_git::{Budget, Checkout, Error, Reference, Remote};
use tempfile::TempDir;

use repository::Repository;
use server::{Behaviour, Server};

/// A repository, its server and a scratch directory.
struct Bench {
    repository: Repository,
    server: Server,
    scratch: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with(Repository::new(), Behaviour::default())
    }

    fn with(repository: Repository, behaviour: Behaviour) -> Self {
        install_provider();
        let server = Server::start(repository.root(), behaviour);
        Self {
            repository,
            server,
            scratch: tempfile::tempdir().unwrap(),
        }
    }

    fn fetch(&self, reference: &Reference) -> Result<Checkout, Error> {
        self.fetch_from(&self.server.remote(), reference)
    }

    fn fetch_from(&self, remote: &Remote, reference: &Reference) -> Result<Checkout, Error> {
        sluice_git::fetch(remote, reference, self.scratch.path(), &budget())
    }

    fn leftovers(&self) -> usize {
        entries(self.scratch.path())
    }
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn budget() -> Budget {
    Budget::new(Duration::from_secs(60))
}

fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
