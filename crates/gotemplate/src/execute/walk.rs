//! Actions: what writes, branches, loops and calls templates.

use super::items::{Items, Refusal};
use super::{Execution, MAX_DEPTH, Result};
use crate::format;
use crate::node::{Branch, Form, NodeId, Tree};
use crate::text::Text;
use crate::value::{Operand, Shape, Value};

/// What is to be gone on with.
pub(super) enum Frame<'run> {
    /// The rest of a list; at its end the variables are cut back.
    List {
        nodes: &'run [NodeId],
        dot: Operand,
        mark: Option<usize>,
    },
    /// The rest of a loop.
    Range(Box<Loop<'run>>),
    /// The caller of a template.
    Return {
        tree: &'run Tree,
        node: NodeId,
        base: usize,
    },
}

pub(super) struct Loop<'run> {
    /// The item that showed that the loop runs at all.
    first: Option<(Operand, Operand)>,
    items: Items,
    names: &'run [Text],
    assigns: bool,
    body: &'run [NodeId],
    /// How many variables there are in the loop, before those of its body.
    inside: usize,
    /// How many there were before it.
    outside: usize,
}

impl<'run> Execution<'run> {
    pub(super) fn walk_all(&mut self, data: &Value) -> Result<()> {
        let dot = Operand::concrete(data.clone());
        self.push_variable(Text::from("$"), dot.clone());
        self.push_list(self.tree.root, dot, None);
        while let Some(frame) = self.frames.last_mut() {
            match frame {
                Frame::List { nodes, dot, mark } => {
                    if let Some((&node, rest)) = nodes.split_first() {
                        *nodes = rest;
                        let dot = dot.clone();
                        self.walk(dot, node)?;
                    } else {
                        let mark = *mark;
                        self.frames.pop();
                        if let Some(mark) = mark {
                            self.variables.truncate(mark);
                        }
                    }
                }
                Frame::Range(_) => self.iterate()?,
                Frame::Return { tree, node, base } => {
                    self.variables.truncate(self.base);
                    self.tree = tree;
                    self.node = *node;
                    self.base = *base;
                    self.depth -= 1;
                    self.frames.pop();
                }
            }
        }
        Ok(())
    }

    fn list(&self, node: NodeId) -> &'run [NodeId] {
        match self.tree.form(node) {
            Form::List(nodes) => nodes,
            _ => &[],
        }
    }

    fn push_list(&mut self, node: NodeId, dot: Operand, mark: Option<usize>) {
        let nodes = self.list(node);
        self.frames.push(Frame::List { nodes, dot, mark });
    }

    fn walk(&mut self, dot: Operand, node: NodeId) -> Result<()> {
        self.node = node;
        self.step()?;
        let tree = self.tree;
        match tree.form(node) {
            Form::Text(text) => self.write(text)?,
            Form::Action(pipe) => {
                let value = self.pipeline(&dot, *pipe)?;
                if let Form::Pipe { variables, .. } = tree.form(*pipe)
                    && variables.is_empty()
                {
                    self.print(node, &value)?;
                }
            }
            Form::Branch {
                word: Branch::Range,
                pipe,
                list,
                otherwise,
            } => self.range(&dot, *pipe, *list, *otherwise)?,
            Form::Branch {
                word,
                pipe,
                list,
                otherwise,
            } => {
                let mark = self.variables.len();
                let value = self.pipeline(&dot, *pipe)?;
                if value.value.is_true() {
                    let dot = if *word == Branch::With { value } else { dot };
                    self.push_list(*list, dot, Some(mark));
                } else if let Some(list) = otherwise {
                    self.push_list(*list, dot, Some(mark));
                } else {
                    self.variables.truncate(mark);
                }
            }
            Form::Template { name, pipe } => self.call_template(&dot, node, name, *pipe)?,
            Form::Break => {
                while let Some(frame) = self.frames.pop() {
                    if let Frame::Range(state) = frame {
                        self.variables.truncate(state.outside);
                        break;
                    }
                }
            }
            Form::Continue => {
                while !matches!(self.frames.last(), None | Some(Frame::Range(_))) {
                    self.frames.pop();
                }
            }
            _ => return self.fail(format!("unknown node: {}", self.print_node(node))),
        }
        Ok(())
    }

    fn range(&mut self, dot: &Operand, pipe: NodeId, list: NodeId, otherwise: Option<NodeId>) -> Result<()> {
        let outside = self.variables.len();
        let value = self.pipeline(dot, pipe)?.value;
        let Form::Pipe {
            variables: names,
            assigns,
            ..
        } = self.tree.form(pipe)
        else {
            return Ok(());
        };
        let items = match Items::of(&value, names.len()) {
            Ok(items) => items,
            Err(Refusal::OneVariable(word)) => {
                let value = format::describe(&value, 'v');
                return self.fail(format!("can't use {value} {word} over more than one variable"));
            }
            Err(Refusal::NoRange) => {
                let value = format::describe(&value, 'v');
                return self.fail(format!("range can't iterate over {value}"));
            }
        };
        let started = items.and_then(|mut items| Some((items.next()?, items)));
        let Some((first, items)) = started else {
            if let Some(list) = otherwise {
                self.push_list(list, dot.clone(), Some(outside));
            } else {
                self.variables.truncate(outside);
            }
            return Ok(());
        };
        let body = self.list(list);
        self.frames.push(Frame::Range(Box::new(Loop {
            first: Some(first),
            items,
            names,
            assigns: *assigns,
            body,
            inside: self.variables.len(),
            outside,
        })));
        Ok(())
    }

    /// The next item of the loop on top, or its end.
    fn iterate(&mut self) -> Result<()> {
        self.step()?;
        let Some(Frame::Range(state)) = self.frames.last_mut() else {
            return Ok(());
        };
        let (names, assigns, body) = (state.names, state.assigns, state.body);
        let (inside, outside) = (state.inside, state.outside);
        let item = state.first.take().or_else(|| state.items.next());
        let Some((index, element)) = item else {
            self.frames.pop();
            self.variables.truncate(outside);
            return Ok(());
        };
        self.variables.truncate(inside);
        match names {
            [] => {}
            [name] if assigns => self.set_variable(name, element.clone())?,
            [first, second, ..] if assigns => {
                self.set_variable(first, index)?;
                self.set_variable(second, element.clone())?;
            }
            [_] => self.set_top_variable(1, element.clone()),
            _ => {
                self.set_top_variable(1, element.clone());
                self.set_top_variable(2, index);
            }
        }
        self.frames.push(Frame::List {
            nodes: body,
            dot: element,
            mark: None,
        });
        Ok(())
    }

    fn set_top_variable(&mut self, from_top: usize, value: Operand) {
        let place = self.variables.len().saturating_sub(from_top);
        if let Some((_, variable)) = self.variables.get_mut(place) {
            *variable = value;
        }
    }

    fn call_template(
        &mut self,
        dot: &Operand,
        node: NodeId,
        name: &Text,
        pipe: Option<NodeId>,
    ) -> Result<()> {
        self.node = node;
        let Some(tree) = self.set.tree(name) else {
            let name = crate::quote::quoted(name);
            return self.fail(format!("template {name} not defined"));
        };
        if self.depth == MAX_DEPTH {
            return self.fail(format!("exceeded maximum template depth ({MAX_DEPTH})"));
        }
        let dot = match pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Operand::INVALID,
        };
        self.frames.push(Frame::Return {
            tree: self.tree,
            node: self.node,
            base: self.base,
        });
        self.depth += 1;
        self.tree = tree;
        self.base = self.variables.len();
        self.push_variable(Text::from("$"), dot.clone());
        self.push_list(tree.root, dot, None);
        Ok(())
    }

    /// Writes what an action gives.
    fn print(&mut self, node: NodeId, operand: &Operand) -> Result<()> {
        self.node = node;
        match &operand.value {
            Value::String(text) => self.write(text),
            Value::Nil => self.write(b"<no value>"),
            value => {
                let is_function = match value {
                    Value::Function(_) => true,
                    Value::Object(object) => {
                        matches!(object.shape(), Shape::Sequence(_) | Shape::Pairs(_))
                    }
                    _ => false,
                };
                if is_function {
                    let node = self.print_node(node);
                    return self.fail(format!("can't print {node} of type {}", value.type_of()));
                }
                let printed = format::print(&[format::printable(value)], self.run.producible());
                match printed {
                    Ok(bytes) => self.write(&bytes),
                    Err(limit) => Err(self.fail_limit(limit)),
                }
            }
        }
    }
}
