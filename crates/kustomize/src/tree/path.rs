//! Paths with dots: kyaml's `PathGetter` and `PathMatcher`.

use regex::Regex;
use sluice_goyaml::{Content, Entry, Flavour, Limits, Mapping, Node, parse_document};

use super::{Create, Outcome, is_null, kind_name, text_of, untagged, value_of};
use crate::field_specs::split_path;

/// Splits a path at dots that are neither escaped nor within brackets.
pub(crate) fn split_smart(path: &str) -> Vec<String> {
    let mut result = Vec::new();
    let mut pieces = split_path(path, '.').into_iter();
    while let Some(piece) = pieces.next() {
        if !piece.starts_with('[') || piece.ends_with(']') {
            result.push(piece);
            continue;
        }
        let mut bracketed = piece;
        for next in pieces.by_ref() {
            bracketed.push('.');
            bracketed.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        if bracketed.contains('=') {
            result.push(bracketed);
        } else {
            result.push(bracketed.trim_matches(['[', ']']).to_owned());
        }
    }
    result
}

/// Whether the step is `[field=value]`.
pub(crate) fn is_list_selector(step: &str) -> bool {
    step.starts_with('[') && step.ends_with(']')
}

/// Whether the step is an index.
pub(crate) fn is_index(step: &str) -> bool {
    step.parse::<i64>().is_ok_and(|index| index >= 0)
}

fn split_selector(step: &str) -> Outcome<(&str, &str)> {
    let inner = step.strip_suffix(']').unwrap_or(step);
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner
        .split_once('=')
        .ok_or_else(|| format!("the step {step:?} must have the form [field=value]"))
}

/// What stands at the next place if it has to be made: a list before an index or a selector.
fn kind_for(next: Option<&String>, last: Create) -> Node {
    match next {
        Some(step) if is_list_selector(step) || is_index(step) => Node::sequence(Vec::new()),
        Some(_) => Node::mapping(Mapping::new()),
        None => match last {
            Create::Mapping => Node::mapping(Mapping::new()),
            Create::Sequence => Node::sequence(Vec::new()),
            _ => untagged(""),
        },
    }
}

fn clean(path: &[String]) -> Vec<&str> {
    path.iter()
        .map(|step| step.trim())
        .filter(|step| !step.is_empty())
        .collect()
}

/// The node that the path leads to. Steps are fields, indexes, `-` for the last element, `[field=value]` and
/// `[=value]`.
pub(crate) fn lookup<'n>(node: &'n Node, path: &[String]) -> Outcome<Option<&'n Node>> {
    let mut current = node;
    for step in clean(path) {
        let next = if let Ok(index) = step.parse::<i64>() {
            let index = usize::try_from(index).map_err(|_| format!("the index {index} is negative"))?;
            elements(current)?.get(index)
        } else if step == "-" {
            elements(current)?.last()
        } else if step == "*" {
            return Err("the wildcard * cannot be used here".to_owned());
        } else if is_list_selector(step) {
            find_element(current, step)?
        } else {
            if is_null(current) {
                return Ok(None);
            }
            let Some(mapping) = current.as_mapping() else {
                return Err(format!(
                    "expected a mapping before {step:?}, found {}",
                    kind_name(current)
                ));
            };
            mapping.get(step)
        };
        match next {
            Some(next) => current = next,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

/// As [`lookup`], for changing.
pub(crate) fn lookup_mut<'n>(node: &'n mut Node, path: &[String]) -> Outcome<Option<&'n mut Node>> {
    let mut current = node;
    for step in clean(path) {
        let position = match &current.content {
            Content::Sequence(items) => {
                if let Ok(index) = step.parse::<usize>() {
                    Some(index)
                } else if step == "-" {
                    items.len().checked_sub(1)
                } else if is_list_selector(step) {
                    position_of_element(items, step)?
                } else {
                    return Err(format!("expected a mapping before {step:?}, found a list"));
                }
            }
            _ => None,
        };
        let next = match &mut current.content {
            Content::Sequence(items) => position.and_then(|index| items.get_mut(index)),
            Content::Mapping(mapping) if !is_index(step) && step != "-" && !is_list_selector(step) => {
                mapping.get_mut(step)
            }
            _ => return Err(format!("the step {step:?} leads nowhere")),
        };
        match next {
            Some(next) => current = next,
            None => return Ok(None),
        }
    }
    Ok(Some(current))
}

fn elements(node: &Node) -> Outcome<&[Node]> {
    if is_null(node) {
        return Ok(&[]);
    }
    node.as_sequence()
        .ok_or_else(|| format!("expected a list, found {}", kind_name(node)))
}

fn find_element<'n>(node: &'n Node, step: &str) -> Outcome<Option<&'n Node>> {
    let items = elements(node)?;
    Ok(position_of_element(items, step)?.and_then(|index| items.get(index)))
}

fn position_of_element(items: &[Node], step: &str) -> Outcome<Option<usize>> {
    let (field, value) = split_selector(step)?;
    if field.is_empty() {
        return Ok(items.iter().position(|item| text_of(item) == value));
    }
    Ok(items.iter().position(|item| {
        item.as_mapping()
            .and_then(|mapping| mapping.get(field))
            .is_some_and(|found| text_of(found) == value)
    }))
}

/// The node at a path of fields, made where it is missing.
pub(crate) fn lookup_create<'n>(node: &'n mut Node, path: &[&str], last: Create) -> Outcome<&'n mut Node> {
    let mut current = node;
    for (index, step) in path.iter().enumerate() {
        let found = kind_name(current);
        let Some(mapping) = current.as_mapping_mut() else {
            return Err(format!("expected a mapping before {step:?}, found {found}"));
        };
        if !mapping.contains_key(step) {
            let kind = if index + 1 == path.len() {
                last
            } else {
                Create::Mapping
            };
            mapping.push(Node::plain(*step), kind_for(None, kind));
        }
        current = mapping
            .get_mut(step)
            .ok_or_else(|| format!("the field {step:?} is missing"))?;
    }
    Ok(current)
}

/// Calls `set` for every node that a path matches and returns how many there were. Steps are fields, indexes,
/// `*` for all elements and `[field=regular expression]`; with `create`, what is missing is made.
///
/// A scalar on the way is read as YAML and gone on with, but nothing that is set in there stays.
pub(crate) fn match_path(
    node: &mut Node,
    path: &[String],
    create: Option<Create>,
    set: &mut dyn FnMut(&mut Node) -> Outcome<()>,
) -> Outcome<usize> {
    let Some((step, rest)) = path.split_first() else {
        set(node)?;
        return Ok(1);
    };
    if is_index(step) {
        return match_index(node, step, rest, create, set);
    }
    if is_list_selector(step) {
        return match_selector(node, step, rest, create, set);
    }
    if step == "*" {
        let mut count = 0;
        if !is_null(node) {
            let found = kind_name(node);
            let Some(items) = node.as_sequence_mut() else {
                return Err(format!("the step * asks for a list, found {found}"));
            };
            for item in items {
                count += match_path(item, rest, create, set)?;
            }
        }
        return Ok(count);
    }
    match_field(node, step, rest, create, set)
}

fn match_field(
    node: &mut Node,
    step: &str,
    rest: &[String],
    create: Option<Create>,
    set: &mut dyn FnMut(&mut Node) -> Outcome<()>,
) -> Outcome<usize> {
    if is_null(node) {
        return Ok(0);
    }
    let found = kind_name(node);
    let Some(mapping) = node.as_mapping_mut() else {
        return Err(format!("expected a mapping before {step:?}, found {found}"));
    };
    let mut made = false;
    if !mapping.contains_key(step) {
        let Some(last) = create else { return Ok(0) };
        mapping.push(Node::plain(step), kind_for(rest.first(), last));
        made = true;
    }
    let Some(field) = mapping.get_mut(step) else {
        return Ok(0);
    };
    if made && rest.is_empty() {
        set(field)?;
        return Ok(1);
    }
    if !rest.is_empty()
        && let Content::Scalar(text) = &field.content
    {
        let mut inner = parse_structured(text)?;
        return match_path(&mut inner, rest, create, set);
    }
    match_path(field, rest, create, set)
}

/// Reads the YAML or JSON within a scalar.
pub(crate) fn parse_structured(text: &str) -> Outcome<Node> {
    parse_document(text.as_bytes(), Flavour::Kyaml, Limits::default())
        .map(|node| node.unwrap_or_else(Node::null))
        .map_err(|error| format!("the text of the field is not YAML: {}", error.problem()))
}

fn match_index(
    node: &mut Node,
    step: &str,
    rest: &[String],
    create: Option<Create>,
    set: &mut dyn FnMut(&mut Node) -> Outcome<()>,
) -> Outcome<usize> {
    let index: usize = step
        .parse()
        .map_err(|_| format!("the index {step} is too large"))?;
    let found = kind_name(node);
    let null = is_null(node);
    let Some(items) = node.as_sequence_mut() else {
        return Err(if null {
            format!("the index {index} is given, but there are no elements")
        } else {
            format!("the index {index} asks for a list, found {found}")
        });
    };
    if items.len() == index
        && let Some(last) = create
    {
        items.push(kind_for(rest.first(), last));
        if rest.is_empty() {
            set(&mut items[index])?;
            return Ok(1);
        }
    }
    let count = items.len();
    let Some(item) = items.get_mut(index) else {
        return Err(format!(
            "the index {index} is given, but there are only {count} elements"
        ));
    };
    match_path(item, rest, create, set)
}

fn match_selector(
    node: &mut Node,
    step: &str,
    rest: &[String],
    create: Option<Create>,
    set: &mut dyn FnMut(&mut Node) -> Outcome<()>,
) -> Outcome<usize> {
    let (field, pattern) = split_selector(step)?;
    let pattern_regex = Regex::new(pattern)
        .map_err(|error| format!("the regular expression {pattern:?} is wrong: {error}"))?;
    let found = kind_name(node);
    let null = is_null(node);
    if null {
        *node = if create.is_some() {
            Node::sequence(Vec::new())
        } else {
            return Ok(0);
        };
    }
    let Some(items) = node.as_sequence_mut() else {
        return Err(format!("the step {step:?} asks for a list, found {found}"));
    };
    let mut count = 0;
    for item in items.iter_mut() {
        if field.is_empty() {
            if pattern_regex.is_match(text_of(item).trim()) {
                set(item)?;
                count += 1;
            }
        } else if item
            .as_mapping()
            .and_then(|mapping| mapping.get(field))
            .is_some_and(|found| pattern_regex.is_match(text_of(found).trim()))
        {
            count += match_path(item, rest, create, set)?;
        }
    }
    if count > 0 || create.is_none() {
        return Ok(count);
    }
    let mut item = if field.is_empty() {
        untagged(pattern)
    } else {
        let entry = Entry {
            key: Node::plain(field),
            value: untagged(pattern),
        };
        Node::mapping(Mapping::from_entries(vec![entry]))
    };
    let matches = if field.is_empty() {
        pattern_regex.is_match(value_of(&item))
    } else {
        item.get(field)
            .is_some_and(|found| pattern_regex.is_match(text_of(found)))
    };
    if !matches {
        return Err(format!("an element made for {step:?} would not match it"));
    }
    let count = if field.is_empty() {
        set(&mut item)?;
        1
    } else {
        match_path(&mut item, rest, create, set)?
    };
    items.push(item);
    Ok(count)
}
