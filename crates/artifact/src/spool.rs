//! Bytes that stay in memory up to a limit and go to one unlinked temporary file above it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use bytes::Bytes;

/// Bytes in memory lie in pieces of this size: a single one would be copied whenever it grows, and at the worst
/// moment be there twice.
const SEGMENT: usize = 1 << 20;

/// Takes bytes in; becomes a [`Store`].
#[derive(Debug)]
pub(crate) struct Spool {
    memory_limit: usize,
    full: Vec<Bytes>,
    /// What does not fill a segment yet.
    rest: Vec<u8>,
    file: Option<BufWriter<File>>,
    length: u64,
}

impl Spool {
    /// Keeps up to `memory_limit` bytes in memory.
    pub(crate) fn new(memory_limit: usize) -> Self {
        Self {
            memory_limit,
            full: Vec::new(),
            rest: Vec::new(),
            file: None,
            length: 0,
        }
    }

    /// Ends the writing.
    pub(crate) fn finish(mut self) -> io::Result<Store> {
        let kind = match self.file {
            Some(writer) => StoreKind::File(writer.into_inner().map_err(io::IntoInnerError::into_error)?),
            None => {
                self.full.push(Bytes::from(self.rest.into_boxed_slice()));
                StoreKind::Memory(self.full)
            }
        };
        let length = self.length;
        Ok(Store { kind, length })
    }

    fn take_into_memory(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (fitting, later) = bytes.split_at(bytes.len().min(SEGMENT - self.rest.len()));
            self.rest.extend_from_slice(fitting);
            bytes = later;
            if self.rest.len() == SEGMENT {
                let segment = std::mem::replace(&mut self.rest, Vec::with_capacity(SEGMENT));
                self.full.push(Bytes::from(segment));
            }
        }
    }

    /// Moves what is in memory to a new file.
    fn move_to_file(&mut self) -> io::Result<&mut BufWriter<File>> {
        let mut file = BufWriter::with_capacity(128 * 1024, tempfile::tempfile()?);
        for segment in std::mem::take(&mut self.full) {
            file.write_all(&segment)?;
        }
        file.write_all(&std::mem::take(&mut self.rest))?;
        Ok(self.file.insert(file))
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = self.length.saturating_add(bytes.len() as u64) <= self.memory_limit as u64;
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None if fits => self.take_into_memory(bytes),
            None => self.move_to_file()?.write_all(bytes)?,
        }
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Finished bytes, readable by position from many threads.
#[derive(Debug)]
pub(crate) struct Store {
    kind: StoreKind,
    length: u64,
}

#[derive(Debug)]
enum StoreKind {
    /// Segments, all full but the last.
    Memory(Vec<Bytes>),
    File(File),
}

impl Store {
    /// All bytes, wherever they are.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The bytes held in memory.
    pub(crate) fn memory(&self) -> u64 {
        match &self.kind {
            StoreKind::Memory(_) => self.length,
            StoreKind::File(_) => 0,
        }
    }

    /// A view of `length` bytes from `offset`: shared if they lie together in memory, copied if not.
    pub(crate) fn read(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let end = offset.checked_add(length).filter(|end| *end <= self.length);
        let (Some(_), Ok(count)) = (end, usize::try_from(length)) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if let StoreKind::Memory(segments) = &self.kind
            && let Some((segment, start)) = place_of(segments, offset)
            && start + count <= segment.len()
        {
            return Ok(segment.slice(start..start + count));
        }
        let mut buffer = vec![0; count];
        let mut filled = 0;
        while filled < count {
            filled += self.read_into(&mut buffer[filled..], offset + filled as u64)?;
        }
        Ok(Bytes::from(buffer))
    }

    /// Reads at least one byte at `offset`, which lies before the end.
    fn read_into(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = match &self.kind {
            StoreKind::Memory(segments) => {
                let (segment, start) = place_of(segments, offset).ok_or(io::ErrorKind::UnexpectedEof)?;
                let count = buffer.len().min(segment.len() - start);
                buffer[..count].copy_from_slice(&segment[start..start + count]);
                count
            }
            StoreKind::File(file) => file.read_at(buffer, offset)?,
        };
        if count == 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(count)
    }

    /// A reader from `position` on that can seek.
    pub(crate) fn reader(&self, position: u64) -> StoreReader<'_> {
        StoreReader {
            store: self,
            position,
        }
    }
}

/// The segment that holds the byte at `offset`, and its place there.
fn place_of(segments: &[Bytes], offset: u64) -> Option<(&Bytes, usize)> {
    let offset = usize::try_from(offset).ok()?;
    let segment = segments.get(offset / SEGMENT)?;
    let start = offset % SEGMENT;
    (start <= segment.len()).then_some((segment, start))
}

/// Reads a [`Store`] to its end.
#[derive(Debug)]
pub(crate) struct StoreReader<'s> {
    store: &'s Store,
    position: u64,
}

impl io::Read for StoreReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.store.length.saturating_sub(self.position);
        let wanted = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        let count = self.store.read_into(&mut buffer[..wanted], self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl io::Seek for StoreReader<'_> {
    fn seek(&mut self, target: io::SeekFrom) -> io::Result<u64> {
        let position = match target {
            io::SeekFrom::Start(offset) => Some(offset),
            io::SeekFrom::End(offset) => self.store.length.checked_add_signed(offset),
            io::SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_store_reads_the_same_from_memory_and_from_a_file() {
        let contents: Vec<u8> = (0..700_000_u32).flat_map(u32::to_le_bytes).collect();
        let fill = |limit| {
            let mut spool = Spool::new(limit);
            contents
                .chunks(77_777)
                .for_each(|chunk| spool.write_all(chunk).unwrap());
            spool.finish().unwrap()
        };
        let (memory, file) = (fill(usize::MAX), fill(1_500_000));
        assert_eq!(memory.memory(), contents.len() as u64);
        assert_eq!(file.memory(), 0);
        for store in [memory, file] {
            assert_eq!(store.length(), contents.len() as u64);
            assert_eq!(store.read(999, 5000).unwrap(), contents[999..5999]);
            let crossing = SEGMENT - 5..2 * SEGMENT + 5;
            let read = store.read(crossing.start as u64, crossing.len() as u64).unwrap();
            assert!(read == contents[crossing]);
            assert!(store.read(contents.len() as u64, 0).unwrap().is_empty());
            assert!(store.read(contents.len() as u64 - 1, 2).is_err());
            let mut all = Vec::new();
            store.reader(0).read_to_end(&mut all).unwrap();
            assert!(all == contents);
        }
    }
}
