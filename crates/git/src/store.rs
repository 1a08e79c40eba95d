//! The objects that a fetch brought.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gix::objs::{Kind, TreeRefIter, tree::EntryKind as Mode};

use crate::pack::{ObjectReader, Pack};
use crate::{Error, ErrorKind, ObjectId, TreeEntryKind};

/// Entries of parsed trees that are kept for path look-ups.
const CACHED_CHILDREN: usize = 50_000;

/// The largest commit, tag or tree in bytes.
const MAX_METADATA: u64 = 64 << 20;

/// The objects of one pack, which go with the last handle to them.
pub(crate) struct ObjectStore {
    pack: Pack,
    trees: Mutex<Trees>,
    object_bytes: u64,
}

/// Parsed trees.
#[derive(Default)]
struct Trees {
    by_id: HashMap<ObjectId, Arc<Vec<Child>>>,
    children: usize,
}

/// An entry of one tree object.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: TreeEntryKind,
    pub(crate) id: ObjectId,
}

impl ObjectStore {
    /// The objects of `pack`; none larger than `object_bytes` will be read.
    pub(crate) fn new(pack: Pack, object_bytes: u64) -> Self {
        Self {
            pack,
            trees: Mutex::default(),
            object_bytes,
        }
    }

    pub(crate) fn object_limit(&self) -> u64 {
        self.object_bytes
    }

    pub(crate) fn format(&self) -> gix::hash::Kind {
        self.pack.format()
    }

    /// How many bytes the fetch brought.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.pack.length()
    }

    /// Kind and size of an object, or `None` if it is not there.
    pub(crate) fn header(&self, id: &ObjectId) -> Option<(Kind, u64)> {
        self.pack.header(id)
    }

    /// Reads an object, or tells that it is not there.
    pub(crate) fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>, Error> {
        let Some((kind, size)) = self.header(id) else {
            return Ok(None);
        };
        let limit = match kind {
            Kind::Blob => self.object_bytes,
            _ => self.object_bytes.min(MAX_METADATA),
        };
        check_size(id, size, limit)?;
        let Some(mut reader) = self.pack.open(id).map_err(|error| unreadable(id, &error))? else {
            return Ok(None);
        };
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        reader
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(id, &error))?;
        Ok(Some((kind, bytes)))
    }

    /// Begins to read a blob.
    pub(crate) fn open_blob(&self, id: &ObjectId) -> Result<ObjectReader<'_>, Error> {
        match self.header(id) {
            Some((Kind::Blob, size)) => check_size(id, size, self.object_bytes)?,
            Some((kind, _)) => return Err(wrong_kind(id, kind, Kind::Blob)),
            None => return Err(absent(id, Kind::Blob)),
        }
        let opened = self.pack.open(id).map_err(|error| unreadable(id, &error))?;
        opened.ok_or_else(|| absent(id, Kind::Blob))
    }

    /// Reads an object that must be there and of this kind.
    pub(crate) fn expect(&self, id: &ObjectId, expected: Kind) -> Result<Vec<u8>, Error> {
        match self.read(id)? {
            Some((kind, bytes)) if kind == expected => Ok(bytes),
            Some((kind, _)) => Err(wrong_kind(id, kind, expected)),
            None => Err(absent(id, expected)),
        }
    }

    pub(crate) fn blob(&self, id: &ObjectId) -> Result<Bytes, Error> {
        self.expect(id, Kind::Blob).map(Bytes::from)
    }

    /// The entries of a tree object, in Git's order, with names that are safe to use as path components.
    pub(crate) fn children(&self, tree: &ObjectId) -> Result<Arc<Vec<Child>>, Error> {
        if let Some(children) = lock(&self.trees).by_id.get(tree) {
            return Ok(Arc::clone(children));
        }
        let bytes = self.expect(tree, Kind::Tree)?;
        let children = TreeRefIter::from_bytes(&bytes, self.format())
            .map(|entry| {
                let entry =
                    entry.map_err(|error| Error::protocol(format!("tree {tree} is damaged: {error}")))?;
                child(entry.filename, entry.mode.kind(), entry.oid.to_owned()).ok_or_else(|| {
                    Error::protocol(format!("tree {tree} holds an entry named '{}'", entry.filename))
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        if let Some(name) = repeated_name(&children) {
            let name = String::from_utf8_lossy(name);
            return Err(Error::protocol(format!(
                "tree {tree} holds two entries named '{name}'"
            )));
        }
        let children = Arc::new(children);
        lock(&self.trees).keep(tree, &children);
        Ok(children)
    }
}

impl Trees {
    fn keep(&mut self, tree: &ObjectId, children: &Arc<Vec<Child>>) {
        if self.children.saturating_add(children.len()) > CACHED_CHILDREN {
            *self = Self::default();
        }
        if children.len() <= CACHED_CHILDREN && self.by_id.insert(*tree, Arc::clone(children)).is_none() {
            // An empty tree takes a place as well.
            self.children += children.len().max(1);
        }
    }
}

fn check_size(id: &ObjectId, size: u64, limit: u64) -> Result<(), Error> {
    if size > limit {
        let text = format!("object {id} has {size} bytes, more than the limit of {limit}");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    Ok(())
}

fn absent(id: &ObjectId, expected: Kind) -> Error {
    Error::protocol(format!("the remote did not send {expected} {id}"))
}

fn wrong_kind(id: &ObjectId, kind: Kind, expected: Kind) -> Error {
    Error::protocol(format!("object {id} is a {kind}, expected a {expected}"))
}

fn unreadable(id: &ObjectId, error: &dyn std::fmt::Display) -> Error {
    Error::storage(&format!("unable to read object {id}"), error)
}

fn child(name: &[u8], mode: Mode, id: ObjectId) -> Option<Child> {
    // What unpacks an artifact may take a backslash for a separator.
    let climbs = name.split(|byte| *byte == b'\\').any(|part| part == b"..");
    let unsafe_name = matches!(name, b"" | b".") || climbs || name.contains(&b'/') || name.contains(&0);
    let kind = match mode {
        Mode::Tree => TreeEntryKind::Directory,
        Mode::Blob => TreeEntryKind::File,
        Mode::BlobExecutable => TreeEntryKind::Executable,
        Mode::Link => TreeEntryKind::Symlink,
        Mode::Commit => TreeEntryKind::Submodule,
    };
    (!unsafe_name).then(|| Child {
        name: name.to_vec(),
        kind,
        id,
    })
}

/// A name that stands twice. Git's order keeps a file and a directory of one name apart.
fn repeated_name(children: &[Child]) -> Option<&[u8]> {
    let mut names: Vec<&[u8]> = children.iter().map(|child| child.name.as_slice()).collect();
    names.sort_unstable();
    names
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
}

/// A panic elsewhere leaves these values usable: both are caches over read-only data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
