//! Optional values, and the ends of lists.

use crate::evaluation::{Evaluation, Failure, Outcome, show, unfit};
use crate::value::Value;

pub(crate) fn of<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [value] => Ok(Value::some(value.clone())),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn of_non_zero<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [value] if value.is_zero() => Ok(Value::Optional(None)),
        [value] => Ok(Value::some(value.clone())),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn none<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [] => Ok(Value::Optional(None)),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn value<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Optional(Some(value))] => Ok(Value::clone(value)),
        [Value::Optional(None)] => Err(Failure::new("optional.none() dereference")),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn has_value<'a>(
    _: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    match arguments {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => Err(unfit(name, arguments)),
    }
}

pub(crate) fn unwrap<'a>(
    evaluation: &mut Evaluation<'a>,
    name: &'static str,
    arguments: &[Value<'a>],
) -> Outcome<'a> {
    let [Value::List(list)] = arguments else {
        return Err(unfit(name, arguments));
    };
    evaluation.step(list.len())?;
    if !matches!(list.get(0), None | Some(Value::Optional(_))) {
        return Err(unfit(name, arguments));
    }
    let mut values = Vec::new();
    for item in list.iter() {
        match item {
            Value::Optional(Some(value)) => values.push(Value::clone(&value)),
            Value::Optional(None) => {}
            other => {
                return Err(Failure::new(format!("value {} is not optional", show(&other))));
            }
        }
    }
    evaluation.list(values)
}

fn end<'a>(name: &'static str, arguments: &[Value<'a>], last: bool) -> Outcome<'a> {
    let [Value::List(list)] = arguments else {
        return Err(unfit(name, arguments));
    };
    let index = if last { list.len().wrapping_sub(1) } else { 0 };
    Ok(list.get(index).map_or(Value::Optional(None), Value::some))
}

pub(crate) fn first<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    end(name, arguments, false)
}

pub(crate) fn last<'a>(_: &mut Evaluation<'a>, name: &'static str, arguments: &[Value<'a>]) -> Outcome<'a> {
    end(name, arguments, true)
}
