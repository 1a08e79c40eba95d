use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use super::{Text, Type, Value, bury};

/// A Go map with string keys: clones share the entries, as Go's do. Kept sorted, which is the order in
/// which Go prints maps and ranges over them in templates.
#[derive(Clone)]
pub struct Map(Rc<Shared>);

struct Shared {
    entries: RefCell<BTreeMap<Text, Value>>,
    element: &'static Type,
    is_nil: bool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let entries = std::mem::take(self.entries.get_mut());
        bury(entries.into_values());
    }
}

impl Map {
    /// An empty `map[string]interface {}`.
    pub fn new() -> Self {
        Self::typed(&Type::Any)
    }

    /// An empty map whose elements are of type `element`, as everything put into it must be.
    pub fn typed(element: &'static Type) -> Self {
        Self(Rc::new(Shared {
            entries: RefCell::default(),
            element,
            is_nil: false,
        }))
    }

    /// The nil map: empty, and equal to nil.
    pub fn nil(element: &'static Type) -> Self {
        Self(Rc::new(Shared {
            entries: RefCell::default(),
            element,
            is_nil: true,
        }))
    }

    /// Whether this is the nil map.
    pub fn is_nil(&self) -> bool {
        self.0.is_nil
    }

    /// The type of the elements.
    pub fn element_type(&self) -> &'static Type {
        self.0.element
    }

    /// The element under `key`.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        self.0.entries.borrow().get(key.as_ref()).cloned()
    }

    /// Whether there is an element under `key`.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.0.entries.borrow().contains_key(key.as_ref())
    }

    /// Puts `value` under `key`, for all who share the map; false for the nil map, which takes nothing.
    pub fn insert(&self, key: impl Into<Text>, value: Value) -> bool {
        if self.0.is_nil {
            return false;
        }
        let old = self.0.entries.borrow_mut().insert(key.into(), value);
        drop(old);
        true
    }

    /// Takes out the element under `key`.
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Option<Value> {
        self.0.entries.borrow_mut().remove(key.as_ref())
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.entries.borrow().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.entries.borrow().is_empty()
    }

    /// The keys in order.
    pub fn keys(&self) -> Vec<Text> {
        self.0.entries.borrow().keys().cloned().collect()
    }

    /// The entries as they are now, in the order of their keys.
    pub fn entries(&self) -> Vec<(Text, Value)> {
        let entries = self.0.entries.borrow();
        entries
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Whether both are the same map, not only equal ones.
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// A key for sets of maps: equal exactly for the same map, as long as that lives.
    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    pub(crate) fn downgrade(&self) -> WeakMap {
        WeakMap(Rc::downgrade(&self.0))
    }

    pub(super) fn take_elements(self, graves: &mut Vec<Value>) {
        if let Ok(mut shared) = Rc::try_unwrap(self.0) {
            graves.extend(std::mem::take(shared.entries.get_mut()).into_values());
        }
    }
}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<Text>> FromIterator<(K, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value));
        Self(Rc::new(Shared {
            entries: RefCell::new(entries.collect()),
            element: &Type::Any,
            is_nil: false,
        }))
    }
}

/// A map that a function has changed, held without keeping it alive.
pub(crate) struct WeakMap(Weak<Shared>);

impl WeakMap {
    /// Empties the map if anyone still holds it.
    pub(crate) fn clear(&self) {
        if let Some(shared) = self.0.upgrade() {
            let entries = std::mem::take(&mut *shared.entries.borrow_mut());
            drop(entries);
        }
    }
}
