//! The header of an entry: what it is, how many bytes it unpacks to, and what it is based on.

use gix::objs::Kind;

use super::PackError;
use crate::ObjectId;

/// The longest header, that of a difference to a SHA-256 object.
pub(super) const MAX_HEADER: usize = 10 + 32;

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The object itself.
    Whole(Kind),
    /// A difference to the entry that many bytes before.
    OffsetDelta(u64),
    /// A difference to an object of the pack.
    ReferenceDelta(ObjectId),
}

/// The header of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) form: Form,
    /// The bytes to which the entry unpacks: the object, or the difference.
    pub(super) size: u64,
}

impl Header {
    /// Reads the header of the entry at `offset` byte by byte.
    pub(super) fn read(
        offset: u64,
        format: gix::hash::Kind,
        mut next: impl FnMut() -> Result<u8, PackError>,
    ) -> Result<Self, PackError> {
        let invalid = || PackError::EntryHeader { offset };
        let first = next()?;
        let mut size = u64::from(first & 0x0f);
        let (mut byte, mut shift) = (first, 4);
        while byte & 0x80 != 0 {
            byte = next()?;
            let digit = u64::from(byte & 0x7f);
            if shift > 60 || (digit << shift) >> shift != digit {
                return Err(invalid());
            }
            size |= digit << shift;
            shift += 7;
        }
        let form = match first >> 4 & 0x07 {
            1 => Form::Whole(Kind::Commit),
            2 => Form::Whole(Kind::Tree),
            3 => Form::Whole(Kind::Blob),
            4 => Form::Whole(Kind::Tag),
            6 => Form::OffsetDelta(read_distance(&mut next)?.ok_or_else(invalid)?),
            7 => {
                let mut id = ObjectId::null(format);
                for byte in id.as_mut_slice() {
                    *byte = next()?;
                }
                Form::ReferenceDelta(id)
            }
            _ => return Err(invalid()),
        };
        Ok(Self { form, size })
    }
}

/// Seven bits a byte, the highest first; each byte that follows counts one more than its bits say.
fn read_distance(next: &mut impl FnMut() -> Result<u8, PackError>) -> Result<Option<u64>, PackError> {
    let mut byte = next()?;
    let mut distance = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = next()?;
        let Some(higher) = (distance + 1).checked_mul(128).filter(|higher| *higher < 1 << 56) else {
            return Ok(None);
        };
        distance = higher | u64::from(byte & 0x7f);
    }
    Ok(Some(distance))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Header, PackError> {
        let mut bytes = bytes.iter().copied();
        Header::read(7, gix::hash::Kind::Sha1, || {
            bytes.next().ok_or(PackError::Truncated { offset: 7 })
        })
    }

    #[test]
    fn sizes_and_distances_are_read_as_git_writes_them() {
        let blob = read(&[0xb5, 0x0a]).unwrap();
        let expected = Header {
            form: Form::Whole(Kind::Blob),
            size: 0xa5,
        };
        assert_eq!(blob, expected);
        assert_eq!(read(&[0x61, 0x80, 0x00]).unwrap().form, Form::OffsetDelta(128));
        assert_eq!(read(&[0x61, 0x7f]).unwrap().form, Form::OffsetDelta(127));
        let id = ObjectId::from_bytes_or_panic(&[9; 20]);
        let mut bytes = vec![0x73];
        bytes.extend([9; 20]);
        assert_eq!(read(&bytes).unwrap().form, Form::ReferenceDelta(id));
    }

    #[test]
    fn impossible_headers_are_refused() {
        for kind in [0x00, 0x50] {
            assert!(matches!(read(&[kind]), Err(PackError::EntryHeader { offset: 7 })));
        }
        let mut endless = vec![0xbf];
        endless.extend([0xff; 20]);
        assert!(matches!(read(&endless), Err(PackError::EntryHeader { .. })));
        let mut far = vec![0x61];
        far.extend([0xff; 20]);
        assert!(matches!(read(&far), Err(PackError::EntryHeader { .. })));
        assert!(matches!(read(&[0xb5]), Err(PackError::Truncated { .. })));
    }
}
