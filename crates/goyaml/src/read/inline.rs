use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::convert::{key_as_sigs, tag_error};
use crate::read::compose::unknown_anchor;
use crate::{Content, Entry, Error, ErrorKind, Flavour, Limits, Mapping, Node, Position, Resolved, Style};

/// Up to so many keys are compared with each other instead of being looked up.
const FEW: usize = 12;

/// Replaces aliases by what they stand for, applies merge keys, and judges duplicate keys.
pub(crate) struct Inliner {
    flavour: Flavour,
    limits: Limits,
    anchors: HashMap<String, Anchored>,
    nodes: usize,
    text: usize,
    duplicates: Vec<Duplicate>,
    /// The first key without JSON form; counts only if there are no duplicates, as in Go.
    bad_key: Option<Error>,
}

#[derive(Clone)]
enum Anchored {
    /// Its own content is being read; the number tells it from an anchor of the same name within.
    Open(usize),
    Done(Rc<Measured>),
}

/// A finished subtree with its size.
struct Measured {
    node: Node,
    nodes: usize,
    text: usize,
    depth: usize,
}

struct Duplicate {
    key: String,
    position: Position,
    first: Position,
    go_line: String,
}

impl Inliner {
    pub(crate) fn new(flavour: Flavour, limits: Limits) -> Self {
        Self {
            flavour,
            limits,
            anchors: HashMap::new(),
            nodes: 0,
            text: 0,
            duplicates: Vec::new(),
            bad_key: None,
        }
    }

    /// One document; the sizes add up over calls, anchors do not carry over.
    pub(crate) fn document(&mut self, node: Node) -> Result<Node, Error> {
        self.anchors.clear();
        let (node, _) = self.node(node, 0)?;
        match std::mem::take(&mut self.duplicates) {
            duplicates if duplicates.is_empty() => match self.bad_key.take() {
                None => Ok(node),
                Some(error) => Err(error),
            },
            duplicates => Err(duplicate_error(&duplicates)),
        }
    }

    /// The node without aliases, and the levels below it.
    fn node(&mut self, mut node: Node, depth: usize) -> Result<(Node, usize), Error> {
        if let Content::Alias(name) = &node.content {
            return self.alias(name, node.position, depth);
        }
        let anchor = node
            .presentation
            .take()
            .and_then(|presentation| presentation.anchor);
        let before = (self.nodes, self.text);
        let number = self.nodes;
        if let Some(anchor) = &anchor {
            self.anchors.insert(anchor.clone(), Anchored::Open(number));
        }
        self.count(1, node.text().map_or(0, str::len), depth, node.position)?;
        let mut below = 0;
        node.content = match node.content {
            Content::Sequence(mut items) => {
                for item in &mut items {
                    below = below.max(self.in_place(item, depth + 1)? + 1);
                }
                Content::Sequence(items)
            }
            Content::Mapping(mapping) => {
                let (mapping, levels) = self.mapping(mapping, depth)?;
                below = levels;
                Content::Mapping(mapping)
            }
            other => other,
        };
        if let Some(mismatch @ Resolved::Mismatch { .. }) = node.resolve_as(self.flavour) {
            return Err(tag_error(&node, &mismatch));
        }
        if let Some(anchor) = anchor
            && matches!(self.anchors.get(&anchor), Some(Anchored::Open(open)) if *open == number)
        {
            let measured = Measured {
                node: node.clone(),
                nodes: self.nodes - before.0,
                text: self.text - before.1,
                depth: below,
            };
            self.anchors.insert(anchor, Anchored::Done(Rc::new(measured)));
        }
        Ok((node, below))
    }

    /// As [`node`](Self::node), for a node that stays where it is.
    fn in_place(&mut self, node: &mut Node, depth: usize) -> Result<usize, Error> {
        let taken = std::mem::replace(node, Node::sequence(Vec::new()));
        let (inlined, levels) = self.node(taken, depth)?;
        *node = inlined;
        Ok(levels)
    }

    fn alias(&mut self, name: &str, position: Position, depth: usize) -> Result<(Node, usize), Error> {
        match self.anchors.get(name).cloned() {
            Some(Anchored::Done(measured)) => {
                self.count(measured.nodes, measured.text, depth + measured.depth, position)?;
                let mut node = measured.node.clone();
                node.position = position;
                Ok((node, measured.depth))
            }
            Some(Anchored::Open(_)) => Err(Error::new(
                ErrorKind::Alias,
                Some(position),
                format!("anchor '{name}' value contains itself"),
                "write the value out instead of using the alias",
            )),
            None => Err(unknown_anchor(name, position)),
        }
    }

    fn count(&mut self, nodes: usize, text: usize, depth: usize, position: Position) -> Result<(), Error> {
        self.nodes = self.nodes.saturating_add(nodes);
        self.text = self.text.saturating_add(text);
        let problem = if self.nodes > self.limits.nodes {
            format!(
                "the text stands for more than {} nodes once aliases are replaced",
                self.limits.nodes
            )
        } else if self.text > self.limits.text {
            format!(
                "the text stands for more than {} bytes once aliases are replaced",
                self.limits.text
            )
        } else if depth > self.limits.depth {
            format!("the document is nested deeper than {} levels", self.limits.depth)
        } else {
            return Ok(());
        };
        Err(Error::new(
            ErrorKind::Limit,
            Some(position),
            problem,
            "split the document or use fewer aliases",
        )
        .with_go_message("yaml: document contains excessive aliasing"))
    }

    fn mapping(&mut self, mut mapping: Mapping, depth: usize) -> Result<(Mapping, usize), Error> {
        if self.is_simple(&mapping) {
            let mut levels = 0;
            for Entry { key, value } in mapping.entries_mut() {
                self.in_place(key, depth + 1)?;
                levels = levels.max(self.in_place(value, depth + 1)? + 1);
            }
            return Ok((mapping, levels));
        }
        let mut target = Target {
            mapping: Mapping::new(),
            merged: None,
            levels: 0,
        };
        for Entry { key, value } in mapping.into_entries() {
            if is_merge(&key) {
                self.merge_key(&mut target, &key, value, depth)?;
                continue;
            }
            let position = key.position;
            let (key, _) = self.node(key, depth + 1)?;
            let key = self.key(key, position)?;
            let (value, levels) = self.node(value, depth + 1)?;
            target.levels = target.levels.max(levels + 1);
            self.set(&mut target.mapping, key, value);
        }
        for Entry { key, value } in target.merged.map(Mapping::into_entries).into_iter().flatten() {
            if key.text().is_some_and(|text| !target.mapping.contains_key(text)) {
                target.mapping.push(key, value);
            }
        }
        Ok((target.mapping, target.levels))
    }

    /// Whether the entries stay as they are: keys are texts that differ, and none of them merges.
    fn is_simple(&self, mapping: &Mapping) -> bool {
        let entries = mapping.entries();
        let plain = |key: &Node| {
            key.text().is_some()
                && !is_merge(key)
                && (!self.flavour.is_sigs()
                    || matches!(key.resolve_as(self.flavour), Some(Resolved::String(_))))
        };
        if !entries.iter().all(|entry| plain(&entry.key)) {
            return false;
        }
        if entries.len() <= FEW {
            return entries.iter().enumerate().all(|(place, entry)| {
                entries[..place]
                    .iter()
                    .all(|before| before.key.text() != entry.key.text())
            });
        }
        let mut seen = HashSet::with_capacity(entries.len());
        entries.iter().all(|entry| seen.insert(entry.key.text()))
    }

    /// The key as a scalar; for sigs as the string that JSON has.
    fn key(&mut self, key: Node, position: Position) -> Result<Node, Error> {
        if key.text().is_none() {
            return Err(Error::new(
                ErrorKind::InvalidKey,
                Some(position),
                "the key is a sequence or mapping",
                "use a text as key; a template's {{ }} must be in quotes",
            )
            .with_go_message("yaml: invalid map key"));
        }
        if !self.flavour.is_sigs() || matches!(key.resolve_as(self.flavour), Some(Resolved::String(_))) {
            return Ok(key);
        }
        let text = match key_as_sigs(&key, self.flavour) {
            Ok(text) => text,
            Err(error) => {
                self.bad_key.get_or_insert(error);
                match key.resolve_as(self.flavour) {
                    Some(Resolved::Null) => "<nil>".to_owned(),
                    _ => key.text().unwrap_or_default().to_owned(),
                }
            }
        };
        // Plain with a tag, to tell it from keys that were strings before.
        Ok(Node {
            style: Style::Plain,
            tag: Some("!!str".into()),
            content: Content::Scalar(text),
            ..key
        })
    }

    fn set(&mut self, mapping: &mut Mapping, key: Node, value: Node) {
        let text = key.text().unwrap_or_default();
        if let Some(first) = mapping.entry(text) {
            match self.flavour {
                Flavour::Sigs => {}
                Flavour::SigsStrict => {
                    let converted = key.style == Style::Plain && key.tag.is_some();
                    let shown = if converted {
                        text.to_owned()
                    } else {
                        format!("{text:?}")
                    };
                    self.duplicates.push(Duplicate {
                        key: text.to_owned(),
                        position: key.position,
                        first: first.key.position,
                        go_line: format!("  line {}: key {shown} already set in map", value.position.line),
                    });
                    return;
                }
                Flavour::Kyaml => {
                    self.duplicates.push(Duplicate {
                        key: text.to_owned(),
                        position: key.position,
                        first: first.key.position,
                        go_line: format!(
                            "  line {}: mapping key {text:?} already defined at line {}",
                            key.position.line, first.key.position.line
                        ),
                    });
                    return;
                }
            }
        }
        mapping.set_entry(key, value);
    }

    fn merge_key(&mut self, target: &mut Target, key: &Node, value: Node, depth: usize) -> Result<(), Error> {
        let position = value.position;
        let alias = matches!(value.content, Content::Alias(_));
        let (value, levels) = self.node(value, depth + 1)?;
        target.levels = target.levels.max(levels + 1);
        let sources = match value.content {
            Content::Mapping(mapping) => vec![mapping.into_entries()],
            // An alias must stand for a mapping; only a list written here may hold several.
            Content::Sequence(items) if !alias => {
                let mut sources = Vec::with_capacity(items.len());
                for item in items {
                    match item.content {
                        Content::Mapping(mapping) => sources.push(mapping.into_entries()),
                        _ => return Err(merge_error(item.position)),
                    }
                }
                sources
            }
            _ => return Err(merge_error(position)),
        };
        if self.flavour.is_sigs() {
            // Applied at once, from the last source on: the first one wins among them.
            for source in sources.into_iter().rev() {
                for Entry { key, value } in source {
                    self.set(&mut target.mapping, key, value);
                }
            }
        } else if target.merged.is_none() {
            let mut merged = Mapping::new();
            for Entry { key, value } in sources.into_iter().rev().flatten() {
                merged.set_entry(key, value);
            }
            target.merged = Some(merged);
        } else {
            self.duplicates.push(Duplicate {
                key: "<<".into(),
                position: key.position,
                first: key.position,
                go_line: format!("  line {}: mapping key \"<<\" already defined", key.position.line),
            });
        }
        Ok(())
    }
}

struct Target {
    mapping: Mapping,
    /// What `<<` brings in the Kyaml flavour; applied last.
    merged: Option<Mapping>,
    levels: usize,
}

fn is_merge(key: &Node) -> bool {
    match &key.content {
        Content::Scalar(text) => {
            text == "<<"
                && match key.tag.as_deref() {
                    None => key.style == Style::Plain,
                    Some(tag) => tag == "!!merge",
                }
        }
        _ => false,
    }
}

fn merge_error(position: Position) -> Error {
    Error::new(
        ErrorKind::Merge,
        Some(position),
        "map merge requires map or sequence of maps as the value",
        "give << an alias of a mapping, a mapping, or a list of these",
    )
}

fn duplicate_error(duplicates: &[Duplicate]) -> Error {
    let first = &duplicates[0];
    let lines: Vec<_> = duplicates
        .iter()
        .map(|duplicate| duplicate.go_line.as_str())
        .collect();
    Error::new(
        ErrorKind::DuplicateKey,
        Some(first.position),
        format!(
            "the key {:?} is already set in line {}",
            first.key, first.first.line
        ),
        "keep one of them",
    )
    .with_go_message(format!("yaml: unmarshal errors:\n{}", lines.join("\n")))
}
