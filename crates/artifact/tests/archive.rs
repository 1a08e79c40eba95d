//! A fetched artifact reads like the tree that it was made of, and hostile ones are refused.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use sluice_artifact::archive::{ArchiveError, ArchiveLimits, Links};
use sluice_artifact::{Archive, write_gzip};
use sluice_vfs::{EntryKind, FileSystem, FileSystemError, MemoryFileSystem, VirtualPath, walk};
use tar::{EntryType, Header};

fn pack(tree: &MemoryFileSystem) -> Vec<u8> {
    write_gzip(Vec::new(), |tar| -> std::io::Result<()> {
        for entry in walk(tree, &VirtualPath::root(), usize::MAX).unwrap() {
            match entry.kind {
                EntryKind::Directory => tar.directory(&entry.path)?,
                EntryKind::File => {
                    let contents = tree.read(&entry.path).unwrap();
                    let executable = entry.path.file_name().ends_with(".sh");
                    tar.file(
                        &entry.path,
                        executable,
                        contents.len() as u64,
                        &mut contents.as_ref(),
                    )?;
                }
            }
        }
        Ok(())
    })
    .unwrap()
}

fn open(bytes: &[u8], limits: &ArchiveLimits) -> Result<Archive, ArchiveError> {
    Archive::read_gzip(&mut &*bytes, limits, Links::Skip)
}

/// A tar of raw entries, also of ones that no honest writer makes.
fn raw(entries: &[(&str, EntryType, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, kind, contents) in entries {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        if is_link {
            header.as_mut_bytes()[157..157 + contents.len()].copy_from_slice(contents.as_bytes());
        }
        let body = if is_link { "" } else { contents };
        header.set_size(body.len() as u64);
        header.set_cksum();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(body.as_bytes());
        bytes.resize(bytes.len().div_ceil(512) * 512, 0);
    }
    bytes.extend_from_slice(&[0; 1024]);
    gzip(&bytes)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn any_tree() -> impl Strategy<Value = MemoryFileSystem> {
    let part = prop::sample::select(vec!["a", "b", "run.sh", "ü", "a.txt", "deep"]);
    let path =
        prop::collection::vec(part, 1..6).prop_map(|parts| VirtualPath::parse(&parts.join("/")).unwrap());
    prop::collection::vec(
        (
            path,
            prop::option::weighted(0.8, prop::collection::vec(any::<u8>(), 0..1500)),
        ),
        0..12,
    )
    .prop_map(|entries| {
        let mut tree = MemoryFileSystem::new();
        for (path, contents) in entries {
            match contents {
                Some(contents) => tree.insert(path, contents),
                None => tree.insert_directory(path),
            }
        }
        tree
    })
}

proptest! {
    #[test]
    fn an_archive_reads_like_the_tree_it_was_made_of(tree in any_tree(), in_file in any::<bool>()) {
        let memory = if in_file { 100 } else { usize::MAX };
        let limits = ArchiveLimits { memory, ..ArchiveLimits::default() };
        let archive = open(&pack(&tree), &limits).unwrap();
        let root = VirtualPath::root();
        let entries = walk(&tree, &root, usize::MAX).unwrap();
        prop_assert_eq!(&walk(&archive, &root, usize::MAX).unwrap(), &entries);
        for entry in entries {
            if entry.kind == EntryKind::File {
                prop_assert_eq!(archive.read(&entry.path), tree.read(&entry.path));
                prop_assert_eq!(archive.is_executable(&entry.path), Some(entry.path.file_name().ends_with(".sh")));
            } else {
                prop_assert_eq!(archive.read(&entry.path), Err(FileSystemError::IsDirectory(entry.path)));
            }
        }
    }

    /// Damage is an error or goes unnoticed by the reader, but never a panic or a hang.
    #[test]
    fn damaged_archives_do_no_harm(tree in any_tree(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut plain = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(pack(&tree).as_slice()), &mut plain).unwrap();
        let index = place.index(plain.len());
        plain[index] = byte;
        if let Ok(archive) = open(&gzip(&plain), &ArchiveLimits::default()) {
            for entry in walk(&archive, &VirtualPath::root(), 1000).unwrap() {
                let _ = archive.read(&entry.path);
            }
        }
    }
}

#[test]
fn names_that_leave_the_root_are_refused() {
    // SRC-058
    for name in ["../evil", "a/../../evil", "/etc/passwd", "a\\b", "a/..", ".."] {
        let error = open(
            &raw(&[(name, EntryType::Regular, "x")]),
            &ArchiveLimits::default(),
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("tar contained invalid name error {name:?}")
        );
    }
}

#[test]
fn symbolic_links_are_skipped_or_refused() {
    let bytes = raw(&[
        ("link", EntryType::Symlink, "/etc/passwd"),
        ("a", EntryType::Regular, "x"),
    ]);
    let archive = open(&bytes, &ArchiveLimits::default()).unwrap();
    assert_eq!(archive.file_count(), 1);
    let error =
        Archive::read_gzip(&mut bytes.as_slice(), &ArchiveLimits::default(), Links::Refuse).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tar file entry link is a symlink, which is not allowed in this context"
    );
}

#[test]
fn hard_links_share_their_target_and_other_kinds_are_refused() {
    let archive = open(
        &raw(&[("a", EntryType::Regular, "shared"), ("b", EntryType::Link, "a")]),
        &ArchiveLimits::default(),
    )
    .unwrap();
    assert_eq!(archive.read(&VirtualPath::parse("b").unwrap()).unwrap(), "shared");
    let dangling = open(&raw(&[("b", EntryType::Link, "a")]), &ArchiveLimits::default());
    assert!(matches!(dangling, Err(ArchiveError::DanglingLink { .. })));
    let outside = open(&raw(&[("b", EntryType::Link, "../a")]), &ArchiveLimits::default());
    assert!(matches!(outside, Err(ArchiveError::Name(_))));
    for kind in [EntryType::Char, EntryType::Block, EntryType::Fifo] {
        let refused = open(&raw(&[("device", kind, "")]), &ArchiveLimits::default());
        assert!(matches!(refused, Err(ArchiveError::Kind { .. })));
    }
}

#[test]
fn bombs_are_refused_before_they_unpack() {
    let zeros = gzip(&vec![0; 64 << 20]);
    let limits = ArchiveLimits {
        bytes: 1 << 20,
        ..ArchiveLimits::default()
    };
    assert_eq!(
        open(&zeros, &limits).unwrap_err().to_string(),
        "archive is bigger than max archive size of 1048576 bytes"
    );
    let many: Vec<(String, EntryType, &str)> = (0..100)
        .map(|index| (format!("f{index}"), EntryType::Regular, ""))
        .collect();
    let many: Vec<_> = many
        .iter()
        .map(|(name, kind, text)| (name.as_str(), *kind, *text))
        .collect();
    let limits = ArchiveLimits {
        entries: 99,
        ..ArchiveLimits::default()
    };
    assert!(matches!(
        open(&raw(&many), &limits),
        Err(ArchiveError::TooMany(99))
    ));
    let deep = "d/".repeat(20) + "f";
    let limits = ArchiveLimits {
        depth: 20,
        ..ArchiveLimits::default()
    };
    assert!(matches!(
        open(&raw(&[(&deep, EntryType::Regular, "")]), &limits),
        Err(ArchiveError::TooDeep { limit: 20, .. })
    ));
}

#[test]
fn what_is_no_archive_is_named() {
    let limits = ArchiveLimits::default();
    assert!(matches!(open(b"plain text", &limits), Err(ArchiveError::Gzip(_))));
    let half = &pack(&MemoryFileSystem::from_files([("a", vec![7; 5000])]).unwrap())[..60];
    assert!(matches!(open(half, &limits), Err(ArchiveError::Gzip(_))));
    assert!(matches!(
        open(&gzip(b"not a tar, but longer than one might think"), &limits),
        Err(ArchiveError::Tar(_))
    ));
}
