//! Writes and deletions laid over a file system that is itself never changed.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::{Entry, EntryKind, FileSystem, FileSystemError, MemoryFileSystem, VirtualPath};

/// A file system with changes of its own above a shared, unchanged one.
///
/// One build writes decrypted files, generated kustomization files and the like here; the base (an artifact
/// that other builds read at the same time) never sees them, and they go when the overlay is dropped.
#[derive(Debug, Clone)]
pub struct Overlay<B> {
    base: B,
    written: MemoryFileSystem,
    /// Paths of the base that are hidden, each with all that is below it.
    hidden: BTreeSet<VirtualPath>,
}

impl<B: FileSystem> Overlay<B> {
    /// An overlay without changes: it shows `base` as it is.
    pub fn new(base: B) -> Self {
        Self {
            base,
            written: MemoryFileSystem::new(),
            hidden: BTreeSet::new(),
        }
    }

    /// Adds or replaces a file, making the directories above it, as [`MemoryFileSystem::insert`] does.
    ///
    /// # Errors
    /// What the base answers when asked what stands above the path.
    pub fn write(&mut self, path: VirtualPath, contents: impl Into<Bytes>) -> Result<(), FileSystemError> {
        if path.is_root() {
            return Err(FileSystemError::IsDirectory(path));
        }
        self.clear_way(&path)?;
        self.hidden.insert(path.clone());
        self.written.insert(path, contents);
        Ok(())
    }

    /// Adds an empty directory and those above it; one that is there already keeps its contents.
    ///
    /// # Errors
    /// What the base answers when asked what stands on the way.
    pub fn create_directory(&mut self, path: VirtualPath) -> Result<(), FileSystemError> {
        self.clear_way(&path)?;
        if self.kind(&path)? == Some(EntryKind::File) {
            self.hidden.insert(path.clone());
        }
        self.written.insert_directory(path);
        Ok(())
    }

    /// Removes a file, or a directory with all that is below it; the directory above stays. Tells whether
    /// anything stood there. The root's contents can be removed, the root itself stays.
    ///
    /// # Errors
    /// What the base answers when asked what stands there.
    pub fn remove(&mut self, path: &VirtualPath) -> Result<bool, FileSystemError> {
        let held = self.kind(path)?.is_some();
        if held {
            if let Some(parent) = path.parent() {
                self.written.insert_directory(parent);
            }
            self.written.remove(path);
            self.hidden.insert(path.clone());
        }
        Ok(held)
    }

    /// The file system below.
    pub fn base(&self) -> &B {
        &self.base
    }

    /// The files that were written, in path order: what differs from the base apart from removals.
    pub fn written(&self) -> impl Iterator<Item = (&VirtualPath, &Bytes)> {
        self.written.files()
    }

    /// Hides each file of the base that stands where `path` needs a directory.
    fn clear_way(&mut self, path: &VirtualPath) -> Result<(), FileSystemError> {
        let mut current = path.parent();
        while let Some(directory) = current {
            if self.kind(&directory)? == Some(EntryKind::File) {
                self.hidden.insert(directory.clone());
            }
            current = directory.parent();
        }
        Ok(())
    }

    fn is_hidden(&self, path: &VirtualPath) -> bool {
        if self.hidden.is_empty() {
            return false;
        }
        let mut current = Some(path.clone());
        while let Some(candidate) = current {
            if self.hidden.contains(&candidate) {
                return true;
            }
            current = candidate.parent();
        }
        false
    }
}

impl<B: FileSystem> FileSystem for Overlay<B> {
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError> {
        match self.written.kind(path)? {
            Some(EntryKind::File) => self.written.read(path),
            Some(EntryKind::Directory) => Err(FileSystemError::IsDirectory(path.clone())),
            None if self.is_hidden(path) => Err(FileSystemError::NotFound(path.clone())),
            None => self.base.read(path),
        }
    }

    fn real_path(&self, path: &VirtualPath) -> Result<VirtualPath, FileSystemError> {
        if self.written.kind(path)?.is_some() || self.is_hidden(path) {
            return Ok(path.clone());
        }
        self.base.real_path(path)
    }

    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        match self.written.kind(path)? {
            Some(kind) => Ok(Some(kind)),
            None if self.is_hidden(path) => Ok(None),
            None => self.base.kind(path),
        }
    }

    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        let own = match self.written.kind(path)? {
            Some(EntryKind::File) => return Err(FileSystemError::NotDirectory(path.clone())),
            Some(EntryKind::Directory) => self.written.list(path)?,
            None if self.is_hidden(path) => return Err(FileSystemError::NotFound(path.clone())),
            None => return self.base.list(path),
        };
        if self.is_hidden(path) || self.base.kind(path)? != Some(EntryKind::Directory) {
            return Ok(own);
        }
        let mut entries = own;
        let known = entries.len();
        for entry in self.base.list(path)? {
            let shadowed = entries[..known]
                .binary_search_by(|candidate| candidate.name.cmp(&entry.name))
                .is_ok();
            if !shadowed && !self.hidden.contains(&path.child(&entry.name)) {
                entries.push(entry);
            }
        }
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }
}
