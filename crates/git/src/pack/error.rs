//! What is wrong with a pack.

use std::io;

use crate::{Error, ErrorKind, ObjectId};

/// Why a pack cannot be received or read. Offsets count the bytes from the beginning of the pack.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PackError {
    /// The stream does not begin as a pack does.
    #[error("it does not begin with PACK and a version that is known")]
    Header,
    /// The stream ended in the middle.
    #[error("it ends in the middle, at byte {offset}")]
    Truncated { offset: u64 },
    /// The hash at the end is another one.
    #[error("its checksum does not match")]
    Checksum,
    /// An entry is of no kind that is known, or its size has too many digits.
    #[error("the entry at byte {offset} has no valid header")]
    EntryHeader { offset: u64 },
    /// The compressed bytes of an entry are damaged.
    #[error("the entry at byte {offset} cannot be decompressed")]
    Compression { offset: u64 },
    /// An entry unpacks to more or fewer bytes than its header says.
    #[error("the entry at byte {offset} does not unpack to the {announced} bytes that it announces")]
    Size { offset: u64, announced: u64 },
    /// A difference to something that is no entry before it.
    #[error("the entry at byte {offset} is a difference to something that is no entry")]
    Base { offset: u64 },
    /// A difference to an object that is not there.
    #[error("it holds differences to objects that it does not hold, such as {id}")]
    MissingBase { id: ObjectId },
    /// A difference to an object that is there twice; git refuses it as well.
    #[error("the entry at byte {offset} is a difference to an object that it holds twice")]
    RepeatedBase { offset: u64 },
    /// A difference says impossible things.
    #[error("the difference at byte {offset} is malformed: {reason}")]
    Delta { offset: u64, reason: &'static str },
    /// The hash of an object cannot be trusted.
    #[error("the object at byte {offset} was made to collide with another one's hash")]
    Collision { offset: u64 },
    /// An object is larger than allowed.
    #[error("the object at byte {offset} has {size} bytes, more than the limit of {limit}")]
    ObjectTooLarge { offset: u64, size: u64, limit: u64 },
    /// More objects than allowed.
    #[error("it holds more than the limit of {limit} objects")]
    TooManyObjects { limit: usize },
    /// Differences to differences, and so on.
    #[error("the object at byte {offset} is a difference of more than {limit} steps")]
    ChainTooLong { offset: u64, limit: u16 },
    /// The stream failed.
    #[error("{0}")]
    Stream(io::Error),
    /// A scratch file failed.
    #[error("{0}")]
    Storage(io::Error),
    /// The operation must end.
    #[error(transparent)]
    Ended(Error),
}

impl PackError {
    /// The error inside one of input and output, or else a failed scratch file.
    pub(crate) fn from_io(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => error,
            Err(error) => Self::Storage(error),
        }
    }
}

impl From<PackError> for io::Error {
    fn from(error: PackError) -> Self {
        match error {
            PackError::Storage(error) | PackError::Stream(error) => error,
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

impl From<PackError> for Error {
    fn from(error: PackError) -> Self {
        let text = format!("the remote sent a pack that cannot be used: {error}");
        match error {
            PackError::ObjectTooLarge { .. }
            | PackError::TooManyObjects { .. }
            | PackError::ChainTooLong { .. } => Self::new(ErrorKind::Limit, text),
            PackError::Storage(error) => Self::storage("unable to store fetched objects", error),
            PackError::Stream(error) => Self::new(ErrorKind::Network, error.to_string()),
            PackError::Ended(error) => error,
            _ => Self::protocol(text),
        }
    }
}
