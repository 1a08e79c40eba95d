//! Makes a commit in memory from changes to another one's files.

use std::collections::BTreeMap;

use bytes::Bytes;
use gix::objs::Kind;
use sluice_vfs::VirtualPath;

use crate::commit::Person;
use crate::pack::{PackObject, hash};
use crate::store::{Child, ObjectStore};
use crate::{Checkout, Error, ErrorKind, ObjectId, TreeEntryKind};

/// A change to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds or replaces a file; an existing file keeps its executable bit.
    Write(Bytes),
    /// Removes a file or a whole directory; nothing happens if it is not there.
    Delete,
}

/// A commit to be made.
#[derive(Debug, Clone)]
pub struct NewCommit {
    /// Changes by path; directories above a written file are made as needed, emptied ones vanish.
    pub changes: BTreeMap<VirtualPath, Change>,
    /// Who wrote the change.
    pub author: Person,
    /// Who makes the commit.
    pub committer: Person,
    /// The message; a final line end is added if missing.
    pub message: String,
}

/// Why a commit was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The files would stay as they are.
    #[error("no staged files")]
    NoChanges,
    /// A path names the root, or runs through a file.
    #[error("unable to change '{0}': it is no path of a file")]
    Path(VirtualPath),
    /// A name or address holds a line end or an angle bracket.
    #[error("name or email of the {0} holds characters that Git does not allow")]
    Person(&'static str),
    /// The parent's objects could not be read.
    #[error(transparent)]
    Objects(#[from] Error),
}

/// A finished commit with the objects that a remote needs in addition to those of its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedCommit {
    pub(crate) id: ObjectId,
    pub(crate) parent: Option<ObjectId>,
    pub(crate) objects: Vec<PackObject>,
}

impl PreparedCommit {
    /// The hash that the commit will have.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// The commit it follows, or `None` for the first one of a branch.
    pub fn parent(&self) -> Option<ObjectId> {
        self.parent
    }
}

/// Changes arranged by directory.
#[derive(Default)]
struct Node<'a> {
    change: Option<&'a Change>,
    below: BTreeMap<&'a str, Node<'a>>,
}

impl NewCommit {
    /// Makes the commit on top of `parent`, or the first commit of a branch.
    ///
    /// # Errors
    /// See [`EditError`].
    pub fn prepare(&self, parent: Option<&Checkout>) -> Result<PreparedCommit, EditError> {
        let mut root = Node::default();
        for (path, change) in &self.changes {
            if path.is_root() {
                return Err(EditError::Path(path.clone()));
            }
            let node = path
                .components()
                .fold(&mut root, |node, name| node.below.entry(name).or_default());
            node.change = Some(change);
        }
        let store = parent.map(|checkout| &*checkout.tree().store);
        let base = parent.map(|checkout| checkout.commit.tree);
        let format = store.map_or(gix::hash::Kind::Sha1, ObjectStore::format);
        let mut writer = TreeWriter {
            store,
            format,
            objects: Vec::new(),
        };
        let tree = match writer.write(base.as_ref(), &root, &VirtualPath::root())? {
            Some(tree) => tree,
            None => writer.add(Kind::Tree, Vec::new())?,
        };
        if base == Some(tree) || (base.is_none() && self.changes.is_empty()) {
            return Err(EditError::NoChanges);
        }
        let parent = parent.map(|checkout| checkout.commit.id);
        let id = writer.add(Kind::Commit, self.encode(&tree, parent.as_ref())?)?;
        Ok(PreparedCommit {
            id,
            parent,
            objects: writer.objects,
        })
    }

    fn encode(&self, tree: &ObjectId, parent: Option<&ObjectId>) -> Result<Vec<u8>, EditError> {
        let mut text = format!("tree {tree}\n");
        if let Some(parent) = parent {
            text.push_str(&format!("parent {parent}\n"));
        }
        for (role, person) in [("author", &self.author), ("committer", &self.committer)] {
            let broken = |text: &str| text.contains(['\n', '<', '>', '\0']);
            if broken(&person.name) || broken(&person.email) {
                return Err(EditError::Person(role));
            }
            let seconds = person.time.as_second();
            text.push_str(&format!(
                "{role} {} <{}> {seconds} +0000\n",
                person.name, person.email
            ));
        }
        text.push('\n');
        text.push_str(&self.message.replace('\0', ""));
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text.into_bytes())
    }
}

struct TreeWriter<'a> {
    store: Option<&'a ObjectStore>,
    format: gix::hash::Kind,
    objects: Vec<PackObject>,
}

impl TreeWriter<'_> {
    fn add(&mut self, kind: Kind, data: Vec<u8>) -> Result<ObjectId, EditError> {
        let object = PackObject { kind, data };
        let id = hash(&object, self.format)?;
        if !self.objects.contains(&object) {
            self.objects.push(object);
        }
        Ok(id)
    }

    /// Applies `node` to the tree `base` and returns the resulting tree, or `None` if it is empty.
    fn write(
        &mut self,
        base: Option<&ObjectId>,
        node: &Node<'_>,
        path: &VirtualPath,
    ) -> Result<Option<ObjectId>, EditError> {
        let mut children: BTreeMap<Vec<u8>, Child> = BTreeMap::new();
        if let (Some(store), Some(base)) = (self.store, base) {
            children = store
                .children(base)?
                .iter()
                .map(|child| (child.name.clone(), child.clone()))
                .collect();
        }
        for (name, below) in &node.below {
            let child_path = path.join(name).map_err(|_| EditError::Path(path.clone()))?;
            let replaced = self.apply(children.get(name.as_bytes()), name, below, &child_path)?;
            match replaced {
                Some(child) => children.insert(name.as_bytes().to_vec(), child),
                None => children.remove(name.as_bytes()),
            };
        }
        if children.is_empty() {
            return Ok(None);
        }
        let tree = encode_tree(children.into_values().collect());
        let object = PackObject {
            kind: Kind::Tree,
            data: tree,
        };
        let id = hash(&object, self.format)?;
        if base != Some(&id) && !self.objects.contains(&object) {
            self.objects.push(object);
        }
        Ok(Some(id))
    }

    fn apply(
        &mut self,
        existing: Option<&Child>,
        name: &str,
        node: &Node<'_>,
        path: &VirtualPath,
    ) -> Result<Option<Child>, EditError> {
        let child = |kind, id| Child {
            name: name.as_bytes().to_vec(),
            kind,
            id,
        };
        match node.change {
            Some(Change::Write(_)) if !node.below.is_empty() => Err(EditError::Path(path.clone())),
            Some(Change::Write(contents)) => {
                let kind = match existing.map(|child| child.kind) {
                    Some(TreeEntryKind::Executable) => TreeEntryKind::Executable,
                    Some(TreeEntryKind::Directory) => return Err(EditError::Path(path.clone())),
                    _ => TreeEntryKind::File,
                };
                let id = self.add(Kind::Blob, contents.to_vec())?;
                Ok(Some(child(kind, id)))
            }
            Some(Change::Delete) if node.below.is_empty() => Ok(None),
            change => {
                let base = match existing {
                    _ if change.is_some() => None,
                    Some(existing) if existing.kind == TreeEntryKind::Directory => Some(&existing.id),
                    Some(_) if node.below.values().any(Node::writes) => {
                        return Err(EditError::Path(path.clone()));
                    }
                    Some(existing) => return Ok(Some(existing.clone())),
                    None => None,
                };
                let tree = self.write(base, node, path)?;
                Ok(tree.map(|id| child(TreeEntryKind::Directory, id)))
            }
        }
    }
}

impl Node<'_> {
    fn writes(&self) -> bool {
        matches!(self.change, Some(Change::Write(_))) || self.below.values().any(Node::writes)
    }
}

/// Encodes a tree object: `mode name NUL hash`, directories ordered as if their names ended in a slash.
fn encode_tree(mut children: Vec<Child>) -> Vec<u8> {
    let sort_key = |child: &Child| {
        let mut key = child.name.clone();
        if child.kind == TreeEntryKind::Directory {
            key.push(b'/');
        }
        key
    };
    children.sort_by_cached_key(sort_key);
    let mut bytes = Vec::new();
    for child in children {
        let mode = match child.kind {
            TreeEntryKind::File => "100644",
            TreeEntryKind::Executable => "100755",
            TreeEntryKind::Symlink => "120000",
            TreeEntryKind::Submodule => "160000",
            TreeEntryKind::Directory => "40000",
        };
        bytes.extend_from_slice(mode.as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(&child.name);
        bytes.push(0);
        bytes.extend_from_slice(child.id.as_slice());
    }
    bytes
}

impl From<EditError> for Error {
    fn from(error: EditError) -> Self {
        match error {
            EditError::Objects(error) => error,
            other => Self::new(ErrorKind::Invalid, other.to_string()),
        }
    }
}
