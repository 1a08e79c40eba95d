use std::collections::HashSet;

use crate::node::Document;
use crate::read::event::{Event, EventKind};
use crate::read::parser::Parser;
use crate::{Comments, Content, Entry, Error, ErrorKind, Limits, Mapping, Node, Position, Style};

/// The prefix of YAML's own tags in full.
const TAG_PREFIX: &str = "tag:yaml.org,2002:";

/// Makes trees of events; aliases stay aliases.
pub(crate) struct Composer<'a> {
    parser: Parser<'a>,
    v3: bool,
    limits: Limits,
    nodes: usize,
    anchors: HashSet<String>,
}

impl<'a> Composer<'a> {
    pub(crate) fn new(text: &'a str, v3: bool, limits: Limits) -> Self {
        Self {
            parser: Parser::new(text, v3),
            v3,
            limits,
            nodes: 0,
            anchors: HashSet::new(),
        }
    }

    /// The next document; None at the end of the stream.
    pub(crate) fn next_document(&mut self) -> Result<Option<Document>, Error> {
        let event = self.parser.next()?;
        if event.kind != EventKind::DocumentStart {
            return Ok(None);
        }
        self.anchors.clear();
        let mut comments = event.comments;
        let event = self.parser.next()?;
        let root = self.node(event, 0)?;
        comments.foot = self.parser.next()?.comments.foot;
        Ok(Some(Document { root, comments }))
    }

    fn node(&mut self, event: Event, depth: usize) -> Result<Node, Error> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            let problem = format!("has more than {} nodes", self.limits.nodes);
            return Err(limit(&event, &problem));
        }
        if depth > self.limits.depth {
            let problem = format!("is nested deeper than {} levels", self.limits.depth);
            return Err(limit(&event, &problem));
        }
        let Event {
            kind,
            position,
            anchor,
            tag,
            mut comments,
        } = event;
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone());
        }
        let mut style = Style::Plain;
        let content = match kind {
            EventKind::Alias(name) => {
                if !self.anchors.contains(&name) {
                    return Err(unknown_anchor(&name, position));
                }
                Content::Alias(name)
            }
            EventKind::Scalar { text, style: written } => {
                // In yaml.v2 the tag `!` makes any scalar a string.
                let string = !self.v3 && tag.as_deref() == Some("!");
                style = if string { Style::DoubleQuoted } else { written };
                Content::Scalar(text)
            }
            EventKind::SequenceStart { flow } => {
                if flow {
                    style = Style::Flow;
                }
                Content::Sequence(self.items(depth, &mut comments)?)
            }
            EventKind::MappingStart { flow } => {
                if flow {
                    style = Style::Flow;
                }
                Content::Mapping(self.entries(depth, flow, &mut comments)?)
            }
            EventKind::StreamEnd
            | EventKind::DocumentStart
            | EventKind::DocumentEnd
            | EventKind::SequenceEnd
            | EventKind::MappingEnd => {
                return Err(Error::new(
                    ErrorKind::Syntax,
                    Some(position),
                    "did not find expected node content",
                    "correct the YAML at this place",
                ));
            }
        };
        let mut node = Node {
            content,
            style,
            tag: tag.filter(|tag| !tag.is_empty() && tag != "!").map(short_tag),
            position,
            presentation: None,
        };
        if anchor.is_some() || comments != Comments::default() {
            let presentation = node.presentation_mut();
            presentation.anchor = anchor;
            presentation.comments = comments;
        }
        Ok(node)
    }

    fn items(&mut self, depth: usize, comments: &mut Comments) -> Result<Vec<Node>, Error> {
        let mut items = Vec::new();
        loop {
            let event = self.parser.next()?;
            if event.kind == EventKind::SequenceEnd {
                end(comments, event.comments);
                return Ok(items);
            }
            items.push(self.node(event, depth + 1)?);
        }
    }

    fn entries(&mut self, depth: usize, flow: bool, comments: &mut Comments) -> Result<Mapping, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let event = self.parser.next()?;
            if event.kind == EventKind::MappingEnd {
                end(comments, event.comments);
                if !flow && let Some(last) = entries.last_mut() {
                    move_foot_to(&mut comments.foot, &mut last.key);
                }
                return Ok(Mapping::from_entries(entries));
            }
            let mut key = self.node(event, depth + 1)?;
            if !flow && let Some(previous) = entries.last_mut() {
                // The comment after a value that ends a nested block comes before the next key.
                if let Some(foot) = foot_mut(&mut key) {
                    let mut foot = std::mem::take(foot);
                    move_foot_to(&mut foot, &mut previous.key);
                }
            }
            let event = self.parser.next()?;
            let mut value = self.node(event, depth + 1)?;
            let has_foot = foot_mut(&mut key).is_some_and(|foot| !foot.is_empty());
            if !has_foot && let Some(foot) = foot_mut(&mut value) {
                let mut foot = std::mem::take(foot);
                move_foot_to(&mut foot, &mut key);
            }
            entries.push(Entry { key, value });
        }
    }
}

/// The comments at the end of a collection replace those of its start, but for the head.
fn end(comments: &mut Comments, at_end: Comments) {
    comments.line = at_end.line;
    comments.foot = at_end.foot;
}

fn foot_mut(node: &mut Node) -> Option<&mut String> {
    Some(&mut node.presentation.as_mut()?.comments.foot)
}

fn move_foot_to(foot: &mut String, node: &mut Node) {
    if !foot.is_empty() {
        node.presentation_mut().comments.foot = std::mem::take(foot);
    }
}

/// The complaint about an alias whose anchor does not precede it.
pub(crate) fn unknown_anchor(name: &str, position: Position) -> Error {
    Error::new(
        ErrorKind::Alias,
        Some(position),
        format!("unknown anchor '{name}' referenced"),
        "define the anchor earlier in the same document",
    )
}

fn limit(event: &Event, problem: &str) -> Error {
    Error::new(
        ErrorKind::Limit,
        Some(event.position),
        format!("the document {problem}"),
        "split it into smaller documents",
    )
}

fn short_tag(tag: String) -> Box<str> {
    match tag.strip_prefix(TAG_PREFIX) {
        Some(name) => format!("!!{name}").into(),
        None => tag.into(),
    }
}
