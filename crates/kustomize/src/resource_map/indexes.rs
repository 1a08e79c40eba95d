//! Indexes over present and former identities, so that looking one object up does not go through all.

use std::collections::HashMap;

use crate::resource::{IdKey, Resource};
use crate::schema::Schema;

/// The indexes; each is built when it is first asked for, and dropped when anything could have changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Indexes {
    /// Present identities.
    pub(super) current: Option<HashMap<IdKey, usize>>,
    /// Present and former identities; objects ascending.
    pub(super) any: Option<HashMap<IdKey, Vec<usize>>>,
    /// Present and former names; objects ascending.
    pub(super) names: Option<HashMap<String, Vec<usize>>>,
}

/// The identities that an object has or had, each once; none if nothing is left of it.
pub(super) fn identities(resource: &Resource, schema: &Schema) -> Vec<IdKey> {
    if resource.is_empty() {
        return Vec::new();
    }
    let mut keys: Vec<IdKey> = Vec::with_capacity(resource.state.previous.len() + 1);
    for id in resource.previous_ids().chain([resource.id(schema)]) {
        let key = id.into_key();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The index of names.
pub(super) fn index_names(resources: &[Resource]) -> HashMap<String, Vec<usize>> {
    let mut names: HashMap<String, Vec<usize>> = HashMap::with_capacity(resources.len());
    for (index, resource) in resources.iter().enumerate() {
        if resource.is_empty() {
            continue;
        }
        let former = resource.state.previous.iter().map(|id| id.name.as_ref());
        for name in former.chain([resource.name()]) {
            add(names.entry(name.to_owned()).or_default(), index);
        }
    }
    names
}

/// Adds an object to an ascending list that may have it.
fn add(list: &mut Vec<usize>, index: usize) {
    if let Err(place) = list.binary_search(&index) {
        list.insert(place, index);
    }
}

fn remove(list: Option<&mut Vec<usize>>, index: usize) {
    if let Some(list) = list
        && let Ok(place) = list.binary_search(&index)
    {
        list.remove(place);
    }
}

impl Indexes {
    /// Whether there are indexes that can follow a change of one object.
    pub(super) fn tracks(&self) -> bool {
        self.any.is_some() || self.names.is_some()
    }

    /// Takes up an object.
    pub(super) fn add(&mut self, index: usize, identities: Vec<IdKey>) {
        if let Some(names) = &mut self.names {
            for key in &identities {
                match names.get_mut(&key.name) {
                    Some(list) => add(list, index),
                    None => {
                        names.insert(key.name.clone(), vec![index]);
                    }
                }
            }
        }
        if let Some(any) = &mut self.any {
            for key in identities {
                add(any.entry(key).or_default(), index);
            }
        }
    }

    /// Follows a change of an object's identities.
    pub(super) fn update(&mut self, index: usize, before: &[IdKey], after: Vec<IdKey>) {
        if before == after {
            return;
        }
        // Two objects may have become the same for a while, which this index cannot tell.
        self.current = None;
        for key in before.iter().filter(|key| !after.contains(key)) {
            if let Some(any) = &mut self.any {
                remove(any.get_mut(key), index);
            }
            if let Some(names) = &mut self.names {
                remove(names.get_mut(&key.name), index);
            }
        }
        self.add(index, after);
    }
}
