//! What a remote offers.

use gix::protocol::handshake::Ref;
use gix::protocol::ls_refs::RefPrefixes;
use gix::protocol::transport::Service;

use crate::reference::Selection;
use crate::transport::Connection;
use crate::{Budget, Error, ErrorKind, ObjectId, Reference, Remote, Revision};

/// The suffix by which Git names the object that an annotated tag points to.
pub(crate) const PEELED_SUFFIX: &str = "^{}";

/// A reference of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteReference {
    /// The full name, such as `refs/heads/main`.
    pub name: String,
    /// What the reference points to: a commit, or the tag object of an annotated tag.
    pub object: ObjectId,
    /// What an annotated tag points to in the end.
    pub peeled: Option<ObjectId>,
}

impl RemoteReference {
    /// The commit: where an annotated tag leads, else the object itself.
    pub fn commit(&self) -> ObjectId {
        self.peeled.unwrap_or(self.object)
    }
}

/// The branch that a remote's `HEAD` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch.
    pub target: String,
    /// Its commit, or `None` while the branch does not exist, as in an empty repository.
    pub commit: Option<ObjectId>,
}

/// The references of a remote, in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RemoteReferences {
    /// `HEAD`, if it was asked for and is symbolic.
    pub head: Option<Head>,
    /// All others.
    pub references: Vec<RemoteReference>,
}

impl RemoteReferences {
    /// The reference with this full name.
    pub fn find(&self, name: &str) -> Option<&RemoteReference> {
        self.references.iter().find(|reference| reference.name == name)
    }

    fn is_empty(&self) -> bool {
        self.references.is_empty() && self.head.as_ref().is_none_or(|head| head.commit.is_none())
    }
}

/// Lists references whose full names start with one of `prefixes`; no prefixes list all. Annotated tags
/// come peeled. Costs two requests, whatever the size of the repository.
///
/// # Errors
/// See [`ErrorKind`]. An empty repository is no error here: it lists no references.
pub fn list_references(
    remote: &Remote,
    prefixes: &[&str],
    budget: &Budget,
) -> Result<RemoteReferences, Error> {
    Connection::open(remote, Service::UploadPack, budget)
        .and_then(|mut connection| list_over(&mut connection, prefixes))
        .map_err(|error| listing_context(error, remote))
}

fn listing_context(error: Error, remote: &Remote) -> Error {
    error.context(format!("unable to list remote for '{}'", remote.url))
}

pub(crate) fn list_over(connection: &mut Connection, prefixes: &[&str]) -> Result<RemoteReferences, Error> {
    // The older protocol has sent all references with the handshake.
    let listed = match &connection.handshake.refs {
        Some(references) => Ok(references.clone()),
        None => {
            let filter = (!prefixes.is_empty()).then(|| {
                let mut filter = RefPrefixes::new();
                filter.extend(prefixes.iter().map(|prefix| (*prefix).into()));
                filter
            });
            gix::protocol::LsRefsCommand::new(
                filter,
                &connection.handshake.capabilities,
                connection.agent.clone(),
            )
            .invoke_blocking(
                &mut connection.transport,
                &mut gix::utils::progress::Discard,
                false,
            )
        }
    };
    let listed = listed.map_err(|error| connection.failed(&error))?;
    let wanted = |name: &str| prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix));
    let mut found = RemoteReferences::default();
    for reference in listed {
        match convert(reference) {
            Listed::Head(head) if wanted("HEAD") => found.head = Some(head),
            Listed::Reference(reference) if wanted(&reference.name) => found.references.push(reference),
            _ => {}
        }
    }
    Ok(found)
}

enum Listed {
    Head(Head),
    Reference(RemoteReference),
    Unusable,
}

fn convert(reference: Ref) -> Listed {
    let (name, object, peeled, target) = match reference {
        Ref::Peeled {
            full_ref_name,
            tag,
            object,
        } => (full_ref_name, tag, Some(object), None),
        Ref::Direct {
            full_ref_name,
            object,
        } => (full_ref_name, object, None, None),
        Ref::Symbolic {
            full_ref_name,
            target,
            tag,
            object,
        } => (
            full_ref_name,
            tag.unwrap_or(object),
            tag.map(|_| object),
            Some(target),
        ),
        Ref::Unborn {
            full_ref_name,
            target,
        } if full_ref_name == "HEAD" => {
            return Listed::Head(Head {
                target: target.to_string(),
                commit: None,
            });
        }
        Ref::Unborn { .. } => return Listed::Unusable,
    };
    match target {
        Some(target) if name == "HEAD" => Listed::Head(Head {
            target: target.to_string(),
            commit: Some(peeled.unwrap_or(object)),
        }),
        _ if object.is_null() => Listed::Unusable,
        _ => Listed::Reference(RemoteReference {
            name: name.to_string(),
            object,
            peeled,
        }),
    }
}

/// Resolves a branch, tag or reference name by listing alone, for telling cheaply whether anything changed:
/// compare the revision with the one of the last fetch.
///
/// `None` means that listing cannot answer: the reference is a semver range or a commit, or the remote has no
/// such reference, which a [`fetch`](crate::fetch()) then reports in full.
///
/// # Errors
/// See [`ErrorKind`].
pub fn resolve(remote: &Remote, reference: &Reference, budget: &Budget) -> Result<Option<Revision>, Error> {
    let (full_name, printed) = match reference.selection() {
        Selection::Branch(branch) => (format!("refs/heads/{branch}"), branch),
        Selection::Tag(tag) => (format!("refs/tags/{tag}"), tag),
        Selection::Name(name) => {
            check_name(name)?;
            (name.strip_suffix(PEELED_SUFFIX).unwrap_or(name).to_owned(), name)
        }
        Selection::Commit(_) | Selection::Semver(_) => return Ok(None),
    };
    let listed = list_references(remote, &[&full_name], budget)?;
    Ok(listed
        .find(&full_name)
        .map(|found| Revision::new(Some(printed.to_owned()), found.commit())))
}

/// Refuses names that begin or end with a slash, as Flux does.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    if name.starts_with('/') || name.ends_with('/') {
        let text = format!("ref {name} is invalid; Git refs cannot begin or end with a slash '/'");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(())
}

/// Whether the remote has no references at all.
pub(crate) fn is_empty(connection: &mut Connection) -> Result<bool, Error> {
    Ok(list_over(connection, &[])?.is_empty())
}
