//! Where two documents differ, told by paths.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Fields by which the entries of a list are known, the first that all of them have.
const IDENTIFIERS: [&str; 4] = ["name", "key", "id", "manager"];

/// What differs at one path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Deviation {
    /// Names of fields, names of the entries of lists, or their positions; empty for the whole document.
    pub(super) path: Vec<String>,
    /// What differs there.
    pub(super) details: Vec<Detail>,
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Detail {
    /// Entries of a map, or of a list, that would go.
    Removed(Value),
    /// Entries that would come.
    Added(Value),
    /// Another value.
    Changed(Value, Value),
    /// The same entries in another order, by what they are known by.
    Reordered(Vec<String>, Vec<String>),
}

/// Compares two objects. What the API server counts by itself does not matter.
pub(super) fn compare(before: &Value, after: &Value) -> Vec<Deviation> {
    let mut deviations = Vec::new();
    let (mut before, mut after) = (before.clone(), after.clone());
    for side in [&mut before, &mut after] {
        if let Some(metadata) = side.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("generation");
            metadata.remove("resourceVersion");
        }
    }
    visit(&mut Vec::new(), &before, &after, &mut deviations);
    deviations
}

fn visit(path: &mut Vec<String>, before: &Value, after: &Value, deviations: &mut Vec<Deviation>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => visit_maps(path, before, after, deviations),
        (Value::Array(before), Value::Array(after)) => visit_lists(path, before, after, deviations),
        _ if before == after => {}
        _ => deviations.push(Deviation {
            path: path.clone(),
            details: vec![Detail::Changed(before.clone(), after.clone())],
        }),
    }
}

fn visit_below(
    path: &mut Vec<String>,
    name: &str,
    before: &Value,
    after: &Value,
    deviations: &mut Vec<Deviation>,
) {
    path.push(name.to_owned());
    visit(path, before, after, deviations);
    path.pop();
}

fn visit_maps(
    path: &mut Vec<String>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    deviations: &mut Vec<Deviation>,
) {
    let only_in = |map: &Map<String, Value>, other: &Map<String, Value>| -> Map<String, Value> {
        let mut map = map.clone();
        map.retain(|key, _| !other.contains_key(key));
        map
    };
    note(
        path,
        Vec::new(),
        Some(only_in(before, after))
            .filter(|gone| !gone.is_empty())
            .map(Value::Object),
        Some(only_in(after, before))
            .filter(|new| !new.is_empty())
            .map(Value::Object),
        deviations,
    );
    for (key, value) in before {
        if let Some(other) = after.get(key) {
            visit_below(path, key, value, other, deviations);
        }
    }
}

fn visit_lists(path: &mut Vec<String>, before: &[Value], after: &[Value], deviations: &mut Vec<Deviation>) {
    if before == after {
        return;
    }
    if let Some(identifier) = identifier_of(before, after) {
        let name = |entry: &Value| plain(&entry[identifier]);
        let find = |list: &[Value], wanted: &Value| {
            list.iter()
                .position(|entry| entry[identifier] == wanted[identifier])
        };
        compare_entries(path, before, after, &find, &name, deviations);
        for entry in before {
            if let Some(position) = find(after, entry) {
                visit_below(path, &name(entry), entry, &after[position], deviations);
            }
        }
        return;
    }
    if let ([before], [after]) = (before, after) {
        visit_below(path, "0", before, after, deviations);
        return;
    }
    let find = |list: &[Value], wanted: &Value| list.iter().position(|entry| entry == wanted);
    compare_entries(path, before, after, &find, &plain, deviations);
}

/// Notes which entries of a list come, go, or move.
fn compare_entries(
    path: &[String],
    before: &[Value],
    after: &[Value],
    find: &dyn Fn(&[Value], &Value) -> Option<usize>,
    name: &dyn Fn(&Value) -> String,
    deviations: &mut Vec<Deviation>,
) {
    // Each entry stands for one of the other side, so that duplicates count.
    let mut left: Vec<Value> = after.to_vec();
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for entry in before {
        match find(&left, entry) {
            Some(position) => {
                left.remove(position);
                kept.push(name(entry));
            }
            None => removed.push(entry.clone()),
        }
    }
    let mut unmatched = before.to_vec();
    let mut kept_after = Vec::new();
    for entry in after {
        if let Some(position) = find(&unmatched, entry) {
            unmatched.remove(position);
            kept_after.push(name(entry));
        }
    }
    let order = if kept == kept_after {
        Vec::new()
    } else {
        vec![Detail::Reordered(kept, kept_after)]
    };
    note(
        path,
        order,
        Some(removed).filter(|gone| !gone.is_empty()).map(Value::Array),
        Some(left).filter(|new| !new.is_empty()).map(Value::Array),
        deviations,
    );
}

fn note(
    path: &[String],
    mut details: Vec<Detail>,
    removed: Option<Value>,
    added: Option<Value>,
    deviations: &mut Vec<Deviation>,
) {
    details.extend(removed.map(Detail::Removed));
    details.extend(added.map(Detail::Added));
    if !details.is_empty() {
        deviations.push(Deviation {
            path: path.to_vec(),
            details,
        });
    }
}

/// The field that tells the entries of both lists apart.
fn identifier_of(before: &[Value], after: &[Value]) -> Option<&'static str> {
    let tells_apart = |list: &[Value], field: &str| {
        let mut known = BTreeSet::new();
        list.iter().all(
            |entry| matches!(entry.get(field), Some(name) if is_scalar(name) && known.insert(plain(name))),
        )
    };
    IDENTIFIERS
        .into_iter()
        .find(|field| tells_apart(before, field) && tells_apart(after, field))
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// A value on one line.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deviation(path: &str, details: Vec<Detail>) -> Deviation {
        let path = path
            .split('.')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        Deviation { path, details }
    }

    #[test]
    fn entries_of_lists_are_found_by_their_names() {
        let before = json!({"ports": [{"name": "http", "port": 80}, {"name": "grpc", "port": 9}]});
        let after = json!({"ports": [{"name": "grpc", "port": 9}, {"name": "http", "port": 81}]});
        let names = |first: &str, second: &str| vec![first.to_owned(), second.to_owned()];
        assert_eq!(
            compare(&before, &after),
            vec![
                deviation(
                    "ports",
                    vec![Detail::Reordered(names("http", "grpc"), names("grpc", "http"))]
                ),
                deviation("ports.http.port", vec![Detail::Changed(json!(80), json!(81))]),
            ]
        );
    }

    #[test]
    fn maps_tell_what_comes_and_goes_before_what_changes_below() {
        let before = json!({"metadata": {"generation": 1, "name": "x"}, "data": {"a": "1", "b": "2"}});
        let after = json!({"metadata": {"generation": 2, "name": "x"}, "data": {"b": "3", "c": "4"}});
        assert_eq!(
            compare(&before, &after),
            vec![
                deviation(
                    "data",
                    vec![
                        Detail::Removed(json!({"a": "1"})),
                        Detail::Added(json!({"c": "4"}))
                    ]
                ),
                deviation("data.b", vec![Detail::Changed(json!("2"), json!("3"))]),
            ]
        );
    }

    #[test]
    fn plain_lists_count_duplicates_and_single_entries_are_compared() {
        let lists = |before: Value, after: Value| compare(&json!({"l": before}), &json!({"l": after}));
        assert_eq!(
            lists(json!(["a", "a", "b"]), json!(["a", "b", "c"])),
            vec![deviation(
                "l",
                vec![Detail::Removed(json!(["a"])), Detail::Added(json!(["c"]))]
            )]
        );
        assert_eq!(
            lists(json!(["a"]), json!(["b"])),
            vec![deviation("l.0", vec![Detail::Changed(json!("a"), json!("b"))])]
        );
        assert_eq!(lists(json!([]), json!([])), vec![]);
    }
}
