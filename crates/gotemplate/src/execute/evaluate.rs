//! Expressions: pipelines, commands and what stands in them.

use super::field::Given;
use super::{Execution, Result, STACK};
use crate::node::{Form, NodeId, Number};
use crate::text::Text;
use crate::value::{Operand, Type, Value};

impl<'run> Execution<'run> {
    /// The value of a pipeline; what it declares is declared.
    pub(super) fn pipeline(&mut self, dot: &Operand, pipe: NodeId) -> Result<Operand> {
        let (free, size) = STACK;
        stacker::maybe_grow(free, size, || self.pipeline_here(dot, pipe))
    }

    fn pipeline_here(&mut self, dot: &Operand, pipe: NodeId) -> Result<Operand> {
        self.node = pipe;
        let Form::Pipe {
            assigns,
            variables,
            commands,
        } = self.tree.form(pipe)
        else {
            return self.fail("a pipeline is missing");
        };
        let mut value = None;
        for &command in commands {
            let result = self.command(dot, command, value)?;
            value = Some(result.unboxed());
        }
        let value = value.unwrap_or_default();
        for name in variables {
            if *assigns {
                self.set_variable(name, value.clone())?;
            } else {
                self.push_variable(name.clone(), value.clone());
            }
        }
        Ok(value)
    }

    /// One command; `last` is what the one before it gave.
    fn command(&mut self, dot: &Operand, command: NodeId, last: Option<Operand>) -> Result<Operand> {
        let Form::Command(operands) = self.tree.form(command) else {
            return self.fail("a command is missing");
        };
        let Some((&first, arguments)) = operands.split_first() else {
            return self.fail("a command is empty");
        };
        let given = Given { arguments, last };
        match self.tree.form(first) {
            Form::Field(names) => {
                self.node = first;
                self.field_chain(dot, dot.clone(), first, names, given)
            }
            Form::Chain { node, fields } => self.chain(dot, first, *node, fields, given),
            Form::Identifier(name) => self.function(dot, first, command, name, given),
            Form::Pipe { .. } => {
                self.check_not_called(first, &given)?;
                self.pipeline(dot, first)
            }
            Form::Variable(names) => self.variable_chain(dot, first, names, given),
            form => {
                self.node = first;
                self.check_not_called(first, &given)?;
                match form {
                    Form::Bool(value) => Ok(Value::Bool(*value).into()),
                    Form::Dot => Ok(dot.clone()),
                    Form::Nil => self.fail("nil is not a command"),
                    Form::Number(number) => self.ideal_constant(first, number),
                    Form::String { text, .. } => Ok(Value::String(text.clone()).into()),
                    _ => {
                        let text = crate::quote::quoted(&self.tree.print(first));
                        self.fail(format!("can't evaluate command {text}"))
                    }
                }
            }
        }
    }

    fn check_not_called(&self, first: NodeId, given: &Given<'_>) -> Result<()> {
        if given.is_empty() {
            return Ok(());
        }
        let node = self.print_node(first);
        self.fail(format!("can't give argument to non-function {node}"))
    }

    fn chain(
        &mut self,
        dot: &Operand,
        chain: NodeId,
        node: NodeId,
        fields: &'run [Text],
        given: Given<'run>,
    ) -> Result<Operand> {
        self.node = chain;
        if matches!(self.tree.form(node), Form::Nil) {
            let text = self.print_node(chain);
            return self.fail(format!("indirection through explicit nil in {text}"));
        }
        let receiver = self.argument(dot, None, node)?;
        self.field_chain(dot, receiver, chain, fields, given)
    }

    fn variable_chain(
        &mut self,
        dot: &Operand,
        node: NodeId,
        names: &'run [Text],
        given: Given<'run>,
    ) -> Result<Operand> {
        self.node = node;
        let Some((name, fields)) = names.split_first() else {
            return self.fail("a variable is missing");
        };
        let value = self.variable(name)?;
        if fields.is_empty() {
            self.check_not_called(node, &given)?;
            return Ok(value);
        }
        self.field_chain(dot, value, node, fields, given)
    }

    fn function(
        &mut self,
        dot: &Operand,
        node: NodeId,
        command: NodeId,
        name: &'run Text,
        given: Given<'run>,
    ) -> Result<Operand> {
        self.node = node;
        let Some((function, is_builtin)) = self.set.function(name) else {
            let name = crate::quote::quoted(name);
            return self.fail(format!("{name} is not a defined function"));
        };
        let builtin = is_builtin.then_some(name.as_bytes());
        self.call(dot, function.as_ref(), builtin, command, name, given)
    }

    /// A number where nothing says of which type it should be.
    fn ideal_constant(&mut self, node: NodeId, number: &Number) -> Result<Operand> {
        self.node = node;
        let text = number.text.as_str();
        let bytes = text.as_bytes();
        let is_hexadecimal = matches!(bytes, [b'0', b'x' | b'X', _, ..]) && !text.contains(['p', 'P']);
        let is_character = bytes.first() == Some(&b'\'');
        let is_fraction = !is_hexadecimal && !is_character && text.contains(['.', 'e', 'E', 'p', 'P']);
        if let Some((real, imaginary)) = number.complex {
            return Ok(Value::Complex(real, imaginary).into());
        }
        match (number.float, number.signed) {
            (Some(value), _) if is_fraction => Ok(Value::float64(value).into()),
            (_, Some(value)) => Ok(Value::int(value).into()),
            _ if number.unsigned.is_some() => self.fail(format!("{text} overflows int")),
            _ => Ok(Operand::INVALID),
        }
    }

    /// An argument for a parameter of type `kind`; without one, anything goes.
    pub(super) fn argument(&mut self, dot: &Operand, kind: Option<&Type>, node: NodeId) -> Result<Operand> {
        self.node = node;
        let nothing = Given::NOTHING;
        let operand = match self.tree.form(node) {
            Form::Dot => dot.clone(),
            Form::Nil => {
                let kind = kind.unwrap_or(&Type::Any);
                if kind.can_be_nil() {
                    return Ok(nil_of(kind));
                }
                return self.fail(format!("cannot assign nil to {kind}"));
            }
            Form::Field(names) => self.field_chain(dot, dot.clone(), node, names, nothing)?,
            Form::Variable(names) => self.variable_chain(dot, node, names, nothing)?,
            Form::Pipe { .. } => self.pipeline(dot, node)?,
            Form::Identifier(name) => self.function(dot, node, node, name, nothing)?,
            Form::Chain { node: inner, fields } => self.chain(dot, node, *inner, fields, nothing)?,
            _ => return self.constant(kind.unwrap_or(&Type::Any), node),
        };
        self.validate(operand, kind)
    }

    /// A constant as a value of type `kind`.
    fn constant(&mut self, kind: &Type, node: NodeId) -> Result<Operand> {
        let underlying = match kind {
            Type::Named(_, Some(underlying)) => underlying,
            other => other,
        };
        let form = self.tree.form(node);
        let expected = |what: &str| {
            let found = self.print_node(node);
            self.fail(format!("expected {what}; found {found}"))
        };
        let number = match form {
            Form::Number(number) => Some(number.as_ref()),
            _ => None,
        };
        let value = match underlying {
            Type::Bool => match form {
                Form::Bool(value) => Value::Bool(*value),
                _ => return expected("bool"),
            },
            Type::String => match form {
                Form::String { text, .. } => Value::String(text.clone()),
                _ => return expected("string"),
            },
            Type::Signed(kind) => match number.and_then(|number| number.signed) {
                Some(value) => Value::Signed(*kind, value),
                None => return expected("integer"),
            },
            Type::Unsigned(kind) => match number.and_then(|number| number.unsigned) {
                Some(value) => Value::Unsigned(*kind, value),
                None => return expected("unsigned integer"),
            },
            Type::Float(kind) => match number.and_then(|number| number.float) {
                Some(value) => Value::Float(*kind, value),
                None => return expected("float"),
            },
            Type::Complex => match number.and_then(|number| number.complex) {
                Some((real, imaginary)) => Value::Complex(real, imaginary),
                None => return expected("complex"),
            },
            Type::Any | Type::Reflected => match form {
                Form::Bool(value) => Value::Bool(*value),
                Form::Number(number) => return self.ideal_constant(node, number),
                Form::String { text, .. } => Value::String(text.clone()),
                _ => {
                    let node = self.print_node(node);
                    return self.fail(format!(
                        "can't handle assignment of {node} to empty interface argument"
                    ));
                }
            },
            _ => {
                let node = self.print_node(node);
                return self.fail(format!("can't handle {node} for arg of type {kind}"));
            }
        };
        Ok(value.into())
    }

    /// Checks that a value can be assigned to `kind`, and makes it what a function of that parameter expects.
    pub(super) fn validate(&self, operand: Operand, kind: Option<&Type>) -> Result<Operand> {
        let Some(kind) = kind else {
            return Ok(operand);
        };
        if !operand.is_valid() {
            if kind.can_be_nil() {
                return Ok(nil_of(kind));
            }
            return self.fail(format!("invalid value; expected {kind}"));
        }
        if matches!(kind, Type::Reflected | Type::Any) {
            return Ok(operand);
        }
        let found = operand.value.type_of();
        if operand.boxed && operand.value.is_nil() {
            return self.fail(format!(
                "wrong type for value; expected {kind}; got interface {{}}"
            ));
        }
        let dereferenced = matches!((&found, kind), (Type::Named(pointer, _), Type::Named(target, _))
            if pointer.strip_prefix('*') == Some(target.as_ref()));
        if !found.is_assignable_to(kind) && !dereferenced {
            return self.fail(format!("wrong type for value; expected {kind}; got {found}"));
        }
        if matches!(kind, Type::Named(..)) {
            return Ok(operand.unboxed());
        }
        Ok(Operand::concrete(operand.value.plain()))
    }
}

/// What nil becomes for a parameter that takes it.
pub(super) fn nil_of(kind: &Type) -> Operand {
    match kind {
        Type::Reflected => Operand::INVALID,
        Type::Any => Operand::boxed(Value::Nil),
        other => Operand::concrete(Value::zero(other)),
    }
}
