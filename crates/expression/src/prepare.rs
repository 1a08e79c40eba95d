//! What happens between reading and evaluating: functions are found, and parts that are known beforehand are
//! tried.

use crate::declarations::{self, Declaration, Form};
use crate::evaluation::{Data, Evaluation, TYPE_NAMES};
use crate::limits::{Limits, with_stack};
use crate::pattern;
use crate::syntax::{Call, Kind, Literal, Node};
use crate::value::Value;

/// Conversions, which are evaluated beforehand if their argument is known.
const CONVERSIONS: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// Prepares a tree. In a checked one (`checked`) the names of types are known, too.
///
/// # Errors
/// The first part that can never have a value.
pub(crate) fn prepare(node: &mut Node, checked: bool) -> Result<(), String> {
    if let Kind::Call(call) = &mut node.kind {
        find_function(call);
    }
    for child in node.children_mut() {
        with_stack(|| prepare(child, checked))?;
    }
    match &mut node.kind {
        Kind::Call(call) => {
            judge(call)?;
            compile_pattern(call)?;
            let known = CONVERSIONS.contains(&&*call.name)
                && call.arguments.len() == 1
                && is_constant(&call.arguments[0], checked);
            if known {
                evaluate(node).map(drop)?;
            }
        }
        Kind::Index { key, .. } if is_constant(key, checked) => {
            let kind = match evaluate(key)? {
                Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Bool(_) => {
                    return Ok(());
                }
                other => other.representation(),
            };
            return Err(format!("invalid qualifier type: {kind}"));
        }
        Kind::Message(name) => return Err(format!("unknown type: {name}")),
        _ => {}
    }
    Ok(())
}

/// A call behind names that are the first part of a function's name loses its target.
fn find_function(call: &mut Call) {
    if call.member {
        let prefix = call.arguments.first().and_then(Node::qualified_name);
        let qualified = prefix.map(|prefix| format!("{prefix}.{}", call.name));
        if let Some(function) = qualified.as_deref().and_then(declarations::find) {
            call.arguments.remove(0);
            call.member = false;
            call.name = function.name.into();
        }
    }
    call.function = declarations::find(&call.name);
}

/// Refuses calls with a number of arguments with which the function can never be called.
fn judge(call: &Call) -> Result<(), String> {
    let form = call.function.map(|function: &Declaration| function.form);
    let name = &call.name;
    match (form, call.arguments.len()) {
        (Some(Form::Unary | Form::Binary) | None, 0) => Err(format!("no such overload: {name}()")),
        (Some(Form::Binary), 1) => Err(format!("no such overload: {name}(arg)")),
        (Some(Form::Unary), 2) => Err(format!("no such overload: {name}(lhs, rhs)")),
        (Some(Form::Unary | Form::Binary), 3..) => Err(format!("no such overload: {name}(...)")),
        _ => Ok(()),
    }
}

fn compile_pattern(call: &mut Call) -> Result<(), String> {
    if let ("matches", [_, pattern]) = (&*call.name, call.arguments.as_slice())
        && let Kind::Literal(Literal::String(text)) = &pattern.kind
    {
        call.pattern = Some(pattern::compile(text)?);
    }
    Ok(())
}

/// Whether a node's value does not depend on variables.
fn is_constant(node: &Node, checked: bool) -> bool {
    match &node.kind {
        Kind::Literal(_) => true,
        Kind::List(elements) => elements
            .iter()
            .all(|element| is_constant(&element.value, checked)),
        Kind::Map(entries) => entries
            .iter()
            .all(|entry| is_constant(&entry.key, checked) && is_constant(&entry.value, checked)),
        Kind::Call(call) => {
            CONVERSIONS.contains(&&*call.name)
                && matches!(call.arguments.as_slice(), [argument] if is_constant(argument, checked))
        }
        Kind::Name(_) | Kind::Select(..) => {
            checked
                && node
                    .qualified_name()
                    .is_some_and(|name| TYPE_NAMES.contains(&name.as_str()))
        }
        _ => false,
    }
}

fn evaluate(node: &Node) -> Result<Value<'_>, String> {
    let mut evaluation = Evaluation::new(Data::Variables(&[]), Limits::default());
    evaluation
        .evaluate(node)
        .map_err(crate::evaluation::Failure::text)
}
