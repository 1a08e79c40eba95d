//! A tree of files held in memory.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::{Entry, EntryKind, FileSystem, FileSystemError, PathError, VirtualPath};

/// Files by path, with directories implied by them (empty ones can be added). For tests and overlays.
#[derive(Debug, Clone, Default)]
pub struct MemoryFileSystem {
    files: BTreeMap<VirtualPath, Bytes>,
    directories: BTreeSet<VirtualPath>,
}

impl MemoryFileSystem {
    /// An empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a tree from `(path, contents)` pairs.
    ///
    /// # Errors
    /// A path that leaves the root.
    pub fn from_files<P: AsRef<str>, C: Into<Bytes>>(
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Result<Self, PathError> {
        let mut tree = Self::new();
        for (path, contents) in files {
            tree.insert(VirtualPath::parse(path.as_ref())?, contents);
        }
        Ok(tree)
    }

    /// Adds or replaces a file, making the directories above it.
    pub fn insert(&mut self, path: VirtualPath, contents: impl Into<Bytes>) {
        if let Some(parent) = path.parent() {
            self.insert_directory(parent);
        }
        self.files.insert(path, contents.into());
    }

    /// Adds an empty directory and those above it.
    pub fn insert_directory(&mut self, path: VirtualPath) {
        let mut current = Some(path);
        while let Some(directory) = current {
            current = directory.parent();
            self.directories.insert(directory);
        }
    }

    /// The files in path order.
    pub fn files(&self) -> impl Iterator<Item = (&VirtualPath, &Bytes)> {
        self.files.iter()
    }
}

impl FileSystem for MemoryFileSystem {
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError> {
        match self.files.get(path) {
            Some(contents) => Ok(contents.clone()),
            None if self.is_directory(path)? => Err(FileSystemError::IsDirectory(path.clone())),
            None => Err(FileSystemError::NotFound(path.clone())),
        }
    }

    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        if self.files.contains_key(path) {
            return Ok(Some(EntryKind::File));
        }
        let known = path.is_root() || self.directories.contains(path);
        Ok(known.then_some(EntryKind::Directory))
    }

    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        match self.kind(path)? {
            None => return Err(FileSystemError::NotFound(path.clone())),
            Some(EntryKind::File) => return Err(FileSystemError::NotDirectory(path.clone())),
            Some(EntryKind::Directory) => {}
        }
        let children = |candidate: &VirtualPath| candidate.parent().as_ref() == Some(path);
        let files = self.files.keys().filter(|file| children(file)).map(|file| (file, EntryKind::File));
        let directories =
            self.directories.iter().filter(|entry| children(entry)).map(|entry| (entry, EntryKind::Directory));
        let mut entries: Vec<Entry> = files
            .chain(directories)
            .map(|(child, kind)| Entry { name: child.file_name().to_owned(), kind })
            .collect();
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_files_and_implied_directories_sorted() {
        let tree = MemoryFileSystem::from_files([("b/x.yaml", "1"), ("a.yaml", "2"), ("b/c/y", "3")]).unwrap();
        let names: Vec<String> =
            tree.list(&VirtualPath::root()).unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a.yaml", "b"]);
        assert!(tree.is_directory(&VirtualPath::parse("b/c").unwrap()).unwrap());
        assert!(matches!(
            tree.read(&VirtualPath::parse("b").unwrap()),
            Err(FileSystemError::IsDirectory(_))
        ));
    }
}
