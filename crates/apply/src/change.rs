//! What a reconcile has done to a set of objects.

use std::fmt;

use crate::{Mark, Object, ObjectId};

/// What was done to one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// It did not exist and was created.
    Created,
    /// It differed and was changed.
    Configured,
    /// It was as desired, nothing was written.
    Unchanged,
    /// It was deleted, or was already gone.
    Deleted,
    /// A switch on it, or its ownership, kept us away.
    Skipped,
    /// The request failed.
    Unknown,
}

impl Action {
    /// The word as Flux's events print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Deleted => "deleted",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the object was written or deleted.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::Skipped | Self::Unchanged)
    }
}

/// One object and what was done to it. Its text is `Kind/namespace/name action`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The object.
    pub id: ObjectId,
    /// Its API version without the group.
    pub version: String,
    /// What was done.
    pub action: Action,
    /// Whether it was left as it is and found current ([`crate::ApplyOptions::assess`]), so that a wait for
    /// its health need not read it again.
    pub current: bool,
    /// The state in which the object was seen last or left ([`crate::ApplyOptions::marks`]).
    pub mark: Option<Mark>,
}

impl Change {
    /// Notes what was done to `object`.
    pub fn new(object: &Object, action: Action) -> Self {
        Self {
            id: object.id(),
            version: object.version().to_owned(),
            action,
            current: false,
            mark: None,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.id.subject(), self.action.as_str())
    }
}

/// Changes in the order in which they were made. Its text is one change a line, as in Flux's events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet(Vec<Change>);

impl ChangeSet {
    /// No changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a change.
    pub fn push(&mut self, change: Change) {
        self.0.push(change);
    }

    /// Adds all changes of `other`.
    pub fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The changes.
    pub fn iter(&self) -> impl Iterator<Item = &Change> {
        self.0.iter()
    }

    /// How many objects the set speaks of.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set speaks of no object.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The objects that were written or deleted, one a line; empty if none was.
    pub fn changed_text(&self) -> String {
        join(self.0.iter().filter(|change| change.action.is_change()))
    }
}

impl IntoIterator for ChangeSet {
    type Item = Change;
    type IntoIter = std::vec::IntoIter<Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Change> for ChangeSet {
    fn from_iter<I: IntoIterator<Item = Change>>(changes: I) -> Self {
        Self(changes.into_iter().collect())
    }
}

impl fmt::Display for ChangeSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&join(self.0.iter()))
    }
}

fn join<'a>(changes: impl Iterator<Item = &'a Change>) -> String {
    let lines: Vec<String> = changes.map(ToString::to_string).collect();
    lines.join("\n")
}
