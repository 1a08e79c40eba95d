//! Writes packs.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::objs::Kind;

use crate::{Error, ObjectId};

/// An object that goes into a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackObject {
    pub(crate) kind: Kind,
    pub(crate) data: Vec<u8>,
}

/// The pack file of these objects, each stored whole.
pub(crate) fn pack(objects: &[PackObject], format: gix::hash::Kind) -> Result<Vec<u8>, Error> {
    let count = u32::try_from(objects.len()).map_err(|_| Error::protocol("too many objects for one pack"))?;
    let mut bytes = b"PACK".to_vec();
    bytes.extend_from_slice(&2_u32.to_be_bytes());
    bytes.extend_from_slice(&count.to_be_bytes());
    for object in objects {
        write_header(&mut bytes, object.kind, object.data.len() as u64);
        let mut encoder = ZlibEncoder::new(&mut bytes, Compression::default());
        encoder
            .write_all(&object.data)
            .and_then(|()| encoder.finish().map(|_| ()))
            .map_err(|error| Error::storage("unable to compress an object", error))?;
    }
    let mut hasher = gix::hash::hasher(format);
    hasher.update(&bytes);
    let checksum = hasher
        .try_finalize()
        .map_err(|error| Error::storage("unable to hash a pack", error))?;
    bytes.extend_from_slice(checksum.as_slice());
    Ok(bytes)
}

/// Kind in three bits, size in four and then seven bits a byte, the top bit telling that more follow.
fn write_header(bytes: &mut Vec<u8>, kind: Kind, size: u64) {
    let kind = match kind {
        Kind::Commit => 1_u8,
        Kind::Tree => 2,
        Kind::Blob => 3,
        Kind::Tag => 4,
    };
    let low_bits = |value: u64, mask: u64| u8::try_from(value & mask).unwrap_or_default();
    let mut rest = size >> 4;
    let mut byte = kind << 4 | low_bits(size, 0x0f);
    while rest > 0 {
        bytes.push(byte | 0x80);
        byte = low_bits(rest, 0x7f);
        rest >>= 7;
    }
    bytes.push(byte);
}

/// The hash by which Git names an object.
pub(crate) fn hash(object: &PackObject, format: gix::hash::Kind) -> Result<ObjectId, Error> {
    gix::objs::compute_hash(format, object.kind, &object.data)
        .map_err(|error| Error::storage("unable to hash an object", error))
}
