use std::borrow::Cow;

use crate::node::Document;
use crate::write::analysis::Analysis;
use crate::write::emitter::{Dialect, Emitter, Place};
use crate::{Content, Entry, Mapping, Node, Presentation, Style};

/// Writes documents as kyaml does: styles, order and comments as they are, lists in their parent's column.
/// Documents are separated by `---`.
#[must_use]
pub fn write_kyaml(documents: &[Document]) -> String {
    let mut out = String::new();
    for (number, document) in documents.iter().enumerate() {
        if number > 0 {
            out.push_str("---\n");
        }
        out.push_str(&write_document(document, Dialect::V3 { compact: true }));
    }
    out
}

/// Writes a node as `go.yaml.in/yaml/v3` with an indent of two; `compact` puts lists in their parent's
/// column.
#[must_use]
pub fn write_v3_node(node: &Node, compact: bool) -> String {
    let mut emitter = Emitter::new(Dialect::V3 { compact });
    write_root(&mut emitter, node);
    emitter.end_document("");
    emitter.finish()
}

fn write_document(document: &Document, dialect: Dialect) -> String {
    let mut emitter = Emitter::new(dialect);
    if !document.comments.head.is_empty() {
        document.comments.head.clone_into(&mut emitter.comments.head);
        emitter.write_head_comment();
        emitter.put_break();
    }
    write_root(&mut emitter, &document.root);
    emitter.end_document(&document.comments.foot);
    emitter.finish()
}

fn write_root(emitter: &mut Emitter, node: &Node) {
    Tree { emitter }.root(node);
}

/// The comments that come with the start of a node: all for scalars and aliases, for collections only the
/// head.
#[derive(Clone, Copy)]
enum Part {
    Start,
    End,
}

struct Tree<'a> {
    emitter: &'a mut Emitter,
}

impl Tree<'_> {
    fn root(&mut self, node: &Node) {
        self.load(node, Part::Start);
        self.emitter.write_head_comment();
        self.start(node, Place::Root);
        self.emitter.write_line_comment();
        self.emitter.write_foot_comment();
        self.rest(node, Place::Root);
    }

    fn load(&mut self, node: &Node, part: Part) {
        let Some(presentation) = &node.presentation else {
            return;
        };
        let from = &presentation.comments;
        let leaf = matches!(node.content, Content::Scalar(_) | Content::Alias(_));
        let to = &mut self.emitter.comments;
        let replace = |target: &mut String, source: &str| {
            if !source.is_empty() {
                source.clone_into(target);
            }
        };
        if matches!(part, Part::Start) {
            replace(&mut to.head, &from.head);
        }
        if leaf == matches!(part, Part::Start) {
            replace(&mut to.line, &from.line);
            replace(&mut to.foot, &from.foot);
        }
    }

    /// Writes a scalar or alias, or what precedes a collection's content.
    fn start(&mut self, node: &Node, place: Place) {
        if let Content::Alias(name) = &node.content {
            self.emitter.write_anchor("*", name);
            return;
        }
        if let Some(anchor) = anchor_of(node) {
            self.emitter.write_anchor("&", anchor);
        }
        if let Some(tag) = tag_of(node) {
            self.emitter.write_tag(&tag);
        }
        if let Content::Scalar(text) = &node.content {
            let style = match node.style {
                Style::Plain if text.contains('\n') => Style::Literal,
                style => style,
            };
            let analysis = Analysis::of(text, self.emitter.is_v3());
            self.emitter.write_scalar(text, style, &analysis, place);
        }
    }

    /// Writes a collection's content and loads the comments of its end.
    fn rest(&mut self, node: &Node, place: Place) {
        let flow = self.emitter.flow_level > 0 || node.style == Style::Flow;
        match &node.content {
            Content::Sequence(items) if flow || items.is_empty() => self.flow_sequence(node, items, place),
            Content::Sequence(items) => self.block_sequence(node, items, place),
            Content::Mapping(mapping) if flow || mapping.is_empty() => {
                self.flow_mapping(node, mapping, place);
            }
            Content::Mapping(mapping) => self.block_mapping(node, mapping, place),
            Content::Scalar(_) | Content::Alias(_) => {}
        }
    }

    fn block_sequence(&mut self, node: &Node, items: &[Node], place: Place) {
        self.emitter.increase_indent_for_sequence(place);
        for item in items {
            self.load(item, Part::Start);
            self.emitter.write_head_comment();
            self.emitter.write_indent();
            self.emitter.write_indicator("-", true, false, true);
            self.start(item, Place::BlockItem);
            self.emitter.write_line_comment();
            self.emitter.write_foot_comment();
            self.rest(item, Place::BlockItem);
        }
        self.load(node, Part::End);
        self.emitter.decrease_indent();
    }

    fn block_mapping(&mut self, node: &Node, mapping: &Mapping, place: Place) {
        self.emitter.increase_indent(place, false, false, false);
        let mut tail = "";
        for Entry { key, value } in mapping.entries() {
            self.load_key(key, tail);
            tail = foot_of(key);
            self.emitter.write_head_comment();
            self.emitter.write_indent();
            if !self.emitter.comments.line.is_empty() {
                self.emitter.comments.key_line = std::mem::take(&mut self.emitter.comments.line);
            }
            let simple = is_simple_key(key);
            let at = Place::Key { simple, block: true };
            if !simple {
                self.emitter.write_indicator("?", true, false, true);
            }
            self.start(key, at);
            self.rest(key, at);
            // Written after the value, as the next key's tail.
            self.emitter.comments.foot.clear();
            self.load(value, Part::Start);
            if simple {
                self.emitter.write_indicator(":", false, false, false);
            } else {
                self.emitter.write_indent();
                self.emitter.write_indicator(":", true, false, true);
            }
            self.place_key_comment(value);
            let at = Place::Value { block: true };
            self.start(value, at);
            self.emitter.write_line_comment();
            self.emitter.write_foot_comment();
            self.rest(value, at);
        }
        self.load_tail(tail);
        self.load(node, Part::End);
        self.emitter.write_head_comment();
        self.emitter.decrease_indent();
    }

    fn load_key(&mut self, key: &Node, tail: &str) {
        self.load(key, Part::Start);
        if matches!(key.content, Content::Scalar(_)) {
            // Written after the value, as the next key's tail.
            self.emitter.comments.foot.clear();
        }
        self.load_tail(tail);
    }

    fn load_tail(&mut self, tail: &str) {
        if !tail.is_empty() {
            tail.clone_into(&mut self.emitter.comments.tail);
        }
    }

    /// A comment behind a key goes behind a scalar value, or before an indented block.
    fn place_key_comment(&mut self, value: &Node) {
        let comments = &mut self.emitter.comments;
        if comments.key_line.is_empty() {
            return;
        }
        match &value.content {
            Content::Scalar(_) if comments.line.is_empty() => {
                comments.line = std::mem::take(&mut comments.key_line);
            }
            Content::Sequence(_) | Content::Mapping(_) if value.style != Style::Flow => {
                std::mem::swap(&mut comments.line, &mut comments.key_line);
                self.emitter.write_line_comment();
                let comments = &mut self.emitter.comments;
                std::mem::swap(&mut comments.line, &mut comments.key_line);
            }
            _ => {}
        }
    }

    fn flow_sequence(&mut self, node: &Node, items: &[Node], place: Place) {
        self.emitter.write_indicator("[", true, true, false);
        self.emitter.increase_indent(place, true, false, false);
        self.emitter.flow_level += 1;
        let mut trail = false;
        for (number, item) in items.iter().enumerate() {
            self.load(item, Part::Start);
            if number > 0 && !trail {
                self.emitter.write_indicator(",", false, false, false);
            }
            self.emitter.write_head_comment();
            if self.emitter.column == 0 || self.emitter.is_over_wide() {
                self.emitter.write_indent();
            }
            trail = self.has_trailing_comment();
            self.start(item, Place::FlowItem);
            self.end_flow_item(trail);
            self.rest(item, Place::FlowItem);
        }
        self.load(node, Part::End);
        self.emitter.flow_level -= 1;
        self.emitter.decrease_indent();
        if self.emitter.column == 0 {
            self.emitter.write_indent();
        }
        self.emitter.write_indicator("]", false, false, false);
        self.emitter.write_line_comment();
        self.emitter.write_foot_comment();
    }

    fn flow_mapping(&mut self, node: &Node, mapping: &Mapping, place: Place) {
        self.emitter.write_indicator("{", true, true, false);
        self.emitter.increase_indent(place, true, false, false);
        self.emitter.flow_level += 1;
        let mut trail = false;
        let mut tail = "";
        for (number, Entry { key, value }) in mapping.entries().iter().enumerate() {
            self.load_key(key, tail);
            tail = foot_of(key);
            if number > 0 && !trail {
                self.emitter.write_indicator(",", false, false, false);
            }
            self.emitter.write_head_comment();
            if self.emitter.column == 0 || self.emitter.is_over_wide() {
                self.emitter.write_indent();
            }
            let simple = is_simple_key(key);
            let at = Place::Key { simple, block: false };
            if !simple {
                self.emitter.write_indicator("?", true, false, false);
            }
            self.start(key, at);
            self.rest(key, at);
            self.load(value, Part::Start);
            if simple {
                self.emitter.write_indicator(":", false, false, false);
            } else {
                if self.emitter.is_over_wide() {
                    self.emitter.write_indent();
                }
                self.emitter.write_indicator(":", true, false, false);
            }
            trail = self.has_trailing_comment();
            let at = Place::Value { block: false };
            self.start(value, at);
            self.end_flow_item(trail);
            self.rest(value, at);
        }
        self.load_tail(tail);
        self.load(node, Part::End);
        let waiting = &self.emitter.comments;
        let no_comment = waiting.head.is_empty() && waiting.foot.is_empty() && waiting.tail.is_empty();
        if !(no_comment || trail || mapping.is_empty()) {
            self.emitter.write_indicator(",", false, false, false);
        }
        self.emitter.write_head_comment();
        self.emitter.flow_level -= 1;
        self.emitter.decrease_indent();
        self.emitter.write_indicator("}", false, false, false);
        self.emitter.write_line_comment();
        self.emitter.write_foot_comment();
    }

    fn has_trailing_comment(&self) -> bool {
        let waiting = &self.emitter.comments;
        !(waiting.line.is_empty() && waiting.foot.is_empty() && waiting.tail.is_empty())
    }

    fn end_flow_item(&mut self, trail: bool) {
        if trail && self.has_trailing_comment() {
            self.emitter.write_indicator(",", false, false, false);
        }
        self.emitter.write_line_comment();
        self.emitter.write_foot_comment();
    }
}

fn presentation(node: &Node) -> Option<&Presentation> {
    node.presentation.as_deref()
}

fn anchor_of(node: &Node) -> Option<&str> {
    presentation(node)?.anchor.as_deref()
}

fn foot_of(node: &Node) -> &str {
    presentation(node).map_or("", |presentation| &presentation.comments.foot)
}

/// The tag to write: the explicit one, or that of a plain `<<`, which yaml.v3 always shows.
fn tag_of(node: &Node) -> Option<Cow<'_, str>> {
    match node.tag.as_deref().filter(|tag| !tag.is_empty()) {
        Some(tag) => Some(Cow::Borrowed(tag)),
        None if node.style == Style::Plain && node.text() == Some("<<") => Some(Cow::Borrowed("!!merge")),
        None => None,
    }
}

fn is_simple_key(key: &Node) -> bool {
    let mut length = anchor_of(key).map_or(0, str::len) + tag_of(key).map_or(0, |tag| tag.len());
    match &key.content {
        Content::Alias(name) => length += name.len(),
        Content::Scalar(text) => {
            if Analysis::of(text, true).multiline {
                return false;
            }
            length += text.len();
        }
        Content::Sequence(items) if items.is_empty() => {}
        Content::Mapping(mapping) if mapping.is_empty() => {}
        _ => return false,
    }
    length <= 128
}
