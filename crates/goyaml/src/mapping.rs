use std::collections::HashMap;
use std::sync::OnceLock;

use crate::{Content, Node};

/// From this many entries on, looking a key up goes through an index.
const INDEX_FROM: usize = 24;

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key; a scalar, except in documents read by [`parse_for_editing`](crate::parse_for_editing).
    pub key: Node,
    /// The value.
    pub value: Node,
}

/// Key-value pairs in document order, found by the text of their keys.
///
/// Small mappings are searched in order; larger ones build an index at the first look-up and keep it until
/// an entry is removed, renamed or inserted anywhere but at the end.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    entries: Vec<Entry>,
    /// Boxed, as most mappings are small and every node has the size of the largest content.
    #[expect(clippy::box_collection)]
    index: OnceLock<Box<HashMap<Box<str>, usize>>>,
}

impl PartialEq for Mapping {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Mapping {}

impl Mapping {
    /// An empty mapping.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A mapping of the given entries, whose keys must differ.
    #[must_use]
    pub fn from_entries(entries: Vec<Entry>) -> Self {
        Self {
            entries,
            index: OnceLock::new(),
        }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries in order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries in order, for changes that leave the keys' texts alone.
    pub(crate) fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// The entries in order, taken out.
    #[must_use]
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// Keys' texts and values in order; leaves out keys that are not scalars.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Node)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.key.text()?, &entry.value)))
    }

    /// Keys' texts and values for changing, in order; leaves out keys that are not scalars.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&str, &mut Node)> {
        self.entries
            .iter_mut()
            .filter_map(|entry| Some((entry.key.text()?, &mut entry.value)))
    }

    /// The keys' texts in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.entries.iter().filter_map(|entry| entry.key.text())
    }

    /// The values in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.entries.iter().map(|entry| &entry.value)
    }

    /// The values for changing, in order.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut Node> {
        self.entries.iter_mut().map(|entry| &mut entry.value)
    }

    /// The place of a key in the order.
    #[must_use]
    pub fn position(&self, key: &str) -> Option<usize> {
        if self.entries.len() < INDEX_FROM {
            return self
                .entries
                .iter()
                .position(|entry| entry.key.text() == Some(key));
        }
        self.index
            .get_or_init(|| {
                let mut index = HashMap::with_capacity(self.entries.len());
                for (position, entry) in self.entries.iter().enumerate() {
                    if let Some(text) = entry.key.text() {
                        index.entry(Box::from(text)).or_insert(position);
                    }
                }
                Box::new(index)
            })
            .get(key)
            .copied()
    }

    /// Whether there is such a key.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value under a key, for changing.
    #[must_use]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let position = self.position(key)?;
        Some(&mut self.entries.get_mut(position)?.value)
    }

    /// The entry of a key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.get(self.position(key)?)
    }

    /// The value under a key, put there first if it is missing.
    pub fn get_or_insert_with(&mut self, key: &str, value: impl FnOnce() -> Node) -> &mut Node {
        let position = match self.position(key) {
            Some(position) => position,
            None => {
                self.push(Node::string(key), value());
                self.entries.len() - 1
            }
        };
        &mut self.entries[position].value
    }

    /// Sets the value under a key: in place if the key exists, else at the end. Returns the old value.
    pub fn set(&mut self, key: &str, value: Node) -> Option<Node> {
        match self.get_mut(key) {
            Some(slot) => Some(std::mem::replace(slot, value)),
            None => {
                self.push(Node::string(key), value);
                None
            }
        }
    }

    /// As [`set`](Self::set), with a key node whose style and tag are kept for a new entry.
    pub fn set_entry(&mut self, key: Node, value: Node) -> Option<Node> {
        let position = key.text().and_then(|text| self.position(text));
        match position {
            Some(position) => Some(std::mem::replace(&mut self.entries[position].value, value)),
            None => {
                self.push(key, value);
                None
            }
        }
    }

    /// Appends an entry whose key is known to be new.
    pub fn push(&mut self, key: Node, value: Node) {
        if let (Some(index), Content::Scalar(text)) = (self.index.get_mut(), &key.content) {
            index.entry(text.as_str().into()).or_insert(self.entries.len());
        }
        self.entries.push(Entry { key, value });
    }

    /// Inserts an entry whose key is known to be new at a place in the order.
    pub fn insert_at(&mut self, position: usize, key: Node, value: Node) {
        self.index = OnceLock::new();
        self.entries
            .insert(position.min(self.entries.len()), Entry { key, value });
    }

    /// Removes a key, keeping the order of the others, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let position = self.position(key)?;
        self.index = OnceLock::new();
        Some(self.entries.remove(position).value)
    }

    /// Gives an entry another key in the same place. Does nothing and returns false if the old key is
    /// missing or the new one is taken.
    pub fn rename(&mut self, from: &str, to: &str) -> bool {
        if self.contains_key(to) {
            return false;
        }
        let Some(position) = self.position(from) else {
            return false;
        };
        self.index = OnceLock::new();
        self.entries[position].key = Node::string(to);
        true
    }

    /// Keeps only the entries that the function accepts.
    pub fn retain(&mut self, mut keep: impl FnMut(&Node, &mut Node) -> bool) {
        self.index = OnceLock::new();
        self.entries
            .retain_mut(|entry| keep(&entry.key, &mut entry.value));
    }

    /// Sorts the entries by a comparison of their keys' texts; equal ones keep their order.
    pub fn sort_keys_by(&mut self, mut compare: impl FnMut(&str, &str) -> std::cmp::Ordering) {
        self.index = OnceLock::new();
        self.entries
            .sort_by(|a, b| compare(a.key.text().unwrap_or_default(), b.key.text().unwrap_or_default()));
    }
}

impl FromIterator<(String, Node)> for Mapping {
    /// Of equal keys the last value wins, in the place of the first.
    fn from_iter<I: IntoIterator<Item = (String, Node)>>(pairs: I) -> Self {
        let mut mapping = Self::new();
        for (key, value) in pairs {
            mapping.set_entry(Node::string(key), value);
        }
        mapping
    }
}
