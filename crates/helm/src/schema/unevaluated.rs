//! What the keywords of a schema have not looked at.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::evaluate::Draft;

/// The properties or items of the current value that nothing has been said about.
#[derive(Debug, Default)]
pub(super) struct Unevaluated {
    pub(super) names: BTreeSet<String>,
    pub(super) items: BTreeSet<usize>,
}

impl Unevaluated {
    /// All of a value, as far as the schema, or the one that applies it (`is_needed`), asks for it.
    pub(super) fn before(draft: Draft, schema: &Json, value: &Json, is_needed: bool) -> Self {
        let mut left = Self::default();
        if draft < Draft::Nineteen {
            return left;
        }
        let keyword = |name: &str| schema.get(name);
        match value {
            Json::Object(map) => {
                let is_asked = is_needed || keyword("unevaluatedProperties").is_some();
                if is_asked && keyword("additionalProperties").is_none() {
                    left.names.extend(map.keys().cloned());
                }
            }
            Json::Array(items) => {
                let (all, first) = if draft >= Draft::Twenty {
                    (keyword("items").is_some(), keyword("prefixItems"))
                } else {
                    let items = keyword("items");
                    let is_list = items.is_some_and(Json::is_array);
                    let all = items.is_some() && !is_list || keyword("additionalItems").is_some();
                    (all, items.filter(|_| is_list))
                };
                let first = first.and_then(Json::as_array).map_or(0, Vec::len);
                if !all && (is_needed || keyword("unevaluatedItems").is_some()) {
                    left.items.extend(first..items.len());
                }
            }
            _ => {}
        }
        left
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty() && self.items.is_empty()
    }

    /// Takes out what another schema has looked at.
    pub(super) fn keep_only(&mut self, left: &Self) {
        self.names.retain(|name| left.names.contains(name));
        self.items.retain(|index| left.items.contains(index));
    }
}
