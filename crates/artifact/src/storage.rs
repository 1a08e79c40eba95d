//! The directory in which a controller keeps its artifacts: `<kind>/<namespace>/<name>/<file>`.
//!
//! A file appears under its name only when it is whole: it is written under a temporary name in the same
//! directory and renamed. All functions block on the file system: call them from a blocking pool.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::digest::{Algorithm, Digest, DigestWriter};

mod garbage;

pub use garbage::Removed;

/// How a [`Storage`] works.
#[derive(Debug, Clone)]
pub struct StorageOptions {
    /// The root directory (`--storage-path`); it must exist.
    pub root: PathBuf,
    /// `host[:port]` for artifact URLs, or a URL prefix with scheme (`--storage-adv-addr`).
    pub advertised_address: String,
    /// Files older than this are garbage (`--artifact-retention-ttl`).
    pub retention_ttl: Duration,
    /// How many files an object may keep within the TTL (`--artifact-retention-records`).
    pub retention_records: usize,
    /// The digest of new artifacts (`--artifact-digest-algo`).
    pub algorithm: Algorithm,
}

/// Why the storage could not do its work. The texts name the file.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The root is missing or no directory.
    #[error("invalid dir path: {0}")]
    Root(PathBuf),
    /// The path of an artifact is not of the form `<kind>/<namespace>/<name>/<file>`.
    #[error("invalid artifact path: '{0}'")]
    Path(String),
    /// The bytes of an artifact are not those that its digest names.
    #[error("computed digest doesn't match '{0}'")]
    DigestMismatch(Digest),
    /// The file system failed.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was tried, such as `open`.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StorageError {
    fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// Whether a file was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Where an artifact lies below the root: `<kind>/<namespace>/<name>/<file>`, with the kind in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactPath(String);

impl ArtifactPath {
    /// The path of an object's file.
    ///
    /// # Errors
    /// A part that is empty, `.` or `..`, or holds a slash or NUL.
    pub fn new(kind: &str, namespace: &str, name: &str, file: &str) -> Result<Self, StorageError> {
        Self::parse(&format!("{}/{namespace}/{name}/{file}", kind.to_lowercase()))
    }

    /// Reads `status.artifact.path`.
    ///
    /// # Errors
    /// Anything but four plain components.
    pub fn parse(text: &str) -> Result<Self, StorageError> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
        if text.split('/').count() == 4 && text.split('/').all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            Err(StorageError::Path(text.to_owned()))
        }
    }

    /// The same object's file of another name.
    ///
    /// # Errors
    /// A name that is no plain component.
    pub fn sibling(&self, file: &str) -> Result<Self, StorageError> {
        Self::parse(&format!("{}/{file}", self.directory()))
    }

    /// `<kind>/<namespace>/<name>`.
    pub fn directory(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// The file's own name.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ArtifactPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a finished write gives: the facts that go into `status.artifact`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The digest of the file's bytes.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

/// Excludes other writers of one artifact, also in other processes, until dropped.
#[derive(Debug)]
pub struct ArtifactLock(#[expect(dead_code, reason = "held for its lock alone")] File);

/// The storage. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Storage {
    options: std::sync::Arc<StorageOptions>,
}

impl Storage {
    /// Opens the storage.
    ///
    /// # Errors
    /// [`StorageError::Root`] if the root is no directory.
    pub fn open(options: StorageOptions) -> Result<Self, StorageError> {
        if !options.root.is_dir() {
            return Err(StorageError::Root(options.root));
        }
        Ok(Self {
            options: std::sync::Arc::new(options),
        })
    }

    /// The root directory.
    pub fn root(&self) -> &Path {
        &self.options.root
    }

    /// The URL at which consumers find an artifact.
    pub fn url(&self, path: &ArtifactPath) -> String {
        let address = &self.options.advertised_address;
        if address.starts_with("http://") || address.starts_with("https://") {
            format!("{address}/{path}")
        } else {
            format!("http://{address}/{path}")
        }
    }

    /// Where an artifact lies on disk.
    pub fn local_path(&self, path: &ArtifactPath) -> PathBuf {
        self.options.root.join(path.as_str())
    }

    /// Whether a regular file (not a link) stands at the path.
    pub fn exists(&self, path: &ArtifactPath) -> bool {
        fs::symlink_metadata(self.local_path(path)).is_ok_and(|metadata| metadata.is_file())
    }

    /// Reads the whole file again and compares its digest.
    ///
    /// # Errors
    /// [`StorageError::DigestMismatch`], or the file cannot be read.
    pub fn verify(&self, path: &ArtifactPath, expected: &Digest) -> Result<(), StorageError> {
        let local = self.local_path(path);
        let mut file = File::open(&local).map_err(StorageError::io("open", &local))?;
        let found =
            Digest::of_reader(expected.algorithm(), &mut file).map_err(StorageError::io("read", &local))?;
        if found == *expected {
            Ok(())
        } else {
            Err(StorageError::DigestMismatch(expected.clone()))
        }
    }

    /// Opens an artifact for reading.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn read(&self, path: &ArtifactPath) -> Result<File, StorageError> {
        let local = self.local_path(path);
        File::open(&local).map_err(StorageError::io("open", &local))
    }

    /// Makes the object's directory with mode 0700.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create_directory(&self, path: &ArtifactPath) -> Result<(), StorageError> {
        let directory = self.options.root.join(path.directory());
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(StorageError::io("mkdir", &directory))
    }

    /// Waits for the lock of an artifact, the file `<path>.lock`. It is advisory and ends with the process.
    ///
    /// # Errors
    /// The lock file cannot be made or locked.
    pub fn lock(&self, path: &ArtifactPath) -> Result<ArtifactLock, StorageError> {
        let mut local = self.local_path(path).into_os_string();
        local.push(".lock");
        let local = PathBuf::from(local);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&local)
            .map_err(StorageError::io("open", &local))?;
        file.lock().map_err(StorageError::io("lock", &local))?;
        Ok(ArtifactLock(file))
    }

    /// Writes an artifact: `fill` writes the bytes, and only if it succeeds does the file appear under its
    /// name, with mode 0600. The directory must exist.
    ///
    /// # Errors
    /// What `fill` fails with, or the file system.
    pub fn write<E: From<StorageError>>(
        &self,
        path: &ArtifactPath,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Written, E> {
        let local = self.local_path(path);
        let directory = self.options.root.join(path.directory());
        let temporary = tempfile::Builder::new()
            .prefix(&format!(".{}.", path.file_name()))
            .suffix(TEMPORARY_SUFFIX)
            .permissions(fs::Permissions::from_mode(0o600))
            .tempfile_in(&directory)
            .map_err(StorageError::io("create", &local))?;
        let buffered = BufWriter::with_capacity(64 * 1024, temporary.as_file());
        let mut writer = DigestWriter::new(buffered, self.options.algorithm);
        fill(&mut writer)?;
        let (mut buffered, digest, size) = writer.finish();
        buffered.flush().map_err(StorageError::io("write", &local))?;
        drop(buffered);
        temporary.persist(&local).map_err(|error| StorageError::Io {
            action: "rename",
            path: local,
            source: error.error,
        })?;
        Ok(Written { digest, size })
    }

    /// Removes one artifact's file.
    ///
    /// # Errors
    /// It is not there or cannot be removed.
    pub fn remove(&self, path: &ArtifactPath) -> Result<(), StorageError> {
        let local = self.local_path(path);
        fs::remove_file(&local).map_err(StorageError::io("remove", &local))
    }

    /// Removes an object's directory with all files; gives their number and bytes, or `None` if there was
    /// no directory.
    ///
    /// # Errors
    /// Something in it cannot be removed.
    pub fn remove_directory(
        &self,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Removed>, StorageError> {
        let path = ArtifactPath::new(kind, namespace, name, "-")?;
        let directory = self.options.root.join(path.directory());
        if fs::symlink_metadata(&directory).is_err() {
            return Ok(None);
        }
        let removed = garbage::measure(&directory)?;
        fs::remove_dir_all(&directory).map_err(StorageError::io("remove", &directory))?;
        Ok(Some(removed))
    }

    /// Removes garbage beside `current`, never that file itself: what is older than the TTL, then the
    /// oldest until the number of records to keep remains; lock files go with their artifacts. At most 1000
    /// files are looked at, and it stops when `budget` is used up; the next call goes on.
    ///
    /// # Errors
    /// A file cannot be read or removed; the others are removed nonetheless.
    pub fn collect_garbage(&self, current: &ArtifactPath, budget: Duration) -> Result<Removed, StorageError> {
        let deadline = Instant::now() + budget;
        let policy = garbage::Policy {
            ttl: self.options.retention_ttl,
            records: self.options.retention_records,
            now: SystemTime::now(),
        };
        garbage::collect(&self.local_path(current), &policy, deadline)
    }

    /// Points the alias `link` (such as `latest.tar.gz`) beside an artifact at it, and gives the alias's URL.
    /// The link is relative, so that the storage can be moved.
    ///
    /// # Errors
    /// The link cannot be made.
    pub fn link(&self, path: &ArtifactPath, link: &str) -> Result<String, StorageError> {
        let alias = path.sibling(link)?;
        let local = self.local_path(&alias);
        let mut temporary = local.clone().into_os_string();
        temporary.push(TEMPORARY_SUFFIX);
        let temporary = PathBuf::from(temporary);
        match fs::remove_file(&temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StorageError::io("remove", &temporary)(error));
            }
            _ => {}
        }
        std::os::unix::fs::symlink(path.file_name(), &temporary)
            .map_err(StorageError::io("symlink", &temporary))?;
        fs::rename(&temporary, &local).map_err(StorageError::io("rename", &temporary))?;
        Ok(self.url(&alias))
    }

    /// Removes the temporary files that a killed process left behind; gives their number and bytes. Call it
    /// at start, when no other process writes here.
    ///
    /// # Errors
    /// A directory cannot be read or a file not be removed.
    pub fn sweep(&self) -> Result<Removed, StorageError> {
        garbage::sweep(&self.options.root)
    }
}

/// How the names of files in the making end; they start with a dot, which no artifact's name does.
const TEMPORARY_SUFFIX: &str = ".tmp";

fn is_temporary(name: &str) -> bool {
    name.ends_with(TEMPORARY_SUFFIX) && name.starts_with('.')
}
