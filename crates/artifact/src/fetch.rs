//! Downloading artifacts: by URL, checked by digest, once for all who want the same bytes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::OnceCell;

use crate::archive::{Archive, ArchiveBuilder, ArchiveError, ArchiveLimits, Links};
use crate::digest::{Digest, DigestError, Hasher};

/// How a [`Fetcher`] works.
#[derive(Debug, Clone)]
pub struct FetcherOptions {
    /// How often a failed download is tried again (`--http-retry`, 9 in Flux).
    pub retries: u32,
    /// The pause before the first new try; it doubles up to [`FetcherOptions::longest_wait`].
    pub shortest_wait: Duration,
    /// The longest pause between two tries.
    pub longest_wait: Duration,
    /// The largest download in bytes.
    pub download_limit: u64,
    /// What an archive may hold.
    pub limits: ArchiveLimits,
    /// How much memory archives that nobody uses at the moment may take, in bytes; 0 keeps none.
    pub cache_bytes: u64,
    /// `host[:port]` to ask instead of the one in the URL (env `SOURCE_CONTROLLER_LOCALHOST`).
    pub host: Option<String>,
}

impl Default for FetcherOptions {
    /// Flux's retries and pauses (9; 5 to 30 seconds), 1 GiB per download, 64 MiB of cache.
    fn default() -> Self {
        Self {
            retries: 9,
            shortest_wait: Duration::from_secs(5),
            longest_wait: Duration::from_secs(30),
            download_limit: 1 << 30,
            limits: ArchiveLimits::default(),
            cache_bytes: 64 << 20,
            host: None,
        }
    }
}

/// Why an artifact could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The server does not have it (404): the source has a newer one, or its storage was emptied. Wait for
    /// the source.
    #[error("file not found")]
    NotFound,
    /// The URL cannot be parsed.
    #[error("failed to create a new request: {url}: {reason}")]
    Url {
        /// The URL.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The server could not be reached or broke off, after all tries.
    #[error("failed to download archive: GET {url} giving up after {attempts} attempt(s): {reason}")]
    Transport {
        /// The URL.
        url: String,
        /// How often it was tried.
        attempts: u32,
        /// What the last try failed with.
        reason: String,
    },
    /// The server refused.
    #[error("failed to download archive from {url} (status: {status})")]
    Status {
        /// The URL.
        url: String,
        /// The status line's code and text.
        status: String,
    },
    /// More bytes than allowed.
    #[error("artifact is greater than the max download size of {0} bytes")]
    TooLarge(u64),
    /// The digest in the source's status is none.
    #[error("failed to verify archive: {0}")]
    Digest(#[from] DigestError),
    /// The bytes are not those that the digest names.
    #[error("failed to verify archive: computed digest doesn't match provided '{0}'")]
    DigestMismatch(Digest),
    /// The bytes are the right ones but no artifact.
    #[error("failed to extract archive: {0}")]
    Archive(#[from] ArchiveError),
    /// The work was broken off, as in a shutdown.
    #[error("the download was broken off")]
    Cancelled,
}

impl FetchError {
    /// Whether another try may succeed without any object changing.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::NotFound | Self::Transport { .. } | Self::Status { .. } | Self::Cancelled
        )
    }
}

type Cell = Arc<OnceCell<Arc<Archive>>>;

/// Fetches artifacts and keeps a bounded number of bytes of them. Share one per process.
pub struct Fetcher {
    client: reqwest::Client,
    options: FetcherOptions,
    state: Mutex<State>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Fetcher")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    /// Downloads under way.
    running: HashMap<Digest, Cell>,
    /// Archives that somebody may still use.
    alive: HashMap<Digest, Weak<Archive>>,
    /// Archives kept for the next user, the most recently used last.
    kept: Vec<(Digest, Arc<Archive>)>,
}

impl State {
    fn lookup(&mut self, digest: &Digest) -> Option<Arc<Archive>> {
        if let Some(position) = self.kept.iter().position(|(kept, _)| kept == digest) {
            let entry = self.kept.remove(position);
            let archive = entry.1.clone();
            self.kept.push(entry);
            return Some(archive);
        }
        self.alive.get(digest).and_then(Weak::upgrade)
    }

    fn keep(&mut self, digest: &Digest, archive: &Arc<Archive>, limit: u64) {
        self.alive.retain(|_, other| other.strong_count() > 0);
        self.alive.insert(digest.clone(), Arc::downgrade(archive));
        if archive.memory() <= limit && !self.kept.iter().any(|(kept, _)| kept == digest) {
            self.kept.push((digest.clone(), archive.clone()));
        }
        while self.kept_bytes() > limit && !self.kept.is_empty() {
            self.kept.remove(0);
        }
    }

    fn kept_bytes(&self) -> u64 {
        self.kept.iter().map(|(_, archive)| archive.memory()).sum()
    }
}

impl Fetcher {
    /// Fetches with `client`, whose time-outs apply.
    pub fn new(client: reqwest::Client, options: FetcherOptions) -> Self {
        Self {
            client,
            options,
            state: Mutex::new(State::default()),
        }
    }

    /// How many bytes of memory the kept archives take.
    pub fn cached_bytes(&self) -> u64 {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .kept_bytes()
    }

    /// The archive with this digest, from the cache, from somebody who is reading it, or from `url`. All who
    /// ask while a download runs wait for it; if it fails, each of them tries for itself in turn.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn fetch(&self, url: &str, digest: &str) -> Result<Arc<Archive>, FetchError> {
        let digest: Digest = digest.parse()?;
        let cell = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(archive) = state.lookup(&digest) {
                return Ok(archive);
            }
            state.running.entry(digest.clone()).or_default().clone()
        };
        let fetched = cell
            .get_or_try_init(|| self.download(url, &digest))
            .await
            .cloned();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &fetched {
            Ok(archive) => {
                state.running.remove(&digest);
                state.keep(&digest, archive, self.options.cache_bytes);
            }
            // Two owners are left when nobody else waits: the map and this call.
            Err(_) if Arc::strong_count(&cell) <= 2 => {
                state.running.remove(&digest);
            }
            Err(_) => {}
        }
        fetched
    }

    async fn download(&self, url: &str, digest: &Digest) -> Result<Arc<Archive>, FetchError> {
        let target = self.target(url)?;
        let mut wait = self.options.shortest_wait;
        let mut attempt = 1;
        loop {
            match self.attempt(&target, digest).await {
                Ok(archive) => return Ok(Arc::new(archive)),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Again(reason)) if attempt > self.options.retries => {
                    return Err(FetchError::Transport {
                        url: url.to_owned(),
                        attempts: attempt,
                        reason,
                    });
                }
                Err(Failure::Again(reason)) => {
                    tracing::debug!(url, attempt, reason, "download failed, trying again");
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(self.options.longest_wait);
                    attempt += 1;
                }
            }
        }
    }

    fn target(&self, url: &str) -> Result<reqwest::Url, FetchError> {
        let invalid = |reason: String| FetchError::Url {
            url: url.to_owned(),
            reason,
        };
        let Some(host) = &self.options.host else {
            return reqwest::Url::parse(url).map_err(|error| invalid(error.to_string()));
        };
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| invalid("no scheme".to_owned()))?;
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        reqwest::Url::parse(&format!("{scheme}://{host}/{path}")).map_err(|error| invalid(error.to_string()))
    }

    async fn attempt(&self, url: &reqwest::Url, digest: &Digest) -> Result<Archive, Failure> {
        let response = self
            .client
            .get(url.clone())
            .send()
            .await
            .map_err(|error| again(&error))?;
        let status = response.status();
        if status == reqwest::StatusCode::NOT_FOUND {
            return Err(Failure::Final(FetchError::NotFound));
        }
        if status.is_server_error() || status == reqwest::StatusCode::TOO_MANY_REQUESTS {
            return Err(Failure::Again(format!("unexpected HTTP status {status}")));
        }
        if status != reqwest::StatusCode::OK {
            let status = status.to_string();
            return Err(Failure::Final(FetchError::Status {
                url: url.to_string(),
                status,
            }));
        }
        let mut hasher = Hasher::new(digest.algorithm());
        let mut builder = ArchiveBuilder::new(self.options.limits.clone(), Links::Skip);
        // Bytes that do not unpack are reported only once the digest says that they are the right ones.
        let mut damage = None;
        let mut received = 0;
        let mut body = response.bytes_stream();
        while let Some(chunk) = body.next().await {
            let chunk = chunk.map_err(|error| again(&error))?;
            received += chunk.len() as u64;
            if received > self.options.download_limit {
                return Err(Failure::Final(FetchError::TooLarge(self.options.download_limit)));
            }
            hasher.update(&chunk);
            if damage.is_none() {
                damage = builder.push(&chunk).err();
            }
        }
        if hasher.finish() != *digest {
            return Err(Failure::Final(FetchError::DigestMismatch(digest.clone())));
        }
        if let Some(error) = damage {
            return Err(Failure::Final(error.into()));
        }
        let finished = tokio::task::spawn_blocking(|| builder.finish()).await;
        match finished {
            Ok(archive) => archive.map_err(|error| Failure::Final(error.into())),
            Err(_) => Err(Failure::Final(FetchError::Cancelled)),
        }
    }
}

enum Failure {
    Final(FetchError),
    Again(String),
}

/// The whole chain of causes: reqwest's own text says only that sending failed.
fn again(error: &reqwest::Error) -> Failure {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    Failure::Again(text)
}
