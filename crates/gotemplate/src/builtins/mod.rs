//! Go's own template functions.

mod compare;
mod escape;
mod index;

use std::sync::LazyLock;

use crate::error::Failure;
use crate::format;
use crate::function::{FunctionMap, Signature};
use crate::value::{Operand, Type, Value};

/// The functions that every template may call.
pub(crate) fn builtins() -> &'static FunctionMap {
    static BUILTINS: LazyLock<FunctionMap> = LazyLock::new(all);
    &BUILTINS
}

fn all() -> FunctionMap {
    let mut map = FunctionMap::new();
    let any = [Type::Any];
    let place = [Type::Reflected];
    let places = [Type::Reflected, Type::Reflected];

    // The execution evaluates these three itself; registered, they have a signature and a name.
    for name in ["and", "or", "call"] {
        let signature = Signature::variadic(&places, Type::Reflected);
        map.register(name, signature, |_, arguments| Ok(arguments.operand(0)));
    }
    map.register("not", Signature::fixed(&place, Type::Bool), |_, arguments| {
        Ok(Value::Bool(!arguments.value(0).is_true()))
    });

    map.register(
        "print",
        Signature::variadic(&any, Type::String),
        |scope, arguments| {
            let text = format::print(&arguments.rest(0), scope.run.producible())?;
            Ok(Value::string(text))
        },
    );
    map.register(
        "println",
        Signature::variadic(&any, Type::String),
        |scope, arguments| {
            let text = format::println(&arguments.rest(0), scope.run.producible())?;
            Ok(Value::string(text))
        },
    );
    let signature = Signature::variadic(&[Type::String, Type::Any], Type::String);
    map.register("printf", signature, |scope, arguments| {
        let limit = scope.run.producible();
        let text = format::printf(&arguments.text(0), &arguments.rest(1), limit)?;
        Ok(Value::string(text))
    });

    for (name, escape) in [
        ("html", escape::html as fn(&[u8]) -> Vec<u8>),
        ("js", escape::javascript),
        ("urlquery", escape::query),
    ] {
        map.register(
            name,
            Signature::variadic(&any, Type::String),
            move |scope, arguments| {
                let values: Vec<Value> = arguments.rest(0).iter().map(format::printable).collect();
                let text = format::print(&values, scope.run.producible())?;
                scope.run.produce(text.len())?;
                Ok(Value::string(escape(&text)))
            },
        );
    }

    let signature = Signature::variadic(&places, Type::Reflected);
    map.register("index", signature.clone(), |_, arguments| {
        index::index(arguments.into_operands()).map_err(Failure::from)
    });
    map.register("slice", signature, |_, arguments| {
        index::slice(arguments.into_operands()).map_err(Failure::from)
    });
    map.register("len", Signature::fixed(&place, Type::INT), |_, arguments| {
        index::length(&arguments.operand(0)).map_err(Failure::from)
    });

    map.register("eq", Signature::variadic(&places, Type::Bool), |_, arguments| {
        compare::equal(&arguments.into_operands())
            .map(boolean)
            .map_err(Failure::from)
    });
    for (name, judge) in [
        ("ne", compare::not_equal as fn(&Value, &Value) -> compare::Verdict),
        ("lt", compare::less),
        ("le", compare::less_or_equal),
        ("gt", compare::greater),
        ("ge", compare::greater_or_equal),
    ] {
        map.register(
            name,
            Signature::fixed(&places, Type::Bool),
            move |_, arguments| {
                judge(&arguments.value(0), &arguments.value(1))
                    .map(boolean)
                    .map_err(Failure::from)
            },
        );
    }
    map
}

fn boolean(value: bool) -> Operand {
    Value::Bool(value).into()
}
