//! What a commit or tag says about itself.

use bytes::Bytes;
use gix::objs::{CommitRef, TagRef};

use crate::signature::{Signed, split_commit, split_tag};
use crate::{Error, ObjectId, digest_of};

/// An author, committer or tagger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The address.
    pub email: String,
    /// When the person acted.
    pub time: jiff::Timestamp,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The hash.
    pub id: ObjectId,
    /// The tree object with its files.
    pub tree: ObjectId,
    /// The commits it follows.
    pub parents: Vec<ObjectId>,
    /// Who wrote the change.
    pub author: Person,
    /// Who made the commit.
    pub committer: Person,
    /// The message, with marks in place of what is not UTF-8.
    pub message: String,
    /// The armored signature (OpenPGP, SSH or X.509), if it is signed.
    pub signature: Option<Vec<u8>>,
    /// What the signature covers: the commit object without its signature.
    pub signed_payload: Bytes,
}

/// An annotated tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// The hash of the tag object.
    pub id: ObjectId,
    /// The name, without `refs/tags/`.
    pub name: String,
    /// Who made the tag, if it says.
    pub tagger: Option<Person>,
    /// The message, with marks in place of what is not UTF-8.
    pub message: String,
    /// The armored signature, if the tag is signed.
    pub signature: Option<Vec<u8>>,
    /// What the signature covers: the tag object without its signature.
    pub signed_payload: Bytes,
}

impl Commit {
    pub(crate) fn parse(id: ObjectId, bytes: &[u8]) -> Result<Self, Error> {
        let damaged =
            |cause: &dyn std::fmt::Display| Error::protocol(format!("commit {id} is damaged: {cause}"));
        let commit = CommitRef::from_bytes(bytes, id.kind()).map_err(|error| damaged(&error))?;
        let Signed { signature, payload } = split_commit(bytes, id.kind());
        Ok(Self {
            id,
            tree: commit.tree(),
            parents: commit.parents().collect(),
            author: person(commit.author().map_err(|error| damaged(&error))?),
            committer: person(commit.committer().map_err(|error| damaged(&error))?),
            message: String::from_utf8_lossy(commit.message).into_owned(),
            signature,
            signed_payload: payload,
        })
    }

    /// The hash with its algorithm, such as `sha1:<hex>`.
    pub fn digest(&self) -> String {
        digest_of(&self.id)
    }

    /// The first line of the message, cut after 50 characters, as Flux quotes it in events.
    pub fn short_message(&self) -> String {
        let subject = self.message.split('\n').next().unwrap_or_default();
        match subject.char_indices().nth(50) {
            Some((cut, _)) => format!("{}...", subject.get(..cut).unwrap_or_default()),
            None => subject.to_owned(),
        }
    }
}

impl Tag {
    pub(crate) fn parse(id: ObjectId, bytes: &[u8]) -> Result<(Self, ObjectId), Error> {
        let damaged =
            |cause: &dyn std::fmt::Display| Error::protocol(format!("tag {id} is damaged: {cause}"));
        let tag = TagRef::from_bytes(bytes, id.kind()).map_err(|error| damaged(&error))?;
        let Signed { signature, payload } = split_tag(bytes);
        let parsed = Self {
            id,
            name: String::from_utf8_lossy(tag.name).into_owned(),
            tagger: tag.tagger().map_err(|error| damaged(&error))?.map(person),
            message: String::from_utf8_lossy(tag.message).into_owned(),
            signature,
            signed_payload: payload,
        };
        Ok((parsed, tag.target()))
    }
}

fn person(signature: gix::actor::SignatureRef<'_>) -> Person {
    let seconds = signature.time().map_or(0, |time| time.seconds);
    Person {
        name: String::from_utf8_lossy(signature.name).into_owned(),
        email: String::from_utf8_lossy(signature.email).into_owned(),
        // A time that no calendar can express counts as the epoch.
        time: jiff::Timestamp::from_second(seconds).unwrap_or_default(),
    }
}
