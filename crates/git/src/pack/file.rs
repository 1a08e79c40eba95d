//! The file of a pack, unpacked entry by entry.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use flate2::{Decompress, FlushDecompress, Status};

use super::entry::{Header, MAX_HEADER};
use super::{CHUNK, PackError};

/// Bytes that are read first of an entry: most entries are shorter.
const FIRST_READ: usize = 4096;

/// Decompressors that are kept for the next entry.
const KEPT_INFLATERS: usize = 4;

/// The bytes of a pack, which any number of threads may read.
pub(super) struct PackFile {
    file: File,
    length: u64,
    format: gix::hash::Kind,
    /// Making a decompressor costs more than unpacking a small object.
    inflaters: Mutex<Vec<Inflater>>,
}

/// A decompressor with the bytes that it works on.
struct Inflater {
    state: Decompress,
    input: Box<[u8]>,
}

impl PackFile {
    /// A file that holds a pack of `length` bytes, without the checksum at its end.
    pub(super) fn new(file: File, length: u64, format: gix::hash::Kind) -> Self {
        Self {
            file,
            length,
            format,
            inflaters: Mutex::default(),
        }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn format(&self) -> gix::hash::Kind {
        self.format
    }

    /// Begins to unpack the entry at `offset`.
    pub(super) fn open(&self, offset: u64) -> Result<EntryReader<'_>, PackError> {
        let mut inflater = self.take_inflater();
        let wanted = self.length.saturating_sub(offset).min(FIRST_READ as u64);
        let filled = usize::try_from(wanted).unwrap_or(FIRST_READ);
        self.file
            .read_exact_at(&mut inflater.input[..filled], offset)
            .map_err(PackError::Storage)?;
        let mut consumed = 0;
        let header = Header::read(offset, self.format, || {
            let byte = inflater.input[..filled.min(MAX_HEADER)].get(consumed).copied();
            consumed += 1;
            byte.ok_or(PackError::Truncated { offset })
        })?;
        Ok(EntryReader {
            file: self,
            inflater: Some(inflater),
            offset,
            position: offset + filled as u64,
            pending: consumed..filled,
            size: header.size,
            left: header.size,
        })
    }

    fn take_inflater(&self) -> Inflater {
        let kept = self
            .inflaters
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        kept.unwrap_or_else(|| Inflater {
            state: Decompress::new(true),
            input: vec![0; CHUNK].into_boxed_slice(),
        })
    }

    fn put_inflater(&self, mut inflater: Inflater) {
        inflater.state.reset(true);
        let mut kept = self.inflaters.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_INFLATERS {
            kept.push(inflater);
        }
    }
}

/// Reads what one entry holds: an object, or a difference.
pub(super) struct EntryReader<'p> {
    file: &'p PackFile,
    inflater: Option<Inflater>,
    offset: u64,
    /// Where the next compressed bytes lie.
    position: u64,
    /// Which of the decompressor's input is not used yet.
    pending: std::ops::Range<usize>,
    size: u64,
    left: u64,
}

impl EntryReader<'_> {
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes of the object or difference.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    fn refill(&mut self) -> io::Result<()> {
        let Some(inflater) = &mut self.inflater else {
            return Ok(());
        };
        let left = self.file.length.saturating_sub(self.position);
        let wanted = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let input = &mut inflater.input[..wanted];
        self.file.file.read_exact_at(input, self.position)?;
        self.position += wanted as u64;
        self.pending = 0..wanted;
        Ok(())
    }
}

impl Read for EntryReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left)
            .unwrap_or(buffer.len())
            .min(buffer.len());
        if wanted == 0 {
            return Ok(0);
        }
        loop {
            if self.pending.is_empty() {
                self.refill()?;
            }
            let Some(Inflater { state, input }) = &mut self.inflater else {
                return Ok(0);
            };
            let (read, written) = (state.total_in(), state.total_out());
            let input = &input[self.pending.clone()];
            let status = state
                .decompress(input, &mut buffer[..wanted], FlushDecompress::None)
                .map_err(|_| PackError::Compression { offset: self.offset })?;
            let difference = |now: u64, before: u64| usize::try_from(now - before).unwrap_or_default();
            let consumed = difference(state.total_in(), read);
            let produced = difference(state.total_out(), written);
            self.pending.start += consumed;
            if produced > 0 {
                self.left -= produced as u64;
                return Ok(produced);
            }
            if status == Status::StreamEnd || consumed == 0 {
                let announced = self.size;
                let offset = self.offset;
                return Err(PackError::Size { offset, announced }.into());
            }
        }
    }
}

impl Drop for EntryReader<'_> {
    fn drop(&mut self) {
        if let Some(inflater) = self.inflater.take() {
            self.file.put_inflater(inflater);
        }
    }
}
