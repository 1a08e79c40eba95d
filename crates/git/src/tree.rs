//! The files of a commit.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;

use crate::pack::ObjectReader;
use crate::store::{Child, ObjectStore};
use crate::{Error, ErrorKind, ObjectId};

/// How deep directories may nest.
const MAX_DEPTH: usize = 1024;

/// What stands at a path of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TreeEntryKind {
    /// A regular file.
    File,
    /// A regular file with the executable bit.
    Executable,
    /// A symbolic link; its contents are the target.
    Symlink,
    /// A commit of another repository whose contents are not here: an empty directory.
    Submodule,
    /// A directory.
    Directory,
}

/// An entry met in walking a [`Tree`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// The path from the root, slash separated. Git demands no encoding.
    pub path: Vec<u8>,
    /// What the entry is.
    pub kind: TreeEntryKind,
    /// The object: a blob, a tree, or for a submodule a commit that is not here.
    pub id: ObjectId,
}

impl TreeEntry {
    /// The path as text, with marks in place of what is not UTF-8.
    pub fn path_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.path)
    }
}

/// The files of one commit, read from the fetched objects. Cheap to clone; implements
/// [`sluice_vfs::FileSystem`], with symbolic links resolved inside the root.
#[derive(Clone)]
pub struct Tree {
    pub(crate) store: Arc<ObjectStore>,
    pub(crate) root: ObjectId,
    /// The submodules that are here, by path.
    pub(crate) mounts: Arc<BTreeMap<Vec<u8>, Tree>>,
    entries: usize,
}

impl Tree {
    pub(crate) fn new(store: Arc<ObjectStore>, root: ObjectId, entries: usize) -> Self {
        Self {
            store,
            root,
            mounts: Arc::default(),
            entries,
        }
    }

    /// The tree object.
    pub fn id(&self) -> ObjectId {
        self.root
    }

    /// Walks all entries below the root, each directory before its entries, entries by name (bytewise): the
    /// order of Go's `filepath.Walk` over a checkout. The root itself is left out.
    pub fn walk(&self) -> Walk<'_> {
        Walk {
            stack: Vec::new(),
            pending: Some(Pending {
                path: Vec::new(),
                directory: self.root,
                owner: self,
                start: 0,
            }),
            entries: self.entries,
            met: 0,
        }
    }

    /// The size in bytes of a file or of a link's target.
    ///
    /// # Errors
    /// The entry is a directory or submodule, or its object cannot be read.
    pub fn size(&self, entry: &TreeEntry) -> Result<u64, Error> {
        self.check_readable(entry)?;
        let header = self.store_of(&entry.path).header(&entry.id);
        header
            .map(|(_, size)| size)
            .ok_or_else(|| Error::protocol(format!("the remote did not send blob {}", entry.id)))
    }

    /// The contents of a file or the target of a link, whole. Objects beyond the budget's limit are refused.
    ///
    /// # Errors
    /// The entry is a directory or submodule, or its object cannot be read.
    pub fn read(&self, entry: &TreeEntry) -> Result<Bytes, Error> {
        self.check_readable(entry)?;
        self.store_of(&entry.path)
            .blob(&entry.id)
            .map_err(|error| error.context(entry.path_text()))
    }

    /// The contents of a file or the target of a link as a stream, which takes little memory whatever their
    /// size is. Objects beyond the budget's limit are refused.
    ///
    /// # Errors
    /// The entry is a directory or submodule, or its object cannot be read.
    pub fn open(&self, entry: &TreeEntry) -> Result<BlobReader<'_>, Error> {
        self.check_readable(entry)?;
        let opened = self.store_of(&entry.path).open_blob(&entry.id);
        opened
            .map(BlobReader)
            .map_err(|error| error.context(entry.path_text()))
    }

    /// The objects of what stands at a path, which may lie in a submodule.
    fn store_of(&self, path: &[u8]) -> &ObjectStore {
        if !self.mounts.is_empty() {
            for (slash, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
                if let Some(mounted) = self.mounts.get(&path[..slash]) {
                    return mounted.store_of(&path[slash + 1..]);
                }
            }
        }
        &self.store
    }

    fn check_readable(&self, entry: &TreeEntry) -> Result<(), Error> {
        match entry.kind {
            TreeEntryKind::Directory | TreeEntryKind::Submodule => Err(Error::new(
                ErrorKind::Invalid,
                format!("{}: is a directory", entry.path_text()),
            )),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Tree({})", self.root)
    }
}

/// Reads the contents of one entry of a [`Tree`].
pub struct BlobReader<'t>(ObjectReader<'t>);

impl BlobReader<'_> {
    /// How many bytes there are from begin to end.
    pub fn size(&self) -> u64 {
        self.0.size()
    }
}

impl Read for BlobReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl std::fmt::Debug for BlobReader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "BlobReader({} bytes)", self.size())
    }
}

/// Iterates over the entries of a [`Tree`]; after an error it ends.
pub struct Walk<'a> {
    stack: Vec<Frame<'a>>,
    pending: Option<Pending<'a>>,
    entries: usize,
    met: usize,
}

/// The entries of a directory that are still to be met.
struct Frame<'a> {
    left: std::vec::IntoIter<TreeEntry>,
    owner: &'a Tree,
    start: usize,
}

/// A directory that is to be entered, and the tree that it belongs to: that of the repository, or of a submodule
/// whose paths begin at `start`.
struct Pending<'a> {
    path: Vec<u8>,
    directory: ObjectId,
    owner: &'a Tree,
    start: usize,
}

impl<'a> Walk<'a> {
    /// Leaves out what is below the directory that was returned last; does nothing after anything else.
    pub fn skip_directory(&mut self) {
        self.pending = None;
    }

    fn descend(&mut self, pending: Pending<'a>) -> Result<(), Error> {
        let Pending {
            path,
            directory,
            owner,
            start,
        } = pending;
        if self.stack.len() >= MAX_DEPTH {
            let text = format!(
                "{}: directories nest deeper than {MAX_DEPTH}",
                String::from_utf8_lossy(&path)
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let place = if path.is_empty() { b"/" } else { path.as_slice() };
        let place = String::from_utf8_lossy(place);
        let children = owner
            .store
            .children(&directory)
            .map_err(|error| error.context(&place))?;
        self.met = self.met.saturating_add(children.len());
        if self.met > self.entries {
            let limit = self.entries;
            let text = format!("{place}: with this directory the tree has more than {limit} entries");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if path.len() <= start {
            check_root(&children)?;
        }
        let mut entries: Vec<TreeEntry> = children
            .iter()
            .map(|child| {
                let mut full = path.clone();
                if !full.is_empty() {
                    full.push(b'/');
                }
                full.extend_from_slice(&child.name);
                TreeEntry {
                    path: full,
                    kind: child.kind,
                    id: child.id,
                }
            })
            .collect();
        // Git orders directories as if their names ended in a slash.
        entries.sort_by(|left, right| left.path.cmp(&right.path));
        self.stack.push(Frame {
            left: entries.into_iter(),
            owner,
            start,
        });
        Ok(())
    }
}

/// Refuses what git refuses to check out at the root: a second repository in the place of the first, under each
/// name that some file system takes for it.
fn check_root(children: &[Child]) -> Result<(), Error> {
    let denied = children.iter().find(|child| {
        let first = child
            .name
            .split(|byte| *byte == b'\\')
            .find(|part| !part.is_empty());
        first.is_some_and(|name| name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1"))
    });
    denied.map_or(Ok(()), |child| {
        let name = String::from_utf8_lossy(&child.name);
        Err(Error::protocol(format!("invalid path prefix: \"{name}\"")))
    })
}

impl<'a> Walk<'a> {
    /// Remembers to enter an entry that is a directory; a submodule that is here is one.
    fn prepare(&mut self, entry: &mut TreeEntry, owner: &'a Tree, start: usize) {
        let (owner, start) = match entry.kind {
            TreeEntryKind::Directory => (owner, start),
            TreeEntryKind::Submodule => match owner.mounts.get(&entry.path[start..]) {
                Some(mounted) => {
                    entry.kind = TreeEntryKind::Directory;
                    entry.id = mounted.root;
                    (mounted, entry.path.len() + 1)
                }
                None => return,
            },
            _ => return,
        };
        self.pending = Some(Pending {
            path: entry.path.clone(),
            directory: entry.id,
            owner,
            start,
        });
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<TreeEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(pending) = self.pending.take()
            && let Err(error) = self.descend(pending)
        {
            self.stack.clear();
            return Some(Err(error));
        }
        loop {
            let frame = self.stack.last_mut()?;
            let (owner, start) = (frame.owner, frame.start);
            match frame.left.next() {
                Some(mut entry) => {
                    self.prepare(&mut entry, owner, start);
                    return Some(Ok(entry));
                }
                None => {
                    self.stack.pop();
                }
            }
        }
    }
}
