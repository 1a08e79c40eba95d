//! A tree of files held in memory.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::{Entry, EntryKind, FileSystem, FileSystemError, PathError, VirtualPath};

/// Files by path, with directories implied by them (empty ones can be added). For tests and overlays.
///
/// A listing costs as much as it has entries: each directory keeps the names in it.
#[derive(Debug, Clone, Default)]
pub struct MemoryFileSystem {
    files: BTreeMap<VirtualPath, Bytes>,
    directories: BTreeMap<VirtualPath, BTreeMap<String, EntryKind>>,
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

    /// Adds or replaces a file, making the directories above it. A directory that stood at `path` goes with
    /// all that is below it, and a file that stood above gives way to a directory. The root stays one: a
    /// file named like it is dropped.
    pub fn insert(&mut self, path: VirtualPath, contents: impl Into<Bytes>) {
        let Some(parent) = path.parent() else { return };
        if self.directories.contains_key(&path) {
            self.remove(&path);
        }
        self.insert_directory(parent.clone());
        self.directories
            .entry(parent)
            .or_default()
            .insert(path.file_name().to_owned(), EntryKind::File);
        self.files.insert(path, contents.into());
    }

    /// Adds an empty directory and those above it; a file that stood in the way is replaced.
    pub fn insert_directory(&mut self, path: VirtualPath) {
        if self.directories.contains_key(&path) {
            return;
        }
        let mut directory = VirtualPath::root();
        for name in path.components() {
            let child = directory.child(name);
            self.files.remove(&child);
            let siblings = self.directories.entry(directory).or_default();
            siblings.insert(name.to_owned(), EntryKind::Directory);
            directory = child;
        }
        self.directories.entry(path).or_default();
    }

    /// Removes a file, or a directory with all that is below it; the directory above stays. Tells whether
    /// anything stood there. Removing the root empties the tree.
    pub fn remove(&mut self, path: &VirtualPath) -> bool {
        let Some(parent) = path.parent() else {
            let held = !self.files.is_empty() || !self.directories.is_empty();
            *self = Self::default();
            return held;
        };
        let mut pending = vec![path.clone()];
        let mut held = false;
        while let Some(current) = pending.pop() {
            held |= self.files.remove(&current).is_some();
            if let Some(children) = self.directories.remove(&current) {
                held = true;
                pending.extend(children.keys().map(|name| current.child(name)));
            }
        }
        if let Some(siblings) = self.directories.get_mut(&parent) {
            siblings.remove(path.file_name());
        }
        held
    }

    /// The files in path order.
    pub fn files(&self) -> impl Iterator<Item = (&VirtualPath, &Bytes)> {
        self.files.iter()
    }

    /// How many files the tree holds.
    pub fn file_count(&self) -> usize {
        self.files.len()
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
        let known = path.is_root() || self.directories.contains_key(path);
        Ok(known.then_some(EntryKind::Directory))
    }

    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        match self.directories.get(path) {
            Some(children) => Ok(children
                .iter()
                .map(|(name, kind)| Entry {
                    name: name.clone(),
                    kind: *kind,
                })
                .collect()),
            None if path.is_root() => Ok(Vec::new()),
            None if self.files.contains_key(path) => Err(FileSystemError::NotDirectory(path.clone())),
            None => Err(FileSystemError::NotFound(path.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VirtualPath {
        VirtualPath::parse(text).unwrap()
    }

    #[test]
    fn lists_files_and_implied_directories_sorted() {
        let tree =
            MemoryFileSystem::from_files([("b/x.yaml", "1"), ("a.yaml", "2"), ("b/c/y", "3")]).unwrap();
        let names: Vec<String> = tree
            .list(&VirtualPath::root())
            .unwrap()
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        assert_eq!(names, ["a.yaml", "b"]);
        assert!(tree.is_directory(&path("b/c")).unwrap());
        assert!(matches!(
            tree.read(&path("b")),
            Err(FileSystemError::IsDirectory(_))
        ));
        assert!(matches!(
            tree.list(&path("a.yaml")),
            Err(FileSystemError::NotDirectory(_))
        ));
        assert!(matches!(
            tree.list(&path("nowhere")),
            Err(FileSystemError::NotFound(_))
        ));
    }

    #[test]
    fn removing_a_directory_removes_what_is_below_and_keeps_its_parent() {
        let mut tree = MemoryFileSystem::from_files([("a/b/c/d", "1"), ("a/b/e", "2"), ("f", "3")]).unwrap();
        assert!(tree.remove(&path("a/b")));
        assert!(!tree.remove(&path("a/b")));
        assert_eq!(tree.file_count(), 1);
        assert_eq!(tree.list(&path("a")).unwrap(), []);
        assert_eq!(tree.kind(&path("a/b/c")).unwrap(), None);
    }

    #[test]
    fn a_file_and_a_directory_replace_each_other() {
        let mut tree = MemoryFileSystem::from_files([("a/b", "1"), ("a/c", "2")]).unwrap();
        tree.insert(path("a"), "file");
        assert_eq!(tree.file_count(), 1);
        assert!(tree.is_file(&path("a")).unwrap());
        tree.insert(path("a/d"), "3");
        assert_eq!(
            tree.list(&path("a")).unwrap(),
            [Entry {
                name: "d".into(),
                kind: EntryKind::File
            }]
        );
        assert_eq!(tree.file_count(), 1);
    }
}
