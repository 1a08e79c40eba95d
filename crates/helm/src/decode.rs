//! YAML into structures, as `sigs.k8s.io/yaml` decodes it: keys match whatever their case, scalars become
//! text where text is wanted, and the first mismatch is reported in the words of Go's JSON decoder.

use std::collections::BTreeMap;

use sluice_gotemplate::print;
use sluice_goyaml::{Content, Flavour, Limits, Node, Resolved, parse_document, parse_json};

use crate::values::Values;

/// A structure's entries and where it stands.
pub(crate) struct Fields<'node> {
    entries: Vec<(&'node str, &'node Node)>,
    place: Place,
}

/// Where a value stands, for messages: the Go structure and the path of JSON names.
#[derive(Clone)]
pub(crate) struct Place {
    structure: &'static str,
    path: String,
}

impl Place {
    pub(crate) fn root() -> Self {
        Self {
            structure: "",
            path: String::new(),
        }
    }

    fn child(&self, name: &str) -> Self {
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        };
        Self {
            structure: self.structure,
            path,
        }
    }
}

/// Reads one document and keeps the first mismatch.
#[derive(Default)]
pub(crate) struct Decoder {
    problem: Option<String>,
}

/// Decodes the first document of `text` with `decode`; an empty document gives the default.
///
/// # Errors
/// The text of the error that `yaml.Unmarshal` returns.
pub(crate) fn decode<T: Default>(
    text: &[u8],
    decode: impl FnOnce(&mut Decoder, &Node) -> T,
) -> Result<T, String> {
    let node = parse_document(text, Flavour::Sigs, Limits::default())
        .map_err(|error| format!("error converting YAML to JSON: {}", error.go_message()))?;
    let Some(node) = node.filter(|node| !node.is_null()) else {
        return Ok(T::default());
    };
    // What cannot become JSON fails before anything is decoded.
    sluice_goyaml::json_from_node(&node, Flavour::Sigs)
        .map_err(|error| format!("error converting YAML to JSON: {}", error.go_message()))?;
    let mut decoder = Decoder::default();
    let decoded = decode(&mut decoder, &node);
    match decoder.problem {
        Some(problem) => Err(format!("error unmarshaling JSON: while decoding JSON: {problem}")),
        None => Ok(decoded),
    }
}

/// The first document of `text` as a map of values; None for an empty one.
///
/// # Errors
/// The text of the error that `yaml.Unmarshal` returns.
pub(crate) fn decode_values(text: &[u8]) -> Result<Option<Values>, String> {
    let json = parse_json(text, Flavour::Sigs, Limits::default())
        .map_err(|error| format!("error converting YAML to JSON: {}", error.go_message()))?;
    match json {
        serde_json::Value::Null => Ok(None),
        serde_json::Value::Object(map) => Ok(Some(crate::values::with_go_numbers(map))),
        other => Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type \
             map[string]interface {{}}",
            json_kind(&other)
        )),
    }
}

/// What Go's decoder calls a JSON value.
pub(crate) fn json_kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

fn kind(node: &Node) -> &'static str {
    match &node.content {
        Content::Sequence(_) => "array",
        Content::Mapping(_) => "object",
        _ => match node.resolve_as(Flavour::Sigs) {
            Some(Resolved::Bool(_)) => "bool",
            Some(Resolved::Int(_) | Resolved::UInt(_) | Resolved::Float(_)) => "number",
            _ => "string",
        },
    }
}

impl Decoder {
    fn mismatch(&mut self, node: &Node, place: &Place, wanted: &str) {
        let found = kind(node);
        self.problem.get_or_insert_with(|| {
            if place.path.is_empty() {
                format!("json: cannot unmarshal {found} into Go value of type {wanted}")
            } else {
                format!(
                    "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
                    place.structure, place.path
                )
            }
        });
    }

    /// The entries of a structure whose Go type is `package.structure`; None for null and mismatches.
    pub(crate) fn structure<'node>(
        &mut self,
        node: &'node Node,
        place: &Place,
        structure: &'static str,
        go_type: &str,
    ) -> Option<Fields<'node>> {
        if node.is_null() {
            return None;
        }
        let Some(mapping) = node.as_mapping() else {
            self.mismatch(node, place, go_type);
            return None;
        };
        let mut entries: Vec<(&str, &Node)> = mapping
            .entries()
            .iter()
            .map(|entry| (entry.key.text().unwrap_or_default(), &entry.value))
            .collect();
        entries.sort_by_key(|(key, _)| *key);
        let place = Place {
            structure,
            path: place.path.clone(),
        };
        Some(Fields { entries, place })
    }

    /// A field of type `string`.
    pub(crate) fn text(&mut self, fields: &Fields<'_>, name: &str) -> String {
        let mut text = String::new();
        for node in fields.of(name) {
            if let Some(found) = self.scalar(node, &fields.place.child(name)) {
                text = found;
            }
        }
        text
    }

    fn scalar(&mut self, node: &Node, place: &Place) -> Option<String> {
        if let Content::Scalar(_) = node.content {
            match node.resolve_as(Flavour::Sigs)? {
                Resolved::Null => return None,
                Resolved::Bool(value) => return Some(value.to_string()),
                Resolved::Int(value) => return Some(value.to_string()),
                Resolved::UInt(value) => return Some(value.to_string()),
                Resolved::Float(value) => return Some(print::float(value)),
                Resolved::String(text) | Resolved::Timestamp(_, text) => return Some(text.to_owned()),
                Resolved::Binary(data) => return Some(String::from_utf8_lossy(&data).into_owned()),
                _ => {}
            }
        }
        self.mismatch(node, place, "string");
        None
    }

    /// A field of type `bool`.
    pub(crate) fn flag(&mut self, fields: &Fields<'_>, name: &str) -> bool {
        let mut flag = false;
        for node in fields.of(name) {
            match node.as_bool_in_sigs() {
                Some(found) => flag = found,
                None if node.is_null() => {}
                None => self.mismatch(node, &fields.place.child(name), "bool"),
            }
        }
        flag
    }

    /// A field of type `[]string`.
    pub(crate) fn texts(&mut self, fields: &Fields<'_>, name: &str) -> Option<Vec<String>> {
        let place = fields.place.child(name);
        let mut texts = None;
        for node in fields.of(name).filter(|node| !node.is_null()) {
            match node.as_sequence() {
                Some(items) => {
                    let read = items.iter();
                    texts = Some(
                        read.map(|item| self.scalar(item, &place).unwrap_or_default())
                            .collect(),
                    );
                }
                None => self.mismatch(node, &place, "[]string"),
            }
        }
        texts
    }

    /// A field of type `map[string]string`.
    pub(crate) fn text_map(&mut self, fields: &Fields<'_>, name: &str) -> Option<BTreeMap<String, String>> {
        let place = fields.place.child(name);
        let mut map: Option<BTreeMap<String, String>> = None;
        for node in fields.of(name).filter(|node| !node.is_null()) {
            match node.as_mapping() {
                Some(mapping) => {
                    let map = map.get_or_insert_default();
                    for entry in mapping.entries() {
                        let text = self.scalar(&entry.value, &place).unwrap_or_default();
                        map.insert(entry.key.text().unwrap_or_default().to_owned(), text);
                    }
                }
                None => self.mismatch(node, &place, "map[string]string"),
            }
        }
        map
    }

    /// A field that is a list of structures; `go_type` is the type of the list.
    pub(crate) fn items<T>(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        go_type: &str,
        read: impl Fn(&mut Self, &Node, &Place) -> Option<T>,
    ) -> Option<Vec<Option<T>>> {
        let place = fields.place.child(name);
        let mut items = None;
        for node in fields.of(name).filter(|node| !node.is_null()) {
            match node.as_sequence() {
                Some(found) => items = Some(found.iter().map(|item| read(self, item, &place)).collect()),
                None => self.mismatch(node, &place, go_type),
            }
        }
        items
    }

    /// A field that is a list of anything.
    pub(crate) fn anything(&mut self, fields: &Fields<'_>, name: &str) -> Option<Vec<serde_json::Value>> {
        let place = fields.place.child(name);
        let mut items = None;
        for node in fields.of(name).filter(|node| !node.is_null()) {
            match node.as_sequence() {
                Some(found) => {
                    let json = found
                        .iter()
                        .map(|item| sluice_goyaml::json_from_node(item, Flavour::Sigs));
                    items = Some(json.map(Result::unwrap_or_default).collect());
                }
                None => self.mismatch(node, &place, "[]interface {}"),
            }
        }
        items
    }

    /// A field that is a structure.
    pub(crate) fn inner<'node>(
        &mut self,
        fields: &Fields<'node>,
        name: &str,
        structure: &'static str,
        go_type: &str,
    ) -> Option<Fields<'node>> {
        let place = fields.place.child(name);
        let mut inner = None;
        for node in fields.of(name) {
            if let Some(found) = self.structure(node, &place, structure, go_type) {
                inner = Some(found);
            }
        }
        inner
    }
}

impl<'node> Fields<'node> {
    /// The values for the field `name` in the order in which Go applies them.
    fn of<'fields>(&'fields self, name: &str) -> impl Iterator<Item = &'node Node> + use<'fields, 'node> {
        let name = name.to_owned();
        self.entries
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(&name))
            .map(|(_, node)| *node)
    }
}

/// Booleans by the rules of YAML 1.1.
trait SigsBool {
    fn as_bool_in_sigs(&self) -> Option<bool>;
}

impl SigsBool for Node {
    fn as_bool_in_sigs(&self) -> Option<bool> {
        match self.resolve_as(Flavour::Sigs) {
            Some(Resolved::Bool(value)) => Some(value),
            _ => None,
        }
    }
}
