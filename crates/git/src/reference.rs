//! What to select in a remote.

use std::fmt;

use crate::Revision;
use crate::references::PEELED_SUFFIX;

/// The branch that is followed when nothing is asked for, as in Flux.
pub const DEFAULT_BRANCH: &str = "master";

/// Which commit of a remote is wanted, as `spec.ref` of a GitRepository says. Empty fields do not count.
///
/// Precedence is commit, name, tag, semver, branch: the order of Flux's code, although its field
/// documentation puts semver before tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The branch; beside `commit` it is the branch that must hold the commit.
    pub branch: String,
    /// The tag.
    pub tag: String,
    /// A range of versions; the highest matching tag is taken.
    pub semver: String,
    /// A full reference name, such as `refs/pull/7/head`.
    pub name: String,
    /// A full commit hash.
    pub commit: String,
}

/// The one field of a [`Reference`] that decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selection<'a> {
    Commit(&'a str),
    Name(&'a str),
    Tag(&'a str),
    Semver(&'a str),
    Branch(&'a str),
}

impl Reference {
    /// A branch.
    pub fn branch(branch: impl Into<String>) -> Self {
        Self {
            branch: branch.into(),
            ..Self::default()
        }
    }

    /// A tag.
    pub fn tag(tag: impl Into<String>) -> Self {
        Self {
            tag: tag.into(),
            ..Self::default()
        }
    }

    /// The highest tag in a range of versions.
    pub fn semver(range: impl Into<String>) -> Self {
        Self {
            semver: range.into(),
            ..Self::default()
        }
    }

    /// A full reference name.
    pub fn name(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// A commit on any branch.
    pub fn commit(commit: impl Into<String>) -> Self {
        Self {
            commit: commit.into(),
            ..Self::default()
        }
    }

    /// Whether [`crate::resolve`] can answer by listing references; semver and commit always fetch.
    pub fn is_resolvable(&self) -> bool {
        matches!(
            self.selection(),
            Selection::Name(_) | Selection::Tag(_) | Selection::Branch(_)
        )
    }

    /// The tag that was followed to come to `revision`, if it was one. Beside `commit` a tag in `name` counts.
    pub fn followed_tag<'a>(&'a self, revision: &'a Revision) -> Option<&'a str> {
        match self.selection() {
            Selection::Tag(tag) => Some(tag),
            Selection::Semver(_) => revision.name(),
            Selection::Name(_) | Selection::Commit(_) => {
                let name = self.name.strip_suffix(PEELED_SUFFIX).unwrap_or(&self.name);
                name.strip_prefix("refs/tags/")
            }
            Selection::Branch(_) => None,
        }
    }

    pub(crate) fn selection(&self) -> Selection<'_> {
        match self {
            Self { commit, .. } if !commit.is_empty() => Selection::Commit(commit),
            Self { name, .. } if !name.is_empty() => Selection::Name(name),
            Self { tag, .. } if !tag.is_empty() => Selection::Tag(tag),
            Self { semver, .. } if !semver.is_empty() => Selection::Semver(semver),
            Self { branch, .. } if !branch.is_empty() => Selection::Branch(branch),
            _ => Selection::Branch(DEFAULT_BRANCH),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.selection() {
            Selection::Commit(commit) => write!(formatter, "commit '{commit}'"),
            Selection::Name(name) => write!(formatter, "reference '{name}'"),
            Selection::Tag(tag) => write!(formatter, "tag '{tag}'"),
            Selection::Semver(range) => write!(formatter, "semver '{range}'"),
            Selection::Branch(branch) => write!(formatter, "branch '{branch}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_followed_tag_is_known_from_what_was_selected() {
        let commit = crate::ObjectId::null(gix::hash::Kind::Sha1);
        let revision = Revision::new(Some("v1.2.0".into()), commit);
        let tag = |reference: &Reference| reference.followed_tag(&revision).map(str::to_owned);
        assert_eq!(tag(&Reference::tag("v1")).as_deref(), Some("v1"));
        assert_eq!(tag(&Reference::semver(">=1")).as_deref(), Some("v1.2.0"));
        assert_eq!(tag(&Reference::name("refs/tags/v1^{}")).as_deref(), Some("v1"));
        assert_eq!(tag(&Reference::name("refs/heads/v1")), None);
        assert_eq!(tag(&Reference::branch("v1")), None);
        assert_eq!(tag(&Reference::commit("abc")), None);
        let both = Reference {
            name: "refs/tags/v1".into(),
            ..Reference::commit("abc")
        };
        assert_eq!(tag(&both).as_deref(), Some("v1"));
    }

    // SRC-005
    #[test]
    fn precedence_is_commit_name_tag_semver_branch() {
        let mut reference = Reference {
            branch: "main".into(),
            tag: "v1".into(),
            semver: ">=1".into(),
            name: "refs/heads/x".into(),
            commit: "abc".into(),
        };
        assert_eq!(reference.selection(), Selection::Commit("abc"));
        reference.commit.clear();
        assert_eq!(reference.selection(), Selection::Name("refs/heads/x"));
        reference.name.clear();
        assert_eq!(reference.selection(), Selection::Tag("v1"));
        reference.tag.clear();
        assert_eq!(reference.selection(), Selection::Semver(">=1"));
        reference.semver.clear();
        assert_eq!(reference.selection(), Selection::Branch("main"));
        assert_eq!(Reference::default().selection(), Selection::Branch("master"));
    }
}
