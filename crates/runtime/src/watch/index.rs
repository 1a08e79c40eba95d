//! Who refers to whom.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::object::{ObjectKey, Reference};

/// A reverse index: from an object that is referred to, to the objects of one kind that refer to it. Clones share it.
///
/// An object's references are in the index before its reconcile starts, so a change of what it refers to cannot fall between the
/// reading and the waiting.
#[derive(Clone, Debug, Default)]
pub struct Index {
    inner: Arc<Mutex<Tables>>,
}

#[derive(Debug, Default)]
struct Tables {
    dependants: HashMap<Reference, BTreeSet<ObjectKey>>,
    references: HashMap<ObjectKey, BTreeSet<Reference>>,
}

impl Index {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the references of an object.
    pub fn set(&self, dependant: &ObjectKey, references: impl IntoIterator<Item = Reference>) {
        let references: BTreeSet<Reference> = references.into_iter().collect();
        let mut tables = self.tables();
        let before = match references.is_empty() {
            true => tables.references.remove(dependant),
            false => tables.references.insert(dependant.clone(), references.clone()),
        };
        let before = before.unwrap_or_default();
        for gone in before.difference(&references) {
            if let Some(keys) = tables.dependants.get_mut(gone) {
                keys.remove(dependant);
                if keys.is_empty() {
                    tables.dependants.remove(gone);
                }
            }
        }
        for reference in references.difference(&before) {
            tables
                .dependants
                .entry(reference.clone())
                .or_default()
                .insert(dependant.clone());
        }
    }

    /// Takes an object out.
    pub fn remove(&self, dependant: &ObjectKey) {
        self.set(dependant, []);
    }

    /// The objects that refer to this one, sorted.
    pub fn dependants(&self, reference: &Reference) -> Vec<ObjectKey> {
        self.tables()
            .dependants
            .get(reference)
            .map(|keys| keys.iter().cloned().collect())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("ns", name)
    }

    fn source(name: &str) -> Reference {
        Reference::new("GitRepository", "ns", name)
    }

    #[test]
    fn dependants_follow_what_objects_refer_to() {
        let index = Index::default();
        index.set(&key("a"), [source("x"), source("y")]);
        index.set(&key("b"), [source("x")]);
        assert_eq!(index.dependants(&source("x")), [key("a"), key("b")]);
        index.set(&key("a"), [source("y")]);
        assert_eq!(index.dependants(&source("x")), [key("b")]);
        assert_eq!(index.dependants(&source("y")), [key("a")]);
        index.remove(&key("b"));
        assert_eq!(index.dependants(&source("x")), []);
    }

    #[test]
    fn nothing_is_kept_of_objects_that_are_gone() {
        let index = Index::default();
        index.set(&key("a"), [source("x")]);
        index.remove(&key("a"));
        let tables = index.tables();
        assert!(tables.dependants.is_empty() && tables.references.is_empty());
    }
}
