//! Fetches what kustomizations name by address: repositories over Git, files over HTTP.
//!
//! [`RemoteBases`] serves one build of the kustomize engine, which calls it from the thread of the build: that
//! thread may block. Nothing is set up before the first address is met, each repository at each reference and
//! each file is fetched once, and all of it is bounded by [`Limits`]. Repositories are read where the fetched
//! objects lie, without a work tree and without a git program.
//!
//! Nobody but the address itself says how to authenticate: user information in it is sent to its host only, and
//! appears in no message.

mod files;
mod location;
mod repositories;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sluice_kustomize::{GitAddress, RemoteResolver};
use sluice_vfs::FileSystem;

/// Bounds on what one build may fetch.
#[derive(Debug, Clone)]
pub struct Limits {
    /// When to give up; each address may end sooner by its own timeout.
    pub deadline: Option<Instant>,
    /// Ends transfers early, within a fraction of a second, once it is true.
    pub cancelled: Arc<AtomicBool>,
    /// Repositories and files that are fetched together.
    pub fetches: usize,
    /// Bytes that one repository may send, its submodules among them.
    pub transfer_bytes: u64,
    /// Bytes that one file may have, in a repository or by its own address.
    pub file_bytes: u64,
}

impl Default for Limits {
    /// No deadline, 200 fetches, 1 GiB for a repository, 64 MiB for a file.
    fn default() -> Self {
        Self {
            deadline: None,
            cancelled: Arc::default(),
            fetches: 200,
            transfer_bytes: 1 << 30,
            file_bytes: 64 << 20,
        }
    }
}

/// Fetches for one build.
pub struct RemoteBases {
    limits: Limits,
    scratch: PathBuf,
    fetches: Cell<usize>,
    /// By location and reference.
    repositories: RefCell<HashMap<Wanted, Fetched<Arc<dyn FileSystem>>>>,
    files: RefCell<HashMap<String, Fetched<Bytes>>>,
    client: files::FileClient,
}

/// What was fetched, or why not: a build that names an address twice gets the same answer twice.
type Fetched<T> = Result<T, String>;

/// A repository at a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Wanted {
    repository: String,
    reference: String,
    submodules: bool,
}

impl RemoteBases {
    /// Fetches into directories below `scratch`, which must exist and which are removed with what the build holds.
    #[must_use]
    pub fn new(scratch: PathBuf, limits: Limits) -> Self {
        Self {
            limits,
            scratch,
            fetches: Cell::new(0),
            repositories: RefCell::default(),
            files: RefCell::default(),
            client: files::FileClient::default(),
        }
    }

    /// Counts a fetch and tells how long it may take, at most `timeout`.
    fn begin(&self, timeout: Option<Duration>) -> Result<Duration, String> {
        let count = self.fetches.get() + 1;
        if count > self.limits.fetches {
            return Err(format!(
                "the build fetches more than {} repositories and files",
                self.limits.fetches
            ));
        }
        self.fetches.set(count);
        let left = self
            .limits
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // Where nobody says, a fetch that hangs must still end.
        let longest = Duration::from_secs(300);
        let allowed = [timeout, left].into_iter().flatten().min().unwrap_or(longest);
        if allowed.is_zero() {
            return Err("the time of the build is over".to_owned());
        }
        Ok(allowed)
    }
}

impl RemoteResolver for RemoteBases {
    fn read_file(&self, address: &str) -> Result<Bytes, String> {
        if let Some(known) = self.files.borrow().get(address) {
            return known.clone();
        }
        let fetched = self
            .begin(None)
            .and_then(|allowed| self.client.get(address, allowed, &self.limits));
        self.files
            .borrow_mut()
            .insert(address.to_owned(), fetched.clone());
        fetched
    }

    fn open_base(&self, address: &GitAddress) -> Result<Arc<dyn FileSystem>, String> {
        let wanted = Wanted {
            repository: address.repository().to_owned(),
            reference: address.reference().to_owned(),
            submodules: address.submodules(),
        };
        if let Some(known) = self.repositories.borrow().get(&wanted) {
            return known.clone();
        }
        let fetched: Fetched<Arc<dyn FileSystem>> = self
            .fetch_repository(&wanted, address.timeout())
            .map(|tree| Arc::new(tree) as Arc<dyn FileSystem>);
        self.repositories.borrow_mut().insert(wanted, fetched.clone());
        fetched
    }
}
