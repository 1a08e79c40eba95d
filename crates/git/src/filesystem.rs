//! A commit's files as a virtual file system.

use std::collections::VecDeque;

use bytes::Bytes;
use sluice_vfs::{Entry, EntryKind, FileSystem, FileSystemError, VirtualPath};

use crate::store::ObjectStore;
use crate::{Error, ErrorKind, ObjectId, Tree, TreeEntryKind};

/// Symbolic links followed for one path, as Linux does.
const MAX_LINKS: usize = 40;

/// What a path leads to once links are followed, and the objects that it is read from.
enum Target<'a> {
    Directory(&'a ObjectStore, ObjectId),
    /// A submodule whose contents are not here.
    EmptyDirectory,
    File(&'a ObjectStore, ObjectId),
}

/// A directory on the way, in the tree of the repository or of a submodule.
struct Step<'a> {
    owner: &'a Tree,
    /// The path inside the owner.
    path: Vec<u8>,
    directory: ObjectId,
}

impl<'a> Step<'a> {
    fn root(owner: &'a Tree) -> Self {
        Self {
            owner,
            path: Vec::new(),
            directory: owner.root,
        }
    }

    fn child(&self, name: &[u8]) -> Vec<u8> {
        let mut path = self.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }
}

impl Tree {
    fn follow(&self, path: &VirtualPath) -> Result<Option<Target<'_>>, FileSystemError> {
        let mut pending: VecDeque<Vec<u8>> = path.components().map(|name| name.as_bytes().to_vec()).collect();
        let mut directories = vec![Step::root(self)];
        let mut links = 0;
        while let Some(name) = pending.pop_front() {
            match name.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    directories.pop();
                    if directories.is_empty() {
                        return Err(FileSystemError::Escapes(path.clone()));
                    }
                    continue;
                }
                _ => {}
            }
            let Some(directory) = directories.last() else {
                return Ok(None);
            };
            let owner = directory.owner;
            let children = owner
                .store
                .children(&directory.directory)
                .map_err(|error| unreadable(path, &error))?;
            let Some(child) = children.iter().find(|child| child.name == name) else {
                return Ok(None);
            };
            let is_last = pending.is_empty();
            match child.kind {
                TreeEntryKind::Directory => {
                    let step = Step {
                        owner,
                        path: directory.child(&name),
                        directory: child.id,
                    };
                    directories.push(step);
                }
                TreeEntryKind::File | TreeEntryKind::Executable => {
                    return Ok(is_last.then_some(Target::File(&owner.store, child.id)));
                }
                TreeEntryKind::Submodule => match owner.mounts.get(&directory.child(&name)) {
                    Some(mounted) => directories.push(Step::root(mounted)),
                    None => return Ok(is_last.then_some(Target::EmptyDirectory)),
                },
                TreeEntryKind::Symlink => {
                    links += 1;
                    if links > MAX_LINKS {
                        let reason = "too many levels of symbolic links".to_owned();
                        return Err(FileSystemError::Io {
                            path: path.clone(),
                            reason,
                        });
                    }
                    let target = owner
                        .store
                        .blob(&child.id)
                        .map_err(|error| unreadable(path, &error))?;
                    if target.starts_with(b"/") {
                        return Err(FileSystemError::Escapes(path.clone()));
                    }
                    for part in target.split(|byte| *byte == b'/').rev() {
                        pending.push_front(part.to_vec());
                    }
                }
            }
        }
        Ok(directories
            .last()
            .map(|step| Target::Directory(&step.owner.store, step.directory)))
    }

    fn kind_of(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        Ok(self.follow(path)?.map(|target| match target {
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
            Some(Target::File(store, id)) => store.blob(&id).map_err(|error| match error.kind() {
                ErrorKind::Limit => {
                    let size = store.header(&id).ok().flatten().map_or(0, |(_, size)| size);
                    FileSystemError::TooLarge {
                        path: path.clone(),
                        size,
                        limit: store.object_limit(),
                    }
                }
                _ => unreadable(path, &error),
            }),
            Some(Target::Directory(..) | Target::EmptyDirectory) => {
                Err(FileSystemError::IsDirectory(path.clone()))
            }
            None => Err(FileSystemError::NotFound(path.clone())),
        }
    }

    fn kind(&self, path: &VirtualPath) -> Result<Option<EntryKind>, FileSystemError> {
        self.kind_of(path)
    }

    /// Lists a directory. Links that lead nowhere or outside are left out, as are names that are not UTF-8.
    fn list(&self, path: &VirtualPath) -> Result<Vec<Entry>, FileSystemError> {
        let (store, id) = match self.follow(path)? {
            Some(Target::Directory(store, id)) => (store, id),
            Some(Target::EmptyDirectory) => return Ok(Vec::new()),
            Some(Target::File(..)) => return Err(FileSystemError::NotDirectory(path.clone())),
            None => return Err(FileSystemError::NotFound(path.clone())),
        };
        let children = store.children(&id).map_err(|error| unreadable(path, &error))?;
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
