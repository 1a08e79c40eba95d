//! Operations on YAML trees with kyaml's semantics: which tag a scalar keeps when its text changes, which
//! style wins when a field is set, what counts as null.
//!
//! kyaml gives every parsed scalar a tag and keeps it while text and style change. A [`Node`] only carries
//! explicit tags, so each change works out the tag before and pins it after where text and style alone would
//! say something else. What the engine makes without a tag carries the empty one: it is never null, counts as
//! a string when it is put somewhere, and means what its text reads as when it is written.

mod path;
mod shared;
mod visit;

pub(crate) use path::{lookup, lookup_create, lookup_mut, match_path, parse_structured, split_smart};
pub(crate) use shared::{Shares, unshared};
pub(crate) use visit::{Create, visit};

use sluice_goyaml::{Content, Flavour, Mapping, Node, Resolved, Style, resolve_scalar};

/// The result of a tree operation; the error says what is wrong, without place.
pub(crate) type Outcome<T> = Result<T, String>;

/// The short tag of strings.
pub(crate) const STRING: &str = "!!str";
/// The short tag of integers.
pub(crate) const INTEGER: &str = "!!int";

/// The tag that kyaml would have for a node.
pub(crate) fn tag_of(node: &Node) -> &str {
    match (&node.tag, &node.content) {
        (Some(tag), _) => tag,
        (None, Content::Scalar(text)) => resolve_scalar(text, node.style, None, Flavour::Kyaml).tag(),
        (None, Content::Sequence(_)) => "!!seq",
        (None, _) => "!!map",
    }
}

/// A scalar with kyaml's tag (`""` for none) and a style.
pub(crate) fn scalar(text: impl Into<String>, tag: &str, style: Style) -> Node {
    let mut node = Node::plain(text);
    node.style = if style == Style::Flow { Style::Plain } else { style };
    let plain_tag = |text: &str| resolve_scalar(text, Style::Plain, None, Flavour::Kyaml).tag();
    let text = node.text().unwrap_or_default();
    let pinned = match tag {
        "" => true,
        STRING => node.style == Style::Plain && plain_tag(text) != STRING,
        _ => plain_tag(text) != tag,
    };
    if pinned {
        node.tag = Some(tag.into());
    }
    node
}

/// A string, whatever it looks like: quoted where YAML 1.1 would read something else.
pub(crate) fn string(text: impl Into<String>) -> Node {
    let mut node = scalar(text, STRING, Style::Plain);
    quote_ambiguous(&mut node);
    node
}

/// Quotes a plain string that YAML 1.1 would read as something else, as kyaml does whenever it sets a field.
pub(crate) fn quote_ambiguous(node: &mut Node) {
    if let Content::Scalar(text) = &node.content
        && node.style == Style::Plain
        && matches!(tag_of(node), STRING | "")
        && !reads_as_string_in_yaml_1_1(text)
    {
        node.style = Style::DoubleQuoted;
        node.tag = node.tag.take().filter(|tag| tag.is_empty());
    }
}

/// A scalar whose type follows from its text, as kyaml makes for names.
pub(crate) fn untagged(text: impl Into<String>) -> Node {
    scalar(text, "", Style::Plain)
}

/// Whether the node is null.
pub(crate) fn is_null(node: &Node) -> bool {
    node.is_null() && node.tag.as_deref() != Some("")
}

/// Whether the node is null or an empty collection.
pub(crate) fn is_null_or_empty(node: &Node) -> bool {
    match &node.content {
        Content::Mapping(mapping) => mapping.is_empty(),
        Content::Sequence(items) => items.is_empty(),
        _ => is_null(node),
    }
}

/// Whether the node is null or an empty mapping.
pub(crate) fn is_null_or_empty_mapping(node: &Node) -> bool {
    match &node.content {
        Content::Mapping(mapping) => mapping.is_empty(),
        Content::Sequence(_) => false,
        _ => is_null(node),
    }
}

/// What a node is, for messages.
pub(crate) fn kind_name(node: &Node) -> &'static str {
    match &node.content {
        Content::Mapping(_) => "a mapping",
        Content::Sequence(_) => "a list",
        _ => "a scalar",
    }
}

/// The text of a scalar; empty for null and for collections (kyaml's `GetValue`).
pub(crate) fn value_of(node: &Node) -> &str {
    if is_null(node) {
        ""
    } else {
        node.text().unwrap_or_default()
    }
}

/// The raw text of a scalar, also of a null (kyaml's `node.Value`).
pub(crate) fn text_of(node: &Node) -> &str {
    node.text().unwrap_or_default()
}

/// Replaces the text and keeps tag and style (`node.Value = text`).
pub(crate) fn set_text(node: &mut Node, text: impl Into<String>) {
    let tag = tag_of(node).to_owned();
    let new = scalar(text, &tag, node.style);
    overwrite(node, new);
}

/// Puts a value in the place of another, which keeps its position and whom it is shared with.
pub(crate) fn overwrite(node: &mut Node, mut value: Node) {
    value.position = node.position;
    value.presentation = node.presentation.take();
    *node = value;
}

/// Gives a scalar another style; its tag stays what it is.
pub(crate) fn set_style(node: &mut Node, style: Style) {
    let style = if style == Style::Flow { Style::Plain } else { style };
    if node.style == style || node.text().is_none() {
        return;
    }
    let tag = tag_of(node).to_owned();
    let Content::Scalar(text) = &mut node.content else {
        return;
    };
    let text = std::mem::take(text);
    let new = scalar(text, &tag, style);
    overwrite(node, new);
}

/// Puts `value` in the place of a scalar, which lends it its style (kyaml's `FieldSetter` without name).
pub(crate) fn replace_scalar(node: &mut Node, mut value: Node) -> Outcome<()> {
    if !is_null(node) && node.text().is_none() {
        return Err(format!("expected a scalar, found {}", kind_name(node)));
    }
    quote_ambiguous(&mut value);
    if !is_null(&value) {
        set_style(&mut value, node.style);
        overwrite(node, value);
    }
    Ok(())
}

/// Sets a field of a mapping: one that exists lends its style, null removes it (kyaml's `FieldSetter`).
pub(crate) fn set_field(node: &mut Node, name: &str, value: Node) -> Outcome<()> {
    set_field_with_key(node, Node::plain(name), value, false)
}

/// As [`set_field`], with the node of a new key, and perhaps keeping nulls.
pub(crate) fn set_field_with_key(
    node: &mut Node,
    key: Node,
    mut value: Node,
    keep_null: bool,
) -> Outcome<()> {
    if is_null(node) {
        // kyaml appends to a node that is no mapping, which nobody ever sees.
        return Ok(());
    }
    let found = kind_name(node);
    let Some(mapping) = node.as_mapping_mut() else {
        return Err(format!("expected a mapping, found {found}"));
    };
    quote_ambiguous(&mut value);
    let name = key.text().unwrap_or_default();
    if is_null(&value) && !keep_null {
        mapping.remove(name);
        return Ok(());
    }
    if let Some(field) = mapping.get_mut(name) {
        set_style(&mut value, field.style);
        value.presentation = field.presentation.take();
        *field = value;
    } else {
        mapping.push(key, value);
    }
    Ok(())
}

/// Sets a field to a text whose type follows from how it reads, unless YAML 1.1 reads no string (kyaml's
/// `NewScalarRNode` in a `FieldSetter`).
pub(crate) fn set_text_field(node: &mut Node, name: &str, text: &str) -> Outcome<()> {
    set_field(node, name, untagged(text))
}

/// Removes a field of a mapping.
pub(crate) fn clear_field(node: &mut Node, name: &str) {
    if let Some(mapping) = node.as_mapping_mut() {
        mapping.remove(name);
    }
}

/// The texts of a mapping's fields, whatever their types.
pub(crate) fn texts(node: &Node) -> impl Iterator<Item = (&str, &str)> {
    node.as_mapping()
        .into_iter()
        .flat_map(Mapping::iter)
        .map(|(key, value)| (key, text_of(value)))
}

/// Whether the text is a string for a YAML 1.1 reader.
pub(crate) fn reads_as_string_in_yaml_1_1(text: &str) -> bool {
    text.is_empty()
        || text.contains('\n')
        || matches!(
            resolve_scalar(text, Style::Plain, None, Flavour::Sigs),
            Resolved::String(_) | Resolved::Timestamp(..)
        )
}
