//! The parsed form of a template: nodes in one vector, so that no depth of nesting can hurt when they are
//! dropped.

use std::sync::Arc;

use crate::quote::quote;
use crate::text::Text;

/// The place of a node in its tree.
pub(crate) type NodeId = usize;

/// What several trees of one parse share.
#[derive(Debug)]
pub(crate) struct Source {
    /// The name under which the text was parsed, which error messages show.
    pub(crate) name: String,
    pub(crate) text: Arc<[u8]>,
}

/// One template: its name and its nodes. The root is a list.
#[derive(Debug)]
pub struct Tree {
    pub(crate) name: Text,
    pub(crate) source: Arc<Source>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) root: NodeId,
}

#[derive(Debug)]
pub(crate) struct Node {
    /// Bytes before the node in the source.
    pub(crate) position: usize,
    pub(crate) form: Form,
}

/// Which of the three branching actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Branch {
    If,
    Range,
    With,
}

#[derive(Debug)]
pub(crate) enum Form {
    List(Vec<NodeId>),
    Text(Text),
    Action(NodeId),
    Pipe {
        assigns: bool,
        /// The names with their dollar signs.
        variables: Vec<Text>,
        commands: Vec<NodeId>,
    },
    Command(Vec<NodeId>),
    Identifier(Text),
    /// The name with its dollar sign, then fields.
    Variable(Vec<Text>),
    Dot,
    Nil,
    Field(Vec<Text>),
    Chain {
        node: NodeId,
        fields: Vec<Text>,
    },
    Bool(bool),
    Number(Box<Number>),
    String {
        quoted: Text,
        text: Text,
    },
    Branch {
        word: Branch,
        pipe: NodeId,
        list: NodeId,
        otherwise: Option<NodeId>,
    },
    Break,
    Continue,
    Template {
        name: Text,
        pipe: Option<NodeId>,
    },
    /// `{{end}}` and `{{else}}` end lists and never stand in a tree.
    End,
    Else,
}

/// A constant, read as every type that can hold it.
#[derive(Debug, Default)]
pub(crate) struct Number {
    pub(crate) signed: Option<i64>,
    pub(crate) unsigned: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
    pub(crate) text: String,
}

impl Tree {
    /// The template's name.
    pub fn name(&self) -> &Text {
        &self.name
    }

    pub(crate) fn form(&self, node: NodeId) -> &Form {
        &self.nodes[node].form
    }

    /// Whether there is nothing but space and definitions.
    pub(crate) fn is_empty(&self) -> bool {
        let Form::List(nodes) = self.form(self.root) else {
            return false;
        };
        nodes.iter().all(|&node| match self.form(node) {
            Form::Text(text) => is_blank(text),
            _ => false,
        })
    }

    /// Where a node stands, as `name:line:column`, and its text, as error messages show them.
    pub(crate) fn error_context(&self, node: NodeId) -> (String, Vec<u8>) {
        let text = &self.source.text;
        let before = &text[..self.nodes[node].position.min(text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let column = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(before.len(), |newline| before.len() - newline - 1);
        let location = format!("{}:{line}:{column}", self.source.name);
        (location, self.print(node))
    }

    /// A node as Go prints it.
    pub(crate) fn print(&self, node: NodeId) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(node, &mut out);
        out
    }

    fn write(&self, node: NodeId, out: &mut Vec<u8>) {
        stacker::maybe_grow(32 << 10, 256 << 10, || self.write_form(self.form(node), out));
    }

    fn write_form(&self, form: &Form, out: &mut Vec<u8>) {
        match form {
            Form::List(nodes) => nodes.iter().for_each(|&node| self.write(node, out)),
            Form::Text(text) => out.extend_from_slice(text),
            Form::Action(pipe) => {
                out.extend_from_slice(b"{{");
                self.write(*pipe, out);
                out.extend_from_slice(b"}}");
            }
            Form::Pipe {
                assigns,
                variables,
                commands,
            } => self.write_pipe(*assigns, variables, commands, out),
            Form::Command(arguments) => {
                for (index, &argument) in arguments.iter().enumerate() {
                    if index > 0 {
                        out.push(b' ');
                    }
                    self.write_operand(argument, out);
                }
            }
            Form::Identifier(name) => out.extend_from_slice(name),
            Form::Variable(names) => out.extend_from_slice(&names.join(&b'.')),
            Form::Dot => out.push(b'.'),
            Form::Nil => out.extend_from_slice(b"nil"),
            Form::Field(names) => write_fields(names, out),
            Form::Chain { node, fields } => {
                self.write_operand(*node, out);
                write_fields(fields, out);
            }
            Form::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Form::Number(number) => out.extend_from_slice(number.text.as_bytes()),
            Form::String { quoted, .. } => out.extend_from_slice(quoted),
            Form::Branch {
                word,
                pipe,
                list,
                otherwise,
            } => {
                out.extend_from_slice(match word {
                    Branch::If => b"{{if ",
                    Branch::Range => b"{{range ",
                    Branch::With => b"{{with ",
                });
                self.write(*pipe, out);
                out.extend_from_slice(b"}}");
                self.write(*list, out);
                if let Some(list) = otherwise {
                    out.extend_from_slice(b"{{else}}");
                    self.write(*list, out);
                }
                out.extend_from_slice(b"{{end}}");
            }
            Form::Break => out.extend_from_slice(b"{{break}}"),
            Form::Continue => out.extend_from_slice(b"{{continue}}"),
            Form::Template { name, pipe } => {
                out.extend_from_slice(b"{{template ");
                out.extend(quote(name, false));
                if let Some(pipe) = pipe {
                    out.push(b' ');
                    self.write(*pipe, out);
                }
                out.extend_from_slice(b"}}");
            }
            Form::End => out.extend_from_slice(b"{{end}}"),
            Form::Else => out.extend_from_slice(b"{{else}}"),
        }
    }

    fn write_pipe(&self, assigns: bool, variables: &[Text], commands: &[NodeId], out: &mut Vec<u8>) {
        for (index, variable) in variables.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            out.extend_from_slice(variable);
        }
        if !variables.is_empty() {
            out.extend_from_slice(if assigns { b" = " } else { b" := " });
        }
        for (index, &command) in commands.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b" | ");
            }
            self.write(command, out);
        }
    }

    /// A pipeline among operands stands in parentheses.
    fn write_operand(&self, node: NodeId, out: &mut Vec<u8>) {
        let is_pipe = matches!(self.form(node), Form::Pipe { .. });
        if is_pipe {
            out.push(b'(');
        }
        self.write(node, out);
        if is_pipe {
            out.push(b')');
        }
    }
}

fn write_fields(names: &[Text], out: &mut Vec<u8>) {
    for name in names {
        out.push(b'.');
        out.extend_from_slice(name);
    }
}

/// Whether `bytes.TrimSpace` leaves nothing.
fn is_blank(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(is_space))
}

/// Go's `unicode.IsSpace`.
fn is_space(rune: char) -> bool {
    matches!(rune, '\t'..='\r' | ' ' | '\u{85}' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}'
        | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}
