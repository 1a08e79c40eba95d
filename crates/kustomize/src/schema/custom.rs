//! OpenAPI documents that a kustomization brings along.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use sluice_goyaml::{Flavour, parse_json};

use super::built_in::BuiltIn;
use super::{Definition, Field, Place, Schema, Shape, Strategy};
use crate::error::{Error, ErrorKind, Result};

/// Numbers of the built-in definitions by name. The file has them in order; the subcommand `schema-names` of
/// the testbed's oracle prints it.
static BUILT_IN_NAMES: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
    include_str!("definition_names.txt")
        .lines()
        .enumerate()
        .map(|(number, name)| (name, number))
        .collect()
});

/// Adds the definitions and scopes of an OpenAPI document. Beside the built-in schema, its references may lead
/// to built-in definitions; above it, what it defines again takes the place of these.
pub(super) fn add(schema: &mut Schema, text: &[u8], file: &str, place: Place) -> Result<()> {
    let document = parse_json(text, Flavour::Sigs, sluice_goyaml::Limits::default()).map_err(|error| {
        Error::from_yaml(&error)
            .in_file(file)
            .while_doing("reading the OpenAPI schema")
    })?;
    let Some(root) = document.as_object() else {
        return Err(
            Error::new(ErrorKind::Schema, "the OpenAPI schema is not a mapping")
                .in_file(file)
                .remedy("give a swagger document with `definitions`"),
        );
    };
    if let Some(definitions) = root.get("definitions").and_then(Value::as_object) {
        let mut builder = Builder {
            types: schema.definitions.to_vec(),
            kinds: schema.kinds.as_ref().clone(),
            definitions,
            numbers: HashMap::new(),
            successors: HashMap::new(),
            place,
            replaced: schema.replaced,
        };
        for name in definitions.keys() {
            builder.define(name);
        }
        schema.successors = Arc::new(builder.successors);
        (schema.definitions, schema.kinds) = (Arc::new(builder.types), Arc::new(builder.kinds));
    }
    if let Some(paths) = root.get("paths").and_then(Value::as_object) {
        read_scopes(schema, paths);
    }
    Ok(())
}

fn read_scopes(schema: &mut Schema, paths: &Map<String, Value>) {
    for (path, methods) in paths {
        let Some(gvk) = methods.pointer("/get/x-kubernetes-group-version-kind") else {
            continue;
        };
        let key = type_meta(gvk);
        if path.contains("namespaces/{namespace}") {
            schema.scopes.insert(key, true);
        } else {
            schema.scopes.entry(key).or_insert(false);
        }
    }
}

fn type_meta(gvk: &Value) -> (String, String) {
    let text = |field: &str| {
        gvk.get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (group, version) = (text("group"), text("version"));
    let api_version = if group.is_empty() {
        version
    } else {
        format!("{group}/{version}")
    };
    (api_version, text("kind"))
}

struct Builder<'a> {
    types: Vec<Definition>,
    kinds: HashMap<(String, String), Shape>,
    definitions: &'a Map<String, Value>,
    numbers: HashMap<String, usize>,
    successors: HashMap<usize, usize>,
    place: Place,
    /// Whether the built-in kinds do not hold.
    replaced: bool,
}

impl Builder<'_> {
    fn define(&mut self, name: &str) -> Option<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let built_in = BUILT_IN_NAMES
            .get(name)
            .filter(|_| self.place != Place::Alone)
            .copied();
        let own = self.definitions.get(name);
        let Some(value) = own.filter(|_| built_in.is_none() || self.place == Place::Above) else {
            return built_in;
        };
        let (place, number) = self.reserve();
        self.numbers.insert(name.to_owned(), number);
        self.successors
            .extend(built_in.map(|built_in| (built_in, number)));
        self.types[place] = self.definition(value);
        let kinds = value
            .get("x-kubernetes-group-version-kind")
            .and_then(Value::as_array);
        for gvk in kinds.into_iter().flatten() {
            self.add_kind(type_meta(gvk), Shape::Object(number));
        }
        Some(number)
    }

    /// Makes room for a definition: its place among the custom ones, and its number among all.
    fn reserve(&mut self) -> (usize, usize) {
        let place = self.types.len();
        self.types.push(Definition::default());
        (place, BuiltIn::get().len() + place)
    }

    fn add_kind(&mut self, key: (String, String), shape: Shape) {
        if self.place == Place::Above {
            self.kinds.insert(key, shape);
        } else if self.replaced || BuiltIn::get().shape(&key.0, &key.1).is_none() {
            self.kinds.entry(key).or_insert(shape);
        }
    }

    fn definition(&mut self, value: &Value) -> Definition {
        let mut definition = Definition::default();
        for (name, property) in value
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            if let Some(field) = self.field(property) {
                definition.fields.insert(name.clone(), field);
            }
        }
        if let Some(values) = value
            .get("additionalProperties")
            .filter(|values| values.is_object())
        {
            definition.values = self.field(values);
        }
        definition
    }

    fn field(&mut self, property: &Value) -> Option<Field> {
        let shape = self.shape(property)?;
        let text = |field: &str| property.get(field).and_then(Value::as_str).map(str::to_owned);
        let strategy = text("x-kubernetes-patch-strategy").map(|name| {
            let keys = match property
                .get("x-kubernetes-list-map-keys")
                .and_then(Value::as_array)
            {
                Some(keys) => keys
                    .iter()
                    .filter_map(|key| key.as_str().map(str::to_owned))
                    .collect(),
                None => text("x-kubernetes-patch-merge-key").into_iter().collect(),
            };
            Strategy { name, keys }
        });
        Some(Field { shape, strategy })
    }

    /// None for a reference that leads nowhere.
    fn shape(&mut self, value: &Value) -> Option<Shape> {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let name = reference.strip_prefix("#/definitions/")?;
            return self.define(name).map(Shape::Object);
        }
        if value.get("type").and_then(Value::as_str) == Some("array") {
            let element = value.get("items").and_then(|items| self.shape(items));
            return Some(Shape::List(Box::new(element.unwrap_or(Shape::Any))));
        }
        if value.get("properties").is_some_and(Value::is_object)
            || value.get("additionalProperties").is_some_and(Value::is_object)
        {
            let (place, number) = self.reserve();
            self.types[place] = self.definition(value);
            return Some(Shape::Object(number));
        }
        Some(Shape::Any)
    }
}
