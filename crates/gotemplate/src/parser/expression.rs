use super::number::read_number;
use super::{MAX_PARENTHESES, Parser, Result, STACK};
use crate::lexer::{Item, Kind};
use crate::node::{Form, NodeId};
use crate::quote::quoted;
use crate::text::Text;

impl Parser<'_> {
    /// Declarations, then commands, up to `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<NodeId> {
        let position = self.peek_non_space().position;
        let mut variables = Vec::new();
        let assigns = self.declarations(context, &mut variables)?;
        let mut commands = Vec::new();
        loop {
            let item = self.next_non_space();
            match item.kind {
                kind if kind == end => break,
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParenthesis => {
                    self.backup();
                    commands.push(self.command()?);
                }
                _ => return self.unexpected(&item, context),
            }
        }
        self.check_pipeline(&commands, context)?;
        let form = Form::Pipe {
            assigns,
            variables,
            commands,
        };
        Ok(self.add(position, form))
    }

    /// Reads `$x :=`, `$x =`, and in a range `$x, $y :=`; whether they are assignments.
    fn declarations(&mut self, context: &str, variables: &mut Vec<Text>) -> Result<bool> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(false);
            }
            self.next();
            // The token next to the variable is kept: "$x foo" takes three tokens to tell from "$x :=".
            let adjacent = self.peek().clone();
            let next = self.peek_non_space();
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    self.next_non_space();
                    self.declare(&variable, variables);
                    return Ok(next.kind == Kind::Assign);
                }
                Kind::Char if next.text == b"," => {
                    self.next_non_space();
                    self.declare(&variable, variables);
                    if context != "range" || variables.len() >= 2 {
                        return self.fail(format!("too many declarations in {context}"));
                    }
                    let following = self.peek_non_space().kind;
                    if !matches!(
                        following,
                        Kind::Variable | Kind::RightDelimiter | Kind::RightParenthesis
                    ) {
                        return self.fail("range can only initialize variables");
                    }
                }
                _ if adjacent.kind == Kind::Space => {
                    self.backup_three(variable, adjacent);
                    return Ok(false);
                }
                _ => {
                    self.backup_two(variable);
                    return Ok(false);
                }
            }
        }
    }

    fn declare(&mut self, variable: &Item<'_>, variables: &mut Vec<Text>) {
        let name = Text::from(variable.text);
        variables.push(name.clone());
        self.frame.variables.push(name);
    }

    fn check_pipeline(&self, commands: &[NodeId], context: &str) -> Result<()> {
        if commands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (index, &command) in commands.iter().enumerate().skip(1) {
            let Form::Command(operands) = self.form(command) else {
                continue;
            };
            if matches!(
                self.form(operands[0]),
                Form::Bool(_) | Form::Dot | Form::Nil | Form::Number(_) | Form::String { .. }
            ) {
                let stage = index + 1;
                return self.fail(format!("non executable command in pipeline stage {stage}"));
            }
        }
        Ok(())
    }

    /// Operands up to a pipe sign, which is taken, or the end of the pipeline, which is left.
    fn command(&mut self) -> Result<NodeId> {
        let position = self.peek_non_space().position;
        let mut operands = Vec::new();
        loop {
            self.peek_non_space();
            operands.extend(self.operand()?);
            let item = self.next();
            match item.kind {
                Kind::Space => continue,
                Kind::RightDelimiter | Kind::RightParenthesis => self.backup(),
                Kind::Pipe => {}
                _ => return self.unexpected(&item, "operand"),
            }
            break;
        }
        if operands.is_empty() {
            return self.fail("empty command");
        }
        Ok(self.add(position, Form::Command(operands)))
    }

    /// A term with the fields that follow it.
    fn operand(&mut self) -> Result<Option<NodeId>> {
        let Some(node) = self.term()? else {
            return Ok(None);
        };
        if self.peek().kind != Kind::Field {
            return Ok(Some(node));
        }
        let position = self.peek().position;
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(Text::from(&self.next().text[1..]));
        }
        let form = match self.form(node) {
            Form::Field(names) => Form::Field(names.iter().cloned().chain(fields).collect()),
            Form::Variable(names) => Form::Variable(names.iter().cloned().chain(fields).collect()),
            Form::Bool(_) | Form::String { .. } | Form::Number(_) | Form::Nil | Form::Dot => {
                let term = quoted(&self.print_literal(node));
                return self.fail(format!("unexpected . after term {term}"));
            }
            _ => Form::Chain { node, fields },
        };
        Ok(Some(self.add(position, form)))
    }

    fn print_literal(&self, node: NodeId) -> Vec<u8> {
        match self.form(node) {
            Form::Bool(value) => value.to_string().into_bytes(),
            Form::String { quoted, .. } => quoted.to_vec(),
            Form::Number(number) => number.text.clone().into_bytes(),
            Form::Nil => b"nil".to_vec(),
            _ => b".".to_vec(),
        }
    }

    /// A literal, function, variable, field, dot or pipeline in parentheses; None if nothing of the kind follows.
    fn term(&mut self) -> Result<Option<NodeId>> {
        let item = self.next_non_space();
        let position = item.position;
        let form = match item.kind {
            Kind::Identifier => {
                if !(self.is_function)(item.text) {
                    return self.fail(format!("function {} not defined", quoted(item.text)));
                }
                Form::Identifier(item.text.into())
            }
            Kind::Dot => Form::Dot,
            Kind::Nil => Form::Nil,
            Kind::Variable => return self.use_variable(&item).map(Some),
            Kind::Field => Form::Field(vec![item.text[1..].into()]),
            Kind::Bool => Form::Bool(item.text == b"true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => match read_number(item.kind, item.text) {
                Ok(number) => Form::Number(Box::new(number)),
                Err(message) => return self.fail(message),
            },
            Kind::LeftParenthesis => return self.parenthesized().map(Some),
            Kind::String | Kind::RawString => Form::String {
                text: self.unquoted(&item)?,
                quoted: item.text.into(),
            },
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(self.add(position, form)))
    }

    fn parenthesized(&mut self) -> Result<NodeId> {
        if self.frame.parentheses >= MAX_PARENTHESES {
            return self.fail("max expression depth exceeded");
        }
        self.frame.parentheses += 1;
        let (free, size) = STACK;
        let pipe = stacker::maybe_grow(free, size, || {
            self.pipeline("parenthesized pipeline", Kind::RightParenthesis)
        })?;
        self.frame.parentheses -= 1;
        Ok(pipe)
    }
}
