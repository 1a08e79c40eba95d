//! Bytes that stay in memory up to a limit and go to one unlinked temporary file above it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

use bytes::Bytes;

/// Takes bytes in; becomes a [`Store`].
#[derive(Debug)]
pub(crate) struct Spool {
    memory_limit: usize,
    memory: Vec<u8>,
    file: Option<BufWriter<File>>,
    length: u64,
}

impl Spool {
    /// Keeps up to `memory_limit` bytes in memory.
    pub(crate) fn new(memory_limit: usize) -> Self {
        Self {
            memory_limit,
            memory: Vec::new(),
            file: None,
            length: 0,
        }
    }

    /// Ends the writing.
    pub(crate) fn finish(self) -> io::Result<Store> {
        match self.file {
            Some(writer) => {
                let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
                Ok(Store {
                    kind: StoreKind::File(file),
                    length: self.length,
                })
            }
            None => {
                let bytes = Bytes::from(self.memory.into_boxed_slice());
                Ok(Store {
                    kind: StoreKind::Memory(bytes),
                    length: self.length,
                })
            }
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.file.is_none() && self.memory.len() + bytes.len() > self.memory_limit {
            let mut file = BufWriter::with_capacity(128 * 1024, tempfile::tempfile()?);
            file.write_all(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes)?,
            None => self.memory.extend_from_slice(bytes),
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
    Memory(Bytes),
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
            StoreKind::Memory(bytes) => bytes.len() as u64,
            StoreKind::File(_) => 0,
        }
    }

    /// A view of `length` bytes from `offset`: shared if they are in memory, read if not.
    pub(crate) fn read(&self, offset: u64, length: u64) -> io::Result<Bytes> {
        let end = offset.checked_add(length).filter(|end| *end <= self.length);
        let (Some(end), Ok(count)) = (end, usize::try_from(length)) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        match &self.kind {
            StoreKind::Memory(bytes) => match (usize::try_from(offset), usize::try_from(end)) {
                (Ok(start), Ok(end)) => Ok(bytes.slice(start..end)),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            },
            StoreKind::File(file) => {
                let mut buffer = vec![0; count];
                file.read_exact_at(&mut buffer, offset)?;
                Ok(Bytes::from(buffer))
            }
        }
    }

    /// A reader from the start that can seek.
    pub(crate) fn reader(&self) -> StoreReader<'_> {
        StoreReader {
            store: self,
            position: 0,
        }
    }
}

/// Reads a [`Store`] from start to end.
#[derive(Debug)]
pub(crate) struct StoreReader<'s> {
    store: &'s Store,
    position: u64,
}

impl io::Read for StoreReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.store.length.saturating_sub(self.position);
        let count = (buffer.len() as u64).min(left);
        let view = self.store.read(self.position, count)?;
        buffer[..view.len()].copy_from_slice(&view);
        self.position += view.len() as u64;
        Ok(view.len())
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
        let contents: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        let fill = |limit| {
            let mut spool = Spool::new(limit);
            contents
                .chunks(777)
                .for_each(|chunk| spool.write_all(chunk).unwrap());
            spool.finish().unwrap()
        };
        let (memory, file) = (fill(usize::MAX), fill(1000));
        assert_eq!(memory.memory(), contents.len() as u64);
        assert_eq!(file.memory(), 0);
        for store in [memory, file] {
            assert_eq!(store.length(), contents.len() as u64);
            assert_eq!(store.read(999, 5000).unwrap(), contents[999..5999]);
            assert!(store.read(contents.len() as u64 - 1, 2).is_err());
            let mut all = Vec::new();
            store.reader().read_to_end(&mut all).unwrap();
            assert!(all == contents);
        }
    }
}
