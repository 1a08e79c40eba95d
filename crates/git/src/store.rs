//! The objects that a fetch brought.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gix::objs::{Kind, TreeRefIter, tree::EntryKind as Mode};
use gix::odb::{Handle, Header as _};
use gix::prelude::Find as _;

use crate::scratch::Scratch;
use crate::{Error, ErrorKind, ObjectId, TreeEntryKind};

/// Parsed trees that are kept for path look-ups.
const CACHED_TREES: usize = 1024;

/// An object database in a scratch directory, which it removes when dropped.
pub(crate) struct ObjectStore {
    handle: Mutex<Handle>,
    trees: Mutex<HashMap<ObjectId, Arc<Vec<Child>>>>,
    format: gix::hash::Kind,
    object_bytes: u64,
    scratch: Scratch,
}

/// An entry of one tree object.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: TreeEntryKind,
    pub(crate) id: ObjectId,
}

impl ObjectStore {
    /// Opens the objects in `scratch`; no object larger than `object_bytes` will be read.
    pub(crate) fn open(scratch: Scratch, format: gix::hash::Kind, object_bytes: u64) -> Result<Self, Error> {
        let handle = gix::odb::at_opts(
            scratch.objects(),
            format,
            std::iter::empty(),
            gix::odb::store::init::Options {
                current_dir: Some(scratch.objects()),
                ..Default::default()
            },
        )
        .map_err(|error| Error::storage("unable to open fetched objects", error))?;
        Ok(Self {
            handle: Mutex::new(handle),
            trees: Mutex::default(),
            format,
            object_bytes,
            scratch,
        })
    }

    pub(crate) fn object_limit(&self) -> u64 {
        self.object_bytes
    }

    pub(crate) fn format(&self) -> gix::hash::Kind {
        self.format
    }

    /// How many bytes the fetch brought.
    pub(crate) fn stored_bytes(&self) -> Result<u64, Error> {
        let failed = |error| Error::storage("unable to look into the scratch directory", error);
        let mut bytes = 0_u64;
        for entry in std::fs::read_dir(self.scratch.packs()).map_err(failed)? {
            bytes += entry.and_then(|entry| entry.metadata()).map_err(failed)?.len();
        }
        Ok(bytes)
    }

    /// Kind and size of an object, or `None` if it is not there.
    pub(crate) fn header(&self, id: &ObjectId) -> Result<Option<(Kind, u64)>, Error> {
        let header = lock(&self.handle)
            .try_header(id)
            .map_err(|error| Error::storage(&format!("unable to read object {id}"), error))?;
        Ok(header.map(|header| (header.kind(), header.size())))
    }

    /// Reads an object, or tells that it is not there.
    pub(crate) fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>, Error> {
        let Some((kind, size)) = self.header(id)? else {
            return Ok(None);
        };
        if size > self.object_bytes {
            let text = format!(
                "object {id} has {size} bytes, more than the limit of {}",
                self.object_bytes
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let mut buffer = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        let found = lock(&self.handle)
            .try_find(id, &mut buffer)
            .map_err(|error| Error::storage(&format!("unable to read object {id}"), error))?
            .is_some();
        Ok(found.then_some((kind, buffer)))
    }

    /// Reads an object that must be there and of this kind.
    pub(crate) fn expect(&self, id: &ObjectId, expected: Kind) -> Result<Vec<u8>, Error> {
        match self.read(id)? {
            Some((kind, bytes)) if kind == expected => Ok(bytes),
            Some((kind, _)) => Err(Error::protocol(format!(
                "object {id} is a {kind}, expected a {expected}"
            ))),
            None => Err(Error::protocol(format!(
                "the remote did not send {expected} {id}"
            ))),
        }
    }

    pub(crate) fn blob(&self, id: &ObjectId) -> Result<Bytes, Error> {
        self.expect(id, Kind::Blob).map(Bytes::from)
    }

    /// The entries of a tree object, in Git's order, with names that are safe to use as path components.
    pub(crate) fn children(&self, tree: &ObjectId) -> Result<Arc<Vec<Child>>, Error> {
        if let Some(children) = lock(&self.trees).get(tree) {
            return Ok(Arc::clone(children));
        }
        let bytes = self.expect(tree, Kind::Tree)?;
        let children = TreeRefIter::from_bytes(&bytes, self.format)
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
        let mut trees = lock(&self.trees);
        if trees.len() >= CACHED_TREES {
            trees.clear();
        }
        trees.insert(*tree, Arc::clone(&children));
        Ok(children)
    }
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
