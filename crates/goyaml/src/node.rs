use std::fmt;

use crate::{Entry, Flavour, Mapping, Resolved, resolve_scalar};

/// Where in a text something starts; both numbers count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// The line; 0 for nodes that were not read from text.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// How a node is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// A plain scalar, or a collection in block form.
    #[default]
    Plain,
    /// `'text'`
    SingleQuoted,
    /// `"text"`
    DoubleQuoted,
    /// A block scalar with `|`.
    Literal,
    /// A block scalar with `>`.
    Folded,
    /// A collection in `[]` or `{}`.
    Flow,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Text whose type follows from style, tag and spelling; see [`Node::resolve`].
    Scalar(String),
    /// An ordered list.
    Sequence(Vec<Node>),
    /// Key-value pairs in document order.
    Mapping(Mapping),
    /// A reference to an anchor. Only [`parse_for_editing`](crate::parse_for_editing) yields it; the other
    /// readers replace aliases by what they stand for.
    Alias(String),
}

/// The comments that belong to a node, each with its `#`, lines separated by newlines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comments {
    /// The lines before the node.
    pub head: String,
    /// At the end of the node's line.
    pub line: String,
    /// The lines after the node, before an empty line.
    pub foot: String,
}

/// What only matters when a document is written back: anchor and comments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Presentation {
    /// The name after `&`.
    pub anchor: Option<String>,
    /// The comments.
    pub comments: Comments,
}

/// A document with the comments that belong to no node of it.
#[derive(Clone, Debug)]
pub struct Document {
    /// The value.
    pub root: Node,
    /// Comments before and after, set off by empty lines.
    pub comments: Comments,
}

/// A YAML value with the way it was written.
///
/// Equality is deep and compares content, tag and style, not position and comments.
/// [`Node::same_value`] compares what the values mean.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it holds.
    pub content: Content,
    /// How it is written.
    pub style: Style,
    /// The explicit tag in short form: `!!str`, `!custom`. None if the text has none. The empty text means
    /// the same to this crate; users may keep apart by it what has never been read.
    pub tag: Option<Box<str>>,
    /// Where it starts.
    pub position: Position,
    /// Anchor and comments; only filled by [`parse_for_editing`](crate::parse_for_editing).
    pub presentation: Option<Box<Presentation>>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content && self.tag == other.tag && self.style == other.style
    }
}

impl Eq for Node {}

impl Node {
    /// A node with the given content, in plain style and without tag or position.
    #[must_use]
    pub fn new(content: Content) -> Self {
        Self {
            content,
            style: Style::Plain,
            tag: None,
            position: Position::default(),
            presentation: None,
        }
    }

    /// A string. If the plain text would read as another type in either flavour, the node is double-quoted,
    /// so that it stays a string wherever it is written.
    #[must_use]
    pub fn string(text: impl Into<String>) -> Self {
        let text = text.into();
        let plain = |flavour| {
            matches!(
                resolve_scalar(&text, Style::Plain, None, flavour),
                Resolved::String(_)
            )
        };
        let style = if plain(Flavour::Kyaml) && plain(Flavour::Sigs) {
            Style::Plain
        } else {
            Style::DoubleQuoted
        };
        Self {
            style,
            ..Self::new(Content::Scalar(text))
        }
    }

    /// A plain scalar that keeps its text and means whatever that reads as.
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(Content::Scalar(text.into()))
    }

    /// An integer.
    #[must_use]
    pub fn integer(value: i64) -> Self {
        Self::plain(value.to_string())
    }

    /// A boolean.
    #[must_use]
    pub fn boolean(value: bool) -> Self {
        Self::plain(if value { "true" } else { "false" })
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self::plain("null")
    }

    /// A sequence in block form.
    #[must_use]
    pub fn sequence(items: Vec<Node>) -> Self {
        Self::new(Content::Sequence(items))
    }

    /// A mapping in block form.
    #[must_use]
    pub fn mapping(mapping: Mapping) -> Self {
        Self::new(Content::Mapping(mapping))
    }

    /// What the scalar means by yaml.v3's rules; None for collections.
    #[must_use]
    pub fn resolve(&self) -> Option<Resolved<'_>> {
        self.resolve_as(Flavour::Kyaml)
    }

    /// What the scalar means by the given flavour's rules; None for collections.
    #[must_use]
    pub fn resolve_as(&self, flavour: Flavour) -> Option<Resolved<'_>> {
        match &self.content {
            Content::Scalar(text) => Some(resolve_scalar(text, self.style, self.tag.as_deref(), flavour)),
            _ => None,
        }
    }

    /// Whether it is a null scalar.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.resolve(), Some(Resolved::Null))
    }

    /// Whether it is a scalar of type string by yaml.v3's rules.
    #[must_use]
    pub fn is_string(&self) -> bool {
        matches!(self.resolve(), Some(Resolved::String(_)))
    }

    /// The text of a scalar, whatever its type (kyaml's `node.Value`).
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// The text, if the node is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if self.is_string() { self.text() } else { None }
    }

    /// The value, if the node is a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.resolve() {
            Some(Resolved::Bool(value)) => Some(value),
            _ => None,
        }
    }

    /// The value, if the node is an integer that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match self.resolve() {
            Some(Resolved::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// The items, if the node is a sequence.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Node]> {
        match &self.content {
            Content::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The items for changing, if the node is a sequence.
    #[must_use]
    pub fn as_sequence_mut(&mut self) -> Option<&mut Vec<Node>> {
        match &mut self.content {
            Content::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The mapping, if the node is one.
    #[must_use]
    pub fn as_mapping(&self) -> Option<&Mapping> {
        match &self.content {
            Content::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The mapping for changing, if the node is one.
    #[must_use]
    pub fn as_mapping_mut(&mut self) -> Option<&mut Mapping> {
        match &mut self.content {
            Content::Mapping(mapping) => Some(mapping),
            _ => None,
        }
    }

    /// The value under a key of a mapping.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.as_mapping()?.get(key)
    }

    /// The value under a key of a mapping, for changing.
    #[must_use]
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.as_mapping_mut()?.get_mut(key)
    }

    /// The node reached by following keys; for sequences, decimal indexes.
    #[must_use]
    pub fn get_path<S: AsRef<str>>(&self, path: impl IntoIterator<Item = S>) -> Option<&Node> {
        path.into_iter().try_fold(self, |node, step| match &node.content {
            Content::Mapping(mapping) => mapping.get(step.as_ref()),
            Content::Sequence(items) => items.get(step.as_ref().parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// As [`get_path`](Self::get_path), for changing.
    #[must_use]
    pub fn get_path_mut<S: AsRef<str>>(&mut self, path: impl IntoIterator<Item = S>) -> Option<&mut Node> {
        path.into_iter()
            .try_fold(self, |node, step| match &mut node.content {
                Content::Mapping(mapping) => mapping.get_mut(step.as_ref()),
                Content::Sequence(items) => items.get_mut(step.as_ref().parse::<usize>().ok()?),
                _ => None,
            })
    }

    /// The string reached by following keys.
    #[must_use]
    pub fn str_at<S: AsRef<str>>(&self, path: impl IntoIterator<Item = S>) -> Option<&str> {
        self.get_path(path)?.as_str()
    }

    /// The mapping reached by following keys from this mapping, made where it is missing or null. None if
    /// something else is in the way.
    #[must_use]
    pub fn mapping_at_mut<S: AsRef<str>>(
        &mut self,
        path: impl IntoIterator<Item = S>,
    ) -> Option<&mut Mapping> {
        let mut node = self;
        for step in path {
            let mapping = node.as_mapping_mut()?;
            if mapping.get(step.as_ref()).is_none_or(Node::is_null) {
                mapping.set(step.as_ref(), Node::mapping(Mapping::new()));
            }
            node = mapping.get_mut(step.as_ref())?;
        }
        node.as_mapping_mut()
    }

    /// Whether both mean the same: scalars by resolved type and value, mappings regardless of order.
    #[must_use]
    pub fn same_value(&self, other: &Node) -> bool {
        match (&self.content, &other.content) {
            (Content::Scalar(_), Content::Scalar(_)) => self.resolve() == other.resolve(),
            (Content::Sequence(a), Content::Sequence(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_value(b))
            }
            (Content::Mapping(a), Content::Mapping(b)) => {
                a.len() == b.len()
                    && a.entries().iter().all(|Entry { key, value }| {
                        key.text()
                            .and_then(|key| b.get(key))
                            .is_some_and(|found| value.same_value(found))
                    })
            }
            (Content::Alias(a), Content::Alias(b)) => a == b,
            _ => false,
        }
    }

    /// The anchor and comments for changing, made if missing.
    pub fn presentation_mut(&mut self) -> &mut Presentation {
        self.presentation.get_or_insert_default()
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::string(text)
    }
}
