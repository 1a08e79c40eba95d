//! Merging lists by keys.
//!
//! kyaml builds the new list from nodes that it also keeps in the old one, so what happens to a node shows in
//! both. Nodes live in a pool here, and lists hold their places in it.

use sluice_goyaml::Node;

use super::strategic::{Merged, Merger};
use crate::schema::{Strategy, TypeRef};
use crate::tree::{self, Outcome};

type Id = usize;

/// Merges the elements of `patch` into those of `target`; with `same`, `target` came from the patch and is
/// both.
pub(super) fn merge_list<'a>(
    merger: &Merger<'a>,
    target: Vec<Node>,
    patch: Option<Vec<Node>>,
    same: bool,
    strategy: &Strategy,
    element_kind: Option<TypeRef<'a>>,
) -> Outcome<Vec<Node>> {
    let target_ids: Vec<Id> = (0..target.len()).collect();
    let mut pool = target;
    let patch_ids = match patch {
        Some(elements) => {
            let start = pool.len();
            pool.extend(elements);
            Some((start..pool.len()).collect())
        }
        None if same => Some(target_ids.clone()),
        None => None,
    };
    let mut list = List {
        merger,
        pool,
        target: target_ids,
        patch: patch_ids,
        same,
        element_kind,
    };
    let values = list.element_values(&strategy.keys);
    if !values.is_empty() || !strategy.keys.is_empty() {
        list.merge(values, &strategy.keys)?;
    } else {
        let values = list.scalar_values();
        list.merge(values, &[String::new()])?;
    }
    Ok(list.into_nodes())
}

struct List<'m, 'a> {
    merger: &'m Merger<'a>,
    pool: Vec<Node>,
    target: Vec<Id>,
    patch: Option<Vec<Id>>,
    same: bool,
    element_kind: Option<TypeRef<'a>>,
}

impl List<'_, '_> {
    fn into_nodes(self) -> Vec<Node> {
        let mut pool: Vec<Option<Node>> = self.pool.into_iter().map(Some).collect();
        let mut result = Vec::with_capacity(self.target.len());
        for (index, id) in self.target.iter().enumerate() {
            let again = self.target[index + 1..].contains(id);
            let node = if again {
                pool[*id].clone()
            } else {
                pool[*id].take()
            };
            if let Some(node) = node {
                result.push(node);
            }
        }
        result
    }

    /// The keys' values of all elements, the patch's first, each once.
    fn element_values(&self, keys: &[String]) -> Vec<Vec<String>> {
        let mut result: Vec<Vec<String>> = Vec::new();
        if keys.is_empty() {
            return result;
        }
        let mut seen = std::collections::HashSet::new();
        for id in self.patch.iter().flatten().chain(&self.target) {
            let values: Vec<String> = keys
                .iter()
                .map(|key| {
                    self.pool[*id]
                        .get(key)
                        .filter(|value| !tree::is_null_or_empty(value))
                        .map_or("", tree::text_of)
                        .to_owned()
                })
                .collect();
            if seen.insert(values.clone()) {
                result.push(values);
            }
        }
        result
    }

    fn scalar_values(&self) -> Vec<Vec<String>> {
        let mut seen = std::collections::HashSet::new();
        self.patch
            .iter()
            .flatten()
            .chain(&self.target)
            .map(|id| tree::text_of(&self.pool[*id]).to_owned())
            .filter(|text| seen.insert(text.clone()))
            .map(|text| vec![text])
            .collect()
    }

    fn merge(&mut self, mut values_list: Vec<Vec<String>>, keys: &[String]) -> Outcome<()> {
        if keys.len() > 1 {
            complete_values(&mut values_list);
        }
        let mut items: Vec<Id> = Vec::new();
        let mut last_keys = Vec::new();
        for values in &values_list {
            if values.is_empty() {
                continue;
            }
            let (valid_keys, valid_values) = valid_keys(&values_list, values, keys);
            let merged = self.merge_element(&valid_keys, &valid_values)?;
            match merged.filter(|id| !tree::is_null_or_empty_mapping(&self.pool[*id])) {
                None => {
                    let mut target = std::mem::take(&mut self.target);
                    let result = self.set_element(&mut target, None, &valid_keys, &valid_values);
                    self.target = target;
                    result?;
                }
                Some(id) => {
                    self.ensure_keys(id, &valid_keys, &valid_values)?;
                    self.set_element(&mut items, Some(id), &valid_keys, &valid_values)?;
                }
            }
            last_keys = valid_keys;
        }
        if !values_list.is_empty() {
            let target = std::mem::take(&mut self.target);
            self.append(&mut items, &target, &last_keys)?;
            self.target = items;
        }
        Ok(())
    }

    fn ensure_keys(&mut self, id: Id, keys: &[String], values: &[String]) -> Outcome<()> {
        for (key, value) in keys.iter().zip(values) {
            if !key.is_empty() && !value.is_empty() && self.pool[id].get(key).is_none() {
                tree::set_text_field(&mut self.pool[id], key, value)?;
            }
        }
        Ok(())
    }

    /// Merges the elements of target and patch that have these values.
    fn merge_element(&mut self, keys: &[String], values: &[String]) -> Outcome<Option<Id>> {
        let (keys, values) = valid_keys(std::slice::from_ref(&values.to_vec()), values, keys);
        let target = self.find(&self.target, &keys, &values);
        let patch = self
            .patch
            .as_ref()
            .and_then(|patch| self.find(patch, &keys, &values));
        let kind = self.element_kind;
        let merger = *self.merger;
        match (target, patch) {
            (None, None) => Ok(None),
            (Some(target), Some(_)) if self.same => {
                Ok(merger.settle(&mut self.pool[target], kind)?.then_some(target))
            }
            (Some(target), None) => Ok(merger
                .only_target(&mut self.pool[target], kind)?
                .then_some(target)),
            (None, Some(patch)) => {
                let node = std::mem::replace(&mut self.pool[patch], Node::null());
                match merger.only_patch(node, kind)? {
                    Some(node) => {
                        self.pool[patch] = node;
                        Ok(Some(patch))
                    }
                    None => Ok(None),
                }
            }
            (Some(target), Some(patch)) => {
                let node = self.pool[patch].clone();
                match merger.both(&mut self.pool[target], node, kind)? {
                    Merged::Target => Ok(Some(target)),
                    Merged::Nothing => Ok(None),
                    Merged::Patch(node) => {
                        self.pool[patch] = node;
                        Ok(Some(patch))
                    }
                }
            }
        }
    }

    fn find(&self, list: &[Id], keys: &[String], values: &[String]) -> Option<Id> {
        if keys.first().is_none_or(String::is_empty) {
            let value = values.first().map_or("", String::as_str);
            return list
                .iter()
                .copied()
                .find(|id| tree::text_of(&self.pool[*id]) == value);
        }
        list.iter().copied().find(|id| {
            let Some(mapping) = self.pool[*id].as_mapping() else {
                return false;
            };
            keys.iter()
                .zip(values)
                .all(|(key, value)| mapping.get(key).is_some_and(|node| tree::text_of(node) == value))
        })
    }

    /// Replaces the elements with these values by `element`, or appends it; without one, removes them.
    /// Elements of which nothing is left are dropped on the way.
    fn set_element(
        &self,
        list: &mut Vec<Id>,
        element: Option<Id>,
        keys: &[String],
        values: &[String],
    ) -> Outcome<()> {
        let for_mappings = keys.first().is_some_and(|key| !key.is_empty())
            && values.first().is_some_and(|value| !value.is_empty());
        let mut result = Vec::with_capacity(list.len() + 1);
        let mut found_any = false;
        for id in list.iter().copied() {
            let node = &self.pool[id];
            if tree::is_null_or_empty_mapping(node) {
                continue;
            }
            if node.as_mapping().is_none() && for_mappings {
                result.push(id);
                continue;
            }
            if !matches_element(node, keys, values)? {
                if !values.is_empty() {
                    result.push(id);
                }
                continue;
            }
            found_any = true;
            result.extend(element);
        }
        *list = result;
        if let Some(id) = element
            && !found_any
            && !tree::is_null(&self.pool[id])
        {
            list.push(id);
        }
        Ok(())
    }

    /// Adds the elements of `source` to `list`, in the place of those with the same keys.
    fn append(&self, list: &mut Vec<Id>, source: &[Id], keys: &[String]) -> Outcome<()> {
        for id in source.iter().copied() {
            let node = &self.pool[id];
            if keys.first().is_none_or(String::is_empty) {
                self.set_element(
                    list,
                    Some(id),
                    &[String::new()],
                    &[tree::text_of(node).to_owned()],
                )?;
                continue;
            }
            let mut values = Vec::new();
            for key in keys {
                let value = if tree::is_null(node) {
                    None
                } else {
                    let Some(mapping) = node.as_mapping() else {
                        return Err(format!(
                            "the list has {} among its mappings",
                            tree::kind_name(node)
                        ));
                    };
                    mapping.get(key)
                };
                match value {
                    Some(value) => values.push(tree::text_of(value).to_owned()),
                    None => list.push(id),
                }
            }
            if keys.len() > 1 {
                self.set_element(list, None, keys, &values)?;
            }
            self.set_element(list, Some(id), keys, &values)?;
        }
        Ok(())
    }
}

/// Whether an element has these values. Keys without a value repeat the last answer, as in kyaml.
fn matches_element(node: &Node, keys: &[String], values: &[String]) -> Outcome<bool> {
    let mut found = false;
    for (index, key) in keys.iter().enumerate() {
        if let Some(value) = values.get(index) {
            found = if key.is_empty() {
                if node.text().is_none() {
                    return Err(format!(
                        "the list has {} among its scalars",
                        tree::kind_name(node)
                    ));
                }
                tree::value_of(node) == value
            } else {
                let Some(mapping) = node.as_mapping() else {
                    return Err(format!(
                        "the list has {} among its mappings",
                        tree::kind_name(node)
                    ));
                };
                mapping
                    .get(key)
                    .is_some_and(|node| value.is_empty() || tree::text_of(node) == value)
            };
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(found)
}

/// Leaves out keys that no element has.
fn valid_keys(values_list: &[Vec<String>], values: &[String], keys: &[String]) -> (Vec<String>, Vec<String>) {
    let valid = |index: usize| {
        values_list
            .iter()
            .any(|values| values.get(index).is_some_and(|value| !value.is_empty()))
    };
    let flags: Vec<bool> = (0..keys.len()).map(valid).collect();
    if !flags.contains(&true) {
        return (keys.to_vec(), values.to_vec());
    }
    let pick = |list: &[String]| -> Vec<String> {
        list.iter()
            .enumerate()
            .filter(|(index, _)| flags.get(*index).copied().unwrap_or(false))
            .map(|(_, text)| text.clone())
            .collect()
    };
    (pick(keys), pick(values))
}

/// Fills gaps in the values from others that agree where both have something.
fn complete_values(list: &mut [Vec<String>]) {
    for outer in 0..list.len() {
        let first = list[outer].clone();
        for inner in 0..list.len() {
            if let Some(values) = combine(&first, &list[inner]) {
                list[outer].clone_from(&values);
                list[inner] = values;
            }
        }
    }
}

fn combine(first: &[String], second: &[String]) -> Option<Vec<String>> {
    if first.len() != second.len() {
        return None;
    }
    let mut common = false;
    let mut result = Vec::with_capacity(first.len());
    for (left, right) in first.iter().zip(second) {
        if left == right {
            common = true;
        } else if !left.is_empty() && !right.is_empty() {
            return None;
        }
        result.push(if left.is_empty() {
            right.clone()
        } else {
            left.clone()
        });
    }
    common.then_some(result)
}
