//! Packs: received as a stream, indexed in memory, read by position.
//!
//! A pack lies in one unlinked file that is never mapped. Entries are unpacked through fixed buffers, so an
//! object of any size costs no more memory than a small one; what differences are based on is kept in a cache
//! that is bounded by bytes, large ones in unlinked files. Nothing that a pack says about itself is trusted.

mod contents;
mod delta;
mod entry;
mod error;
mod file;
mod index;
mod object;
mod receive;
mod resolve;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use error::PackError;
pub(crate) use object::{ObjectReader, Pack};
pub(crate) use receive::{Received, receive};
pub(crate) use write::{PackObject, hash, pack};

/// Objects of one pack.
const MAX_OBJECTS: usize = 1 << 24;

/// Differences between an object and the first one that is stored whole; git makes at most 4095.
const MAX_CHAIN: u16 = 4096;

/// Bytes of an object that is held in memory as the base of differences.
const MAX_MEMORY_BASE: u64 = 8 << 20;

/// Bytes that are copied at once.
const CHUNK: usize = 64 * 1024;
