//! Objects that are stored as differences to others.

use std::io::{self, BufReader, Read};
use std::sync::Arc;

use super::PackError;
use super::contents::Contents;
use super::file::EntryReader;

/// Instructions that are unpacked ahead.
const INSTRUCTION_BUFFER: usize = 4096;

/// The shortest difference that git reads.
const MIN_SIZE: u64 = 4;

/// What a copy of no bytes means.
const DEFAULT_COPY: u64 = 0x1_0000;

/// Reads the object that a difference and its base give.
pub(super) struct DeltaReader<'p> {
    base: Arc<Contents>,
    instructions: BufReader<EntryReader<'p>>,
    offset: u64,
    size: u64,
    left: u64,
    running: Instruction,
}

/// What the difference says next.
enum Instruction {
    /// Copy from the base.
    Copy { position: u64, left: u64 },
    /// Take bytes from the difference itself.
    Insert { left: u64 },
}

impl<'p> DeltaReader<'p> {
    /// Reads what `entry`, a difference to `base`, stands for.
    pub(super) fn new(base: Arc<Contents>, entry: EntryReader<'p>) -> Result<Self, PackError> {
        let offset = entry.offset();
        if entry.size() < MIN_SIZE {
            let reason = "it is too short";
            return Err(PackError::Delta { offset, reason });
        }
        let mut instructions = BufReader::with_capacity(INSTRUCTION_BUFFER, entry);
        let base_size = read_size(&mut instructions, offset)?;
        let size = read_size(&mut instructions, offset)?;
        if base_size != base.length() {
            let reason = "its base has another size";
            return Err(PackError::Delta { offset, reason });
        }
        Ok(Self {
            base,
            instructions,
            offset,
            size,
            left: size,
            running: Instruction::Insert { left: 0 },
        })
    }

    /// The size of the object.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    fn malformed(&self, reason: &'static str) -> PackError {
        let offset = self.offset;
        PackError::Delta { offset, reason }
    }

    /// Reads the next instruction, which must not make more bytes than are left.
    fn advance(&mut self) -> Result<(), PackError> {
        let code = read_byte(&mut self.instructions, self.offset)?;
        let count = if code & 0x80 == 0 {
            if code == 0 {
                return Err(self.malformed("it holds an instruction that is not known"));
            }
            let left = u64::from(code);
            self.running = Instruction::Insert { left };
            left
        } else {
            let position = self.operand(code, 4)?;
            let left = match self.operand(code >> 4, 3)? {
                0 => DEFAULT_COPY,
                count => count,
            };
            if position + left > self.base.length() {
                return Err(self.malformed("it copies from beyond the end of its base"));
            }
            self.running = Instruction::Copy { position, left };
            left
        };
        if count > self.left {
            return Err(self.malformed("it makes more bytes than it announces"));
        }
        Ok(())
    }

    /// A number of which only the bytes that are not zero are written, those with a bit in `present`.
    fn operand(&mut self, present: u8, bytes: u8) -> Result<u64, PackError> {
        let mut value = 0;
        for place in 0..bytes {
            if present & 1 << place != 0 {
                value |= u64::from(read_byte(&mut self.instructions, self.offset)?) << (8 * place);
            }
        }
        Ok(value)
    }

    fn check_end(&mut self) -> Result<(), PackError> {
        let mut byte = [0];
        match self.instructions.read(&mut byte).map_err(PackError::from_io)? {
            0 => Ok(()),
            _ => Err(self.malformed("it goes on after its object is complete")),
        }
    }
}

impl Read for DeltaReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            self.check_end()?;
            return Ok(0);
        }
        if buffer.is_empty() {
            return Ok(0);
        }
        if let Instruction::Copy { left: 0, .. } | Instruction::Insert { left: 0 } = self.running {
            self.advance()?;
        }
        let room = buffer.len();
        let fitting = |left: u64| usize::try_from(left).unwrap_or(room).min(room);
        let count = match &mut self.running {
            Instruction::Copy { position, left } => {
                let count = fitting(*left);
                self.base.read_at(&mut buffer[..count], *position)?;
                *position += count as u64;
                *left -= count as u64;
                count
            }
            Instruction::Insert { left } => {
                let count = self.instructions.read(&mut buffer[..fitting(*left)])?;
                *left -= count as u64;
                count
            }
        };
        if count == 0 {
            return Err(self.malformed("it ends before its object is complete").into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

fn read_byte(reader: &mut impl Read, offset: u64) -> Result<u8, PackError> {
    let mut byte = [0];
    match reader.read(&mut byte).map_err(PackError::from_io)? {
        0 => {
            let reason = "it ends before its object is complete";
            Err(PackError::Delta { offset, reason })
        }
        _ => Ok(byte[0]),
    }
}

/// Seven bits a byte, the lowest first.
fn read_size(reader: &mut impl Read, offset: u64) -> Result<u64, PackError> {
    let (mut size, mut shift) = (0, 0);
    loop {
        let byte = read_byte(reader, offset)?;
        if shift > 49 {
            let reason = "it announces an impossible size";
            return Err(PackError::Delta { offset, reason });
        }
        size |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(size);
        }
    }
}
