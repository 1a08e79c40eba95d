//! Objects to which others are differences.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::index::Entry;
use super::{CHUNK, MAX_MEMORY_BASE};

/// Bytes of objects in memory that a cache keeps.
const CACHED_MEMORY: u64 = 16 << 20;

/// Bytes of objects in files that a cache keeps.
const CACHED_FILES: u64 = 1 << 30;

/// What an object costs beside its bytes.
const OVERHEAD: u64 = 256;

/// Bytes that one open file counts as at least: descriptors are scarce as well.
const FILE_COST: u64 = CACHED_FILES / 32;

/// A whole object that is read by position.
pub(super) enum Contents {
    /// A small one.
    Memory(Bytes),
    /// A large one, in an unlinked file.
    File { file: File, length: u64 },
}

impl Contents {
    /// Reads `size` bytes, into an unlinked file in `directory` if they are many.
    pub(super) fn collect(reader: &mut dyn Read, size: u64, directory: &Path) -> io::Result<Self> {
        if size <= MAX_MEMORY_BASE {
            let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
            reader.read_exact(&mut bytes)?;
            return Ok(Self::Memory(Bytes::from(bytes)));
        }
        let mut file = tempfile::tempfile_in(directory)?;
        let mut buffer = vec![0; CHUNK];
        let mut length = 0;
        loop {
            let count = reader.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            file.write_all(&buffer[..count])?;
            length += count as u64;
        }
        if length != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self::File { file, length })
    }

    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// Fills `buffer` from `offset` on; fails if there are fewer bytes.
    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => {
                let start = usize::try_from(offset).ok();
                let range = start.and_then(|start| Some(start..start.checked_add(buffer.len())?));
                let found = range.and_then(|range| bytes.get(range));
                buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
            Self::File { file, .. } => file.read_exact_at(buffer, offset),
        }
    }

    fn cost(&self) -> (u64, u64) {
        match self {
            Self::Memory(bytes) => (bytes.len() as u64 + OVERHEAD, 0),
            Self::File { length, .. } => (OVERHEAD, FILE_COST.max(*length)),
        }
    }
}

/// Keeps the objects that were used last, within bounds of memory and disk.
#[derive(Default)]
pub(super) struct Cache {
    entries: HashMap<Entry, (u64, Arc<Contents>)>,
    /// The entries by when they were used.
    ages: BTreeMap<u64, Entry>,
    clock: u64,
    memory: u64,
    files: u64,
}

impl Cache {
    pub(super) fn get(&mut self, entry: Entry) -> Option<Arc<Contents>> {
        let (age, contents) = self.entries.get_mut(&entry)?;
        self.ages.remove(age);
        self.clock += 1;
        *age = self.clock;
        self.ages.insert(self.clock, entry);
        Some(Arc::clone(contents))
    }

    pub(super) fn put(&mut self, entry: Entry, contents: &Arc<Contents>) {
        if self.get(entry).is_some() {
            return;
        }
        let (memory, files) = contents.cost();
        self.memory += memory;
        self.files += files;
        self.clock += 1;
        self.ages.insert(self.clock, entry);
        self.entries.insert(entry, (self.clock, Arc::clone(contents)));
        while self.memory > CACHED_MEMORY || self.files > CACHED_FILES {
            let Some((_, oldest)) = self.ages.pop_first() else {
                break;
            };
            if let Some((_, dropped)) = self.entries.remove(&oldest) {
                let (memory, files) = dropped.cost();
                self.memory -= memory;
                self.files -= files;
            }
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objects_used_last_are_kept_within_the_bounds() {
        let mut cache = Cache::default();
        let directory = tempfile::tempdir().unwrap();
        let mebibyte = |byte| {
            let mut reader = io::repeat(byte).take(1 << 20);
            Arc::new(Contents::collect(&mut reader, 1 << 20, directory.path()).unwrap())
        };
        for entry in 0..40 {
            cache.put(entry, &mebibyte(entry as u8));
            cache.get(0).unwrap();
        }
        assert!(cache.memory <= CACHED_MEMORY);
        assert_eq!(cache.entries.len(), cache.ages.len());
        assert!(cache.get(1).is_none());
        let mut byte = [0];
        cache.get(39).unwrap().read_at(&mut byte, (1 << 20) - 1).unwrap();
        assert_eq!(byte, [39]);
        cache.clear();
        assert_eq!((cache.memory, cache.files), (0, 0));
    }

    #[test]
    fn a_large_object_is_kept_in_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let size = MAX_MEMORY_BASE + 3;
        let contents = Contents::collect(&mut io::repeat(5).take(size), size, directory.path()).unwrap();
        assert!(matches!(contents, Contents::File { .. }));
        assert_eq!(contents.length(), size);
        let mut bytes = [0; 3];
        contents.read_at(&mut bytes, size - 3).unwrap();
        assert_eq!(bytes, [5; 3]);
        assert!(contents.read_at(&mut bytes, size - 2).is_err());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(Contents::collect(&mut io::repeat(5).take(size - 1), size, directory.path()).is_err());
    }
}
