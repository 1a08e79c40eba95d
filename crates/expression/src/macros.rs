//! The macros: calls that bind a variable or test for a field.

use crate::syntax::{Kind, Macro, MacroKind, Node};

/// What a call that might be a macro is.
pub(crate) enum Expansion {
    /// A macro.
    Macro(Kind),
    /// A macro whose arguments do not fit.
    Refused {
        /// The offset of the argument.
        at: usize,
        message: &'static str,
    },
    /// An ordinary call.
    Call {
        target: Option<Node>,
        arguments: Vec<Node>,
    },
}

/// Tells macros from calls by name, form and number of arguments.
pub(crate) fn expand(name: &str, target: Option<Node>, mut arguments: Vec<Node>) -> Expansion {
    let Some(range) = target else {
        if name == "has" && arguments.len() == 1 {
            return has(arguments.remove(0));
        }
        return Expansion::Call {
            target: None,
            arguments,
        };
    };
    let kind = match (name, arguments.len()) {
        ("all", 2) => MacroKind::All,
        ("exists", 2) => MacroKind::Exists,
        ("exists_one", 2) => MacroKind::ExistsOne,
        ("map", 2 | 3) => MacroKind::Map,
        ("filter", 2) => MacroKind::Filter,
        ("optMap", 2) => MacroKind::OptionalMap,
        ("optFlatMap", 2) => MacroKind::OptionalFlatMap,
        _ => {
            return Expansion::Call {
                target: Some(range),
                arguments,
            };
        }
    };
    let first = arguments.remove(0);
    let Kind::Name(variable) = first.kind else {
        let message = match kind {
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne => "argument must be a simple name",
            MacroKind::Map | MacroKind::Filter => "argument is not an identifier",
            MacroKind::OptionalMap => "optMap() variable name must be a simple identifier",
            MacroKind::OptionalFlatMap => "optFlatMap() variable name must be a simple identifier",
        };
        return Expansion::Refused {
            at: first.at,
            message,
        };
    };
    let optional = matches!(kind, MacroKind::OptionalMap | MacroKind::OptionalFlatMap);
    if &*variable == "__result__" && !optional {
        return Expansion::Refused {
            at: first.at,
            message: "iteration variable overwrites accumulator variable",
        };
    }
    let condition = (arguments.len() == 2).then(|| arguments.remove(0));
    let body = arguments.remove(0);
    Expansion::Macro(Kind::Macro(Box::new(Macro {
        kind,
        range,
        variable,
        condition,
        body,
    })))
}

fn has(argument: Node) -> Expansion {
    match argument.kind {
        Kind::Select(operand, field) => Expansion::Macro(Kind::Has(operand, field)),
        _ => Expansion::Refused {
            at: argument.at,
            message: "invalid argument to has() macro",
        },
    }
}
