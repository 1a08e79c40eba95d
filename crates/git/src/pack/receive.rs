//! Takes a pack from a stream into a file, and checks it on the way.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::path::Path;

use flate2::{Decompress, FlushDecompress, Status};
use gix::hash::Hasher;
use gix::objs::Kind;

use super::entry::{Form, Header};
use super::file::PackFile;
use super::index::{Entry, Index};
use super::{CHUNK, PackError};
use crate::{Budget, ObjectId};

/// A pack that was received, with its differences still to be resolved.
pub(crate) struct Received {
    pub(super) file: PackFile,
    pub(super) index: Index,
    /// Differences, each behind the entry to which it is one; sorted.
    pub(super) offset_deltas: Vec<(Entry, Entry)>,
    /// Differences, each behind the object to which it is one; sorted.
    pub(super) reference_deltas: Vec<(ObjectId, Entry)>,
}

/// Takes a pack into an unlinked file in `directory`. Every entry is unpacked once, objects that are stored
/// whole are hashed, and the checksum at the end is compared.
///
/// # Errors
/// The stream ends early or fails, holds something that is no pack, or more than `budget` allows.
pub(crate) fn receive(
    stream: &mut dyn BufRead,
    format: gix::hash::Kind,
    directory: &Path,
    budget: &Budget,
) -> Result<Received, PackError> {
    let file = tempfile::tempfile_in(directory).map_err(PackError::Storage)?;
    let mut receiver = Receiver {
        stream,
        file: BufWriter::with_capacity(CHUNK, file),
        checksum: gix::hash::hasher(format),
        position: 0,
        inflater: Decompress::new(true),
        unpacked: vec![0; CHUNK].into_boxed_slice(),
        format,
        budget,
    };
    let count = receiver.begin()?;
    let mut index = Index::new(format);
    let (mut offset_deltas, mut reference_deltas) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let offset = receiver.position;
        let entry = index.push(offset)?;
        let header = receiver.header(offset)?;
        match header.form {
            Form::Whole(kind) => {
                let id = receiver.object(offset, kind, header.size)?;
                index.set(entry, kind, header.size, None, &id);
            }
            Form::OffsetDelta(distance) => {
                let base = offset.checked_sub(distance).filter(|base| *base < offset);
                let base = base.and_then(|base| index.entry_at(base));
                offset_deltas.push((base.ok_or(PackError::Base { offset })?, entry));
                receiver.unpack(offset, header.size, |_| ())?;
            }
            Form::ReferenceDelta(base) => {
                reference_deltas.push((base, entry));
                receiver.unpack(offset, header.size, |_| ())?;
            }
        }
    }
    let length = receiver.position;
    let file = receiver.end()?;
    offset_deltas.sort_unstable();
    reference_deltas.sort_unstable();
    Ok(Received {
        file: PackFile::new(file, length, format),
        index,
        offset_deltas,
        reference_deltas,
    })
}

struct Receiver<'s> {
    stream: &'s mut dyn BufRead,
    file: BufWriter<File>,
    checksum: Hasher,
    position: u64,
    inflater: Decompress,
    unpacked: Box<[u8]>,
    format: gix::hash::Kind,
    budget: &'s Budget,
}

impl Receiver<'_> {
    /// Reads the header of the pack: how many entries there are.
    fn begin(&mut self) -> Result<u32, PackError> {
        let mut header = [0; 12];
        for byte in &mut header {
            *byte = self.byte()?;
        }
        let [m0, m1, m2, m3, v0, v1, v2, v3, c0, c1, c2, c3] = header;
        let version = u32::from_be_bytes([v0, v1, v2, v3]);
        if [m0, m1, m2, m3] != *b"PACK" || !(2..=3).contains(&version) {
            return Err(PackError::Header);
        }
        Ok(u32::from_be_bytes([c0, c1, c2, c3]))
    }

    fn header(&mut self, offset: u64) -> Result<Header, PackError> {
        self.budget.remaining().map_err(PackError::Ended)?;
        let header = Header::read(offset, self.format, || self.byte())?;
        let limit = self.budget.object_bytes();
        if header.size > limit {
            let size = header.size;
            return Err(PackError::ObjectTooLarge { offset, size, limit });
        }
        Ok(header)
    }

    fn byte(&mut self) -> Result<u8, PackError> {
        let buffered = self.stream.fill_buf().map_err(PackError::Stream)?;
        let Some(byte) = buffered.first().copied() else {
            let offset = self.position;
            return Err(PackError::Truncated { offset });
        };
        self.file.write_all(&[byte]).map_err(PackError::Storage)?;
        self.checksum.update(&[byte]);
        self.position += 1;
        self.stream.consume(1);
        Ok(byte)
    }

    /// Unpacks an object and hashes it.
    fn object(&mut self, offset: u64, kind: Kind, size: u64) -> Result<ObjectId, PackError> {
        let mut hasher = object_hasher(self.format, kind, size);
        self.unpack(offset, size, |bytes| hasher.update(bytes))?;
        hasher.try_finalize().map_err(|_| PackError::Collision { offset })
    }

    /// Unpacks the entry whose compressed bytes come next, and shows what it holds piece by piece.
    fn unpack(&mut self, offset: u64, size: u64, mut take: impl FnMut(&[u8])) -> Result<(), PackError> {
        self.inflater.reset(true);
        let wrong_size = PackError::Size {
            offset,
            announced: size,
        };
        loop {
            let packed = self.stream.fill_buf().map_err(PackError::Stream)?;
            if packed.is_empty() {
                let offset = self.position;
                return Err(PackError::Truncated { offset });
            }
            let (read, written) = (self.inflater.total_in(), self.inflater.total_out());
            let status = self
                .inflater
                .decompress(packed, &mut self.unpacked, FlushDecompress::None)
                .map_err(|_| PackError::Compression { offset })?;
            let difference = |now: u64, before: u64| usize::try_from(now - before).unwrap_or_default();
            let consumed = difference(self.inflater.total_in(), read);
            let produced = difference(self.inflater.total_out(), written);
            self.file
                .write_all(&packed[..consumed])
                .map_err(PackError::Storage)?;
            self.checksum.update(&packed[..consumed]);
            self.position += consumed as u64;
            self.stream.consume(consumed);
            if self.inflater.total_out() > size {
                return Err(wrong_size);
            }
            take(&self.unpacked[..produced]);
            match status {
                Status::StreamEnd if self.inflater.total_out() == size => return Ok(()),
                Status::StreamEnd => return Err(wrong_size),
                _ if consumed == 0 && produced == 0 => return Err(PackError::Compression { offset }),
                _ => self.budget.remaining().map_err(PackError::Ended)?,
            };
        }
    }

    /// Reads the checksum at the end.
    fn end(mut self) -> Result<File, PackError> {
        let computed = self
            .checksum
            .clone()
            .try_finalize()
            .map_err(|_| PackError::Checksum)?;
        for expected in computed.as_slice() {
            if self.byte()? != *expected {
                return Err(PackError::Checksum);
            }
        }
        self.file
            .into_inner()
            .map_err(|error| PackError::Storage(error.into_error()))
    }
}

/// A hasher that has seen what comes before an object's bytes.
pub(super) fn object_hasher(format: gix::hash::Kind, kind: Kind, size: u64) -> Hasher {
    let mut hasher = gix::hash::hasher(format);
    hasher.update(&gix::objs::encode::loose_header(kind, size));
    hasher
}
