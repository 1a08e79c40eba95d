//! Where the objects of a pack are.

use gix::objs::Kind;

use super::{MAX_OBJECTS, PackError};
use crate::ObjectId;

/// An entry of a pack, by its place among the others.
pub(super) type Entry = u32;

/// Kind and size share a number: no size needs these bits.
const KIND_SHIFT: u32 = 61;

/// What no entry is.
const NONE: Entry = Entry::MAX;

/// The entries of a pack, about 44 bytes each.
pub(super) struct Index {
    /// Where the entries begin, ascending.
    offsets: Vec<u64>,
    /// Kind and size of the objects; 0 for what is not known yet.
    objects: Vec<u64>,
    /// The entries to which they are differences.
    bases: Vec<Entry>,
    /// The hashes, one after the other.
    ids: Vec<u8>,
    /// The entries by hash, once all are known.
    order: Vec<Entry>,
    format: gix::hash::Kind,
}

impl Index {
    pub(super) fn new(format: gix::hash::Kind) -> Self {
        Self {
            offsets: Vec::new(),
            objects: Vec::new(),
            bases: Vec::new(),
            ids: Vec::new(),
            order: Vec::new(),
            format,
        }
    }

    /// Adds the entry at `offset`, of which nothing else is known.
    pub(super) fn push(&mut self, offset: u64) -> Result<Entry, PackError> {
        let too_many = PackError::TooManyObjects { limit: MAX_OBJECTS };
        if self.offsets.len() >= MAX_OBJECTS {
            return Err(too_many);
        }
        let entry = Entry::try_from(self.offsets.len()).map_err(|_| too_many)?;
        self.offsets.push(offset);
        self.objects.push(0);
        self.bases.push(NONE);
        self.ids.resize(self.ids.len() + self.format.len_in_bytes(), 0);
        Ok(entry)
    }

    /// Says which object an entry holds.
    pub(super) fn set(&mut self, entry: Entry, kind: Kind, size: u64, base: Option<Entry>, id: &ObjectId) {
        let place = entry as usize;
        self.objects[place] = code_of(kind) << KIND_SHIFT | size;
        self.bases[place] = base.unwrap_or(NONE);
        let length = self.format.len_in_bytes();
        self.ids[place * length..][..length].copy_from_slice(id.as_slice());
    }

    /// Sorts the hashes, after which [`Index::find`] finds.
    pub(super) fn sort(&mut self) {
        let mut order: Vec<Entry> = (0..).take(self.offsets.len()).collect();
        order.sort_unstable_by(|left, right| self.id_bytes(*left).cmp(self.id_bytes(*right)));
        self.order = order;
    }

    pub(super) fn find(&self, id: &ObjectId) -> Option<Entry> {
        let found = self
            .order
            .binary_search_by(|entry| self.id_bytes(*entry).cmp(id.as_slice()))
            .ok()?;
        self.order.get(found).copied()
    }

    /// The entry that begins at `offset`.
    pub(super) fn entry_at(&self, offset: u64) -> Option<Entry> {
        let place = self.offsets.binary_search(&offset).ok()?;
        Entry::try_from(place).ok()
    }

    pub(super) fn length(&self) -> usize {
        self.offsets.len()
    }

    pub(super) fn offset(&self, entry: Entry) -> u64 {
        self.offsets[entry as usize]
    }

    /// Kind and size of the object; `None` while it is not known.
    pub(super) fn object(&self, entry: Entry) -> Option<(Kind, u64)> {
        let object = self.objects[entry as usize];
        let kind = match object >> KIND_SHIFT {
            1 => Kind::Commit,
            2 => Kind::Tree,
            3 => Kind::Blob,
            4 => Kind::Tag,
            _ => return None,
        };
        Some((kind, object & ((1 << KIND_SHIFT) - 1)))
    }

    pub(super) fn base(&self, entry: Entry) -> Option<Entry> {
        Some(self.bases[entry as usize]).filter(|base| *base != NONE)
    }

    pub(super) fn id(&self, entry: Entry) -> ObjectId {
        let mut id = ObjectId::null(self.format);
        id.as_mut_slice().copy_from_slice(self.id_bytes(entry));
        id
    }

    fn id_bytes(&self, entry: Entry) -> &[u8] {
        let length = self.format.len_in_bytes();
        &self.ids[entry as usize * length..][..length]
    }
}

fn code_of(kind: Kind) -> u64 {
    match kind {
        Kind::Commit => 1,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_hash_and_entries_by_offset() {
        let mut index = Index::new(gix::hash::Kind::Sha1);
        let id = |byte: u8| ObjectId::from_bytes_or_panic(&[byte; 20]);
        for (offset, byte) in [(12, 7), (40, 3), (99, 7), (120, 1)] {
            let entry = index.push(offset).unwrap();
            assert_eq!(index.object(entry), None);
            index.set(entry, Kind::Tree, offset, entry.checked_sub(1), &id(byte));
        }
        index.sort();
        let found = index.find(&id(3)).unwrap();
        assert_eq!(index.object(found), Some((Kind::Tree, 40)));
        assert_eq!((index.offset(found), index.base(found)), (40, Some(0)));
        assert_eq!(index.id(found), id(3));
        assert!(index.find(&id(7)).is_some());
        assert_eq!(index.find(&id(2)), None);
        assert_eq!(index.entry_at(99), Some(2));
        assert_eq!(index.entry_at(98), None);
        assert_eq!(index.base(0), None);
    }
}
