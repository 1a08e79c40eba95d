//! Calls of functions and methods.

use super::evaluate::nil_of;
use super::field::Given;
use super::{Execution, Result};
use crate::error::Failure;
use crate::function::{Arguments, Callable, Scope, Signature};
use crate::node::NodeId;
use crate::text::{Text, lossy};
use crate::value::{Operand, Shape, Type, Value};

impl<'run> Execution<'run> {
    /// Calls a function or method. `builtin` is the name of one of Go's own, some of which are special.
    pub(super) fn call(
        &mut self,
        dot: &Operand,
        function: &dyn Callable,
        builtin: Option<&[u8]>,
        node: NodeId,
        name: &Text,
        given: Given<'run>,
    ) -> Result<Operand> {
        let signature = function.signature();
        self.check_count(signature, name, &given)?;
        match builtin {
            Some(b"and") => return self.short_circuit(dot, false, given),
            Some(b"or") => return self.short_circuit(dot, true, given),
            _ => {}
        }
        let Given { arguments, last } = given;
        let callee = match (builtin, arguments.first()) {
            (Some(b"call"), Some(&first)) => Some(self.print_node(first)),
            (Some(b"call"), None) => Some(last.as_ref().map(describe_value).unwrap_or_default()),
            _ => None,
        };
        let mut operands = Vec::with_capacity(arguments.len() + usize::from(last.is_some()));
        for (index, &argument) in arguments.iter().enumerate() {
            operands.push(self.argument(dot, Some(signature.parameter(index)), argument)?);
        }
        if let Some(last) = last {
            let kind = signature.parameter(operands.len());
            operands.push(self.validate(last, Some(kind))?);
        }
        let mut scope = Scope {
            set: self.set,
            run: self.run,
        };
        let outcome = match callee {
            Some(callee) => call_value(&mut scope, &callee, operands),
            None => call_checked(&mut scope, function, operands),
        };
        outcome.map_err(|failure| {
            self.node = node;
            let limit = failure.limit();
            let message = format!("error calling {name}: {failure}");
            self.fail_with(&message, Some(failure), limit)
        })
    }

    fn check_count(&self, signature: &Signature, name: &Text, given: &Given<'_>) -> Result<()> {
        let fixed = given.arguments.len();
        let count = fixed + usize::from(given.last.is_some());
        let required = signature.required();
        if signature.variadic {
            if count < required {
                return self.fail(format!(
                    "wrong number of args for {name}: want at least {required} got {fixed}"
                ));
            }
        } else if count != required {
            return self.fail(format!(
                "wrong number of args for {name}: want {required} got {count}"
            ));
        }
        Ok(())
    }

    /// `and` and `or`, which evaluate no more than it takes.
    fn short_circuit(&mut self, dot: &Operand, stop: bool, given: Given<'run>) -> Result<Operand> {
        let mut value = Operand::INVALID;
        for &argument in given.arguments {
            value = self.argument(dot, Some(&Type::Reflected), argument)?;
            if value.value.is_true() == stop {
                return Ok(value);
            }
        }
        match given.last {
            Some(last) => self.validate(last, Some(&Type::Reflected)),
            None => Ok(value),
        }
    }
}

/// Calls with arguments that fit, and puts the result in a place of the declared type.
fn call_checked(
    scope: &mut Scope<'_>,
    function: &dyn Callable,
    operands: Vec<Operand>,
) -> std::result::Result<Operand, Failure> {
    let mut result = function.call(scope, Arguments::new(operands))?;
    match function.signature().result {
        Type::Reflected => {}
        ref kind => result.boxed = *kind == Type::Any,
    }
    match &result.value {
        Value::String(text) => scope.run.produce(text.len())?,
        Value::List(list) => scope.run.produce(list.len().saturating_mul(8))?,
        _ => {}
    }
    Ok(result)
}

/// The builtin `call`: the first operand is the function.
fn call_value(
    scope: &mut Scope<'_>,
    callee: &str,
    operands: Vec<Operand>,
) -> std::result::Result<Operand, Failure> {
    let mut operands = operands.into_iter();
    let function = match operands.next().map(|operand| operand.value) {
        None | Some(Value::Nil) => return Err("call of nil".into()),
        Some(Value::Function(function)) => function,
        Some(other) => {
            let kind = other.type_of();
            return Err(format!("non-function {callee} of type {kind}").into());
        }
    };
    let signature = function.signature();
    let required = signature.required();
    let count = operands.len();
    if signature.variadic {
        if count < required {
            return Err(
                format!("wrong number of args for {callee}: got {count} want at least {required}").into(),
            );
        }
    } else if count != required {
        return Err(format!("wrong number of args for {callee}: got {count} want {required}").into());
    }
    let mut prepared = Vec::with_capacity(count);
    for (index, operand) in operands.enumerate() {
        let argument = prepare(operand, signature.parameter(index))
            .map_err(|message| format!("arg {index}: {message}"))?;
        prepared.push(argument);
    }
    call_checked(scope, function.as_ref(), prepared)
}

/// Go's `prepareArg`: an argument of a call by value, integers converted between their types.
pub(crate) fn prepare(operand: Operand, kind: &Type) -> std::result::Result<Operand, String> {
    let operand = operand.unboxed();
    if !operand.is_valid() {
        if !kind.can_be_nil() {
            return Err(format!("value is nil; should be of type {kind}"));
        }
        return Ok(nil_of(kind));
    }
    let found = operand.value.type_of();
    if *kind == Type::Reflected || found.is_assignable_to(kind) {
        return Ok(operand);
    }
    let converted = match (&operand.value, kind) {
        (Value::Signed(_, number), Type::Signed(kind)) => Some(Value::Signed(*kind, *number)),
        (Value::Unsigned(_, number), Type::Unsigned(kind)) => Some(Value::Unsigned(*kind, *number)),
        (Value::Signed(_, number), Type::Unsigned(kind)) => {
            Some(Value::Unsigned(*kind, number.cast_unsigned()))
        }
        (Value::Unsigned(_, number), Type::Signed(kind)) => Some(Value::Signed(*kind, number.cast_signed())),
        _ => None,
    };
    match converted {
        Some(value) => Ok(value.into()),
        None => Err(format!("value has type {found}; should be {kind}")),
    }
}

/// `reflect.Value.String`.
fn describe_value(operand: &Operand) -> String {
    match &operand.value {
        Value::String(text) => text.to_text().into_owned(),
        Value::Nil => "<invalid Value>".to_owned(),
        Value::Object(object) => match object.shape() {
            Shape::Plain(Value::String(text)) => lossy(&text).into_owned(),
            _ => format!("<{} Value>", object.type_of()),
        },
        other => format!("<{} Value>", other.type_of()),
    }
}
