//! Large objects flow through small buffers.

use std::io::{self, Read};

use super::super::{PackError, receive};
use super::builder::{BLOB, Builder, Instruction, blob_id, delta};
use super::{SHA1, budget};

/// Sixty-four mebibytes that do not compress.
fn large() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(word).take(8 << 20).flatten().collect()
}

/// Bytes that indexing and reading may hold at any moment.
const LIMIT: u64 = 1 << 20;

#[test]
fn a_large_blob_and_a_difference_to_it_are_read_in_little_memory() {
    let base = large();
    let size = base.len() as u64;
    let mut changed = base.clone();
    changed[1 << 20..][..5].copy_from_slice(b"other");
    let tail = (1 << 20) + 5;
    let copies = [
        Instruction::Copy {
            position: 0,
            count: 1 << 20,
        },
        Instruction::Insert(b"other".to_vec()),
    ];
    // One copy takes at most 16 MiB less one.
    let most = (1 << 24) - 1;
    let rest = (tail..base.len() as u32)
        .step_by(most as usize)
        .map(|position| Instruction::Copy {
            position,
            count: most.min(base.len() as u32 - position),
        });
    let instructions: Vec<Instruction> = copies.into_iter().chain(rest).collect();
    let mut builder = Builder::new();
    builder.whole(BLOB, &base);
    builder.reference_delta(&blob_id(&base), &delta(size, size, &instructions));
    let packed = builder.finish();
    let ids = [blob_id(&base), blob_id(&changed)];
    drop((builder, base, changed));
    let directory = tempfile::tempdir().unwrap();
    let mut read = Vec::with_capacity(2);
    let allocated = allocation_counter::measure(|| {
        let received = receive(&mut &*packed, SHA1, directory.path(), &budget());
        let pack = received.and_then(|received| received.resolve(directory.path(), &budget()));
        let pack = pack.unwrap();
        for id in &ids {
            let mut reader = pack.open(id).unwrap().unwrap();
            read.push(copy(&mut reader).unwrap());
        }
    });
    assert_eq!(read, [size, size]);
    assert!(
        allocated.bytes_max < LIMIT,
        "{} bytes at once",
        allocated.bytes_max
    );
}

#[test]
fn a_claim_costs_no_memory() {
    // Four billion objects, and one of half a gigabyte.
    let mut many = b"PACK\0\0\0\x02\xff\xff\xff\xff".to_vec();
    many.extend_from_slice(&[0x30, 0x78, 0x9c, 0x03, 0, 0, 0, 0, 1]);
    let large = Builder::new().entry(BLOB, 500 << 20, &[], b"little").finish();
    for pack in [many, large] {
        let directory = tempfile::tempdir().unwrap();
        let allocated = allocation_counter::measure(|| {
            let received = receive(&mut &*pack, SHA1, directory.path(), &budget());
            assert!(matches!(
                received.err(),
                Some(PackError::Truncated { .. } | PackError::Size { .. })
            ));
        });
        assert!(
            allocated.bytes_max < LIMIT,
            "{} bytes at once",
            allocated.bytes_max
        );
    }
}

fn copy(reader: &mut dyn Read) -> io::Result<u64> {
    io::copy(reader, &mut io::sink())
}
