//! Objects of a pack, whole or as a stream.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::objs::Kind;

use super::contents::{Cache, Contents};
use super::delta::DeltaReader;
use super::file::{EntryReader, PackFile};
use super::index::{Entry, Index};
use super::{CHUNK, PackError};
use crate::{Budget, ObjectId};

/// Bytes of an object, stored as a difference, that is kept when it was read: it may be a base itself.
const KEPT_OBJECT: u64 = 1 << 20;

/// A pack with its index.
pub(crate) struct Pack {
    pub(super) file: PackFile,
    pub(super) index: Index,
    pub(super) cache: Mutex<Cache>,
    /// Where unlinked files for large objects are made.
    pub(super) directory: PathBuf,
}

impl Pack {
    pub(crate) fn format(&self) -> gix::hash::Kind {
        self.file.format()
    }

    /// The bytes of the pack.
    pub(crate) fn length(&self) -> u64 {
        self.file.length()
    }

    /// Kind and size of an object, or `None` if it is not there.
    pub(crate) fn header(&self, id: &ObjectId) -> Option<(Kind, u64)> {
        self.index.object(self.index.find(id)?)
    }

    /// Begins to read an object, or tells that it is not there.
    pub(crate) fn open(&self, id: &ObjectId) -> Result<Option<ObjectReader<'_>>, PackError> {
        let Some(entry) = self.index.find(id) else {
            return Ok(None);
        };
        let size = self.index.object(entry).map_or(0, |(_, size)| size);
        let source = match self.index.base(entry) {
            None => Source::Whole(Box::new(self.file.open(self.index.offset(entry))?)),
            Some(_) if size <= KEPT_OBJECT => Source::Contents {
                contents: self.contents(entry)?,
                position: 0,
            },
            Some(base) => {
                let base = self.contents(base)?;
                let difference = self.file.open(self.index.offset(entry))?;
                Source::Delta(Box::new(DeltaReader::new(base, difference)?))
            }
        };
        Ok(Some(ObjectReader { source, size }))
    }

    /// The whole object of an entry, by way of those to which it is a difference.
    pub(super) fn contents(&self, entry: Entry) -> Result<Arc<Contents>, PackError> {
        self.contents_within(entry, None)
    }

    /// As [`Pack::contents`], within a budget.
    pub(super) fn contents_within(
        &self,
        entry: Entry,
        budget: Option<&Budget>,
    ) -> Result<Arc<Contents>, PackError> {
        let mut differences = Vec::new();
        let mut at = entry;
        let mut contents = loop {
            if let Some(cached) = self.cache().get(at) {
                break cached;
            }
            let Some(base) = self.index.base(at) else {
                let mut whole = self.file.open(self.index.offset(at))?;
                break self.collect(at, &mut whole, budget)?;
            };
            differences.push(at);
            at = base;
        };
        while let Some(next) = differences.pop() {
            let difference = self.file.open(self.index.offset(next))?;
            let mut object = DeltaReader::new(contents, difference)?;
            contents = self.collect(next, &mut object, budget)?;
        }
        Ok(contents)
    }

    fn collect(
        &self,
        entry: Entry,
        reader: &mut dyn Read,
        budget: Option<&Budget>,
    ) -> Result<Arc<Contents>, PackError> {
        let size = self.index.object(entry).map_or(0, |(_, size)| size);
        let mut bounded = Bounded { reader, budget };
        let contents = Contents::collect(&mut bounded, size, &self.directory).map_err(PackError::from_io)?;
        let contents = Arc::new(contents);
        self.cache().put(entry, &contents);
        Ok(contents)
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, Cache> {
        // A panic elsewhere leaves a cache over read-only data usable.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads as long as a budget lasts.
pub(super) struct Bounded<'a> {
    pub(super) reader: &'a mut dyn Read,
    pub(super) budget: Option<&'a Budget>,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(budget) = self.budget {
            budget.remaining().map_err(PackError::Ended)?;
        }
        let wanted = buffer.len().min(CHUNK);
        self.reader.read(&mut buffer[..wanted])
    }
}

/// Reads one object.
pub(crate) struct ObjectReader<'p> {
    source: Source<'p>,
    size: u64,
}

enum Source<'p> {
    Whole(Box<EntryReader<'p>>),
    Delta(Box<DeltaReader<'p>>),
    Contents { contents: Arc<Contents>, position: u64 },
}

impl ObjectReader<'_> {
    /// How many bytes the object has.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

impl Read for ObjectReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.source {
            Source::Whole(entry) => entry.read(buffer),
            Source::Delta(delta) => delta.read(buffer),
            Source::Contents { contents, position } => {
                let left = contents.length().saturating_sub(*position);
                let count = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
                contents.read_at(&mut buffer[..count], *position)?;
                *position += count as u64;
                Ok(count)
            }
        }
    }
}
