use std::collections::BTreeMap;

use sluice_goyaml::{Content, Mapping, Node};

use super::{Outcome, is_null, kind_name, set_field, string};

/// The fields of one object that kustomize set by putting one and the same node into several places: what
/// later changes one of them changes all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shares {
    /// The value that the members of each group last had.
    groups: Vec<Node>,
}

/// What the anchor of a member starts with; the number of its group follows.
const MARK: &str = "shared-";

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
        value.presentation_mut().anchor = Some(format!("{MARK}{group}"));
        mapping.push(Node::plain(name), value);
        Ok(())
    }

    /// Gives all members of a group the value that one of them has been given. Of several, the one that comes
    /// last by its path counts, as kustomize changes fields in that order.
    pub(crate) fn settle(&mut self, root: &mut Node) {
        if self.groups.is_empty() {
            return;
        }
        let mut latest = BTreeMap::new();
        self.find_changes(root, &mut Vec::new(), &mut latest);
        if latest.is_empty() {
            return;
        }
        let mut values = BTreeMap::new();
        for (group, (_, changed)) in latest {
            let mut value = changed.clone();
            value.presentation = None;
            if let Some(known) = self.groups.get_mut(group) {
                known.clone_from(&value);
            }
            values.insert(group, value);
        }
        spread(root, &values);
    }

    /// Finds the members that have been given another value than their group's, the last of each group.
    fn find_changes<'n>(
        &self,
        node: &'n Node,
        path: &mut Vec<&'n str>,
        latest: &mut BTreeMap<usize, (Vec<&'n str>, &'n Node)>,
    ) {
        if let Some((group, value)) = group_of(node).and_then(|group| Some((group, self.groups.get(group)?)))
            && (node.text() != value.text() || node.resolve() != value.resolve())
            && latest
                .get(&group)
                .is_none_or(|(known, _)| path.as_slice() > known.as_slice())
        {
            latest.insert(group, (path.clone(), node));
        }
        match &node.content {
            Content::Mapping(mapping) => {
                for (name, value) in mapping.iter() {
                    path.push(name);
                    self.find_changes(value, path, latest);
                    path.pop();
                }
            }
            Content::Sequence(items) => {
                for item in items {
                    self.find_changes(item, path, latest);
                }
            }
            _ => {}
        }
    }
}

/// The group that a node is a member of.
fn group_of(node: &Node) -> Option<usize> {
    let mark = node.presentation.as_ref()?.anchor.as_deref()?;
    mark.strip_prefix(MARK)?.parse().ok()
}

fn spread(node: &mut Node, values: &BTreeMap<usize, Node>) {
    if let Some(value) = group_of(node).and_then(|group| values.get(&group)) {
        super::overwrite(node, value.clone());
    }
    match &mut node.content {
        Content::Mapping(mapping) => mapping.values_mut().for_each(|child| spread(child, values)),
        Content::Sequence(items) => items.iter_mut().for_each(|child| spread(child, values)),
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
