//! Executes trees. Actions are walked with frames in a vector, so that templates may call each other as deep
//! as in Go; only expressions use the stack, which grows as needed.

mod call;
mod evaluate;
mod field;
mod items;
mod walk;

pub(crate) use call::prepare;

use std::io::Write;

use crate::budget::Run;
use crate::error::{Error, ExecuteError, Failure, LimitError};
use crate::node::{NodeId, Tree};
use crate::quote::quoted;
use crate::template::TemplateSet;
use crate::text::{Text, lossy};
use crate::value::{Operand, Value};
use walk::Frame;

/// How deep templates may call each other; Go's own limit.
const MAX_DEPTH: usize = 100_000;

/// Free stack below which evaluation goes on with a new one, and the size of a new one.
const STACK: (usize, usize) = (128 << 10, 2 << 20);

type Result<T> = std::result::Result<T, Error>;

/// One execution of a template and of those it calls by `template`.
pub(crate) struct Execution<'run> {
    set: &'run TemplateSet,
    run: &'run mut Run,
    out: &'run mut dyn Write,
    /// The template at work.
    tree: &'run Tree,
    /// What an error is about.
    node: NodeId,
    /// The variables of all templates at work.
    variables: Vec<(Text, Operand)>,
    /// Where the variables of the current template begin.
    base: usize,
    depth: usize,
    frames: Vec<Frame<'run>>,
}

impl<'run> Execution<'run> {
    pub(crate) fn new(
        set: &'run TemplateSet,
        tree: &'run Tree,
        run: &'run mut Run,
        out: &'run mut dyn Write,
    ) -> Self {
        Self {
            set,
            run,
            out,
            tree,
            node: tree.root,
            variables: Vec::new(),
            base: 0,
            depth: 0,
            frames: Vec::new(),
        }
    }

    /// Runs to the end.
    pub(crate) fn execute(mut self, data: &Value) -> Result<()> {
        if let Err(limit) = self.run.enter() {
            return Err(self.fail_limit(limit));
        }
        let (free, size) = STACK;
        let outcome = stacker::maybe_grow(free, size, || self.walk_all(data));
        self.run.leave();
        outcome
    }

    fn fail_with(&self, message: &str, failure: Option<Failure>, limit: Option<LimitError>) -> Error {
        let (location, context) = self.tree.error_context(self.node);
        let name = &self.tree.name;
        Error::Execute(Box::new(ExecuteError {
            template: name.to_text().into_owned(),
            message: format!(
                "template: {location}: executing {} at <{}>: {message}",
                quoted(name),
                lossy(&context)
            ),
            failure,
            limit,
        }))
    }

    fn fail<T>(&self, message: impl AsRef<str>) -> Result<T> {
        Err(self.fail_with(message.as_ref(), None, None))
    }

    fn fail_limit(&self, limit: LimitError) -> Error {
        self.fail_with(&limit.to_string(), None, Some(limit))
    }

    /// The source of the node as Go prints it.
    fn print_node(&self, node: NodeId) -> String {
        lossy(&self.tree.print(node)).into_owned()
    }

    fn step(&mut self) -> Result<()> {
        self.run.step().map_err(|limit| self.fail_limit(limit))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if let Err(limit) = self.run.write(bytes.len()) {
            return Err(self.fail_limit(limit));
        }
        self.out.write_all(bytes)?;
        Ok(())
    }

    fn push_variable(&mut self, name: Text, value: Operand) {
        self.variables.push((name, value));
    }

    fn variable(&self, name: &Text) -> Result<Operand> {
        let own = &self.variables[self.base..];
        match own.iter().rev().find(|(variable, _)| variable == name) {
            Some((_, value)) => Ok(value.clone()),
            None => self.fail(format!("undefined variable: {name}")),
        }
    }

    fn set_variable(&mut self, name: &Text, value: Operand) -> Result<()> {
        let own = &mut self.variables[self.base..];
        match own.iter_mut().rev().find(|(variable, _)| variable == name) {
            Some((_, place)) => {
                *place = value;
                Ok(())
            }
            None => self.fail(format!("undefined variable: {name}")),
        }
    }
}
