//! All entries of a tree, in the order in which Flux walks one.

use crate::{EntryKind, FileSystem, FileSystemError, VirtualPath};

/// One entry met on a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkEntry {
    /// Where it stands.
    pub path: VirtualPath,
    /// What it is.
    pub kind: EntryKind,
}

/// Walks `start` and everything below it: a directory before its contents, the names in a directory in
/// bytewise order (as Go's `filepath.Walk`, so `a/b` comes before `a.txt`). `start` itself is the first
/// entry.
///
/// # Errors
/// `start` does not exist, a directory cannot be listed, or there are more than `limit` entries (reported as
/// [`FileSystemError::TooLarge`] of `start`, counted in entries).
pub fn walk<F: FileSystem + ?Sized>(
    tree: &F,
    start: &VirtualPath,
    limit: usize,
) -> Result<Vec<WalkEntry>, FileSystemError> {
    let kind = tree
        .kind(start)?
        .ok_or_else(|| FileSystemError::NotFound(start.clone()))?;
    let mut found = Vec::new();
    let mut pending = vec![WalkEntry {
        path: start.clone(),
        kind,
    }];
    while let Some(entry) = pending.pop() {
        if found.len() >= limit {
            return Err(FileSystemError::TooLarge {
                path: start.clone(),
                size: found.len() as u64 + 1,
                limit: limit as u64,
            });
        }
        if entry.kind == EntryKind::Directory {
            let children = tree.list(&entry.path)?;
            pending.extend(children.into_iter().rev().map(|child| WalkEntry {
                path: entry.path.child(&child.name),
                kind: child.kind,
            }));
        }
        found.push(entry);
    }
    Ok(found)
}
