//! Finds out what the differences in a pack stand for.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Mutex;

use gix::hash::Hasher;
use gix::objs::Kind;

use super::contents::{Cache, Contents};
use super::delta::DeltaReader;
use super::index::Entry;
use super::object::{Bounded, Pack};
use super::receive::{Received, object_hasher};
use super::{CHUNK, MAX_CHAIN, PackError};
use crate::{Budget, ObjectId};

impl Received {
    /// Hashes all objects that are stored as differences, and ends the index. What is needed again meanwhile is
    /// kept within bounds, large objects in unlinked files in `directory`; what was dropped is made anew.
    ///
    /// # Errors
    /// A difference is malformed, its object is not there or too large, or the budget's time is over.
    pub(crate) fn resolve(self, directory: &Path, budget: &Budget) -> Result<Pack, PackError> {
        let pack = Pack {
            file: self.file,
            index: self.index,
            cache: Mutex::new(Cache::default()),
            directory: directory.to_owned(),
        };
        let mut resolver = Resolver {
            pack,
            offset_deltas: self.offset_deltas,
            reference_deltas: self.reference_deltas,
            budget,
            buffer: vec![0; CHUNK],
            open: Vec::new(),
        };
        let mut left = resolver.offset_deltas.len() + resolver.reference_deltas.len();
        if left > 0 {
            left -= resolver.run()?;
        }
        if left > 0 {
            return Err(resolver.missing());
        }
        resolver.pack.cache().clear();
        resolver.pack.index.sort();
        Ok(resolver.pack)
    }
}

struct Resolver<'b> {
    pack: Pack,
    offset_deltas: Vec<(Entry, Entry)>,
    reference_deltas: Vec<(ObjectId, Entry)>,
    budget: &'b Budget,
    buffer: Vec<u8>,
    /// Objects with differences to them that are still to be resolved, and how many steps they are from one
    /// that is stored whole.
    open: Vec<(Entry, u16)>,
}

impl Resolver<'_> {
    /// Returns how many differences were resolved.
    fn run(&mut self) -> Result<usize, PackError> {
        let mut resolved = 0;
        for first in (0..).take(self.pack.index.length()) {
            let is_whole = self.pack.index.object(first).is_some() && self.pack.index.base(first).is_none();
            if !is_whole || !self.has_children(first) {
                continue;
            }
            self.open.push((first, 0));
            while let Some((base, depth)) = self.open.pop() {
                resolved += self.resolve_children(base, depth)?;
            }
        }
        Ok(resolved)
    }

    fn resolve_children(&mut self, base: Entry, depth: u16) -> Result<usize, PackError> {
        let Some((kind, _)) = self.pack.index.object(base) else {
            return Ok(0);
        };
        let mut resolved = 0;
        for child in self.children(base) {
            let offset = self.pack.index.offset(child);
            if self.pack.index.object(child).is_some() {
                return Err(PackError::RepeatedBase { offset });
            }
            if depth >= MAX_CHAIN {
                let limit = MAX_CHAIN;
                return Err(PackError::ChainTooLong { offset, limit });
            }
            self.resolve_one(child, base, kind)?;
            resolved += 1;
            if self.has_children(child) {
                self.open.push((child, depth + 1));
            }
        }
        Ok(resolved)
    }

    fn resolve_one(&mut self, entry: Entry, base: Entry, kind: Kind) -> Result<(), PackError> {
        self.budget.remaining().map_err(PackError::Ended)?;
        let offset = self.pack.index.offset(entry);
        let contents = self.pack.contents_within(base, Some(self.budget))?;
        let mut object = DeltaReader::new(contents, self.pack.file.open(offset)?)?;
        let (size, limit) = (object.size(), self.budget.object_bytes());
        if size > limit {
            return Err(PackError::ObjectTooLarge { offset, size, limit });
        }
        let mut bounded = Bounded {
            reader: &mut object,
            budget: Some(self.budget),
        };
        let mut hashing = Hashing {
            reader: &mut bounded,
            hasher: object_hasher(self.pack.format(), kind, size),
        };
        // Whether differences name its hash is known only when it is hashed; those are rare.
        let kept = if !range_of(&self.offset_deltas, &entry).is_empty() {
            let kept = Contents::collect(&mut hashing, size, &self.pack.directory);
            Some(kept.map_err(PackError::from_io)?)
        } else {
            None
        };
        // The end of a difference is checked by who reads on.
        while hashing.read(&mut self.buffer).map_err(PackError::from_io)? > 0 {}
        let hashed = hashing.hasher.try_finalize();
        let id = hashed.map_err(|_| PackError::Collision { offset })?;
        self.pack.index.set(entry, kind, size, Some(base), &id);
        if let Some(kept) = kept {
            self.pack.cache().put(entry, &kept.into());
        }
        Ok(())
    }

    fn has_children(&self, entry: Entry) -> bool {
        !range_of(&self.offset_deltas, &entry).is_empty()
            || (!self.reference_deltas.is_empty()
                && !range_of(&self.reference_deltas, &self.pack.index.id(entry)).is_empty())
    }

    fn children(&self, entry: Entry) -> Vec<Entry> {
        let by_offset = &self.offset_deltas[range_of(&self.offset_deltas, &entry)];
        let by_reference =
            &self.reference_deltas[range_of(&self.reference_deltas, &self.pack.index.id(entry))];
        let by_offset = by_offset.iter().map(|(_, child)| *child);
        by_offset
            .chain(by_reference.iter().map(|(_, child)| *child))
            .collect()
    }

    /// Names an object that the pack should hold: every chain of differences by offset begins with an object or
    /// with a difference by reference.
    fn missing(&self) -> PackError {
        let is_open = |entry: &Entry| self.pack.index.object(*entry).is_none();
        let mut deltas = self.reference_deltas.iter();
        match deltas.find(|(_, entry)| is_open(entry)) {
            Some((id, _)) => PackError::MissingBase { id: *id },
            None => {
                let open = (0..).take(self.pack.index.length()).find(is_open);
                let offset = open.map_or(0, |entry| self.pack.index.offset(entry));
                PackError::Base { offset }
            }
        }
    }
}

/// Where the pairs that begin with `first` stand.
fn range_of<T: Ord>(sorted: &[(T, Entry)], first: &T) -> std::ops::Range<usize> {
    let start = sorted.partition_point(|(other, _)| other < first);
    let length = sorted[start..].partition_point(|(other, _)| other <= first);
    start..start + length
}

/// Hashes what is read.
struct Hashing<'r> {
    reader: &'r mut dyn Read,
    hasher: Hasher,
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}
