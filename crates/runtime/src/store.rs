//! The store of a watched kind: what the watch has delivered, overlaid with what our own writes returned.
//!
//! A watch lags behind. Without the overlay a reconcile could start from a status older than the one that the reconcile before it has
//! written, and forget an inventory entry. Of two states of one object the newer one wins, whichever way it came; resource versions
//! grow with every write, so they are compared as numbers. Where they are no numbers, the one that arrived last wins.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use kube::ResourceExt;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::object::{ObjectKey, Watched};

/// How long the version of a deleted object is remembered, so that a late answer to one of our writes does not bring it back.
const GRAVE_TIME: Duration = Duration::from_secs(600);

/// A change in a store, told to its subscribers.
#[derive(Debug)]
pub struct Change<K> {
    /// Which object.
    pub key: ObjectKey,
    /// Its state before; `None` for a new object.
    pub before: Option<Arc<K>>,
    /// Its state now; `None` for a deleted one.
    pub after: Option<Arc<K>>,
    /// Whether the change was delivered by the first listing after the start.
    pub initial: bool,
}

type Subscriber<K> = Box<dyn Fn(&Change<K>) + Send + Sync>;

/// A shared store of the objects of one kind. Clones show the same store.
pub struct Store<K> {
    inner: Arc<Inner<K>>,
}

struct Inner<K> {
    /// Held while a change is made and told, so that subscribers see changes in their order while the state stays readable.
    changing: Mutex<()>,
    state: Mutex<State<K>>,
    subscribers: RwLock<Vec<Subscriber<K>>>,
    synced: watch::Sender<bool>,
}

struct State<K> {
    objects: HashMap<ObjectKey, Arc<K>>,
    graves: HashMap<ObjectKey, (Option<u64>, Instant)>,
    listing: Option<HashSet<ObjectKey>>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<K> fmt::Debug for Store<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Store")
            .field("objects", &self.state().objects.len())
            .finish_non_exhaustive()
    }
}

impl<K> Default for Store<K> {
    fn default() -> Self {
        let state = State {
            objects: HashMap::new(),
            graves: HashMap::new(),
            listing: None,
        };
        Self {
            inner: Arc::new(Inner {
                changing: Mutex::default(),
                state: Mutex::new(state),
                subscribers: RwLock::default(),
                synced: watch::Sender::new(false),
            }),
        }
    }
}

impl<K> Store<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.inner.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest known state of an object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        self.state().objects.get(key).cloned()
    }

    /// All objects, in no order.
    pub fn list(&self) -> Vec<Arc<K>> {
        self.state().objects.values().cloned().collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.state().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the first listing is complete.
    pub fn is_synced(&self) -> bool {
        *self.inner.synced.borrow()
    }

    /// Returns once the first listing is complete.
    pub async fn synced(&self) {
        let mut synced = self.inner.synced.subscribe();
        let _ = synced.wait_for(|synced| *synced).await;
    }

    /// Calls `subscriber` with every change from now on, in the order in which changes of one object happened. It runs on the watch's
    /// task: it must be quick, and must not call back into this store's changing functions.
    pub fn subscribe(&self, subscriber: impl Fn(&Change<K>) + Send + Sync + 'static) {
        let mut subscribers = self
            .inner
            .subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        subscribers.push(Box::new(subscriber));
    }

    fn tell(&self, change: &Change<K>) {
        let subscribers = self
            .inner
            .subscribers
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        for subscriber in subscribers.iter() {
            subscriber(change);
        }
    }
}

impl<K: Watched> Store<K> {
    /// Lays the object that one of our own writes returned over the store, until the watch has caught up. Returns the state that is
    /// now the newest.
    pub fn overlay(&self, object: K) -> Arc<K> {
        let object = Arc::new(strip(object));
        let key = ObjectKey::of(object.as_ref());
        let _changing = self.changing();
        let mut state = self.state();
        if state.is_buried(&key, version(object.as_ref())) {
            return object;
        }
        // An object that the watch does not deliver (another selector or namespace) must not settle here.
        if !state.objects.contains_key(&key) {
            return object;
        }
        self.insert(state, key, object, false)
    }

    /// Takes in an object that the watch delivered.
    pub(crate) fn apply(&self, object: K) {
        let object = Arc::new(strip(object));
        let key = ObjectKey::of(object.as_ref());
        let _changing = self.changing();
        let mut state = self.state();
        let initial = !self.is_synced();
        if let Some(listing) = &mut state.listing {
            listing.insert(key.clone());
        }
        if !state.is_buried(&key, version(object.as_ref())) {
            self.insert(state, key, object, initial);
        }
    }

    /// Takes out an object whose deletion the watch delivered.
    pub(crate) fn remove(&self, object: &K) {
        self.bury(&ObjectKey::of(object), version(object));
    }

    /// Takes out an object of which only the key and the version of its deletion are known.
    pub(crate) fn remove_key(&self, key: &ObjectKey, version: Option<&str>) {
        self.bury(key, version.and_then(|version| version.parse().ok()));
    }

    /// A listing begins: what it does not contain is gone.
    pub(crate) fn begin_listing(&self) {
        self.state().listing = Some(HashSet::new());
    }

    /// Keeps an object that the listing contained but that cannot be read.
    pub(crate) fn keep(&self, key: ObjectKey) {
        if let Some(listing) = &mut self.state().listing {
            listing.insert(key);
        }
    }

    /// The listing is complete.
    pub(crate) fn end_listing(&self) {
        let listed = self.state().listing.take();
        if let Some(listed) = listed {
            let gone: Vec<ObjectKey> = self
                .state()
                .objects
                .keys()
                .filter(|key| !listed.contains(*key))
                .cloned()
                .collect();
            for key in gone {
                let known = self.get(&key).and_then(|object| version(object.as_ref()));
                self.bury(&key, known);
            }
        }
        self.inner.synced.send_replace(true);
    }

    fn insert(
        &self,
        mut state: MutexGuard<'_, State<K>>,
        key: ObjectKey,
        object: Arc<K>,
        initial: bool,
    ) -> Arc<K> {
        let before = state.objects.get(&key).cloned();
        if let Some(known) = &before
            && !is_newer(version(object.as_ref()), version(known.as_ref()))
        {
            return Arc::clone(known);
        }
        state.objects.insert(key.clone(), Arc::clone(&object));
        let change = Change {
            key,
            before,
            after: Some(Arc::clone(&object)),
            initial,
        };
        drop(state);
        self.tell(&change);
        object
    }

    fn bury(&self, key: &ObjectKey, version_now: Option<u64>) {
        let _changing = self.changing();
        let mut state = self.state();
        let now = Instant::now();
        state
            .graves
            .retain(|_, (_, since)| now.duration_since(*since) < GRAVE_TIME);
        let newest = match state.objects.get(key) {
            // Deleted and made anew before the deletion arrived.
            Some(known) if is_newer(version(known.as_ref()), version_now) && version_now.is_some() => return,
            Some(known) => version_now.max(version(known.as_ref())),
            None => version_now,
        };
        state.graves.insert(key.clone(), (newest, now));
        let before = state.objects.remove(key);
        drop(state);
        if before.is_some() {
            self.tell(&Change {
                key: key.clone(),
                before,
                after: None,
                initial: false,
            });
        }
    }
}

impl<K> State<K> {
    fn is_buried(&mut self, key: &ObjectKey, version: Option<u64>) -> bool {
        match self.graves.get(key) {
            Some((buried, _)) if !is_newer(version, *buried) => true,
            Some(_) => {
                self.graves.remove(key);
                false
            }
            None => false,
        }
    }
}

/// Whether a state is newer than another; without comparable versions the one that arrives later is.
fn is_newer(version: Option<u64>, than: Option<u64>) -> bool {
    match (version, than) {
        (Some(version), Some(than)) => version > than,
        _ => true,
    }
}

fn version<K: Watched>(object: &K) -> Option<u64> {
    object.resource_version().and_then(|version| version.parse().ok())
}

/// Drops what no reconcile reads and what costs as much memory as the data.
fn strip<K: Watched>(mut object: K) -> K {
    object.meta_mut().managed_fields = None;
    object
}

#[cfg(test)]
mod tests;
