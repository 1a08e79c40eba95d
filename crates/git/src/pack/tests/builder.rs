//! Writes packs as no git would, entry by entry.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::ObjectId;

pub(super) const BLOB: u8 = 3;
const OFFSET_DELTA: u8 = 6;
const REFERENCE_DELTA: u8 = 7;

/// A pack in the making, with a header that counts what was added.
pub(super) struct Builder {
    bytes: Vec<u8>,
    offsets: Vec<u64>,
}

impl Builder {
    pub(super) fn new() -> Self {
        Self {
            bytes: b"PACK\0\0\0\x02\0\0\0\0".to_vec(),
            offsets: Vec::new(),
        }
    }

    /// Where the entry begins that is added next.
    pub(super) fn position(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(super) fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// An object stored whole.
    pub(super) fn whole(&mut self, kind: u8, contents: &[u8]) -> &mut Self {
        self.entry(kind, contents.len() as u64, &[], contents)
    }

    /// A difference to the entry `distance` bytes before.
    pub(super) fn offset_delta(&mut self, distance: u64, delta: &[u8]) -> &mut Self {
        self.entry(OFFSET_DELTA, delta.len() as u64, &distance_bytes(distance), delta)
    }

    pub(super) fn reference_delta(&mut self, base: &ObjectId, delta: &[u8]) -> &mut Self {
        self.entry(REFERENCE_DELTA, delta.len() as u64, base.as_slice(), delta)
    }

    /// Any entry, whose announced size may be a lie.
    pub(super) fn entry(&mut self, kind: u8, size: u64, base: &[u8], contents: &[u8]) -> &mut Self {
        self.offsets.push(self.position());
        let mut byte = kind << 4 | (size & 0x0f) as u8;
        let mut rest = size >> 4;
        while rest > 0 {
            self.bytes.push(byte | 0x80);
            byte = (rest & 0x7f) as u8;
            rest >>= 7;
        }
        self.bytes.push(byte);
        self.bytes.extend_from_slice(base);
        let mut encoder = ZlibEncoder::new(&mut self.bytes, Compression::fast());
        encoder.write_all(contents).unwrap();
        encoder.finish().unwrap();
        self
    }

    /// The pack with its checksum.
    pub(super) fn finish(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[8..12].copy_from_slice(&(self.offsets.len() as u32).to_be_bytes());
        seal(bytes)
    }
}

/// Puts the checksum behind a pack.
pub(super) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut hasher = gix::hash::hasher(super::SHA1);
    hasher.update(&bytes);
    bytes.extend_from_slice(hasher.try_finalize().unwrap().as_slice());
    bytes
}

pub(super) fn blob_id(contents: &[u8]) -> ObjectId {
    gix::objs::compute_hash(super::SHA1, gix::objs::Kind::Blob, contents).unwrap()
}

fn distance_bytes(mut distance: u64) -> Vec<u8> {
    let mut bytes = vec![(distance & 0x7f) as u8];
    distance >>= 7;
    while distance > 0 {
        distance -= 1;
        bytes.insert(0, 0x80 | (distance & 0x7f) as u8);
        distance >>= 7;
    }
    bytes
}

/// An instruction of a difference.
#[derive(Debug, Clone)]
pub(super) enum Instruction {
    Copy { position: u32, count: u32 },
    Insert(Vec<u8>),
    Unknown,
}

/// A difference, whose announced sizes may be lies.
pub(super) fn delta(base_size: u64, size: u64, instructions: &[Instruction]) -> Vec<u8> {
    let mut bytes = varint(base_size);
    bytes.extend(varint(size));
    for instruction in instructions {
        match instruction {
            Instruction::Copy { position, count } => {
                let mut code = 0x80;
                let mut operands = Vec::new();
                for (bit, byte) in position
                    .to_le_bytes()
                    .into_iter()
                    .chain(count.to_le_bytes())
                    .enumerate()
                {
                    if byte != 0 && bit < 7 {
                        code |= 1 << bit;
                        operands.push(byte);
                    }
                }
                bytes.push(code);
                bytes.extend(operands);
            }
            Instruction::Insert(inserted) => {
                for piece in inserted.chunks(127) {
                    bytes.push(piece.len() as u8);
                    bytes.extend_from_slice(piece);
                }
            }
            Instruction::Unknown => bytes.push(0),
        }
    }
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(0x80 | (value & 0x7f) as u8);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}
