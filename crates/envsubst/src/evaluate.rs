use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use crate::Error;
use crate::function::apply;
use crate::parse::{Expression, Part, parse};

/// Where values come from.
pub trait Lookup {
    /// The value of a variable; None if it is not set.
    fn value(&self, name: &str) -> Option<&str>;
}

impl Lookup for BTreeMap<String, String> {
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

impl<S: BuildHasher> Lookup for HashMap<String, String, S> {
    fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

/// How to substitute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether a variable that is not set and has no default is an error; otherwise it is empty.
    pub strict: bool,
    /// Bounds on work and output.
    pub limits: Limits,
}

impl Default for Options {
    /// Strict, as Flux is by default.
    fn default() -> Self {
        Self {
            strict: true,
            limits: Limits::default(),
        }
    }
}

/// Bounds on work and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest result in bytes.
    pub output: usize,
    /// Deepest nesting of expressions.
    pub depth: usize,
    /// Most steps of pattern matching, in all expressions together.
    pub steps: u64,
}

impl Default for Limits {
    /// 32 MiB of output, 64 levels, 100 million steps.
    fn default() -> Self {
        Self {
            output: 32 << 20,
            depth: 64,
            steps: 100_000_000,
        }
    }
}

/// Replaces all expressions in a text by their values.
///
/// The whole text is parsed first, so a malformed expression anywhere is an error even if an earlier one
/// lacks its variable.
///
/// # Errors
/// Malformed expressions, missing variables in strict mode, exceeded limits; see [`Error`].
pub fn substitute(text: &str, variables: &impl Lookup, options: &Options) -> Result<String, Error> {
    let parts = parse(text, &options.limits)?;
    let mut evaluation = Evaluation {
        variables,
        strict: options.strict,
        limits: options.limits,
        steps: options.limits.steps,
    };
    let mut out = Vec::with_capacity(text.len());
    for part in &parts {
        evaluation.part(part, &mut out)?;
    }
    String::from_utf8(out).map_err(|_| Error::NotUtf8)
}

struct Evaluation<'a, L> {
    variables: &'a L,
    strict: bool,
    limits: Limits,
    /// Steps that are left.
    steps: u64,
}

impl<L: Lookup> Evaluation<'_, L> {
    fn part(&mut self, part: &Part, out: &mut Vec<u8>) -> Result<(), Error> {
        match part {
            Part::Text(text) => out.extend_from_slice(text.as_bytes()),
            Part::Expression(expression) => {
                let value = self.expression(expression)?;
                out.extend_from_slice(&value);
            }
        }
        if out.len() > self.limits.output {
            return Err(Error::TooLarge {
                limit: self.limits.output,
            });
        }
        Ok(())
    }

    fn expression(&mut self, expression: &Expression) -> Result<Vec<u8>, Error> {
        // Operands come first, so a variable that only a default names must be set in strict mode.
        let mut operands = Vec::with_capacity(expression.operands.len());
        for operand in &expression.operands {
            let mut out = Vec::new();
            self.part(operand, &mut out)?;
            operands.push(out);
        }
        let value = match self.variables.value(&expression.name) {
            Some(value) => value,
            None if self.strict && !has_default(&expression.operator) => {
                return Err(Error::NotSet {
                    name: expression.name.clone(),
                    line: expression.line,
                });
            }
            None => "",
        };
        apply(expression, value, &operands, &self.limits, &mut self.steps)
    }
}

fn has_default(operator: &str) -> bool {
    matches!(operator, "=" | ":=" | ":-" | ":?" | ":+")
}
