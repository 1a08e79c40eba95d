//! From text to objects.

use std::collections::VecDeque;
use std::sync::Arc;

use sluice_goyaml::{Content, Flavour, Limits, Node, Style, json_from_node, node_from_json, parse_document};

use super::Resource;
use crate::error::{Error, ErrorKind, Result};
use crate::tree;

/// Reads the objects of a text: documents, lists and kinds that end with `List`.
///
/// # Errors
/// What is not YAML, documents that are no objects, objects without kind or name; with `file` and line.
pub(crate) fn read_objects(text: &[u8], file: &str, limits: &Limits) -> Result<Vec<Resource>> {
    let source: Arc<str> = file.into();
    let nodes = read_nodes(text, limits).map_err(|error| error.in_file(file))?;
    let nodes = inline_lists(nodes, limits).map_err(|error| error.in_file(file))?;
    Ok(nodes
        .into_iter()
        .map(|node| {
            let mut resource = Resource::new(node);
            resource.source = Some(Arc::clone(&source));
            resource
        })
        .collect())
}

/// Whether a file's YAML decodes as Kubernetes objects: every document has `apiVersion`, `kind` and, unless
/// it is a list, a name. Returns the objects' trees.
///
/// # Errors
/// As [`crate::build`] would report for the file.
pub(crate) fn parse_objects(text: &[u8], file: &str, limits: &Limits) -> Result<Vec<Node>> {
    Ok(read_objects(text, file, limits)?
        .into_iter()
        .map(Resource::into_node)
        .collect())
}

/// A document with the line before it.
struct Document<'a> {
    text: std::borrow::Cow<'a, str>,
    line: u32,
}

/// Splits at lines that start with `---`; only a comment may follow on such a line.
fn split_documents(text: &str) -> Result<Vec<Document<'_>>> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut line = 0;
    let mut start_line = 0;
    let mut search = 0;
    while let Some(offset) = text[search..].find("\n---") {
        let separator = search + offset;
        let Some(length) = text[separator + 4..].find('\n') else {
            break;
        };
        let rest = text[separator + 4..separator + 4 + length].trim();
        line += count_lines(&text[search..=separator]);
        if !rest.is_empty() && !rest.starts_with('#') {
            return Err(Error::new(
                ErrorKind::Yaml,
                format!("a document separator is followed by {rest:?}"),
            )
            .at_line(line + 1)
            .remedy("put only --- on the line, and the document on the next"));
        }
        documents.push(Document {
            text: format!("{}\n", &text[start..separator]).into(),
            line: start_line,
        });
        start = separator + 4 + length + 1;
        line += 1;
        start_line = line;
        search = start;
    }
    documents.push(Document {
        text: text[start..].into(),
        line: start_line,
    });
    Ok(documents)
}

fn count_lines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

fn read_nodes(text: &[u8], limits: &Limits) -> Result<Vec<Node>> {
    let text = String::from_utf8_lossy(text);
    let text = if text.contains("\r\n") {
        text.replace("\r\n", "\n").into()
    } else {
        text
    };
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let documents = split_documents(&text)?;
    let single = documents.len() == 1;
    let mut nodes = Vec::new();
    for document in documents {
        let parsed = parse_document(document.text.as_bytes(), Flavour::Kyaml, *limits).map_err(|error| {
            let line = error.line().map_or(0, |line| line + document.line);
            let kind = Error::from_yaml(&error).kind();
            Error::new(kind, error.problem()).at_line(line)
        })?;
        let Some(node) = parsed.filter(|node| !node.is_null()) else {
            continue;
        };
        let kind = node.get("kind").map_or("", tree::value_of);
        let wraps = node.get("items").is_some() || node.get("functionConfig").is_some();
        if single && (kind == "ResourceList" || kind == "List") && wraps {
            nodes.extend(
                node.get("items")
                    .and_then(Node::as_sequence)
                    .unwrap_or_default()
                    .iter()
                    .cloned(),
            );
        } else {
            nodes.push(node);
        }
    }
    drop_bad(nodes)
}

fn drop_bad(nodes: Vec<Node>) -> Result<Vec<Node>> {
    let mut result = Vec::with_capacity(nodes.len());
    for node in nodes {
        if tree::is_null_or_empty(&node) {
            continue;
        }
        validate(&node).map_err(|problem| {
            Error::new(ErrorKind::Resource, problem)
                .at_line(node.position.line)
                .remedy("give every object apiVersion, kind and metadata.name")
        })?;
        result.push(node);
    }
    Ok(result)
}

/// Checks that a node has kind and, unless it is a list, a name.
pub(super) fn validate(node: &Node) -> std::result::Result<(), String> {
    if node.as_mapping().is_none() {
        return Err(format!(
            "expected a Kubernetes object, found {}",
            tree::kind_name(node)
        ));
    }
    let kind = node.get("kind").map_or("", tree::value_of);
    let name = node
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .filter(|name| !tree::is_null_or_empty(name))
        .map_or("", tree::text_of);
    if kind.is_empty() {
        let named = if name.is_empty() {
            String::new()
        } else {
            format!(" named {name:?}")
        };
        return Err(format!("the object{named} has no kind"));
    }
    if name.is_empty() && !kind.ends_with("List") {
        return Err(format!("the object of kind {kind} has no metadata.name"));
    }
    Ok(())
}

/// Puts the items of lists in their place; kustomize appends them behind everything else.
fn inline_lists(nodes: Vec<Node>, limits: &Limits) -> Result<Vec<Node>> {
    if !nodes
        .iter()
        .any(|node| node.get("kind").map_or("", tree::text_of).ends_with("List"))
    {
        return Ok(nodes);
    }
    let mut queue: VecDeque<Node> = nodes.into();
    let mut result = Vec::new();
    while let Some(node) = queue.pop_front() {
        let kind = node.get("kind").map_or("", tree::text_of);
        let items = if kind.ends_with("List") {
            node.get("items")
        } else {
            None
        };
        let Some(items) = items else {
            result.push(node);
            continue;
        };
        if items.is_null() {
            continue;
        }
        let Some(elements) = items.as_sequence() else {
            return Err(Error::new(
                ErrorKind::Resource,
                format!("items is {}", tree::kind_name(items)),
            )
            .at_line(items.position.line)
            .at_field("items")
            .remedy("give a list of objects"));
        };
        for element in elements {
            queue.extend(inline_item(element, limits)?);
        }
    }
    Ok(result)
}

fn inline_item(element: &Node, _limits: &Limits) -> Result<Vec<Node>> {
    let value = json_from_node(element, Flavour::Kyaml).map_err(|error| Error::from_yaml(&error))?;
    let mut node = node_from_json(&value);
    present_as_json(&mut node);
    let kind = node.get("kind").map_or("", tree::value_of);
    let nodes = match node.get("items").and_then(Node::as_sequence) {
        Some(items) if kind == "List" || kind == "ResourceList" => items.to_vec(),
        _ if node.is_null() => Vec::new(),
        _ => vec![node],
    };
    drop_bad(nodes)
}

/// kustomize reads the items of a list back from JSON, so that they are in flow form, in which what is made
/// empty later on reads as a string, and their strings are quoted, which stays where a name is replaced by one
/// that looks like a number.
fn present_as_json(node: &mut Node) {
    match &mut node.content {
        Content::Mapping(mapping) => mapping.values_mut().for_each(present_as_json),
        Content::Sequence(items) => items.iter_mut().for_each(present_as_json),
        _ => {
            if tree::tag_of(node) == tree::STRING {
                tree::set_style(node, Style::DoubleQuoted);
            }
            return;
        }
    }
    node.style = Style::Flow;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let resources = read_objects(text.as_bytes(), "f.yaml", &Limits::default()).unwrap();
        resources
            .iter()
            .map(|resource| format!("{} {}", resource.kind(), resource.name()))
            .collect()
    }

    #[test]
    fn documents_and_lists_become_objects() {
        let text = "# c\n---\nkind: A\nmetadata: {name: a}\n--- # next\nkind: BList\nitems:\n- {kind: B, metadata: {name: b}}\n---\n---\nkind: C\nmetadata: {name: c}\n";
        assert_eq!(names(text), ["A a", "C c", "B b"]);
        assert_eq!(
            names("kind: List\nitems:\n- {kind: B, metadata: {name: b}}\n"),
            ["B b"]
        );
        assert!(names("# nothing\n").is_empty());
    }

    #[test]
    fn errors_name_the_line_in_the_file() {
        let text = "kind: A\nmetadata: {name: a}\n---\nkind: B\n";
        let error = read_objects(text.as_bytes(), "f.yaml", &Limits::default()).unwrap_err();
        assert_eq!(error.file(), Some("f.yaml"));
        assert!(
            error.to_string().contains("kind B has no metadata.name"),
            "{error}"
        );
        let text = "kind: A\nmetadata: {name: a}\n---\nkind: B\n x: [\n";
        let error = read_objects(text.as_bytes(), "f.yaml", &Limits::default()).unwrap_err();
        assert!(error.line() > Some(3), "{error}");
    }
}
