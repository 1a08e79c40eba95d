//! Packs that lie, one lie each.

use std::time::{Duration, Instant};

use super::super::{MAX_CHAIN, MAX_MEMORY_BASE, PackError};
use super::builder::{BLOB, Builder, Instruction, blob_id, delta, seal};
use super::{SHA1, budget, git_accepts, index, index_within, read_all};
use crate::{Budget, Error, ErrorKind};

fn failure(bytes: &[u8]) -> PackError {
    match index(bytes) {
        Ok(_) => panic!("the pack was accepted"),
        Err(error) => {
            assert!(!git_accepts(bytes), "git accepts what ends in: {error}");
            error
        }
    }
}

fn copy(position: u32, count: u32) -> Instruction {
    Instruction::Copy { position, count }
}

#[test]
fn differences_of_every_kind_are_resolved() {
    let base: Vec<u8> = (0..70_000_u32).flat_map(u32::to_le_bytes).collect();
    let size = base.len() as u64;
    let mut builder = Builder::new();
    // A reference may point forward, and to a difference.
    let middle = [&base[9..20], b"inserted".as_slice()].concat();
    builder.reference_delta(
        &blob_id(&middle),
        &delta(19, 3, &[copy(17, 2), Instruction::Insert(vec![0])]),
    );
    let first = builder.position();
    builder.whole(BLOB, &base);
    let distance = builder.position() - first;
    let instructions = [copy(9, 11), Instruction::Insert(b"inserted".to_vec())];
    builder.offset_delta(distance, &delta(size, 19, &instructions));
    // No count means 64 KiB.
    builder.reference_delta(&blob_id(&base), &delta(size, 0x1_0000, &[copy(1, 0)]));
    // The empty object stands twice.
    builder.reference_delta(&blob_id(&base), &delta(size, 0, &[]));
    builder.whole(BLOB, &[]);
    let pack = builder.finish();
    assert!(git_accepts(&pack));
    let (pack, _directory) = index(&pack).unwrap();
    let objects = read_all(&pack);
    let blobs: Vec<&[u8]> = vec![&base, &middle, b"ed\0", &base[1..0x1_0001], b""];
    assert_eq!(objects.len(), blobs.len());
    for blob in blobs {
        assert_eq!(objects[&blob_id(blob)].1, blob);
    }
}

#[test]
fn what_is_no_pack_is_refused() {
    let whole = Builder::new().whole(BLOB, b"something").finish();
    for length in 0..whole.len() {
        let error = failure(&whole[..length]);
        assert!(
            matches!(error, PackError::Truncated { .. } | PackError::Header),
            "{error}"
        );
    }
    assert!(matches!(failure(b"PUCK\0\0\0\x02\0\0\0\0"), PackError::Header));
    assert!(matches!(
        failure(&seal(b"PACK\0\0\0\x04\0\0\0\0".to_vec())),
        PackError::Header
    ));
    let mut other = whole.clone();
    *other.last_mut().unwrap() ^= 1;
    assert!(matches!(failure(&other), PackError::Checksum));
    let kindless = Builder::new().entry(5, 3, &[], b"abc").finish();
    assert!(matches!(
        failure(&kindless),
        PackError::EntryHeader { offset: 12 }
    ));
    let mut damaged = whole;
    damaged[13] = 0xff;
    assert!(matches!(failure(&damaged), PackError::Compression { offset: 12 }));
}

#[test]
fn sizes_that_lie_are_refused() {
    for size in [2, 4, 1 << 40] {
        let pack = Builder::new().entry(BLOB, size, &[], b"abc").finish();
        let error = failure(&pack);
        assert!(
            matches!(error, PackError::Size { .. } | PackError::ObjectTooLarge { .. }),
            "{error}"
        );
    }
    let cases: [(u64, u64, &[Instruction]); 7] = [
        (2, 3, &[copy(0, 3)]),
        (3, 2, &[copy(0, 3)]),
        (3, 4, &[copy(0, 3)]),
        (3, 1 << 28, &[copy(0, 3)]),
        (3, 4, &[copy(0, 4)]),
        (3, 3, &[copy(u32::MAX, 3)]),
        (3, 0, &[Instruction::Unknown]),
    ];
    for (base_size, size, instructions) in cases {
        let mut builder = Builder::new();
        builder.whole(BLOB, b"abc");
        builder.reference_delta(&blob_id(b"abc"), &delta(base_size, size, instructions));
        let error = failure(&builder.finish());
        assert!(matches!(error, PackError::Delta { .. }), "{error}");
    }
    for bytes in [&[][..], &[3], &[0xff; 20]] {
        let mut builder = Builder::new();
        builder
            .whole(BLOB, b"abc")
            .reference_delta(&blob_id(b"abc"), bytes);
        assert!(matches!(failure(&builder.finish()), PackError::Delta { .. }));
    }
}

#[test]
fn differences_to_nothing_are_refused() {
    let change = delta(3, 3, &[copy(0, 3)]);
    let mut builder = Builder::new();
    builder
        .whole(BLOB, b"abc")
        .reference_delta(&blob_id(b"other"), &change);
    match failure(&builder.finish()) {
        PackError::MissingBase { id } => assert_eq!(id, blob_id(b"other")),
        error => panic!("{error}"),
    }
    // To itself, to before the pack, into its header, into the middle of an entry.
    for distance in [0, 100, 20, 3] {
        let mut builder = Builder::new();
        builder.whole(BLOB, b"abc");
        builder.offset_delta(distance, &change);
        let error = failure(&builder.finish());
        assert!(matches!(error, PackError::Base { .. }), "{distance}: {error}");
    }
    // An object that stands twice, or is made of itself, could be meant twice.
    let mut twice = Builder::new();
    twice.whole(BLOB, b"abc").whole(BLOB, b"abc");
    twice.reference_delta(&blob_id(b"abc"), &change);
    let mut itself = Builder::new();
    itself
        .whole(BLOB, b"abc")
        .reference_delta(&blob_id(b"abc"), &change);
    for builder in [twice, itself] {
        let error = failure(&builder.finish());
        assert!(matches!(error, PackError::RepeatedBase { .. }), "{error}");
    }
    // Each of the two would be made from the other.
    let mut builder = Builder::new();
    builder.reference_delta(&blob_id(b"abc"), &change);
    builder.reference_delta(&blob_id(b"abc"), &change);
    assert!(matches!(
        failure(&builder.finish()),
        PackError::MissingBase { .. }
    ));
}

/// A blob, and `length` differences, each to the one before.
fn chain(length: u32, first: &[u8]) -> Vec<u8> {
    let mut builder = Builder::new();
    builder.whole(BLOB, first);
    let size = first.len() as u64;
    for step in 0..length {
        let start = *builder.offsets().last().unwrap();
        let distance = builder.position() - start;
        let stamp = Instruction::Insert(step.to_le_bytes().to_vec());
        let rest = copy(4, first.len() as u32 - 4);
        builder.offset_delta(distance, &delta(size, size, &[stamp, rest]));
    }
    builder.finish()
}

#[test]
fn chains_have_an_end() {
    let limit = u32::from(MAX_CHAIN);
    let (pack, _directory) = index(&chain(limit, b"a long chain")).unwrap();
    assert_eq!(pack.index.length() as u32, limit + 1);
    // The last one first: its whole chain is walked.
    pack.cache().clear();
    let last = pack.index.id(limit);
    assert_eq!(pack.open(&last).unwrap().unwrap().size(), 12);
    let error = index(&chain(limit + 1, b"a long chain")).err().unwrap();
    assert!(matches!(error, PackError::ChainTooLong { .. }), "{error}");
    assert_eq!(Error::from(error).kind(), ErrorKind::Limit);
}

#[test]
fn objects_have_a_limit_whole_or_made() {
    let small = budget().with_object_bytes(1000);
    let whole = Builder::new().whole(BLOB, &[0; 1001]).finish();
    let mut made = Builder::new();
    made.whole(BLOB, &[0; 1000]);
    made.reference_delta(
        &blob_id(&[0; 1000]),
        &delta(1000, 1001, &[copy(0, 1000), copy(0, 1)]),
    );
    for pack in [whole, made.finish()] {
        let error = index_within(&pack, SHA1, &small).err().unwrap();
        assert!(
            matches!(
                error,
                PackError::ObjectTooLarge {
                    size: 1001,
                    limit: 1000,
                    ..
                }
            ),
            "{error}"
        );
        assert!(index(&pack).is_ok());
    }
}

#[test]
fn a_bomb_of_differences_ends_with_the_time() {
    // A few kilobytes that stand for hundreds of gigabytes.
    let base = vec![0; 1 << 16];
    let mut builder = Builder::new();
    builder.whole(BLOB, &base);
    let copies = vec![copy(0, 1 << 16); 8000];
    let bomb = delta(1 << 16, 8000 << 16, &copies);
    for _ in 0..500 {
        builder.reference_delta(&blob_id(&base), &bomb);
    }
    let pack = builder.finish();
    let began = Instant::now();
    let error = index_within(&pack, SHA1, &Budget::new(Duration::from_millis(500)))
        .err()
        .unwrap();
    assert_eq!(Error::from(error).kind(), ErrorKind::Timeout);
    assert!(began.elapsed() < Duration::from_secs(30), "it goes on and on");
}

#[test]
fn differences_to_objects_that_lie_in_files_are_read() {
    let size = usize::try_from(MAX_MEMORY_BASE).unwrap() + 1;
    let first: Vec<u8> = (0..size).map(|place| (place * 7 / 3) as u8).collect();
    let (pack, _directory) = index(&chain(5, &first)).unwrap();
    let objects = read_all(&pack);
    for step in 0..5_u32 {
        let mut expected = first.clone();
        expected[..4].copy_from_slice(&step.to_le_bytes());
        assert!(objects[&blob_id(&expected)].1 == expected, "step {step}");
    }
}
