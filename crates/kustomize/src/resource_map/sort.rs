use std::cmp::Ordering;
use std::collections::HashMap;

use super::ResourceMap;
use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::{KINDS_FIRST, KINDS_LAST};
use crate::kustomization::{LegacySortOptions, SortOptions};
use crate::resource::{Gvk, ResourceId};
use crate::schema::Schema;

/// Puts the objects in the order that the options ask for.
///
/// # Errors
/// An unknown order, or options of another one.
pub(crate) fn sort(map: &mut ResourceMap, options: &SortOptions, schema: &Schema) -> Result<()> {
    let problem =
        |field: &str, problem: String| Error::new(ErrorKind::Kustomization, problem).at_field(field);
    match options.order.as_str() {
        "legacy" => {}
        "fifo" if options.legacy_sort_options.is_some() => {
            return Err(problem(
                "sortOptions.legacySortOptions",
                "is set, but the order is fifo".to_owned(),
            )
            .remedy("remove it, or set sortOptions.order to legacy"));
        }
        "fifo" => return Ok(()),
        other => {
            return Err(
                problem("sortOptions.order", format!("the order {other:?} is unknown"))
                    .remedy("use fifo or legacy"),
            );
        }
    }
    let ranks = ranks(options.legacy_sort_options.as_ref());
    let resources = map.resources_mut();
    let mut keyed: Vec<(Key, usize)> = resources
        .iter()
        .enumerate()
        .map(|(index, resource)| (Key::new(resource.id(schema), &ranks), index))
        .collect();
    keyed.sort_by(|(left, _), (right, _)| compare(left, right));
    let mut taken: Vec<Option<_>> = std::mem::take(resources).into_iter().map(Some).collect();
    *resources = keyed
        .into_iter()
        .filter_map(|(_, index)| taken[index].take())
        .collect();
    Ok(())
}

fn ranks(options: Option<&LegacySortOptions>) -> HashMap<String, i64> {
    let mut ranks = HashMap::new();
    let mut add = |first: &[String], last: &[String]| {
        for (rank, kind) in (-i64::try_from(first.len()).unwrap_or(0)..).zip(first) {
            ranks.insert(kind.clone(), rank);
        }
        for (rank, kind) in (1..).zip(last) {
            ranks.insert(kind.clone(), rank);
        }
    };
    match options {
        Some(options) => add(&options.order_first, &options.order_last),
        None => add(&KINDS_FIRST.map(str::to_owned), &KINDS_LAST.map(str::to_owned)),
    }
    ranks
}

/// What the order of an object follows from.
struct Key {
    rank: i64,
    gvk: Gvk,
    /// The kind with its group and version as kustomize compares them.
    gvk_text: String,
    /// Namespace and name as kustomize compares them among objects of one kind.
    id_text: String,
}

impl Key {
    fn new(id: ResourceId, ranks: &HashMap<String, i64>) -> Self {
        Self {
            rank: ranks.get(&id.gvk.kind).copied().unwrap_or(0),
            gvk_text: gvk_text(&id.gvk),
            id_text: format!("{}|{}", or(&id.namespace, "~X"), or(&id.name, "~N")),
            gvk: id.gvk,
        }
    }
}

fn compare(left: &Key, right: &Key) -> Ordering {
    if left.gvk == right.gvk {
        return left.id_text.cmp(&right.id_text);
    }
    left.rank.cmp(&right.rank).then_with(|| {
        let order = left.gvk_text.cmp(&right.gvk_text);
        let namespaces = left.gvk.kind == "Namespace" && right.gvk.kind == "Namespace";
        let core = left.gvk.group.is_empty() || right.gvk.group.is_empty();
        if namespaces && core {
            order.reverse()
        } else {
            order
        }
    })
}

fn or<'a>(text: &'a str, default: &'a str) -> &'a str {
    if text.is_empty() { default } else { text }
}

fn gvk_text(gvk: &Gvk) -> String {
    format!(
        "{}_{}_{}",
        or(&gvk.group, "~G"),
        or(&gvk.version, "~V"),
        or(&gvk.kind, "~K")
    )
}
