//! The record of what an applier manages.

use std::collections::HashSet;

use crate::{Change, ChangeSet, Object, ObjectId, order};

/// One managed object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The object.
    pub id: ObjectId,
    /// Its API version without the group (`v` in the status).
    pub version: String,
}

/// The managed objects, in the order in which the status lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inventory(Vec<Entry>);

impl Inventory {
    /// An empty inventory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The inventory after a successful apply: every object of the change set, in its order.
    pub fn from_changes(changes: &ChangeSet) -> Self {
        changes.iter().map(Entry::from).collect()
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Whether nothing is managed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the object is listed, in any version.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.0.iter().any(|entry| entry.id == *id)
    }

    /// Appends the entries whose objects are not listed yet. Returns whether there were any.
    pub fn merge(&mut self, entries: impl IntoIterator<Item = Entry>) -> bool {
        let mut known: HashSet<ObjectId> = self.0.iter().map(|entry| entry.id.clone()).collect();
        let before = self.0.len();
        for entry in entries {
            if known.insert(entry.id.clone()) {
                self.0.push(entry);
            }
        }
        self.0.len() > before
    }

    /// The entries that `other` does not list, in apply order: what is stale once `other` is in force.
    pub fn difference(&self, other: &Self) -> Vec<Entry> {
        let kept: HashSet<&ObjectId> = other.0.iter().map(|entry| &entry.id).collect();
        let mut seen = HashSet::new();
        let mut stale: Vec<Entry> = self
            .0
            .iter()
            .filter(|entry| !kept.contains(&entry.id) && seen.insert(&entry.id))
            .cloned()
            .collect();
        stale.sort_by(|left, right| order::compare(&left.id, &right.id));
        stale
    }
}

impl FromIterator<Entry> for Inventory {
    fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl IntoIterator for Inventory {
    type Item = Entry;
    type IntoIter = std::vec::IntoIter<Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<&Change> for Entry {
    fn from(change: &Change) -> Self {
        Self {
            id: change.id.clone(),
            version: change.version.clone(),
        }
    }
}

impl From<&Object> for Entry {
    fn from(object: &Object) -> Self {
        Self {
            id: object.id(),
            version: object.version().to_owned(),
        }
    }
}
