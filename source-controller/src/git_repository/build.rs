//! Step four: the entries of the artifact, from the commit's tree and the included artifacts.
//!
//! Nothing is checked out. The tree is walked twice, once for pattern files and once for the contents, each
//! time merged with what is included, in the order in which Flux walks a checkout.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use sluice_artifact::ignore::{IGNORE_FILE, Pattern, read_patterns};
use sluice_artifact::{Archive, IgnoreRules, TarWriter};
use sluice_git::{ErrorKind, Tree, TreeEntry, TreeEntryKind};
use sluice_vfs::{EntryKind, FileSystem, FileSystemError, VirtualPath};

use super::fetch::Limits;

/// Why an artifact cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The commit's tree cannot be read.
    #[error("unable to archive artifact to storage: {0}")]
    Tree(#[source] sluice_git::Error),
    /// The commit's tree is malformed or dangerous; git would not have checked it out.
    #[error("failed to checkout and determine revision: {0}")]
    Malformed(#[source] sluice_git::Error),
    /// The commit has more entries than the limit allows.
    #[error(
        "failed to checkout and determine revision: {0}; take less with spec.sparseCheckout, or raise the controller's --git-max-tree-entries"
    )]
    TooMuch(#[source] sluice_git::Error),
    /// One file has more bytes than the limit allows.
    #[error(
        "unable to archive artifact to storage: '{path}' has {size} bytes, more than the limit of {limit}; leave it out with spec.ignore or spec.sparseCheckout, or raise the controller's --git-max-file-size"
    )]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// All files together have more bytes than the limit allows.
    #[error(
        "unable to archive artifact to storage: with '{path}' the files have more than the limit of {limit} bytes; leave files out with spec.ignore or spec.sparseCheckout, or raise the controller's --git-max-checkout-size"
    )]
    TooLarge {
        /// The file that crosses the limit.
        path: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// An included artifact cannot be put into place.
    #[error("failed to copy '{name}' include from {from} to {to}: {reason}")]
    Include {
        /// The included repository.
        name: String,
        /// The directory in its artifact.
        from: String,
        /// The directory in this one.
        to: String,
        /// What is in the way.
        reason: String,
    },
    /// A pattern file cannot be read.
    #[error("failed to load source ignore patterns from repository: {0}")]
    Ignore(#[from] FileSystemError),
    /// The archive cannot be written.
    #[error("unable to archive artifact to storage: {0}")]
    Write(#[source] io::Error),
    /// Nobody waits for the artifact any more.
    #[error("unable to archive artifact to storage: the work was broken off")]
    BrokenOff,
}

impl From<sluice_git::Error> for BuildError {
    fn from(error: sluice_git::Error) -> Self {
        match error.kind() {
            ErrorKind::Protocol => Self::Malformed(error),
            ErrorKind::Limit => Self::TooMuch(error),
            _ => Self::Tree(error),
        }
    }
}

impl From<io::Error> for BuildError {
    /// An error of the contents comes out of the archive that they go into.
    fn from(error: io::Error) -> Self {
        error.downcast().unwrap_or_else(Self::Write)
    }
}

/// An artifact to put into this one.
#[derive(Debug)]
pub struct Include {
    /// The included repository, for messages.
    pub name: String,
    /// The directory or file to take, as the spec has it; empty for the whole artifact.
    pub from: String,
    /// Where to put it, as the spec has it.
    pub to: String,
    /// The artifact.
    pub archive: Archive,
}

/// Everything that an artifact is made from.
#[derive(Debug)]
pub struct SourceTree {
    tree: Tree,
    sparse: Vec<String>,
    includes: Vec<Include>,
    targets: Vec<VirtualPath>,
    included: BTreeMap<WalkKey, Included>,
    cancelled: Arc<AtomicBool>,
}

/// A path that sorts in walk order: component by component, where a path's bytes would sort `a.b` before
/// `a/b`.
type WalkKey = Vec<u8>;

/// Something that comes from an included artifact, or a directory above it.
#[derive(Debug, Clone)]
enum Included {
    Directory,
    File {
        include: usize,
        path: VirtualPath,
        executable: bool,
    },
}

/// One entry of the artifact to be.
struct SourceEntry<'s> {
    path: &'s [u8],
    kind: SourceKind,
    origin: Origin<'s>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceKind {
    Directory,
    File { executable: bool },
    Link,
}

impl SourceEntry<'_> {
    fn path_text(&self) -> String {
        String::from_utf8_lossy(self.path).into_owned()
    }
}

enum Origin<'s> {
    Tree(&'s TreeEntry),
    Include(usize, &'s VirtualPath),
    Nowhere,
}

impl SourceTree {
    /// Puts a commit's tree and the included artifacts together. Of the tree only what lies under one of the
    /// `sparse` prefixes is taken, if there are any.
    ///
    /// # Errors
    /// Two includes are in each other's way, or one has nothing to take.
    pub fn new(
        tree: Tree,
        sparse: Vec<String>,
        includes: Vec<Include>,
        cancelled: Arc<AtomicBool>,
    ) -> Result<Self, BuildError> {
        let mut source = Self {
            tree,
            sparse,
            includes: Vec::new(),
            targets: Vec::new(),
            included: BTreeMap::new(),
            cancelled,
        };
        for include in includes {
            source.place(include)?;
        }
        Ok(source)
    }

    fn place(&mut self, include: Include) -> Result<(), BuildError> {
        let (from, to) = (clamp(&include.from), clamp(&include.to));
        if to.is_root() {
            return Err(include.failed("the target is the root of the artifact"));
        }
        let in_the_way = self.included.iter().find(|(key, included)| {
            let path = path_of(key);
            path.starts_with(&to) || (to.starts_with(&path) && !matches!(included, Included::Directory))
        });
        if let Some((key, _)) = in_the_way {
            return Err(include.failed(format!("file exists: {}", path_of(key))));
        }
        let entries = sluice_vfs::walk(&include.archive, &from, usize::MAX)
            .map_err(|_| include.failed(format!("{from}: no such file or directory")))?;
        let mut above = to.parent();
        while let Some(directory) = above.filter(|directory| !directory.is_root()) {
            above = directory.parent();
            self.included
                .insert(key_of(directory.as_str().as_bytes()), Included::Directory);
        }
        for entry in entries {
            let below = entry.path.as_str()[from.as_str().len()..].trim_start_matches('/');
            let target = if below.is_empty() {
                to.clone()
            } else {
                to.join(below).unwrap_or_else(|_| to.clone())
            };
            let included = match entry.kind {
                EntryKind::Directory => Included::Directory,
                EntryKind::File => Included::File {
                    include: self.includes.len(),
                    executable: include.archive.is_executable(&entry.path) == Some(true),
                    path: entry.path,
                },
            };
            self.included.insert(key_of(target.as_str().as_bytes()), included);
        }
        self.targets.push(to);
        self.includes.push(include);
        Ok(())
    }

    /// Reads the patterns of all pattern files, those of a directory before those of the directories in it.
    ///
    /// # Errors
    /// The tree or a pattern file cannot be read.
    pub fn ignore_patterns(&self) -> Result<Vec<Pattern>, BuildError> {
        let mut found: BTreeMap<WalkKey, Vec<Pattern>> = BTreeMap::new();
        self.visit(&mut |entry| {
            let (directory, name) = split(entry.path);
            if name == IGNORE_FILE.as_bytes() && entry.kind != SourceKind::Directory {
                // A directory whose name is not UTF-8 cannot be the domain of a pattern.
                let Ok(domain) = std::str::from_utf8(directory).map(clamp) else {
                    return Ok(());
                };
                if let Some(text) = self.read_pattern_file(&entry, &domain)? {
                    found.insert(key_of(directory), read_patterns(&text, &domain));
                }
            }
            Ok(())
        })?;
        Ok(found.into_values().flatten().collect())
    }

    /// A pattern file that is a link is read where it leads, if that is a file of the repository.
    fn read_pattern_file(
        &self,
        entry: &SourceEntry<'_>,
        domain: &VirtualPath,
    ) -> Result<Option<Bytes>, BuildError> {
        if entry.kind != SourceKind::Link {
            return self.read(entry).map(Some);
        }
        let path = domain.child(IGNORE_FILE);
        match self.tree.is_file(&path) {
            Ok(true) => Ok(Some(FileSystem::read(&self.tree, &path)?)),
            Ok(false) | Err(FileSystemError::Escapes(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the artifact's entries: the root, and everything that the rules do not exclude.
    ///
    /// # Errors
    /// The tree cannot be read, an include is in the way, the files are too large, or the archive cannot be
    /// written.
    pub fn write<W: Write>(
        &self,
        rules: &IgnoreRules,
        limits: &Limits,
        tar: &mut TarWriter<W>,
    ) -> Result<(), BuildError> {
        tar.directory("")?;
        let mut left = limits.checkout_bytes;
        self.visit(&mut |entry| {
            let kind = match entry.kind {
                SourceKind::Directory => EntryKind::Directory,
                SourceKind::File { .. } => EntryKind::File,
                SourceKind::Link => return Ok(()),
            };
            if rules.excludes(entry.path, kind) {
                return Ok(());
            }
            match entry.kind {
                SourceKind::Directory => tar.directory(entry.path)?,
                SourceKind::File { executable } => {
                    self.check_size(&entry, limits.file_bytes)?;
                    let (size, contents) = self.open(&entry)?;
                    left = left.checked_sub(size).ok_or_else(|| BuildError::TooLarge {
                        path: entry.path_text(),
                        limit: limits.checkout_bytes,
                    })?;
                    let mut contents = Cancellable {
                        reader: contents,
                        cancelled: &self.cancelled,
                    };
                    tar.file(entry.path, executable, size, &mut contents)?;
                }
                SourceKind::Link => {}
            }
            Ok(())
        })
    }

    /// What was included has passed its own repository's limit.
    fn check_size(&self, entry: &SourceEntry<'_>, limit: u64) -> Result<(), BuildError> {
        let Origin::Tree(file) = entry.origin else {
            return Ok(());
        };
        match self.tree.size(file)? {
            size if size > limit => Err(BuildError::FileTooLarge {
                path: entry.path_text(),
                size,
                limit,
            }),
            _ => Ok(()),
        }
    }

    fn read(&self, entry: &SourceEntry<'_>) -> Result<Bytes, BuildError> {
        match entry.origin {
            Origin::Tree(entry) => Ok(self.tree.read(entry)?),
            Origin::Include(include, path) => Ok(self.includes[include].archive.read(path)?),
            Origin::Nowhere => Ok(Bytes::new()),
        }
    }

    /// The size and the contents of a file, as a stream: it may be larger than the memory.
    fn open<'s>(&'s self, entry: &SourceEntry<'_>) -> Result<(u64, Box<dyn Read + 's>), BuildError> {
        match entry.origin {
            Origin::Tree(entry) => {
                let blob = self.tree.open(entry)?;
                Ok((blob.size(), Box::new(blob)))
            }
            Origin::Include(include, path) => {
                let file = self.includes[include].archive.open(path)?;
                Ok((file.size(), Box::new(file)))
            }
            Origin::Nowhere => Ok((0, Box::new(io::empty()))),
        }
    }

    /// Visits all entries but the root, those of the tree merged with the included ones.
    fn visit(
        &self,
        visitor: &mut dyn FnMut(SourceEntry<'_>) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let mut included = self.included.iter().peekable();
        for entry in SparseWalk::new(&self.tree, &self.sparse) {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(BuildError::BrokenOff);
            }
            let entry = entry?;
            self.check_way(&entry)?;
            let key = key_of(&entry.path);
            while let Some((earlier, next)) = included.next_if(|(other, _)| **other < key) {
                self.visit_included(earlier, next, visitor)?;
            }
            if let Some((same, next)) = included.next_if(|(other, _)| **other == key) {
                self.visit_included(same, next, visitor)?;
            } else {
                let kind = match entry.kind {
                    TreeEntryKind::Directory | TreeEntryKind::Submodule => SourceKind::Directory,
                    TreeEntryKind::File => SourceKind::File { executable: false },
                    TreeEntryKind::Executable => SourceKind::File { executable: true },
                    TreeEntryKind::Symlink => SourceKind::Link,
                };
                visitor(SourceEntry {
                    path: &entry.path,
                    kind,
                    origin: Origin::Tree(&entry),
                })?;
            }
        }
        for (key, next) in included {
            self.visit_included(key, next, visitor)?;
        }
        Ok(())
    }

    fn visit_included(
        &self,
        key: &[u8],
        included: &Included,
        visitor: &mut dyn FnMut(SourceEntry<'_>) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let path: Vec<u8> = key
            .iter()
            .map(|byte| if *byte == 0 { b'/' } else { *byte })
            .collect();
        let (kind, origin) = match included {
            Included::Directory => (SourceKind::Directory, Origin::Nowhere),
            Included::File {
                include,
                path,
                executable,
            } => (
                SourceKind::File {
                    executable: *executable,
                },
                Origin::Include(*include, path),
            ),
        };
        visitor(SourceEntry {
            path: &path,
            kind,
            origin,
        })
    }

    /// An include needs its place free: nothing of the tree at or below it, and only directories above.
    fn check_way(&self, entry: &TreeEntry) -> Result<(), BuildError> {
        let is_directory = matches!(entry.kind, TreeEntryKind::Directory | TreeEntryKind::Submodule);
        for (target, include) in self.targets.iter().zip(&self.includes) {
            let target = target.as_str().as_bytes();
            let below = is_below(&entry.path, target);
            let same = entry.path == target && entry.kind != TreeEntryKind::Submodule;
            let above = is_below(target, &entry.path) && !is_directory;
            if below || same || above {
                return Err(include.failed(format!("file exists: {}", entry.path_text())));
            }
        }
        Ok(())
    }
}

/// Reads until nobody waits for the artifact any more.
struct Cancellable<'s> {
    reader: Box<dyn Read + 's>,
    cancelled: &'s AtomicBool,
}

impl Read for Cancellable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::other(BuildError::BrokenOff));
        }
        self.reader.read(buffer)
    }
}

impl Include {
    fn failed(&self, reason: impl Into<String>) -> BuildError {
        BuildError::Include {
            name: self.name.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            reason: reason.into(),
        }
    }
}

/// Walks a tree, without what lies outside the sparse prefixes. As in Flux a prefix is compared as text, so
/// `app` also takes `apple`; a directory appears if something in it is taken.
struct SparseWalk<'t> {
    walk: sluice_git::Walk<'t>,
    prefixes: &'t [String],
    /// Directories met of which nothing was taken yet, outermost first.
    waiting: Vec<TreeEntry>,
    ready: VecDeque<TreeEntry>,
}

impl<'t> SparseWalk<'t> {
    fn new(tree: &'t Tree, prefixes: &'t [String]) -> Self {
        Self {
            walk: tree.walk(),
            prefixes,
            waiting: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    fn takes(&self, path: &[u8]) -> bool {
        self.prefixes
            .iter()
            .any(|prefix| path.starts_with(prefix.as_bytes()))
    }

    /// Whether something below a directory could be taken.
    fn may_take_below(&self, directory: &[u8]) -> bool {
        let mut inside = directory.to_vec();
        inside.push(b'/');
        self.prefixes.iter().any(|prefix| {
            let prefix = prefix.as_bytes();
            prefix.starts_with(&inside) || inside.starts_with(prefix)
        })
    }
}

impl Iterator for SparseWalk<'_> {
    type Item = Result<TreeEntry, sluice_git::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some(Ok(entry));
            }
            let entry = match self.walk.next()? {
                Ok(entry) => entry,
                Err(error) => return Some(Err(error)),
            };
            if self.prefixes.is_empty() {
                return Some(Ok(entry));
            }
            self.waiting
                .retain(|directory| is_below(&entry.path, &directory.path));
            if entry.kind == TreeEntryKind::Directory {
                if self.may_take_below(&entry.path) {
                    self.waiting.push(entry);
                } else {
                    self.walk.skip_directory();
                }
            } else if self.takes(&entry.path) {
                self.ready.extend(self.waiting.drain(..));
                self.ready.push_back(entry);
            }
        }
    }
}

/// Whether `path` lies below `directory`.
fn is_below(path: &[u8], directory: &[u8]) -> bool {
    path.len() > directory.len() && path.starts_with(directory) && path[directory.len()] == b'/'
}

fn key_of(path: &[u8]) -> WalkKey {
    path.iter()
        .map(|byte| if *byte == b'/' { 0 } else { *byte })
        .collect()
}

fn path_of(key: &[u8]) -> VirtualPath {
    clamp(&String::from_utf8_lossy(key).replace('\0', "/"))
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (&[], path),
    }
}

/// The path below the root that a text means, where `..` stops at the root.
fn clamp(text: &str) -> VirtualPath {
    text.split('/')
        .fold(VirtualPath::root(), |path, part| match part {
            ".." => path.parent().unwrap_or_default(),
            part => path.child(part),
        })
}
