//! Builds trees from tokens, as Go's text/template/parse does; the messages and the lines they name are Go's.

mod control;
mod expression;
mod number;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::ParseError;
use crate::lexer::{Item, Keyword, Kind, Lexer, LoopWords};
use crate::node::{Form, Node, NodeId, Source, Tree};
use crate::quote::{INVALID_SYNTAX, quoted, unquote};
use crate::text::Text;

/// How deep parentheses may nest; Go's own limit.
const MAX_PARENTHESES: usize = 10_000;

/// How deep control actions may nest. Go has no limit but its stack; no template that people write comes near.
const MAX_NESTING: usize = 10_000;

/// Free stack below which parsing goes on with a new one, and the size of a new one.
const STACK: (usize, usize) = (96 << 10, 1 << 20);

type Result<T> = std::result::Result<T, ParseError>;

/// Reads a text: the trees it defines, by name.
///
/// `is_function` says which names may be called.
pub(crate) fn parse(
    name: &str,
    text: &[u8],
    delimiters: (&str, &str),
    is_function: &dyn Fn(&[u8]) -> bool,
) -> Result<BTreeMap<Text, Arc<Tree>>> {
    let source = Arc::new(Source {
        name: name.to_owned(),
        text: Arc::from(text),
    });
    let words = LoopWords {
        breaks: !is_function(b"break"),
        continues: !is_function(b"continue"),
    };
    let (left, right) = delimiters;
    let mut parser = Parser {
        source,
        lexer: Lexer::new(text, left.as_bytes(), right.as_bytes(), words),
        is_function,
        trees: BTreeMap::new(),
        nesting: 0,
        frame: Frame::new(name.into()),
    };
    parser.parse_all()?;
    Ok(parser.trees)
}

/// What belongs to the tree under construction. Go looks ahead per tree, which shows in the lines of errors.
struct Frame<'text> {
    name: Text,
    nodes: Vec<Node>,
    tokens: [Item<'text>; 3],
    peeked: usize,
    variables: Vec<Text>,
    action_line: usize,
    range_depth: usize,
    parentheses: usize,
}

impl Frame<'_> {
    fn new(name: Text) -> Self {
        let empty = || Item {
            kind: Kind::Error,
            position: 0,
            text: b"",
            message: String::new(),
            line: 0,
        };
        Self {
            name,
            nodes: Vec::new(),
            tokens: [empty(), empty(), empty()],
            peeked: 0,
            variables: vec![Text::from("$")],
            action_line: 0,
            range_depth: 0,
            parentheses: 0,
        }
    }
}

struct Parser<'text> {
    source: Arc<Source>,
    lexer: Lexer<'text>,
    is_function: &'text dyn Fn(&[u8]) -> bool,
    trees: BTreeMap<Text, Arc<Tree>>,
    nesting: usize,
    frame: Frame<'text>,
}

impl<'text> Parser<'text> {
    fn next(&mut self) -> Item<'text> {
        if self.frame.peeked > 0 {
            self.frame.peeked -= 1;
        } else {
            self.frame.tokens[0] = self.lexer.next_item();
        }
        self.frame.tokens[self.frame.peeked].clone()
    }

    fn backup(&mut self) {
        self.frame.peeked += 1;
    }

    /// Gives back two tokens; the later one is in place.
    fn backup_two(&mut self, first: Item<'text>) {
        self.frame.tokens[1] = first;
        self.frame.peeked = 2;
    }

    /// Gives back three tokens; the latest one is in place.
    fn backup_three(&mut self, first: Item<'text>, second: Item<'text>) {
        self.frame.tokens[1] = second;
        self.frame.tokens[2] = first;
        self.frame.peeked = 3;
    }

    fn peek(&mut self) -> &Item<'text> {
        if self.frame.peeked == 0 {
            self.frame.peeked = 1;
            self.frame.tokens[0] = self.lexer.next_item();
        }
        &self.frame.tokens[self.frame.peeked - 1]
    }

    fn next_non_space(&mut self) -> Item<'text> {
        loop {
            let item = self.next();
            if item.kind != Kind::Space {
                return item;
            }
        }
    }

    fn peek_non_space(&mut self) -> Item<'text> {
        let item = self.next_non_space();
        self.backup();
        item
    }

    fn add(&mut self, position: usize, form: Form) -> NodeId {
        self.frame.nodes.push(Node { position, form });
        self.frame.nodes.len() - 1
    }

    fn form(&self, node: NodeId) -> &Form {
        &self.frame.nodes[node].form
    }

    fn position(&self, node: NodeId) -> usize {
        self.frame.nodes[node].position
    }

    fn fail<T>(&self, message: impl AsRef<str>) -> Result<T> {
        let line = self.frame.tokens[0].line;
        Err(ParseError::new(&self.source.name, line, message.as_ref()))
    }

    fn unexpected<T>(&self, item: &Item<'_>, context: &str) -> Result<T> {
        if item.kind != Kind::Error {
            return self.fail(format!("unexpected {} in {context}", item.describe()));
        }
        let started = self.frame.action_line;
        if started == 0 || started == item.line {
            return self.fail(&item.message);
        }
        // Not "action in action".
        let preposition = if item.message.ends_with(" action") {
            ""
        } else {
            " in action"
        };
        let name = &self.source.name;
        self.fail(format!(
            "{}{preposition} started at {name}:{started}",
            item.message
        ))
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Item<'text>> {
        let item = self.next_non_space();
        if item.kind == kind {
            Ok(item)
        } else {
            self.unexpected(&item, context)
        }
    }

    fn unquoted(&self, item: &Item<'_>) -> Result<Text> {
        match unquote(item.text) {
            Some(text) => Ok(text.into()),
            None => self.fail(INVALID_SYNTAX),
        }
    }

    /// Puts the tree under construction among the finished ones; an empty one never replaces another.
    fn finish_tree(&mut self, root: NodeId) -> Result<()> {
        let tree = Tree {
            name: std::mem::take(&mut self.frame.name),
            source: Arc::clone(&self.source),
            nodes: std::mem::take(&mut self.frame.nodes),
            root,
        };
        match self.trees.get(&tree.name) {
            Some(old) if !old.is_empty() => {
                if !tree.is_empty() {
                    let name = quoted(&tree.name);
                    return self.fail(format!("template: multiple definition of template {name}"));
                }
            }
            _ => {
                self.trees.insert(tree.name.clone(), Arc::new(tree));
            }
        }
        Ok(())
    }

    /// The whole text: as a list of items, with definitions at this level only.
    fn parse_all(&mut self) -> Result<()> {
        let position = self.peek().position;
        let mut nodes = Vec::new();
        while self.peek().kind != Kind::End {
            if self.peek().kind == Kind::LeftDelimiter {
                let delimiter = self.next();
                if self.next_non_space().kind == Kind::Keyword(Keyword::Define) {
                    let outer = std::mem::replace(&mut self.frame, Frame::new("definition".into()));
                    self.parse_definition()?;
                    self.frame = outer;
                    continue;
                }
                self.backup_two(delimiter);
            }
            let node = self.text_or_action()?;
            match self.form(node) {
                Form::End => return self.fail("unexpected {{end}}"),
                Form::Else => return self.fail("unexpected {{else}}"),
                _ => nodes.push(node),
            }
        }
        let root = self.add(position, Form::List(nodes));
        self.finish_tree(root)
    }

    fn parse_definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let item = self.next_non_space();
        if !matches!(item.kind, Kind::String | Kind::RawString) {
            return self.unexpected(&item, CONTEXT);
        }
        let name = self.unquoted(&item)?;
        self.frame.name = name;
        self.expect(Kind::RightDelimiter, CONTEXT)?;
        let (root, end) = self.item_list()?;
        if matches!(self.form(end), Form::Else) {
            return self.fail(format!("unexpected {{{{else}}}} in {CONTEXT}"));
        }
        self.finish_tree(root)
    }

    /// Items up to an end or else, which comes second.
    fn item_list(&mut self) -> Result<(NodeId, NodeId)> {
        let position = self.peek_non_space().position;
        let mut nodes = Vec::new();
        while self.peek_non_space().kind != Kind::End {
            let node = self.text_or_action()?;
            if matches!(self.form(node), Form::End | Form::Else) {
                return Ok((self.add(position, Form::List(nodes)), node));
            }
            nodes.push(node);
        }
        self.fail("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Result<NodeId> {
        let item = self.next_non_space();
        match item.kind {
            Kind::Text => Ok(self.add(item.position, Form::Text(item.text.into()))),
            Kind::LeftDelimiter => {
                self.frame.action_line = item.line;
                let node = self.action()?;
                self.frame.action_line = 0;
                Ok(node)
            }
            _ => self.unexpected(&item, "input"),
        }
    }
}
