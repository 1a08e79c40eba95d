//! Whatever stands in an archive, in ignore rules or in a digest: reading ends with a value or an error, never in a
//! panic, and stays within its limits. `PROPTEST_CASES` sets how many cases each test tries.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::sample::Index;
use sluice_artifact::archive::{ArchiveError, ArchiveLimits, Links};
use sluice_artifact::ignore::{IgnoreRules, read_patterns};
use sluice_artifact::{Algorithm, Archive, Digest};
use sluice_vfs::{EntryKind, FileSystem, VirtualPath, walk};
use tar::{EntryType, Header};

const LIMITS: ArchiveLimits = ArchiveLimits {
    bytes: 1 << 20,
    entries: 100,
    depth: 20,
    memory: 16 << 10,
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::sample::select(vec![
        "a", "..", ".", "", "b.yaml", "\\", "ü", "/", "x y", "\u{202e}",
    ]);
    prop_oneof![
        3 => prop::collection::vec(part, 0..12).prop_map(|parts| parts.join("/").into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..100),
    ]
}

fn kind() -> impl Strategy<Value = EntryType> {
    prop_oneof![
        4 => Just(EntryType::Regular),
        2 => Just(EntryType::Directory),
        3 => any::<u8>().prop_map(EntryType::new),
        3 => prop::sample::select(vec![
            EntryType::XHeader, EntryType::XGlobalHeader, EntryType::GNULongName, EntryType::GNULongLink,
            EntryType::GNUSparse, EntryType::Symlink, EntryType::Link,
        ]),
    ]
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..700),
        // Extended headers, right and wrong.
        prop::sample::select(vec![
            "19 path=some/where\n",
            "30 size=99999999999999999999\n",
            "9 size=5\n",
            "0 x=y\n",
            "99999 path=x\n",
            "8 path=\n",
            "22 GNU.sparse.major=1\n21 GNU.sparse.size=9\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

/// A tar of entries that no honest writer makes.
fn hostile_tar() -> impl Strategy<Value = Vec<u8>> {
    let size = prop_oneof![8 => Just(None), 1 => any::<u64>().prop_map(Some)];
    let entry = (name(), kind(), content(), size);
    prop::collection::vec(entry, 0..8).prop_map(|entries| {
        let mut bytes = Vec::new();
        for (name, kind, content, size) in entries {
            let mut header = Header::new_ustar();
            let length = name.len().min(100);
            header.as_mut_bytes()[..length].copy_from_slice(&name[..length]);
            header.set_entry_type(kind);
            header.set_size(size.unwrap_or(content.len() as u64));
            header.set_cksum();
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(&content);
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.extend_from_slice(&[0; 1024]);
        bytes
    })
}

/// Reads the archive and everything in it.
fn read(bytes: &[u8]) -> Result<u64, ArchiveError> {
    let archive = Archive::read_gzip(&mut &*bytes, &LIMITS, Links::Skip)?;
    assert!(archive.bytes() <= LIMITS.bytes);
    assert!(archive.file_count() <= LIMITS.entries);
    let mut total = 0;
    for entry in walk(&archive, &VirtualPath::root(), usize::MAX).unwrap() {
        if entry.kind == EntryKind::File {
            total += archive.read(&entry.path).unwrap().len() as u64;
        }
    }
    assert!(total <= LIMITS.bytes, "{total}");
    Ok(total)
}

/// Wildcards that would take an age if each were tried against each rest of the path.
#[test]
fn rules_of_many_wildcards_end() {
    let path = format!("{}/{}", "a".repeat(120), "ab/".repeat(60));
    for line in [
        "*a".repeat(40),
        "**/".repeat(60) + "b",
        "a*".repeat(30) + "/" + &"**/a*b/".repeat(20) + "c",
        "[a-z]*".repeat(40),
    ] {
        let rules = IgnoreRules::only(read_patterns(line.as_bytes(), &VirtualPath::root()));
        rules.excludes(&path, EntryKind::File);
    }
}

proptest! {
    #[test]
    fn hostile_archives_end_within_the_limits(tar in hostile_tar()) {
        let _ = read(&gzip(&tar));
    }

    #[test]
    fn damaged_archives_end_within_the_limits(
        tar in hostile_tar(),
        flips in prop::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        cut in any::<Index>(),
        outside in any::<bool>(),
    ) {
        let mut bytes = if outside { gzip(&tar) } else { tar };
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = read(&if outside { bytes } else { gzip(&bytes) });
    }

    #[test]
    fn any_bytes_are_no_archive(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(read(&bytes).is_err());
    }

    #[test]
    fn rules_of_any_bytes_judge_any_path(
        text in prop::collection::vec(prop_oneof![
            6 => prop::sample::select(b"*?[]!/\\\n#ab.-^ {}".to_vec()),
            1 => any::<u8>(),
        ], 0..200),
        paths in prop::collection::vec(name(), 1..6),
    ) {
        let rules = IgnoreRules::for_source(
            read_patterns(&text, &VirtualPath::root()),
            std::str::from_utf8(&text).ok(),
        );
        for path in paths {
            for kind in [EntryKind::File, EntryKind::Directory] {
                rules.excludes(&path, kind);
            }
        }
    }

    #[test]
    fn digests_are_read_as_they_are_printed(text in "[a-z0-9]{0,8}:?[0-9a-fA-Gx]{0,130}", bytes in any::<[u8; 9]>()) {
        if let Ok(digest) = text.parse::<Digest>() {
            prop_assert_eq!(&digest.to_string().parse::<Digest>().unwrap(), &digest);
        }
        for algorithm in [Algorithm::Sha256, Algorithm::Sha384, Algorithm::Sha512, Algorithm::Blake3] {
            let digest = Digest::of(algorithm, &bytes);
            prop_assert_eq!(digest.to_string().parse::<Digest>().unwrap(), digest);
        }
    }
}
