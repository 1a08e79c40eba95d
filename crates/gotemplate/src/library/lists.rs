//! Lists.

use super::convert::{NIL_DEREFERENCE, to_integer, to_list, to_text, to_texts};
use super::logic::deep_equal;
use super::{ANY, LIST, Outcome, Registry, STRINGS, TEXT};
use crate::error::Failure;
use crate::function::Scope;
use crate::text::Text;
use crate::value::{List, Map, Type, Value};

const MAP_OF_STRINGS: Type = Type::Map(&Type::String);
const LISTS: Type = Type::List(&Type::LIST);

pub(super) fn register(registry: &mut Registry) {
    for name in ["list", "tuple"] {
        registry.variadic(name, &[ANY], LIST, |_, arguments| Ok(list(arguments.rest(0))));
    }
    register_parts(registry);
    register_changes(registry);
    register_texts(registry);
}

fn list(elements: Vec<Value>) -> Value {
    Value::List(List::new(elements))
}

/// Functions that take from a list.
fn register_parts(registry: &mut Registry) {
    for name in ["first", "mustFirst"] {
        registry.fixed(name, &[ANY], ANY, |_, arguments| {
            let list = to_list(&arguments.value(0), "Cannot find first on type")?;
            Ok(list.as_slice().first().cloned().unwrap_or_default())
        });
    }
    for name in ["last", "mustLast"] {
        registry.fixed(name, &[ANY], ANY, |_, arguments| {
            let list = to_list(&arguments.value(0), "Cannot find last on type")?;
            Ok(list.as_slice().last().cloned().unwrap_or_default())
        });
    }
    for name in ["rest", "mustRest"] {
        registry.fixed(name, &[ANY], LIST, |_, arguments| {
            let source = to_list(&arguments.value(0), "Cannot find rest on type")?;
            Ok(match source.as_slice().split_first() {
                Some((_, rest)) => list(rest.to_vec()),
                None => Value::List(List::nil(&Type::Any)),
            })
        });
    }
    for name in ["initial", "mustInitial"] {
        registry.fixed(name, &[ANY], LIST, |_, arguments| {
            let source = to_list(&arguments.value(0), "Cannot find initial on type")?;
            Ok(match source.as_slice().split_last() {
                Some((_, initial)) => list(initial.to_vec()),
                None => Value::List(List::nil(&Type::Any)),
            })
        });
    }
    for name in ["slice", "mustSlice"] {
        registry.variadic(name, &[ANY, ANY], ANY, |_, arguments| {
            slice(&arguments.value(0), &arguments.rest(1))
        });
    }
    for name in ["has", "mustHas"] {
        registry.fixed(name, &[ANY, ANY], Type::Bool, |_, arguments| {
            let haystack = arguments.value(1);
            if haystack.is_nil() {
                return Ok(Value::Bool(false));
            }
            let list = to_list(&haystack, "Cannot find has on type")?;
            Ok(Value::Bool(contains(list.as_slice(), &arguments.value(0))?))
        });
    }
    for name in ["chunk", "mustChunk"] {
        registry.fixed(name, &[Type::INT, ANY], LISTS, |_, arguments| {
            chunk(arguments.integer(0), &arguments.value(1))
        });
    }
}

fn contains(list: &[Value], needle: &Value) -> Result<bool, Failure> {
    for element in list {
        if deep_equal(needle, element, 0)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn slice(value: &Value, indexes: &[Value]) -> Outcome {
    let list = to_list(value, "list should be type of slice or array but")?;
    if list.is_empty() {
        return Ok(Value::Nil);
    }
    let start = indexes.first().map_or(0, to_integer);
    let end = match indexes.get(1) {
        Some(end) => to_integer(end),
        None => i64::try_from(list.len()).unwrap_or(i64::MAX),
    };
    let window = match (usize::try_from(start), usize::try_from(end)) {
        (Ok(start), Ok(end)) => list.window(start, end, list.capacity()),
        _ => None,
    };
    match window {
        Some(window) => Ok(Value::List(window)),
        None => Err("reflect.Value.Slice: slice index out of bounds".into()),
    }
}

fn chunk(size: i64, value: &Value) -> Outcome {
    let list = to_list(value, "Cannot chunk type")?;
    let Some(size) = usize::try_from(size).ok().filter(|&size| size > 0) else {
        return Err("runtime error: makeslice: len out of range".into());
    };
    let chunks = list.as_slice().chunks(size);
    let chunks = chunks
        .map(|chunk| Value::List(List::new(chunk.to_vec())))
        .collect();
    Ok(Value::List(List::typed(&Type::LIST, chunks)))
}

/// Functions that make a list of another.
fn register_changes(registry: &mut Registry) {
    for name in ["append", "push", "mustAppend", "mustPush"] {
        registry.fixed(name, &[ANY, ANY], LIST, |_, arguments| {
            let source = to_list(&arguments.value(0), "Cannot push on type")?;
            let mut elements = source.as_slice().to_vec();
            elements.push(arguments.value(1));
            Ok(list(elements))
        });
    }
    for name in ["prepend", "mustPrepend"] {
        registry.fixed(name, &[ANY, ANY], LIST, |_, arguments| {
            let source = to_list(&arguments.value(0), "Cannot prepend on type")?;
            let mut elements = vec![arguments.value(1)];
            elements.extend_from_slice(source.as_slice());
            Ok(list(elements))
        });
    }
    registry.variadic("concat", &[ANY], ANY, |_, arguments| concat(&arguments.rest(0)));
    for name in ["reverse", "mustReverse"] {
        registry.fixed(name, &[ANY], LIST, |_, arguments| {
            let source = to_list(&arguments.value(0), "Cannot find reverse on type")?;
            Ok(list(source.as_slice().iter().rev().cloned().collect()))
        });
    }
    for name in ["compact", "mustCompact"] {
        registry.fixed(name, &[ANY], LIST, |_, arguments| {
            let source = to_list(&arguments.value(0), "Cannot compact on type")?;
            let elements = source.as_slice().iter().filter(|element| element.is_true());
            Ok(list(elements.cloned().collect()))
        });
    }
    for name in ["uniq", "mustUniq"] {
        registry.fixed(name, &[ANY], LIST, |scope, arguments| {
            uniq(scope, &arguments.value(0))
        });
    }
    for name in ["without", "mustWithout"] {
        registry.variadic(name, &[ANY, ANY], LIST, |scope, arguments| {
            let source = to_list(&arguments.value(0), "Cannot find without on type")?;
            let omitted = arguments.rest(1);
            let mut elements = Vec::new();
            for element in source.as_slice() {
                scope.run().step()?;
                if !contains(&omitted, element)? {
                    elements.push(element.clone());
                }
            }
            Ok(list(elements))
        });
    }
}

fn concat(lists: &[Value]) -> Outcome {
    let mut elements = Vec::new();
    for value in lists {
        match value.plain() {
            Value::Nil => return Err(NIL_DEREFERENCE.into()),
            Value::List(list) => elements.extend_from_slice(list.as_slice()),
            other => {
                let kind = super::convert::kind_of(&other);
                return Err(format!("Cannot concat type {kind} as list").into());
            }
        }
    }
    if elements.is_empty() {
        return Ok(Value::List(List::nil(&Type::Any)));
    }
    Ok(list(elements))
}

fn uniq(scope: &mut Scope<'_>, value: &Value) -> Outcome {
    let source = to_list(value, "Cannot find uniq on type")?;
    let mut elements: Vec<Value> = Vec::new();
    for element in source.as_slice() {
        // Quadratic, as there.
        scope.run().step()?;
        if !contains(&elements, element)? {
            elements.push(element.clone());
        }
    }
    Ok(list(elements))
}

/// Functions between lists and texts.
fn register_texts(registry: &mut Registry) {
    registry.fixed("toStrings", &[ANY], STRINGS, |_, arguments| {
        Ok(texts(to_texts(&arguments.value(0))))
    });
    registry.fixed("sortAlpha", &[ANY], STRINGS, |_, arguments| {
        let value = arguments.value(0);
        let mut sorted = match value {
            Value::Nil => vec![to_text(&value)],
            _ => to_texts(&value),
        };
        sorted.sort();
        Ok(texts(sorted))
    });
    registry.fixed("join", &[TEXT, ANY], TEXT, |scope, arguments| {
        let separator = arguments.text(0);
        let parts = to_texts(&arguments.value(1));
        let size: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
        scope.run().produce(size)?;
        Ok(Value::string(join(&parts, &separator)))
    });
    registry.fixed("splitList", &[TEXT, TEXT], STRINGS, |_, arguments| {
        let text = arguments.text(1);
        let parts = split(&text, &arguments.text(0), -1);
        Ok(texts(parts.into_iter().map(Text::from)))
    });
    registry.fixed("split", &[TEXT, TEXT], MAP_OF_STRINGS, |_, arguments| {
        Ok(numbered(&split(&arguments.text(1), &arguments.text(0), -1)))
    });
    registry.fixed(
        "splitn",
        &[TEXT, Type::INT, TEXT],
        MAP_OF_STRINGS,
        |_, arguments| {
            let text = arguments.text(2);
            let parts = split(&text, &arguments.text(0), arguments.integer(1));
            Ok(numbered(&parts))
        },
    );
}

fn texts(parts: impl IntoIterator<Item = Text>) -> Value {
    Value::List(List::strings(parts))
}

fn numbered(parts: &[&[u8]]) -> Value {
    let map = Map::typed(&Type::String);
    for (index, part) in parts.iter().enumerate() {
        map.insert(format!("_{index}"), Value::string(*part));
    }
    Value::Map(map)
}

pub(super) fn join(parts: &[Text], separator: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            joined.extend_from_slice(separator);
        }
        joined.extend_from_slice(part);
    }
    joined
}

/// Go's `strings.SplitN`; a negative limit is none, and an empty separator splits after each character.
fn split<'text>(text: &'text [u8], separator: &[u8], limit: i64) -> Vec<&'text [u8]> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() + 1 < limit {
        let cut = if separator.is_empty() {
            match crate::text::first_rune(rest) {
                Some((_, width)) if width < rest.len() => Some((width, width)),
                None => return parts,
                _ => None,
            }
        } else {
            crate::text::find(rest, separator).map(|at| (at, at + separator.len()))
        };
        let Some((end, next)) = cut else {
            break;
        };
        parts.push(&rest[..end]);
        rest = &rest[next..];
    }
    if separator.is_empty() && text.is_empty() {
        return parts;
    }
    parts.push(rest);
    parts
}
