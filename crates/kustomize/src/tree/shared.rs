use sluice_goyaml::{Content, Mapping, Node};

use super::{Outcome, is_null, kind_name, set_field, string};

/// The fields of one object that kustomize set by putting one and the same node into several places: what
/// later changes one of them changes all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shares {
    /// The value that the members of each group last had.
    groups: Vec<Node>,
}

fn mark(group: usize) -> String {
    format!("shared-{group}")
}

impl Shares {
    /// Starts a group for fields that get `text`.
    pub(crate) fn start(&mut self, text: &str) -> usize {
        self.groups.push(string(text));
        self.groups.len() - 1
    }

    /// Sets a field of a mapping; one that has to be made becomes a member of the group.
    pub(crate) fn set_field(node: &mut Node, name: &str, text: &str, group: usize) -> Outcome<()> {
        if is_null(node) || node.get(name).is_some() {
            return set_field(node, name, string(text));
        }
        let found = kind_name(node);
        let Some(mapping) = node.as_mapping_mut() else {
            return Err(format!("expected a mapping, found {found}"));
        };
        let mut value = string(text);
        value.presentation_mut().anchor = Some(mark(group));
        mapping.push(Node::plain(name), value);
        Ok(())
    }

    /// Gives all members of a group the value that one of them has been given. Of several, the one that comes
    /// last by its path counts, as kustomize changes fields in that order.
    pub(crate) fn settle(&mut self, root: &mut Node) {
        for (group, value) in self.groups.iter_mut().enumerate() {
            let mark = mark(group);
            let mut latest: Option<(Vec<String>, Node)> = None;
            find(root, &mark, &mut Vec::new(), &mut |path, node| {
                let differs = node.text() != value.text() || node.resolve() != value.resolve();
                if differs && latest.as_ref().is_none_or(|(known, _)| path > known.as_slice()) {
                    latest = Some((path.to_vec(), node.clone()));
                }
            });
            if let Some((_, mut new)) = latest {
                new.presentation = None;
                *value = new;
                spread(root, &mark, value);
            }
        }
    }
}

fn is_member(node: &Node, mark: &str) -> bool {
    node.presentation
        .as_ref()
        .is_some_and(|presentation| presentation.anchor.as_deref() == Some(mark))
}

fn find(node: &Node, mark: &str, path: &mut Vec<String>, seen: &mut dyn FnMut(&[String], &Node)) {
    if is_member(node, mark) {
        seen(path, node);
    }
    match &node.content {
        Content::Mapping(mapping) => {
            for (name, value) in mapping.iter() {
                path.push(name.to_owned());
                find(value, mark, path, seen);
                path.pop();
            }
        }
        Content::Sequence(items) => items.iter().for_each(|item| find(item, mark, path, seen)),
        _ => {}
    }
}

fn spread(node: &mut Node, mark: &str, value: &Node) {
    if is_member(node, mark) {
        super::overwrite(node, value.clone());
    }
    match &mut node.content {
        Content::Mapping(mapping) => mapping.values_mut().for_each(|child| spread(child, mark, value)),
        Content::Sequence(items) => items.iter_mut().for_each(|child| spread(child, mark, value)),
        _ => {}
    }
}

/// A copy that shares nothing.
pub(crate) fn unshared(node: &Node) -> Node {
    fn strip(node: &mut Node) {
        node.presentation = None;
        match &mut node.content {
            Content::Mapping(mapping) => Mapping::values_mut(mapping).for_each(strip),
            Content::Sequence(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut copy = node.clone();
    strip(&mut copy);
    copy
}
