//! Maps.

use std::collections::HashMap;

use super::convert::{bad_conversion, to_text};
use super::{ANY, LIST, MAP, Outcome, Registry, STRINGS, TEXT};
use crate::error::{Failure, LimitError};
use crate::function::{Arguments, Scope};
use crate::text::Text;
use crate::value::{List, Map, Shape, Type, Value};

/// How deep maps are merged and copied; what nests deeper may contain itself.
const MAX_DEPTH: usize = 10_000;

pub(super) fn register(registry: &mut Registry) {
    registry.variadic("dict", &[ANY], MAP, |_, arguments| {
        let map = Map::new();
        for pair in arguments.rest(0).chunks(2) {
            let value = pair.get(1).cloned().unwrap_or_else(|| Value::from(""));
            map.insert(to_text(&pair[0]), value);
        }
        Ok(Value::Map(map))
    });
    registry.fixed("get", &[MAP, TEXT], ANY, |_, arguments| {
        let found = arguments.map(0).get(arguments.text(1));
        Ok(found.unwrap_or_else(|| Value::from("")))
    });
    registry.fixed("set", &[MAP, TEXT, ANY], MAP, |scope, arguments| {
        let map = arguments.map(0);
        if !map.insert(arguments.text(1), arguments.value(2)) {
            return Err("assignment to entry in nil map".into());
        }
        scope.run().map_changed(&map);
        Ok(Value::Map(map))
    });
    registry.fixed("unset", &[MAP, TEXT], MAP, |_, arguments| {
        let map = arguments.map(0);
        map.remove(arguments.text(1));
        Ok(Value::Map(map))
    });
    registry.fixed("hasKey", &[MAP, TEXT], Type::Bool, |_, arguments| {
        Ok(Value::Bool(arguments.map(0).contains(arguments.text(1))))
    });
    registry.variadic("pluck", &[TEXT, MAP], LIST, |_, arguments| {
        let key = arguments.text(0);
        let found = maps(arguments, 1).filter_map(|map| map.get(&key)).collect();
        Ok(Value::List(List::new(found)))
    });
    // Go gives keys and values in an order of chance; ours is that of the keys.
    registry.variadic("keys", &[MAP], STRINGS, |_, arguments| {
        Ok(Value::List(List::strings(
            maps(arguments, 0).flat_map(|map| map.keys()),
        )))
    });
    registry.fixed("values", &[MAP], LIST, |_, arguments| {
        let entries = arguments.map(0).entries().into_iter();
        Ok(Value::List(List::new(entries.map(|(_, value)| value).collect())))
    });
    registry.variadic("pick", &[MAP, TEXT], MAP, |_, arguments| {
        let source = arguments.map(0);
        let picked = Map::new();
        for key in texts(arguments, 1) {
            if let Some(value) = source.get(&key) {
                picked.insert(key, value);
            }
        }
        Ok(Value::Map(picked))
    });
    registry.variadic("omit", &[MAP, TEXT], MAP, |_, arguments| {
        let omitted: Vec<Text> = texts(arguments, 1).collect();
        let entries = arguments.map(0).entries().into_iter();
        let kept = entries.filter(|(key, _)| !omitted.contains(key));
        Ok(Value::Map(Map::from_iter(kept)))
    });
    registry.variadic("dig", &[ANY], ANY, |_, arguments| dig(&arguments.rest(0)));
    for (name, overwrite) in [
        ("merge", false),
        ("mustMerge", false),
        ("mergeOverwrite", true),
        ("mustMergeOverwrite", true),
    ] {
        registry.variadic(name, &[MAP, MAP], ANY, move |scope, arguments| {
            let mut target = arguments.map(0);
            for source in maps(arguments, 1) {
                if target.is_nil() && !source.is_nil() {
                    target = Map::new();
                }
                merge(scope, &target, &source, overwrite, 0)?;
            }
            Ok(Value::Map(target))
        });
    }
    registry.fixed("deepCopy", &[ANY], ANY, |scope, arguments| {
        deep_copy(scope, &arguments.value(0))
    });
    registry.fixed("mustDeepCopy", &[ANY], ANY, |scope, arguments| {
        deep_copy(scope, &arguments.value(0))
    });
}

fn maps(arguments: &Arguments, from: usize) -> impl Iterator<Item = Map> + '_ {
    (from..arguments.len()).map(|index| arguments.map(index))
}

fn texts(arguments: &Arguments, from: usize) -> impl Iterator<Item = Text> + '_ {
    (from..arguments.len()).map(|index| arguments.text(index))
}

fn dig(path: &[Value]) -> Outcome {
    let [keys @ .., default, root] = path else {
        return Err("dig needs at least three arguments".into());
    };
    if keys.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let as_map = |value: &Value| match value {
        Value::Map(map) if *map.element_type() == Type::Any => Ok(map.clone()),
        other => Err(bad_conversion(other, "map[string]interface {}")),
    };
    let mut map = as_map(root)?;
    let mut names = Vec::new();
    for key in keys {
        match key {
            Value::String(key) => names.push(key.clone()),
            other => return Err(bad_conversion(other, "string")),
        }
    }
    for (index, name) in names.iter().enumerate() {
        let Some(step) = map.get(name) else {
            return Ok(default.clone());
        };
        if index + 1 == names.len() {
            return Ok(step);
        }
        map = as_map(&step)?;
    }
    Ok(default.clone())
}

/// mergo's `Merge` and `MergeWithOverwrite` for maps: what is empty in the target is filled; with
/// `overwrite` all else that is no map is replaced, too, unless the source is empty itself.
fn merge(
    scope: &mut Scope<'_>,
    target: &Map,
    source: &Map,
    overwrite: bool,
    depth: usize,
) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        return Err(LimitError::Nesting(MAX_DEPTH).into());
    }
    if target.is_same(source) {
        return Ok(());
    }
    if !source.is_empty() {
        scope.run().map_changed(target);
    }
    let target_was_empty = target.is_empty();
    for (key, value) in source.entries() {
        scope.run().step()?;
        let old = target.get(&key);
        if value.is_nil() {
            if overwrite {
                target.insert(key, value);
            }
            continue;
        }
        let old_is_filled = old.as_ref().is_some_and(is_filled);
        match (&value, &old) {
            (Value::Map(inner), Some(Value::Map(old))) => {
                stacker::maybe_grow(64 << 10, 1 << 20, || {
                    merge(scope, old, inner, overwrite, depth + 1)
                })?;
                if old_is_filled {
                    continue;
                }
            }
            (Value::List(list), _) => {
                let takes = !source.is_empty() && (overwrite || target_was_empty && target.is_empty());
                let kept = match &old {
                    None | Some(Value::Nil) => Value::List(List::typed(list.element_type(), Vec::new())),
                    Some(old) => old.clone(),
                };
                target.insert(key.clone(), if takes { value.clone() } else { kept });
                if old_is_filled {
                    continue;
                }
            }
            _ => {}
        }
        if overwrite || !old_is_filled {
            target.insert(key, value);
        }
    }
    Ok(())
}

/// Not the empty value of mergo; structures count as filled, pointers as what they lead to.
fn is_filled(value: &Value) -> bool {
    value.is_true() || matches!(value, Value::Object(_) | Value::Complex(..))
}

/// A copy that shares nothing with the value; maps that it holds twice are one in the copy as well.
fn deep_copy(scope: &mut Scope<'_>, value: &Value) -> Outcome {
    if value.is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    copy(scope, value, 0, &mut HashMap::new())
}

fn copy(scope: &mut Scope<'_>, value: &Value, depth: usize, open: &mut HashMap<usize, ()>) -> Outcome {
    if depth > MAX_DEPTH {
        return Err(LimitError::Nesting(MAX_DEPTH).into());
    }
    match value {
        Value::Map(map) => {
            if map.is_nil() || open.insert(map.identity(), ()).is_some() {
                return if map.is_nil() {
                    Ok(value.clone())
                } else {
                    Err(LimitError::Nesting(MAX_DEPTH).into())
                };
            }
            let copied = Map::typed(map.element_type());
            for (key, element) in map.entries() {
                scope.run().step()?;
                scope.run().produce(key.len() + 64)?;
                let element =
                    stacker::maybe_grow(64 << 10, 1 << 20, || copy(scope, &element, depth + 1, open))?;
                copied.insert(key, element);
            }
            open.remove(&map.identity());
            Ok(Value::Map(copied))
        }
        Value::List(list) if !list.is_nil() => {
            let mut elements = Vec::with_capacity(list.len());
            for element in list.as_slice() {
                scope.run().step()?;
                scope.run().produce(32)?;
                elements.push(stacker::maybe_grow(64 << 10, 1 << 20, || {
                    copy(scope, element, depth + 1, open)
                })?);
            }
            Ok(Value::List(List::typed(list.element_type(), elements)))
        }
        Value::Object(object) => match object.shape() {
            Shape::Plain(plain @ (Value::Map(_) | Value::List(_))) => {
                let copied = copy(scope, &plain, depth, open)?;
                Ok(object.around(copied).unwrap_or_else(|| value.clone()))
            }
            _ => Ok(value.clone()),
        },
        other => Ok(other.clone()),
    }
}
