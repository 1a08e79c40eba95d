//! What a reader of a file system depended on.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::{Entry, EntryKind, FileSystem, FileSystemError, VirtualPath};

/// A fact about one path that a reader came to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Observation {
    /// A file was read and had these contents.
    Contents(blake3::Hash),
    /// A directory was listed and had these entries.
    Listing(blake3::Hash),
    /// It was asked what stands there, or a read or listing failed: this stood there (`None`: nothing did).
    Kind(Option<EntryKind>),
    /// The store failed in another way (a file too large, a link that leaves the root).
    Failure,
}

/// Everything that a reader learnt from a file system: the contents of files that it read, the entries of
/// directories that it listed, and what stood where it looked, misses included.
///
/// Whoever sees a tree in which all of it still holds would have read the same, so a result computed from
/// the first tree is the result for the second: see [`Dependencies::hold_in`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dependencies {
    observations: BTreeMap<(VirtualPath, Aspect), Observation>,
}

/// Which side of a path was looked at; one path can be asked for and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Aspect {
    Contents,
    Kind,
    Listing,
}

impl Dependencies {
    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        self.observations.is_empty()
    }

    /// How many facts were recorded.
    pub fn len(&self) -> usize {
        self.observations.len()
    }

    /// How many bytes of memory the facts take, about.
    pub fn size(&self) -> usize {
        let fixed = size_of::<((VirtualPath, Aspect), Observation)>();
        self.observations
            .keys()
            .map(|(path, _)| fixed + path.as_str().len())
            .sum()
    }

    /// The files that were read with success, in path order.
    pub fn files(&self) -> impl Iterator<Item = &VirtualPath> {
        self.observations
            .iter()
            .filter(|(_, observation)| matches!(observation, Observation::Contents(_)))
            .map(|((path, _), _)| path)
    }

    /// The directories that were listed with success, in path order.
    pub fn directories(&self) -> impl Iterator<Item = &VirtualPath> {
        self.observations
            .iter()
            .filter(|(_, observation)| matches!(observation, Observation::Listing(_)))
            .map(|((path, _), _)| path)
    }

    /// The paths at which nothing was found, in path order. A path can stand here more than once.
    pub fn missed(&self) -> impl Iterator<Item = &VirtualPath> {
        self.observations
            .iter()
            .filter(|(_, observation)| matches!(observation, Observation::Kind(None)))
            .map(|((path, _), _)| path)
    }

    /// Adds all that `other` learnt. Where both know a path, `other` wins: merge only what was recorded on
    /// the same tree.
    pub fn merge(&mut self, other: Self) {
        self.observations.extend(other.observations);
    }

    /// A digest over every fact: equal for two recordings that learnt the same. 32 bytes, BLAKE3.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for ((path, aspect), observation) in &self.observations {
            hasher.update(&(path.as_str().len() as u64).to_le_bytes());
            hasher.update(path.as_str().as_bytes());
            hasher.update(&[*aspect as u8]);
            match observation {
                Observation::Contents(hash) => hasher.update(b"f").update(hash.as_bytes()),
                Observation::Listing(hash) => hasher.update(b"d").update(hash.as_bytes()),
                Observation::Kind(None) => hasher.update(b"-"),
                Observation::Kind(Some(EntryKind::File)) => hasher.update(b"F"),
                Observation::Kind(Some(EntryKind::Directory)) => hasher.update(b"D"),
                Observation::Failure => hasher.update(b"!"),
            };
        }
        *hasher.finalize().as_bytes()
    }

    /// Whether a reader of `tree` would learn the very same facts. A recorded failure of the store never
    /// holds: it must be tried again.
    pub fn hold_in(&self, tree: &dyn FileSystem) -> bool {
        self.observations.iter().all(|((path, aspect), expected)| {
            let found = match aspect {
                Aspect::Contents => observe_contents(&tree.read(path)),
                Aspect::Listing => observe_listing(&tree.list(path)),
                Aspect::Kind => observe_kind(&tree.kind(path)),
            };
            found == *expected && found != Observation::Failure
        })
    }
}

fn observe_contents(answer: &Result<Bytes, FileSystemError>) -> Observation {
    match answer {
        Ok(contents) => Observation::Contents(blake3::hash(contents)),
        Err(error) => observe_error(error),
    }
}

fn observe_listing(answer: &Result<Vec<Entry>, FileSystemError>) -> Observation {
    match answer {
        Ok(entries) => {
            let mut hasher = blake3::Hasher::new();
            for entry in entries {
                hasher.update(&[if entry.kind == EntryKind::File { b'f' } else { b'd' }]);
                hasher.update(entry.name.as_bytes());
                hasher.update(b"\0");
            }
            Observation::Listing(hasher.finalize())
        }
        Err(error) => observe_error(error),
    }
}

fn observe_kind(answer: &Result<Option<EntryKind>, FileSystemError>) -> Observation {
    match answer {
        Ok(kind) => Observation::Kind(*kind),
        Err(error) => observe_error(error),
    }
}

fn observe_error(error: &FileSystemError) -> Observation {
    match error {
        FileSystemError::NotFound(_) => Observation::Kind(None),
        FileSystemError::IsDirectory(_) => Observation::Kind(Some(EntryKind::Directory)),
        FileSystemError::NotDirectory(_) => Observation::Kind(Some(EntryKind::File)),
        FileSystemError::Escapes(_) | FileSystemError::TooLarge { .. } | FileSystemError::Io { .. } => {
            Observation::Failure
        }
    }
}

/// Passes every question on to a file system and keeps what was learnt from the answers.
///
/// It can be shared between threads; the recording does not depend on their order.
#[derive(Debug)]
pub struct Recorder<F> {
    inner: F,
    dependencies: Mutex<Dependencies>,
}

impl<F: FileSystem> Recorder<F> {
    /// Records what is read from `inner`.
    pub fn new(inner: F) -> Self {
        Self {
            inner,
            dependencies: Mutex::new(Dependencies::default()),
        }
    }

    /// What was learnt until now.
    pub fn dependencies(&self) -> Dependencies {
        self.dependencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends the recording.
    pub fn into_dependencies(self) -> Dependencies {
        self.dependencies
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The file system below; what is read from it directly is not recorded.
    pub fn inner(&self) -> &F {
        &self.inner
    }

    fn keep(&self, path: &VirtualPath, aspect: Aspect, observation: Observation) {
        let mut dependencies = self.dependencies.lock().unwrap_or_else(PoisonError::into_inner);
        dependencies
            .observations
            .insert((path.clone(), aspect), observation);
    }

    fn knows(&self, path: &VirtualPath, aspect: Aspect) -> bool {
        let dependencies = self.dependencies.lock().unwrap_or_else(PoisonError::into_inner);
        dependencies.observations.contains_key(&(path.clone(), aspect))
    }
}

impl<F: FileSystem> FileSystem for Recorder<F> {
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError> {
        let answer = self.inner.read(path);
        if !self.knows(path, Aspect::Contents) {
            self.keep(path, Aspect::Contents, observe_contents(&answer));
        }
        answer
    }

    /// Not recorded: whoever asks goes on to read or list what the path names.
    fn real_path(&self, path: &VirtualPath) -> Result<VirtualPath, FileSystemError> {
        self.inner.real_path(path)
    }

    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        let answer = self.inner.kind(path);
        self.keep(path, Aspect::Kind, observe_kind(&answer));
        answer
    }

    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        let answer = self.inner.list(path);
        self.keep(path, Aspect::Listing, observe_listing(&answer));
        answer
    }
}
