//! Reading typed values from YAML nodes, with Go's rules: field names match without regard to case, null is
//! as good as absent.

use std::collections::BTreeMap;

use sluice_goyaml::{Flavour, Mapping, Node, Resolved, json_from_node};

use crate::error::{Error, ErrorKind, Result};

/// How to read: which file is meant in errors, and how strictly.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    /// The file that errors name.
    pub(crate) file: &'a str,
    /// Whether unknown fields and wrong scalar types are errors, as in kustomization files, or tolerated, as
    /// in the configuration of plugins.
    pub(crate) strict: bool,
}

impl<'a> Decoder<'a> {
    pub(crate) fn error(&self, node: &Node, path: &str, problem: impl Into<String>) -> Error {
        let error = Error::new(ErrorKind::Kustomization, problem)
            .in_file(self.file)
            .at_line(node.position.line);
        if path.is_empty() {
            error
        } else {
            error.at_field(path)
        }
    }

    /// The fields of a mapping at `path`.
    pub(crate) fn fields<'n>(&self, node: &'n Node, path: &str) -> Result<Fields<'a, 'n>> {
        let mapping = match node.as_mapping() {
            Some(mapping) => Some(mapping),
            None if node.is_null() => None,
            None => {
                return Err(self.error(
                    node,
                    path,
                    format!("expected a mapping, found {}", describe(node)),
                ));
            }
        };
        let taken = vec![false; mapping.map_or(0, Mapping::len)];
        Ok(Fields {
            decoder: *self,
            mapping,
            taken,
            path: path.to_owned(),
        })
    }

    pub(crate) fn string(&self, node: &Node, path: &str) -> Result<String> {
        match node.resolve_as(Flavour::Sigs) {
            Some(Resolved::String(text) | Resolved::Timestamp(_, text)) => Ok(text.to_owned()),
            Some(Resolved::Null) => Ok(String::new()),
            Some(_) if !self.strict => match json_from_node(node, Flavour::Sigs) {
                Ok(value) => Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
                Err(error) => Err(Error::from_yaml(&error).in_file(self.file)),
            },
            _ => Err(self
                .error(node, path, format!("expected a string, found {}", describe(node)))
                .remedy("put the value into quotes")),
        }
    }

    pub(crate) fn boolean(&self, node: &Node, path: &str) -> Result<bool> {
        match node.resolve_as(Flavour::Sigs) {
            Some(Resolved::Bool(value)) => Ok(value),
            Some(Resolved::Null) => Ok(false),
            _ => Err(self.error(
                node,
                path,
                format!("expected true or false, found {}", describe(node)),
            )),
        }
    }

    pub(crate) fn integer(&self, node: &Node, path: &str) -> Result<i64> {
        match node.resolve_as(Flavour::Sigs) {
            Some(Resolved::Int(value)) => Ok(value),
            Some(Resolved::Null) => Ok(0),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be a whole number in range"
            )]
            Some(Resolved::Float(value)) if value.fract() == 0.0 && value.abs() < 9e15 => Ok(value as i64),
            _ => Err(self.error(
                node,
                path,
                format!("expected a whole number, found {}", describe(node)),
            )),
        }
    }

    pub(crate) fn list<T>(
        &self,
        node: &Node,
        path: &str,
        mut item: impl FnMut(&Self, &Node, &str) -> Result<T>,
    ) -> Result<Vec<T>> {
        if node.is_null() {
            return Ok(Vec::new());
        }
        let Some(items) = node.as_sequence() else {
            return Err(self.error(node, path, format!("expected a list, found {}", describe(node))));
        };
        items
            .iter()
            .enumerate()
            .map(|(index, node)| item(self, node, &format!("{path}[{index}]")))
            .collect()
    }

    pub(crate) fn string_map(&self, node: &Node, path: &str) -> Result<BTreeMap<String, String>> {
        let mut map = BTreeMap::new();
        if node.is_null() {
            return Ok(map);
        }
        let Some(mapping) = node.as_mapping() else {
            return Err(self.error(
                node,
                path,
                format!("expected a mapping, found {}", describe(node)),
            ));
        };
        for entry in mapping.entries() {
            let key = json_key(&entry.key);
            let value = self.string(&entry.value, &format!("{path}.{key}"))?;
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// The text that JSON has for a key: YAML 1.1 words become `true` and `false`.
fn json_key(key: &Node) -> String {
    match key.resolve_as(Flavour::Sigs) {
        Some(Resolved::Bool(value)) => value.to_string(),
        Some(Resolved::Int(value)) => value.to_string(),
        _ => key.text().unwrap_or_default().to_owned(),
    }
}

/// What a node is, for messages.
pub(crate) fn describe(node: &Node) -> String {
    if node.as_mapping().is_some() {
        return "a mapping".to_owned();
    }
    if node.as_sequence().is_some() {
        return "a list".to_owned();
    }
    let text = node.text().unwrap_or_default();
    let shown: String = text.chars().take(40).collect();
    match node.resolve_as(Flavour::Sigs) {
        Some(Resolved::Null) => "nothing".to_owned(),
        Some(Resolved::Bool(_)) => format!("the boolean {shown}"),
        Some(Resolved::Int(_) | Resolved::UInt(_) | Resolved::Float(_)) => format!("the number {shown}"),
        _ => format!("the string {shown:?}"),
    }
}

/// The fields of one mapping, ticked off as they are read.
pub(crate) struct Fields<'a, 'n> {
    decoder: Decoder<'a>,
    mapping: Option<&'n Mapping>,
    taken: Vec<bool>,
    path: String,
}

impl<'a, 'n> Fields<'a, 'n> {
    /// The node of a field; None if it is absent or null. Of several spellings the last wins.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'n Node> {
        let mapping = self.mapping?;
        let mut found = None;
        for (index, entry) in mapping.entries().iter().enumerate() {
            if entry.key.text().is_some_and(|key| key.eq_ignore_ascii_case(name)) {
                self.taken[index] = true;
                found = Some(&entry.value);
            }
        }
        found.filter(|node| !node.is_null())
    }

    /// The path of a field, for errors.
    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    pub(crate) fn string(&mut self, name: &str) -> Result<String> {
        match self.take(name) {
            Some(node) => self.decoder.string(node, &self.path(name)),
            None => Ok(String::new()),
        }
    }

    pub(crate) fn optional_string(&mut self, name: &str) -> Result<Option<String>> {
        self.take(name)
            .map(|node| self.decoder.string(node, &self.path(name)))
            .transpose()
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Result<bool> {
        match self.take(name) {
            Some(node) => self.decoder.boolean(node, &self.path(name)),
            None => Ok(false),
        }
    }

    pub(crate) fn integer(&mut self, name: &str) -> Result<i64> {
        match self.take(name) {
            Some(node) => self.decoder.integer(node, &self.path(name)),
            None => Ok(0),
        }
    }

    pub(crate) fn strings(&mut self, name: &str) -> Result<Vec<String>> {
        self.list(name, |decoder, node, path| decoder.string(node, path))
    }

    pub(crate) fn string_map(&mut self, name: &str) -> Result<BTreeMap<String, String>> {
        match self.take(name) {
            Some(node) => self.decoder.string_map(node, &self.path(name)),
            None => Ok(BTreeMap::new()),
        }
    }

    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        item: impl FnMut(&Decoder<'a>, &Node, &str) -> Result<T>,
    ) -> Result<Vec<T>> {
        match self.take(name) {
            Some(node) => self.decoder.list(node, &self.path(name), item),
            None => Ok(Vec::new()),
        }
    }

    pub(crate) fn object<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&Decoder<'a>, &Node, &str) -> Result<T>,
    ) -> Result<Option<T>> {
        self.take(name)
            .map(|node| read(&self.decoder, node, &self.path(name)))
            .transpose()
    }

    /// Complains about fields that nobody asked for.
    pub(crate) fn finish(self) -> Result<()> {
        if !self.decoder.strict {
            return Ok(());
        }
        let Some(mapping) = self.mapping else {
            return Ok(());
        };
        match mapping
            .entries()
            .iter()
            .zip(&self.taken)
            .find(|(_, taken)| !**taken)
        {
            None => Ok(()),
            Some((entry, _)) => {
                let key = entry.key.text().unwrap_or_default();
                Err(self
                    .decoder
                    .error(&entry.key, &self.path(key), "unknown field")
                    .remedy("correct the name or remove the field"))
            }
        }
    }
}
