//! `vars`: values of fields put in the place of `$(NAME)`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use regex::Regex;
use sluice_goyaml::{Content, Node, Style};

use super::Spec;
use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::FieldSpec;
use crate::kustomization::Var;
use crate::resource::Resource;
use crate::resource_map::ResourceMap;
use crate::tree::{self, Create, Outcome};

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// A list or mapping, which cannot be put anywhere.
    Complex,
}

/// Replaces variables in the fields that may hold them. Returns the names of variables that nothing uses.
///
/// # Errors
/// A variable whose object or field is not there, and fields of the wrong kind.
pub(crate) fn resolve_variables(
    map: &mut ResourceMap,
    variables: &[Var],
    fields: &[FieldSpec],
) -> Result<Vec<String>> {
    if variables.is_empty() {
        return Ok(Vec::new());
    }
    let mut sources: HashMap<&str, &Resource> = HashMap::new();
    for resource in map.iter() {
        for name in &resource.variables {
            sources.entry(name).or_insert(resource);
        }
    }
    let mut values = BTreeMap::new();
    for variable in variables {
        values.insert(variable.name.clone(), value_of_variable(&sources, variable)?);
    }
    let mut replacer = Replacer {
        values: &values,
        used: BTreeSet::new(),
    };
    let specs = Spec::all(fields);
    for resource in map.contents_mut() {
        let gvk = resource.gvk();
        for spec in &specs {
            spec.apply(resource, &gvk, Create::Nothing, &mut |node| {
                replacer.replace(node)
            })?;
        }
    }
    let used = replacer.used;
    Ok(values
        .keys()
        .filter(|name| !used.contains(*name))
        .cloned()
        .collect())
}

fn value_of_variable(sources: &HashMap<&str, &Resource>, variable: &Var) -> Result<Value> {
    let problem =
        |text: String| Error::new(ErrorKind::Variable, text).at_field(format!("vars[{}]", variable.name));
    let Some(resource) = sources.get(variable.name.as_str()) else {
        return Err(problem(format!(
            "there is no {} {:?} for the variable",
            variable.objref.kind, variable.objref.name
        ))
        .remedy("name the object as its file does, with its apiVersion"));
    };
    let path = &variable.fieldref.field_path;
    let found = tree::lookup(resource.node(), &split_indexes(path));
    match found {
        Ok(Some(node)) => read_value(node).map_err(&problem),
        _ => Err(problem(format!("{} has no field {path:?}", resource.describe()))
            .remedy("correct fieldref.fieldPath")),
    }
}

/// Splits `ports[0]` into two steps.
fn split_indexes(path: &str) -> Vec<String> {
    let Ok(pattern) = Regex::new(r"^(.*)\[(\d+)\]$") else {
        return Vec::new();
    };
    let mut result = Vec::new();
    for step in tree::split_smart(path) {
        match pattern.captures(&step) {
            Some(groups) => {
                if !groups[1].is_empty() {
                    result.push(groups[1].to_owned());
                }
                result.push(groups[2].to_owned());
            }
            None => result.push(step),
        }
    }
    result
}

fn read_value(node: &Node) -> Outcome<Value> {
    let Some(text) = node.text() else {
        return Ok(Value::Complex);
    };
    let wrong = || format!("the value {text:?} cannot be read");
    Ok(match tree::tag_of(node) {
        "!!int" => Value::Integer(text.parse().map_err(|_| wrong())?),
        "!!float" => Value::Float(text.parse().map_err(|_| wrong())?),
        "!!bool" => Value::Boolean(text.eq_ignore_ascii_case("true")),
        _ => Value::Text(text.to_owned()),
    })
}

struct Replacer<'a> {
    values: &'a BTreeMap<String, Value>,
    used: BTreeSet<String>,
}

impl Replacer<'_> {
    fn replace(&mut self, node: &mut Node) -> Outcome<()> {
        if tree::is_null(node) {
            return Ok(());
        }
        match &mut node.content {
            Content::Mapping(mapping) => {
                if let Some(entry) = mapping
                    .entries()
                    .iter()
                    .find(|entry| tree::tag_of(&entry.key) != tree::STRING)
                {
                    return Err(format!("the key {:?} is no string", tree::text_of(&entry.key)));
                }
                for value in mapping.values_mut() {
                    if tree::tag_of(value) == tree::STRING {
                        self.replace_scalar(value);
                    }
                }
                Ok(())
            }
            Content::Sequence(items) => {
                for item in items {
                    if tree::tag_of(item) != tree::STRING {
                        return Err("the list holds something other than strings".to_owned());
                    }
                    self.replace_scalar(item);
                }
                Ok(())
            }
            _ => {
                if tree::tag_of(node) == tree::STRING {
                    self.replace_scalar(node);
                }
                Ok(())
            }
        }
    }

    fn replace_scalar(&mut self, node: &mut Node) {
        let new = match self.expand(tree::text_of(node)) {
            Value::Integer(value) => tree::scalar(value.to_string(), tree::INTEGER, Style::Plain),
            Value::Boolean(value) => tree::scalar(value.to_string(), "!!bool", Style::Plain),
            Value::Float(value) => tree::scalar(value.to_string(), "!!float", Style::Plain),
            Value::Text(text) => tree::string(text),
            Value::Complex => tree::string(""),
        };
        tree::overwrite(node, new);
    }

    /// Puts values in the place of variables; a text that is nothing but a variable takes its type.
    fn expand(&mut self, input: &str) -> Value {
        let mut out = String::new();
        let mut rest = input;
        while let Some(index) = rest.find('$') {
            let (before, after) = rest.split_at(index);
            let tail = &after[1..];
            if tail.is_empty() {
                break;
            }
            out.push_str(before);
            if let Some(escaped) = tail.strip_prefix('$') {
                out.push('$');
                rest = escaped;
                continue;
            }
            let Some(opened) = tail.strip_prefix('(') else {
                // An operator without expression takes the next character with it.
                let next = tail.chars().next().map_or(0, char::len_utf8);
                out.push('$');
                out.push_str(&tail[..next]);
                rest = &tail[next..];
                continue;
            };
            let Some((name, behind)) = opened.split_once(')') else {
                out.push_str("$(");
                rest = opened;
                continue;
            };
            match self.values.get(name).filter(|value| **value != Value::Complex) {
                Some(value) => {
                    self.used.insert(name.to_owned());
                    if input.len() == name.len() + 3 {
                        return value.clone();
                    }
                    out.push_str(&print(value));
                }
                None => {
                    if input.len() == name.len() + 3 {
                        return Value::Text(input.to_owned());
                    }
                    out.push_str("$(");
                    out.push_str(name);
                    out.push(')');
                }
            }
            rest = behind;
        }
        out.push_str(rest);
        Value::Text(out)
    }
}

fn print(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Complex => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_expand_like_container_arguments() {
        let values = BTreeMap::from([
            ("A".to_owned(), Value::Text("x".to_owned())),
            ("N".to_owned(), Value::Integer(8)),
        ]);
        let mut replacer = Replacer {
            values: &values,
            used: BTreeSet::new(),
        };
        let text = |value: Value| print(&value);
        assert_eq!(replacer.expand("$(N)"), Value::Integer(8));
        for (input, expected) in [
            ("a$(A)b$(N)", "axb8"),
            ("$(B)-$(A)", "$(B)-x"),
            ("$$(A)", "$(A)"),
            ("$x $(A", "$x $(A"),
            ("end$", "end$"),
        ] {
            assert_eq!(text(replacer.expand(input)), expected, "{input}");
        }
    }
}
