//! A commit's files as a virtual file system.

use std::collections::VecDeque;

use bytes::Bytes;
use sluice_vfs::{Entry, EntryKind, FileSystem, FileSystemError, VirtualPath};

use crate::{Error, ErrorKind, ObjectId, Tree, TreeEntryKind};

/// Symbolic links followed for one path, as Linux does.
const MAX_LINKS: usize = 40;

/// What a path leads to once links are followed.
enum Target<'t> {
    Directory(&'t Tree, ObjectId),
    /// A submodule whose contents are not here.
    EmptyDirectory,
    File(&'t Tree, ObjectId),
}

/// Where a path leads, and the names on the way there without links; `None` if it leads nowhere.
type Followed<'t> = Option<(Target<'t>, Vec<Vec<u8>>)>;

/// A directory on the way to a target.
struct Place<'t> {
    /// The tree that holds it: this repository's, or a submodule's.
    tree: &'t Tree,
    id: ObjectId,
    /// How many names lead to the root of `tree`.
    start: usize,
}

impl Tree {
    fn follow(&self, path: &VirtualPath) -> Result<Followed<'_>, FileSystemError> {
        let mut pending: VecDeque<Vec<u8>> = path.components().map(|name| name.as_bytes().to_vec()).collect();
        let mut places = vec![Place {
            tree: self,
            id: self.root,
            start: 0,
        }];
        let mut names: Vec<Vec<u8>> = Vec::new();
        let mut links = 0;
        while let Some(name) = pending.pop_front() {
            match name.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    places.pop();
                    if names.pop().is_none() {
                        return Err(FileSystemError::Escapes(path.clone()));
                    }
                    continue;
                }
                _ => {}
            }
            let Some(&Place { tree, id, start }) = places.last() else {
                return Ok(None);
            };
            let children = tree
                .store
                .children(&id)
                .map_err(|error| unreadable(path, &error))?;
            let Some(child) = children.iter().find(|child| child.name == name) else {
                return Ok(None);
            };
            let is_last = pending.is_empty();
            if child.kind == TreeEntryKind::Symlink {
                links += 1;
                let target = tree.link_target(&child.id, path, links)?;
                for part in target.split(|byte| *byte == b'/').rev() {
                    pending.push_front(part.to_vec());
                }
                continue;
            }
            names.push(name);
            match child.kind {
                TreeEntryKind::Directory => places.push(Place {
                    tree,
                    id: child.id,
                    start,
                }),
                TreeEntryKind::Submodule => match tree.mounts.get(&names[start..].join(&b'/')) {
                    Some(submodule) => places.push(Place {
                        tree: submodule,
                        id: submodule.root,
                        start: names.len(),
                    }),
                    None => return Ok(is_last.then_some((Target::EmptyDirectory, names))),
                },
                _ => return Ok(is_last.then_some((Target::File(tree, child.id), names))),
            }
        }
        Ok(places
            .last()
            .map(|place| (Target::Directory(place.tree, place.id), names)))
    }

    /// Where the link leads that is met as the `count`th on the way to `path`.
    fn link_target(&self, id: &ObjectId, path: &VirtualPath, count: usize) -> Result<Bytes, FileSystemError> {
        if count > MAX_LINKS {
            return Err(FileSystemError::Io {
                path: path.clone(),
                reason: "too many levels of symbolic links".to_owned(),
            });
        }
        let target = self.store.blob(id).map_err(|error| unreadable(path, &error))?;
        if target.starts_with(b"/") {
            return Err(FileSystemError::Escapes(path.clone()));
        }
        Ok(target)
    }

    fn kind_of(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        Ok(self.follow(path)?.map(|(target, _)| match target {
            Target::Directory(..) | Target::EmptyDirectory => EntryKind::Directory,
            Target::File(..) => EntryKind::File,
        }))
    }
}

fn unreadable(path: &VirtualPath, error: &Error) -> FileSystemError {
    FileSystemError::Io {
        path: path.clone(),
        reason: error.to_string(),
    }
}

impl FileSystem for Tree {
    fn read(&self, path: &VirtualPath) -> Result<Bytes, FileSystemError> {
        match self.follow(path)? {
            Some((Target::File(tree, id), _)) => {
                let store = &tree.store;
                store.blob(&id).map_err(|error| match error.kind() {
                    ErrorKind::Limit => {
                        let size = store.header(&id).map_or(0, |(_, size)| size);
                        FileSystemError::TooLarge {
                            path: path.clone(),
                            size,
                            limit: store.object_limit(),
                        }
                    }
                    _ => unreadable(path, &error),
                })
            }
            Some((Target::Directory(..) | Target::EmptyDirectory, _)) => {
                Err(FileSystemError::IsDirectory(path.clone()))
            }
            None => Err(FileSystemError::NotFound(path.clone())),
        }
    }

    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        self.kind_of(path)
    }

    fn real_path(&self, path: &VirtualPath) -> Result<VirtualPath, FileSystemError> {
        let Some((_, names)) = self.follow(path)? else {
            return Ok(path.clone());
        };
        let joined = names.join(&b'/');
        let text = std::str::from_utf8(&joined).map_err(|_| FileSystemError::Io {
            path: path.clone(),
            reason: format!("leads to {}, which is not UTF-8", joined.escape_ascii()),
        })?;
        VirtualPath::parse(text).map_err(|_| FileSystemError::Escapes(path.clone()))
    }

    /// Lists a directory. Links that lead nowhere or outside are left out, as are names that are not UTF-8.
    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        let (tree, id) = match self.follow(path)? {
            Some((Target::Directory(tree, id), _)) => (tree, id),
            Some((Target::EmptyDirectory, _)) => return Ok(Vec::new()),
            Some((Target::File(..), _)) => return Err(FileSystemError::NotDirectory(path.clone())),
            None => return Err(FileSystemError::NotFound(path.clone())),
        };
        let children = tree
            .store
            .children(&id)
            .map_err(|error| unreadable(path, &error))?;
        let mut entries = Vec::with_capacity(children.len());
        for child in children.iter() {
            let Ok(name) = std::str::from_utf8(&child.name) else {
                continue;
            };
            let kind = match child.kind {
                TreeEntryKind::Directory | TreeEntryKind::Submodule => Some(EntryKind::Directory),
                TreeEntryKind::File | TreeEntryKind::Executable => Some(EntryKind::File),
                TreeEntryKind::Symlink => {
                    let joined = path.join(name).ok();
                    joined.and_then(|linked| self.kind_of(&linked).ok().flatten())
                }
            };
            if let Some(kind) = kind {
                entries.push(Entry {
                    name: name.to_owned(),
                    kind,
                });
            }
        }
        entries.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }
}
