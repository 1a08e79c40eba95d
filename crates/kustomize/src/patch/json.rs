//! JSON 6902 patches, with the habits of the Go library that kustomize uses: negative indexes count from the
//! end, and `replace` makes fields that are missing.

use serde_json::{Map, Value};
use sluice_goyaml::{Flavour, Limits, Node, json_from_node, node_from_json, parse_json};

use crate::tree::Outcome;

/// One operation.
#[derive(Debug, Clone, PartialEq)]
struct Operation {
    kind: String,
    path: Option<String>,
    from: Option<String>,
    value: Option<Value>,
}

/// A list of operations.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct JsonPatch(Vec<Operation>);

impl JsonPatch {
    /// Reads a patch: JSON if it starts with `[`, else YAML.
    pub(crate) fn parse(text: &str, limits: &Limits) -> Outcome<Self> {
        if text.is_empty() {
            return Err("the patch is empty".to_owned());
        }
        let value = if text.starts_with('[') {
            serde_json::from_str(text).map_err(|error| format!("the patch is not JSON: {error}"))?
        } else {
            parse_json(text.as_bytes(), Flavour::Sigs, *limits).map_err(|error| error.to_string())?
        };
        let operations = match value {
            Value::Null => return Ok(Self::default()),
            Value::Array(operations) => operations,
            _ => return Err("a JSON patch is a list of operations".to_owned()),
        };
        operations
            .into_iter()
            .map(read_operation)
            .collect::<Outcome<_>>()
            .map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies the operations to an object.
    pub(crate) fn apply(&self, node: &mut Node) -> Outcome<()> {
        let mut document = json_from_node(node, Flavour::Kyaml).map_err(|error| error.to_string())?;
        for (index, operation) in self.0.iter().enumerate() {
            operation
                .apply(&mut document)
                .map_err(|problem| format!("operation {index} ({}): {problem}", operation.kind))?;
        }
        if !document.is_object() {
            return Err("the patch leaves something that is no object".to_owned());
        }
        round_numbers(&mut document);
        *node = node_from_json(&document);
        Ok(())
    }
}

fn read_operation(value: Value) -> Outcome<Operation> {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => return Err(format!("an operation must be a mapping, found {other}")),
    };
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    Ok(Operation {
        kind: text(fields.remove("op")).unwrap_or_else(|| "unknown".to_owned()),
        path: text(fields.remove("path")),
        from: text(fields.remove("from")),
        value: fields.remove("value"),
    })
}

/// Go reads all numbers as 64-bit floats here, so large integers lose digits.
fn round_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let exact = number
                .as_i64()
                .is_some_and(|integer| integer.unsigned_abs() <= 1 << 53);
            if !exact && let Some(rounded) = number.as_f64().and_then(serde_json::Number::from_f64) {
                *number = rounded;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(round_numbers),
        Value::Object(fields) => fields.values_mut().for_each(round_numbers),
        _ => {}
    }
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The place of an index in a list of `length`; negative ones count from the end.
fn index_in(token: &str, length: usize) -> Outcome<usize> {
    let index: i64 = token
        .parse()
        .map_err(|_| format!("{token:?} is no index of a list"))?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let place = if index < 0 { index + length } else { index };
    if place < 0 || place >= length {
        return Err(format!("the index {index} is out of range"));
    }
    usize::try_from(place).map_err(|_| format!("the index {index} is out of range"))
}

/// The container that a path's last step belongs to, and that step.
fn find<'v>(document: &'v mut Value, path: &str) -> Outcome<(&'v mut Value, String)> {
    let missing = || format!("the object has nothing at {path:?}");
    let Some((parents, last)) = path.rsplit_once('/') else {
        return Err(missing());
    };
    let mut current = document;
    for token in parents.split('/').skip(1) {
        let token = unescape(token);
        current = match current {
            Value::Object(fields) => fields.get_mut(&token).ok_or_else(missing)?,
            Value::Array(items) => {
                let index = index_in(&token, items.len()).map_err(|_| missing())?;
                items.get_mut(index).ok_or_else(missing)?
            }
            _ => return Err(missing()),
        };
    }
    if current.is_object() || current.is_array() {
        Ok((current, unescape(last)))
    } else {
        Err(missing())
    }
}

fn get(container: &Value, key: &str) -> Outcome<Option<Value>> {
    match container {
        Value::Array(items) => Ok(items.get(index_in(key, items.len())?).cloned()),
        other => Ok(other.get(key).cloned()),
    }
}

fn add(container: &mut Value, key: String, value: Value) -> Outcome<()> {
    match container {
        Value::Object(fields) => {
            fields.insert(key, value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let index = index_in(&key, items.len() + 1)?;
            items.insert(index, value);
        }
        _ => return Err("the parent is a scalar".to_owned()),
    }
    Ok(())
}

fn remove(container: &mut Value, key: &str) -> Outcome<()> {
    match container {
        Value::Object(fields) => fields
            .remove(key)
            .map(|_| ())
            .ok_or_else(|| format!("there is no field {key:?} to remove")),
        Value::Array(items) => {
            let index = index_in(key, items.len())?;
            items.remove(index);
            Ok(())
        }
        _ => Err("the parent is a scalar".to_owned()),
    }
}

impl Operation {
    fn path(&self) -> Outcome<&str> {
        self.path
            .as_deref()
            .ok_or_else(|| "the path is missing".to_owned())
    }

    fn from(&self) -> Outcome<&str> {
        self.from
            .as_deref()
            .ok_or_else(|| "the field from is missing".to_owned())
    }

    fn value(&self) -> Value {
        self.value.clone().unwrap_or(Value::Null)
    }

    fn apply(&self, document: &mut Value) -> Outcome<()> {
        match self.kind.as_str() {
            "add" => {
                let (container, key) = find(document, self.path()?)?;
                add(container, key, self.value())
            }
            "remove" => {
                let (container, key) = find(document, self.path()?)?;
                remove(container, &key)
            }
            "replace" => self.replace(document),
            "move" => {
                let (container, key) = find(document, self.from()?)?;
                let value = get(container, &key)?.unwrap_or(Value::Null);
                remove(container, &key)?;
                let (container, key) = find(document, self.path()?)?;
                add(container, key, value)
            }
            "copy" => {
                let (container, key) = find(document, self.from()?)?;
                let value = get(container, &key)?.unwrap_or(Value::Null);
                let (container, key) = find(document, self.path()?)?;
                add(container, key, value)
            }
            "test" => self.test(document),
            other => Err(format!(
                "the operation {other:?} is unknown; use add, remove, replace, move, copy or test"
            )),
        }
    }

    fn replace(&self, document: &mut Value) -> Outcome<()> {
        let path = self.path()?;
        if path.is_empty() {
            let value = self.value();
            if !value.is_object() && !value.is_array() {
                return Err("the whole object can only be replaced by a mapping".to_owned());
            }
            *document = value;
            return Ok(());
        }
        let (container, key) = find(document, path)?;
        match container {
            Value::Array(items) => {
                let index = index_in(&key, items.len())?;
                items[index] = self.value();
                Ok(())
            }
            other => add(other, key, self.value()),
        }
    }

    fn test(&self, document: &mut Value) -> Outcome<()> {
        let path = self.path()?;
        let found = if path.is_empty() {
            Some(document.clone())
        } else {
            let (container, key) = find(document, path)?;
            get(container, &key)?
        };
        if found.unwrap_or(Value::Null) == self.value() {
            Ok(())
        } else {
            Err(format!("the value at {path:?} is another"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_goyaml::{parse_document, write_sigs_node};

    fn apply(object: &str, patch: &str) -> Outcome<String> {
        let limits = Limits::default();
        let mut node = parse_document(object.as_bytes(), Flavour::Kyaml, limits)
            .unwrap()
            .unwrap();
        JsonPatch::parse(patch, &limits)?.apply(&mut node)?;
        Ok(write_sigs_node(&node, Flavour::Kyaml).unwrap())
    }

    #[test]
    fn operations_follow_the_go_library() {
        let object = "a: {b: [1, 2]}\n";
        let cases = [
            (
                "- {op: add, path: /a/b/-, value: 3}",
                Some("a:\n  b:\n  - 1\n  - 2\n  - 3\n"),
            ),
            (
                "- {op: add, path: /a/b/0, value: 0}",
                Some("a:\n  b:\n  - 0\n  - 1\n  - 2\n"),
            ),
            ("- {op: remove, path: /a/b/-1}", Some("a:\n  b:\n  - 1\n")),
            (
                "- {op: replace, path: /a/c, value: x}",
                Some("a:\n  b:\n  - 1\n  - 2\n  c: x\n"),
            ),
            (
                "- {op: move, from: /a/b, path: /c~1d}",
                Some("a: {}\nc/d:\n- 1\n- 2\n"),
            ),
            (
                "[{\"op\": \"test\", \"path\": \"/a/b/1\", \"value\": 2}]",
                Some("a:\n  b:\n  - 1\n  - 2\n"),
            ),
            ("- {op: test, path: /a/b/1, value: 3}", None),
            ("- {op: remove, path: /a/x}", None),
            ("- {op: add, path: /x/y, value: 1}", None),
            ("- {op: replace, path: /a/b/5, value: 1}", None),
            ("- {op: frobnicate, path: /a}", None),
        ];
        for (patch, expected) in cases {
            assert_eq!(apply(object, patch).ok().as_deref(), expected, "{patch}");
        }
    }

    #[test]
    fn large_integers_lose_digits_as_in_go() {
        let result = apply("big: 12345678901234567\n", "- {op: add, path: /x, value: 1}").unwrap();
        assert_eq!(result, "big: 12345678901234568\nx: 1\n");
    }
}
