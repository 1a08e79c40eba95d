//! The virtual file system that Sluice's engines read.
//!
//! Engines (kustomize, Helm) never see the real file system: they are handed a [`FileSystem`], and every
//! path they use is a [`VirtualPath`], which cannot leave the root by construction. Artifacts, directories
//! on a laptop and in-memory trees all appear the same way.

mod memory;
mod overlay;
mod path;
mod record;
mod walk;

pub use memory::MemoryFileSystem;
pub use overlay::Overlay;
pub use path::{PathError, VirtualPath};
pub use record::{Dependencies, Recorder};
pub use walk::{WalkEntry, walk};

use bytes::Bytes;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// One entry of a directory listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry's own name, without any slash.
    pub name: String,
    /// What the entry is.
    pub kind: EntryKind,
}

/// Why a file system could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileSystemError {
    /// Nothing stands at the path.
    #[error("{0}: no such file or directory")]
    NotFound(VirtualPath),
    /// A file was asked for and a directory stands there.
    #[error("{0}: is a directory")]
    IsDirectory(VirtualPath),
    /// A directory was asked for and a file stands there.
    #[error("{0}: is not a directory")]
    NotDirectory(VirtualPath),
    /// The path leads outside the root, for example through a symbolic link.
    #[error("{0}: leads outside the root")]
    Escapes(VirtualPath),
    /// The file is larger than the reader accepts.
    #[error("{path}: {size} bytes are more than the limit of {limit}")]
    TooLarge {
        /// The file.
        path: VirtualPath,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The backing store failed.
    #[error("{path}: {reason}")]
    Io {
        /// The path that was read.
        path: VirtualPath,
        /// What the store said.
        reason: String,
    },
}

/// A read-only tree of files, synchronous and shareable between threads.
///
/// Implementations resolve symbolic links themselves and answer [`FileSystemError::Escapes`] for one that
/// leaves the root; an engine that cares asks for the [real path](Self::real_path).
pub trait FileSystem: Send + Sync {
    /// Reads a whole file. `Bytes` lets stores hand out shared views without copying.
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError>;

    /// Tells what stands at `path`, or `None` if nothing does.
    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError>;

    /// Lists a directory, sorted by name (bytewise).
    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError>;

    /// The path without symbolic links: where what `path` names really lies. A path where nothing stands, and
    /// every path in a tree without links, is its own answer.
    fn real_path(&self, path: &VirtualPath) -> Result<VirtualPath, FileSystemError> {
        Ok(path.clone())
    }

    /// Whether a regular file stands at `path`.
    fn is_file(&self, path: &VirtualPath) -> Result<bool, FileSystemError> {
        Ok(self.kind(path)? == Some(EntryKind::File))
    }

    /// Whether a directory stands at `path`.
    fn is_directory(&self, path: &VirtualPath) -> Result<bool, FileSystemError> {
        Ok(self.kind(path)? == Some(EntryKind::Directory))
    }
}

impl<T: FileSystem + ?Sized> FileSystem for &T {
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError> {
        (**self).read(path)
    }
    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        (**self).kind(path)
    }
    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        (**self).list(path)
    }
    fn real_path(&self, path: &VirtualPath) -> Result<VirtualPath, FileSystemError> {
        (**self).real_path(path)
    }
}

impl<T: FileSystem + ?Sized> FileSystem for std::sync::Arc<T> {
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError> {
        (**self).read(path)
    }
    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        (**self).kind(path)
    }
    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        (**self).list(path)
    }
    fn real_path(&self, path: &VirtualPath) -> Result<VirtualPath, FileSystemError> {
        (**self).real_path(path)
    }
}
