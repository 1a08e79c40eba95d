//! Brings a commit and its files from a remote.

use std::path::Path;
use std::sync::Arc;

use gix::objs::Kind;
use gix::protocol::fetch::negotiate::{Action, Round, one_round};
use gix::protocol::fetch::{Arguments, Context, Negotiate, Options, Response, Shallow, Tags};
use gix::protocol::transport::{Protocol, Service};
use sluice_semver::{Constraints, Rules, Version};

use crate::pack::{self, PackError, Received};
use crate::reference::Selection;
use crate::references::{PEELED_SUFFIX, RemoteReference, check_name, is_empty, list_over};
use crate::scratch::Scratch;
use crate::store::ObjectStore;
use crate::transport::Connection;
use crate::{Budget, Commit, Error, ErrorKind, ObjectId, Reference, Remote, Revision, Tag, Tree};

/// Annotated tags that point to tags are followed this far.
const MAX_TAG_CHAIN: usize = 16;

/// A fetched commit. Its objects live in an unlinked file that goes with the last handle to them.
#[derive(Debug, Clone)]
pub struct Checkout {
    /// The revision as Flux writes it.
    pub revision: Revision,
    /// The commit.
    pub commit: Commit,
    /// The annotated tag that was selected, if it was one.
    pub tag: Option<Tag>,
    tree: Tree,
}

impl Checkout {
    /// The commit's files.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(crate) fn with_tree(mut self, tree: Tree) -> Self {
        self.tree = tree;
        self
    }
}

/// Fetches what `reference` selects into a fresh directory below `scratch`.
///
/// A branch, tag or name costs one commit without its history. A commit is looked for in the history of
/// `reference.branch`, or of all branches, which are fetched whole unless one of them ends in it. A semver
/// range selects the highest version among the tags with three numbers; of equal versions (they can differ
/// in build metadata) the one whose commit is youngest, and of those the last by name.
///
/// # Errors
/// See [`ErrorKind`]; texts follow Flux. An empty repository is [`ErrorKind::Empty`] if a branch was asked
/// for. Whatever happens, nothing is left in `scratch`.
pub fn fetch(
    remote: &Remote,
    reference: &Reference,
    scratch: &Path,
    budget: &Budget,
) -> Result<Checkout, Error> {
    let connect = |context: &str| {
        Connection::open(remote, Service::UploadPack, budget)
            .map_err(|error| error.context(format!("{context} '{}'", remote.url)))
    };
    let fetcher = |connection| Fetcher {
        remote,
        connection,
        scratch,
        budget,
    };
    match reference.selection() {
        Selection::Branch(branch) => fetcher(connect(CLONE)?).branch(branch, branch),
        Selection::Tag(tag) => fetcher(connect(CLONE)?).tag(tag, tag),
        Selection::Semver(range) => {
            let constraints = Constraints::parse(range, Rules::Flux)
                .map_err(|error| Error::new(ErrorKind::Invalid, format!("semver parse error: {error}")))?;
            fetcher(connect(CLONE)?).semver(range, &constraints)
        }
        Selection::Name(name) => {
            check_name(name)?;
            fetcher(connect("unable to list remote for")?).name(name)
        }
        Selection::Commit(commit) => {
            let id = ObjectId::from_hex(commit.as_bytes()).map_err(|_| {
                Error::new(
                    ErrorKind::Invalid,
                    format!("unable to resolve commit object for '{commit}': not a full commit hash"),
                )
            })?;
            fetcher(connect(CLONE)?).commit(id, reference)
        }
    }
}

/// Fetches what `git fetch --depth=1 URL NAME` fetches: the remote's `HEAD` for an empty name, the commit for a
/// full hash, else the reference that the name abbreviates, a tag before a branch.
///
/// # Errors
/// As [`fetch`]. A remote may refuse a commit that no reference points to.
pub fn fetch_abbreviated(
    remote: &Remote,
    name: &str,
    scratch: &Path,
    budget: &Budget,
) -> Result<Checkout, Error> {
    let connection = Connection::open(remote, Service::UploadPack, budget)
        .map_err(|error| error.context(format!("{CLONE} '{}'", remote.url)))?;
    let fetcher = Fetcher {
        remote,
        connection,
        scratch,
        budget,
    };
    match ObjectId::from_hex(name.as_bytes()) {
        Ok(id) => fetcher.any_commit(id),
        Err(_) => fetcher.abbreviated(if name.is_empty() { HEAD } else { name }),
    }
}

const CLONE: &str = "unable to clone";

const HEAD: &str = "HEAD";

struct Fetcher<'a> {
    remote: &'a Remote,
    connection: Connection,
    scratch: &'a Path,
    budget: &'a Budget,
}

impl Fetcher<'_> {
    fn branch(mut self, branch: &str, printed: &str) -> Result<Checkout, Error> {
        let found = self.find(&format!("refs/heads/{branch}"), ErrorKind::Empty)?;
        self.check_out(&found, printed)
    }

    fn tag(mut self, tag: &str, printed: &str) -> Result<Checkout, Error> {
        let found = self.find(&format!("refs/tags/{tag}"), ErrorKind::NotFound)?;
        self.check_out(&found, printed)
    }

    fn name(mut self, name: &str) -> Result<Checkout, Error> {
        let full_name = name.strip_suffix(PEELED_SUFFIX).unwrap_or(name);
        let found = self
            .list(&[full_name])?
            .into_iter()
            .find(|reference| reference.name == full_name);
        match found {
            Some(found) => self.check_out(&found, name),
            None if self.is_empty()? => {
                let text = format!(
                    "unable to list remote for '{}': remote repository is empty",
                    self.remote.url
                );
                Err(Error::new(ErrorKind::Empty, text))
            }
            None => {
                let text = format!("unable to resolve ref '{name}' to a specific commit");
                Err(Error::new(ErrorKind::ReferenceNotFound, text))
            }
        }
    }

    fn semver(mut self, range: &str, constraints: &Constraints) -> Result<Checkout, Error> {
        let mut matching: Vec<(Version, RemoteReference)> = self
            .list(&["refs/tags/"])?
            .into_iter()
            .filter_map(|reference| {
                let version = Version::parse_complete(reference.name.strip_prefix("refs/tags/")?).ok()?;
                constraints.matches(&version).then_some((version, reference))
            })
            .collect();
        let Some(highest) = matching.iter().map(|(version, _)| version.clone()).max() else {
            if self.is_empty()? {
                return Err(self.empty(ErrorKind::NotFound));
            }
            return Err(Error::new(
                ErrorKind::ReferenceNotFound,
                format!("no match found for semver: {range}"),
            ));
        };
        matching.retain(|(version, _)| *version == highest);
        let wants: Vec<ObjectId> = matching.iter().map(|(_, reference)| reference.object).collect();
        let store = self.receive(&wants, true)?;
        let mut youngest: Option<(Commit, Option<Tag>, &str)> = None;
        for (version, reference) in &matching {
            // Tags of trees and blobs cannot be checked out.
            let Ok((commit, tag)) = peel(&store, reference.object) else {
                continue;
            };
            let candidate = (commit.committer.time, version.original());
            if youngest
                .as_ref()
                .is_none_or(|(best, _, name)| (best.committer.time, *name) < candidate)
            {
                youngest = Some((commit, tag, version.original()));
            }
        }
        let (commit, tag, name) = youngest.ok_or_else(|| {
            Error::new(
                ErrorKind::ReferenceNotFound,
                format!("no match found for semver: {range}"),
            )
        })?;
        Ok(self.checkout(Some(name.to_owned()), commit, tag, store))
    }

    /// Git's order of what a short name may stand for.
    fn abbreviated(mut self, name: &str) -> Result<Checkout, Error> {
        let candidates = [
            name.to_owned(),
            format!("refs/{name}"),
            format!("refs/tags/{name}"),
            format!("refs/heads/{name}"),
            format!("refs/remotes/{name}"),
            format!("refs/remotes/{name}/{HEAD}"),
        ];
        let prefixes: Vec<&str> = candidates.iter().map(String::as_str).collect();
        let listed = list_over(&mut self.connection, &prefixes)
            .map_err(|error| error.context(format!("{CLONE} '{}'", self.remote.url)))?;
        let head = listed.head.as_ref().and_then(|head| head.commit);
        let object = candidates.iter().find_map(|candidate| {
            let found = listed.find(candidate).map(|reference| reference.object);
            found.or(head.filter(|_| candidate == HEAD))
        });
        let Some(object) = object else {
            let text = format!("{CLONE} '{}': couldn't find remote ref {name:?}", self.remote.url);
            return Err(Error::new(ErrorKind::ReferenceNotFound, text));
        };
        let store = self.receive(&[object], true)?;
        let (commit, tag) = peel(&store, object)?;
        Ok(self.checkout(Some(name.to_owned()), commit, tag, store))
    }

    /// A commit by its hash alone, whether a reference leads to it or not.
    fn any_commit(mut self, id: ObjectId) -> Result<Checkout, Error> {
        let store = self.receive(&[id], true)?;
        let (commit, tag) = peel(&store, id)?;
        Ok(self.checkout(None, commit, tag, store))
    }

    fn commit(mut self, id: ObjectId, reference: &Reference) -> Result<Checkout, Error> {
        let heads = if reference.branch.is_empty() {
            self.list(&["refs/heads/"])?
        } else {
            vec![self.find(&format!("refs/heads/{}", reference.branch), ErrorKind::NotFound)?]
        };
        if heads.is_empty() && self.is_empty()? {
            return Err(self.empty(ErrorKind::NotFound));
        }
        let is_tip = heads.iter().any(|head| head.object == id);
        let wants = if is_tip {
            vec![id]
        } else {
            heads.iter().map(|head| head.object).collect()
        };
        if wants.is_empty() || wants[0].kind() != id.kind() {
            return Err(absent(id));
        }
        let store = self.receive(&wants, is_tip)?;
        let Some((Kind::Commit, bytes)) = store.read(&id)? else {
            return Err(absent(id));
        };
        let name = [&reference.name, &reference.branch]
            .into_iter()
            .find(|name| !name.is_empty())
            .cloned();
        let commit = Commit::parse(id, &bytes)?;
        Ok(self.checkout(name, commit, None, store))
    }

    /// Fetches one reference without history.
    fn check_out(&mut self, reference: &RemoteReference, printed: &str) -> Result<Checkout, Error> {
        let store = self.receive(&[reference.object], true)?;
        let (commit, tag) = peel(&store, reference.object)?;
        Ok(self.checkout(Some(printed.to_owned()), commit, tag, store))
    }

    fn checkout(
        &self,
        name: Option<String>,
        commit: Commit,
        tag: Option<Tag>,
        store: Arc<ObjectStore>,
    ) -> Checkout {
        let tree = Tree::new(store, commit.tree, self.budget.entries());
        Checkout {
            revision: Revision::new(name, commit.id),
            commit,
            tag,
            tree,
        }
    }

    fn list(&mut self, prefixes: &[&str]) -> Result<Vec<RemoteReference>, Error> {
        list_over(&mut self.connection, prefixes)
            .map(|listed| listed.references)
            .map_err(|error| error.context(format!("{CLONE} '{}'", self.remote.url)))
    }

    fn is_empty(&mut self) -> Result<bool, Error> {
        is_empty(&mut self.connection)
            .map_err(|error| error.context(format!("{CLONE} '{}'", self.remote.url)))
    }

    fn empty(&self, kind: ErrorKind) -> Error {
        let text = format!(
            "{CLONE}: remote repository is empty: git repository: '{}'",
            self.remote.url
        );
        Error::new(kind, text)
    }

    /// Finds a reference; an empty repository is reported as `when_empty`.
    fn find(&mut self, full_name: &str, when_empty: ErrorKind) -> Result<RemoteReference, Error> {
        let found = self
            .list(&[full_name])?
            .into_iter()
            .find(|reference| reference.name == full_name);
        match found {
            Some(found) => Ok(found),
            None if self.is_empty()? => Err(self.empty(when_empty)),
            None => {
                let text = format!(
                    "{CLONE} '{}': couldn't find remote ref {full_name:?}",
                    self.remote.url
                );
                Err(Error::new(ErrorKind::ReferenceNotFound, text))
            }
        }
    }

    /// Receives the wanted objects with what they reach; `shallow` leaves out the history.
    fn receive(&mut self, wants: &[ObjectId], shallow: bool) -> Result<Arc<ObjectStore>, Error> {
        let shallow_file = Scratch::new(self.scratch)?;
        let received = receive_pack(
            &mut self.connection,
            wants,
            shallow,
            &shallow_file,
            (self.scratch, self.budget),
        );
        let pack = received
            .and_then(|received| Ok(received.resolve(self.scratch, self.budget)?))
            .map_err(|error| error.context(format!("{CLONE} '{}'", self.remote.url)))?;
        Ok(Arc::new(ObjectStore::new(pack, self.budget.object_bytes())))
    }
}

/// Fetches one commit by its hash and returns its objects with its tree. A remote that does not give out
/// commits by their hash is asked for the history of all branches and tags.
pub(crate) fn fetch_commit(
    remote: &Remote,
    id: ObjectId,
    scratch: &Path,
    budget: &Budget,
) -> Result<(Arc<ObjectStore>, ObjectId), Error> {
    let fetcher = || {
        Connection::open(remote, Service::UploadPack, budget)
            .map_err(|error| error.context(format!("{CLONE} '{}'", remote.url)))
            .map(|connection| Fetcher {
                remote,
                connection,
                scratch,
                budget,
            })
    };
    let by_hash = fetcher()?.receive(&[id], true);
    let store = match by_hash {
        Err(error) if error.kind() == ErrorKind::Protocol => {
            let mut fetcher = fetcher()?;
            let listed = fetcher.list(&["refs/heads/", "refs/tags/"])?;
            let wants: Vec<ObjectId> = listed.iter().map(|reference| reference.object).collect();
            if wants.first().is_none_or(|want| want.kind() != id.kind()) {
                return Err(absent(id));
            }
            fetcher.receive(&wants, false)?
        }
        received => received?,
    };
    match store.read(&id)? {
        Some((Kind::Commit, bytes)) => {
            let tree = Commit::parse(id, &bytes)?.tree;
            Ok((store, tree))
        }
        _ => Err(absent(id)),
    }
}

fn absent(id: ObjectId) -> Error {
    let text = format!("unable to resolve commit object for '{id}': object not found");
    Error::new(ErrorKind::ReferenceNotFound, text)
}

/// Asks for objects and has nothing to offer in return.
struct Wants<'a>(&'a [ObjectId]);

impl Negotiate for Wants<'_> {
    fn mark_complete_and_common_ref(&mut self) -> gix::Result<Action> {
        Ok(Action::MustNegotiate {
            remote_ref_target_known: Vec::new(),
        })
    }

    fn add_wants(&mut self, arguments: &mut Arguments, _known: &[bool]) -> bool {
        for id in self.0 {
            arguments.want(id);
        }
        !self.0.is_empty()
    }

    fn one_round(
        &mut self,
        _state: &mut one_round::State,
        _arguments: &mut Arguments,
        _previous: Option<&Response>,
    ) -> gix::Result<(Round, bool)> {
        let round = Round {
            haves_sent: 0,
            in_vain: 0,
            haves_to_send: 0,
            previous_response_had_at_least_one_in_common: false,
        };
        Ok((round, true))
    }
}

fn receive_pack(
    connection: &mut Connection,
    wants: &[ObjectId],
    shallow: bool,
    scratch: &Scratch,
    (directory, budget): (&Path, &Budget),
) -> Result<Received, Error> {
    let format = wants.first().map_or(gix::hash::Kind::Sha1, |id| id.kind());
    let depth = if shallow && offers_shallow(connection) {
        Shallow::DepthAtRemote(std::num::NonZeroU32::MIN)
    } else {
        Shallow::NoChange
    };
    let mut received = None;
    let outcome = gix::protocol::fetch(
        &mut Wants(wants),
        |stream, _progress, _interrupt| {
            let result = pack::receive(stream, format, directory, budget);
            let refused = result.as_ref().err().map(ToString::to_string);
            received = Some(result);
            match refused {
                None => Ok(true),
                Some(text) => Err(gix::Error::from_error(std::io::Error::other(text))),
            }
        },
        gix::utils::progress::Discard,
        budget.interrupt(),
        Context {
            handshake: &mut connection.handshake,
            transport: &mut connection.transport,
            user_agent: connection.agent.clone(),
            trace_packetlines: false,
        },
        Options {
            shallow_file: scratch.shallow_file(),
            shallow: &depth,
            tags: Tags::None,
            reject_shallow_remote: false,
        },
    );
    match (outcome, received) {
        (Ok(_), Some(Ok(received))) => Ok(received),
        (Ok(_), _) => Err(Error::protocol("the remote sent no objects")),
        (Err(error), None | Some(Ok(_) | Err(PackError::Stream(_)))) => Err(connection.failed(&error)),
        (Err(_), Some(Err(refused))) => Err(refused.into()),
    }
}

fn offers_shallow(connection: &Connection) -> bool {
    let capabilities = &connection.handshake.capabilities;
    match connection.handshake.server_protocol_version {
        Protocol::V2 => capabilities
            .capability("fetch")
            .and_then(|fetch| fetch.supports("shallow"))
            .unwrap_or_default(),
        _ => capabilities.contains("shallow"),
    }
}

/// Follows annotated tags to a commit; returns it with the first of the tags.
fn peel(store: &ObjectStore, start: ObjectId) -> Result<(Commit, Option<Tag>), Error> {
    let (mut id, mut first) = (start, None);
    for _ in 0..MAX_TAG_CHAIN {
        match store.read(&id)? {
            Some((Kind::Commit, bytes)) => return Ok((Commit::parse(id, &bytes)?, first)),
            Some((Kind::Tag, bytes)) => {
                let (tag, target) = Tag::parse(id, &bytes)?;
                first.get_or_insert(tag);
                id = target;
            }
            Some((kind, _)) => {
                let text = format!("unable to resolve commit object for '{start}': it is a {kind}");
                return Err(Error::new(ErrorKind::ReferenceNotFound, text));
            }
            None => return Err(Error::protocol(format!("the remote did not send object {id}"))),
        }
    }
    Err(Error::protocol(format!(
        "tag {start} points to a tag that points to a tag, and so on"
    )))
}
