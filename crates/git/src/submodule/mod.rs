//! Submodules: other repositories at the commits that a tree names.
//!
//! Each is fetched into a directory of its own and put into the tree where its commit stands, so that whoever
//! reads the tree sees one tree. What `.gitmodules` says is not trusted: its paths only choose among the
//! places where the tree has a commit, and its addresses must be reached over HTTP(S) or SSH.

mod address;
mod declaration;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gix::objs::Kind;

use crate::fetch::fetch_commit;
use crate::store::{Child, ObjectStore};
use crate::{
    Authentication, Budget, Checkout, Error, ErrorKind, ObjectId, Remote, RemoteUrl, Tree, TreeEntryKind,
};

/// The file that names the submodules.
const DECLARATIONS: &[u8] = b".gitmodules";

/// How deep submodules may have submodules, as in go-git.
const MAX_DEPTH: usize = 11;

/// How many submodules there may be in all.
const MAX_SUBMODULES: usize = 1000;

/// How many bytes the file that names them may have.
const MAX_DECLARATION_BYTES: u64 = 1 << 20;

impl Checkout {
    /// Fetches the submodules of the commit and theirs, each at the commit that is written down for it and
    /// without history where the remote allows that.
    ///
    /// The credentials of `remote` are shown to its own host only; other hosts are asked without. The limits
    /// of `budget` hold for everything together.
    ///
    /// # Errors
    /// See [`ErrorKind`]: `.gitmodules` cannot be read or names something that is no submodule, an address is
    /// of another kind, or a commit is not to be had. The text names the submodule.
    pub fn with_submodules(self, remote: &Remote, scratch: &Path, budget: &Budget) -> Result<Self, Error> {
        let mut recursion = Recursion {
            root: remote,
            scratch,
            budget: budget.clone(),
            transferred: 0,
            count: 0,
        };
        recursion.spend(&self.tree().store);
        let tree = recursion
            .mount(self.tree(), &remote.url, "", 1)
            .map_err(|error| error.context(format!("unable to clone '{}'", remote.url)))?;
        Ok(self.with_tree(tree))
    }
}

/// What all submodules of one checkout share.
struct Recursion<'a> {
    root: &'a Remote,
    scratch: &'a Path,
    budget: Budget,
    transferred: u64,
    count: usize,
}

impl Recursion<'_> {
    /// The tree with its submodules in place. `above` is where it stands itself, for messages.
    fn mount(&mut self, tree: &Tree, base: &RemoteUrl, above: &str, depth: usize) -> Result<Tree, Error> {
        let Some(text) = read_declarations(tree, above)? else {
            return Ok(tree.clone());
        };
        let declared = declaration::read(&text)
            .map_err(|reason| Error::new(ErrorKind::Invalid, format!("{above}.gitmodules: {reason}")))?;
        let mut mounts = BTreeMap::new();
        for submodule in declared {
            let place = format!("{above}{}", submodule.path);
            if depth > MAX_DEPTH {
                let text = format!("submodule '{place}': submodules nest deeper than {MAX_DEPTH}");
                return Err(Error::new(ErrorKind::Limit, text));
            }
            let mounted = self
                .fetch(tree, base, &submodule, &place, depth)
                .map_err(|error| error.context(format!("submodule '{place}'")))?;
            mounts.insert(submodule.path.into_bytes(), mounted);
        }
        Ok(tree.with_mounts(mounts))
    }

    fn fetch(
        &mut self,
        tree: &Tree,
        base: &RemoteUrl,
        submodule: &declaration::Submodule,
        place: &str,
        depth: usize,
    ) -> Result<Tree, Error> {
        let commit = find_commit(tree, submodule.path.as_bytes())?;
        let url = address::resolve(base, &submodule.url)?;
        self.count += 1;
        if self.count > MAX_SUBMODULES {
            let text = format!("there are more than {MAX_SUBMODULES} submodules");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let remote = self.remote(url);
        let limit = self.budget.transfer_bytes();
        let budget = self
            .budget
            .clone()
            .with_transfer_bytes(limit.saturating_sub(self.transferred));
        let (store, root) = fetch_commit(&remote, commit, self.scratch, &budget)?;
        self.spend(&store);
        let fetched = Tree::new(store, root, self.budget.entries());
        self.mount(&fetched, &remote.url, &format!("{place}/"), depth + 1)
    }

    /// How to reach a submodule: as the repository itself, with its credentials where they belong. A key for SSH
    /// belongs wherever a host is known: it stays here.
    fn remote(&self, url: RemoteUrl) -> Remote {
        let mut remote = Remote::new(url);
        remote.ssh.clone_from(&self.root.ssh);
        remote.proxy = self.root.proxy.clone();
        remote.user_agent = self.root.user_agent.clone();
        remote.tls.certificate_authorities = self.root.tls.certificate_authorities.clone();
        if address::is_same_origin(&self.root.url, &remote.url) {
            remote.tls.client_certificate = self.root.tls.client_certificate.clone();
            if self.root.authentication != Authentication::None {
                remote.authentication = self.root.authentication.clone();
            }
        }
        remote
    }

    fn spend(&mut self, store: &ObjectStore) {
        self.transferred = self.transferred.saturating_add(store.stored_bytes());
    }
}

/// The contents of `.gitmodules`. As in git it must be a file: a link could lead anywhere.
fn read_declarations(tree: &Tree, above: &str) -> Result<Option<Vec<u8>>, Error> {
    let children = tree.store.children(&tree.root)?;
    let Some(child) = children.iter().find(|child| child.name == DECLARATIONS) else {
        return Ok(None);
    };
    match child.kind {
        TreeEntryKind::File | TreeEntryKind::Executable => {}
        TreeEntryKind::Symlink => {
            let text = format!("{above}.gitmodules is a symlink");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        TreeEntryKind::Directory | TreeEntryKind::Submodule => return Ok(None),
    }
    let size = tree.store.header(&child.id).map_or(0, |(_, size)| size);
    if size > MAX_DECLARATION_BYTES {
        let text =
            format!("{above}.gitmodules has {size} bytes, more than the limit of {MAX_DECLARATION_BYTES}");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    tree.store.expect(&child.id, Kind::Blob).map(Some)
}

/// The commit that stands at a path. Links are not followed.
fn find_commit(tree: &Tree, path: &[u8]) -> Result<ObjectId, Error> {
    let missing = || {
        let text = "entry not found: the commit has no submodule there, although .gitmodules names one";
        Error::new(ErrorKind::ReferenceNotFound, text)
    };
    let mut directory = tree.root;
    let mut names = path.split(|byte| *byte == b'/').peekable();
    while let Some(name) = names.next() {
        let children = tree.store.children(&directory)?;
        let found: &Child = children
            .iter()
            .find(|child| child.name == name)
            .ok_or_else(missing)?;
        match (found.kind, names.peek()) {
            (TreeEntryKind::Directory, Some(_)) => directory = found.id,
            (TreeEntryKind::Submodule, None) => return Ok(found.id),
            _ => return Err(missing()),
        }
    }
    Err(missing())
}

impl Tree {
    fn with_mounts(&self, mounts: BTreeMap<Vec<u8>, Tree>) -> Self {
        let mut tree = self.clone();
        tree.mounts = Arc::new(mounts);
        tree
    }
}
