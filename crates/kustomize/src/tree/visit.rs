use sluice_goyaml::{Content, Mapping, Node, Style};

use super::{Outcome, is_null, kind_name, scalar, untagged};

/// What a field specification makes where the last step of its path is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Create {
    /// Nothing.
    Nothing,
    /// A scalar; a null is given this tag.
    Scalar(&'static str),
    /// A mapping.
    Mapping,
    /// A list.
    Sequence,
}

impl Create {
    fn missing(self) -> Node {
        match self {
            Self::Mapping => Node::mapping(Mapping::new()),
            Self::Sequence => Node::sequence(Vec::new()),
            Self::Nothing | Self::Scalar(_) => untagged(""),
        }
    }

    /// What a null becomes.
    fn revive(self, node: &mut Node) {
        match self {
            Self::Nothing => {}
            Self::Mapping | Self::Sequence => *node = self.missing(),
            Self::Scalar(tag) => {
                let text = node.text().unwrap_or_default().to_owned();
                *node = scalar(text, tag, Style::Plain);
            }
        }
    }
}

/// Calls `set` for every node that the path leads to: steps are fields, lists on the way are gone through
/// element by element, a step that ends with `[]` is never made.
pub(crate) fn visit(
    node: &mut Node,
    steps: &[String],
    create: Create,
    set: &mut dyn FnMut(&mut Node) -> Outcome<()>,
) -> Outcome<()> {
    let [first, rest @ ..] = steps else {
        return set(node);
    };
    if is_null(node) {
        return Ok(());
    }
    match &mut node.content {
        Content::Sequence(items) => items
            .iter_mut()
            .try_for_each(|item| visit(item, steps, create, set)),
        Content::Mapping(mapping) => visit_field(mapping, first, rest, create, set),
        _ => Err(format!(
            "expected a mapping or a list before {first:?}, found {}",
            kind_name(node)
        )),
    }
}

fn visit_field(
    mapping: &mut Mapping,
    step: &str,
    rest: &[String],
    create: Create,
    set: &mut dyn FnMut(&mut Node) -> Outcome<()>,
) -> Outcome<()> {
    let (name, is_list) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
    if name.is_empty() {
        return Err("the path has an empty step".to_owned());
    }
    if name.parse::<i64>().is_ok() || name == "-" {
        return Err(format!("the step {name:?} asks for a list, found a mapping"));
    }
    if create == Create::Nothing || is_list {
        let Some(field) = mapping.get_mut(name) else {
            return Ok(());
        };
        if is_list && is_null(field) {
            *field = Node::sequence(Vec::new());
        }
        return visit(field, rest, create, set);
    }
    let kind = if rest.is_empty() { create } else { Create::Mapping };
    if !mapping.contains_key(name) {
        mapping.push(Node::plain(name), kind.missing());
        let Some(field) = mapping.get_mut(name) else {
            return Ok(());
        };
        return if rest.is_empty() {
            set(field)
        } else {
            visit(field, rest, create, set)
        };
    }
    let Some(field) = mapping.get_mut(name) else {
        return Ok(());
    };
    if is_null(field) {
        kind.revive(field);
    }
    visit(field, rest, create, set)
}
