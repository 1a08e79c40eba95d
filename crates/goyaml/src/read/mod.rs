//! Readers: `cursor`, `scanner` and `parser` make events of text, `compose` trees of events, `inline`
//! values of trees.

mod comments;
mod compose;
mod cursor;
mod event;
mod inline;
mod input;
mod parser;
mod properties;
mod scalars;
mod scanner;
mod token;

use serde_json::Value;

use crate::node::Document;
use crate::read::compose::Composer;
use crate::read::inline::Inliner;
use crate::{Error, ErrorKind, Flavour, Limits, Node, json_from_node};

/// Reads all documents of a stream. Aliases are replaced by what they stand for and merge keys applied.
///
/// A stream that is empty or holds only comments has no documents; an empty document between two `---` is a
/// null node. In the `Sigs` flavours keys that are not strings become the strings that JSON has for them.
///
/// # Errors
/// Whatever [`ErrorKind`] names but [`ErrorKind::NoJson`] and [`ErrorKind::Unwritable`].
pub fn parse_documents(text: &[u8], flavour: Flavour, limits: Limits) -> Result<Vec<Node>, Error> {
    let mut documents = Vec::new();
    read(text, flavour, limits, |node| {
        documents.push(node);
        true
    })?;
    Ok(documents)
}

/// Reads the first document of a stream and does not look at what follows, as Go's `Unmarshal` does. None if
/// the stream holds no document.
///
/// # Errors
/// As [`parse_documents`].
pub fn parse_document(text: &[u8], flavour: Flavour, limits: Limits) -> Result<Option<Node>, Error> {
    let mut first = None;
    read(text, flavour, limits, |node| {
        first = Some(node);
        false
    })?;
    Ok(first)
}

/// The first document of a stream as JSON: `sigs.k8s.io/yaml` `YAMLToJSON`. An empty stream is null.
///
/// # Errors
/// As [`parse_documents`] and [`json_from_node`].
pub fn parse_json(text: &[u8], flavour: Flavour, limits: Limits) -> Result<Value, Error> {
    match parse_document(text, flavour, limits)? {
        Some(node) => json_from_node(&node, flavour),
        None => Ok(Value::Null),
    }
}

/// Reads all documents with their comments, anchors, aliases and merge keys as they stand, to be changed and
/// written back with [`write_kyaml`](crate::write_kyaml). Duplicate keys are not judged.
///
/// # Errors
/// [`ErrorKind::Encoding`], [`ErrorKind::Syntax`] and [`ErrorKind::Limit`].
pub fn parse_for_editing(text: &[u8], limits: Limits) -> Result<Vec<Document>, Error> {
    check_size(text, limits)?;
    let text = input::decode(text)?;
    let mut composer = Composer::new(&text, true, limits);
    let mut documents = Vec::new();
    while let Some(document) = composer.next_document()? {
        documents.push(document);
    }
    Ok(documents)
}

fn read(
    text: &[u8],
    flavour: Flavour,
    limits: Limits,
    mut sink: impl FnMut(Node) -> bool,
) -> Result<(), Error> {
    check_size(text, limits)?;
    let text = input::decode(text)?;
    let mut composer = Composer::new(&text, !flavour.is_sigs(), limits);
    let mut inliner = Inliner::new(flavour, limits);
    while let Some(document) = composer.next_document()? {
        if !sink(inliner.document(document.root)?) {
            break;
        }
    }
    Ok(())
}

fn check_size(text: &[u8], limits: Limits) -> Result<(), Error> {
    if text.len() > limits.bytes {
        return Err(Error::new(
            ErrorKind::Limit,
            None,
            format!("the text has {} bytes, more than {}", text.len(), limits.bytes),
            "split it into several files",
        ));
    }
    Ok(())
}
