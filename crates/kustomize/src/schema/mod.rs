//! What the engine knows of Kubernetes' OpenAPI schema: how lists merge, and which kinds have no namespace.
//!
//! The built-in table holds the facts of the schema that kustomize 5.8.1 carries (Kubernetes v1.21.2). First
//! come the kinds, one a line: scope (`n` namespaced, `c` cluster, `?` unknown), apiVersion, kind and the
//! number of its definition. After a line `#` come the definitions in the order of their numbers, one a line:
//! fields, separated by spaces, that are not plain scalars. A field is its name, its shape and perhaps its
//! patch strategy. Shapes: `>5` definition 5, `[` or `{` before the shape of a list's or map's elements (`'`
//! for scalars), `.` anything. `!merge:name` is a strategy with its merge keys. The field `*` stands for the
//! values of a map. The table is printed by the subcommand `schema` of the testbed's oracle.

mod custom;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::error::Result;
use crate::resource::Gvk;

const BUILT_IN: &str = include_str!("built_in.txt");
/// The version that kustomizations may name under `openapi.version`.
const BUILT_IN_VERSION: &str = "v1.21.2";

/// The type of a field, as far as merging is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A scalar.
    Scalar,
    /// No more is known.
    Any,
    /// The definition of the number.
    Object(usize),
    /// A list of these.
    List(Box<Shape>),
    /// A map of these.
    Map(Box<Shape>),
}

/// How a list merges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// The strategies, such as `merge` or `merge,retainKeys`.
    pub(crate) name: String,
    /// The merge keys; none for lists of scalars.
    pub(crate) keys: Vec<String>,
}

impl Strategy {
    /// Whether elements are merged rather than replaced.
    pub(crate) fn merges(&self) -> bool {
        self.name.split(',').any(|strategy| strategy == "merge")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    shape: Shape,
    strategy: Option<Strategy>,
}

#[derive(Debug, Clone, Default)]
struct Definition {
    fields: HashMap<String, Field>,
    /// The values of a map.
    values: Option<Field>,
}

/// Where a custom schema stands to the built-in one, which decides what holds if both define something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Alone,
    Above,
    Below,
}

/// The schema of one build: the built-in table, a custom one, or both.
#[derive(Debug)]
pub(crate) struct Schema {
    /// Whether anyone asked for the type of a kind: kustomize loads the built-in schema then, and a custom one
    /// that comes later is put on top.
    used: AtomicBool,
    /// Whether anyone asked for the scope of a kind that is not well known: kustomize then loads the built-in
    /// schema when it needs it, on top of a custom one.
    awaited: AtomicBool,
    definitions: Arc<Vec<Definition>>,
    kinds: Arc<HashMap<(String, String), usize>>,
    /// Built-in definitions that a custom schema defines again, and which take their place.
    successors: Arc<HashMap<usize, usize>>,
    scopes: HashMap<(String, String), bool>,
    /// Scopes that hold even if the schema has been replaced.
    known_scopes: Arc<HashMap<(String, String), bool>>,
}

impl Schema {
    /// The built-in schema, for one build.
    pub(crate) fn built_in() -> Arc<Self> {
        static TABLE: LazyLock<Schema> = LazyLock::new(Schema::parse_built_in);
        Arc::new(TABLE.copy())
    }

    fn copy(&self) -> Self {
        Self {
            used: AtomicBool::new(self.used.load(Ordering::Relaxed)),
            awaited: AtomicBool::new(self.awaited.load(Ordering::Relaxed)),
            definitions: Arc::clone(&self.definitions),
            kinds: Arc::clone(&self.kinds),
            successors: Arc::clone(&self.successors),
            scopes: self.scopes.clone(),
            known_scopes: Arc::clone(&self.known_scopes),
        }
    }

    fn parse_built_in() -> Self {
        let mut kinds = HashMap::new();
        let mut lines = BUILT_IN.lines();
        let mut known = HashMap::new();
        for line in lines.by_ref().take_while(|line| *line != "#") {
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap_or_default().to_owned();
            let (scope, api_version, kind) = (word(), word(), word());
            let number = word().parse().unwrap_or(usize::MAX);
            if scope != "?" {
                known.insert((api_version.clone(), kind.clone()), scope == "n");
            }
            kinds.insert((api_version, kind), number);
        }
        Self {
            used: AtomicBool::new(false),
            awaited: AtomicBool::new(false),
            definitions: Arc::new(lines.map(parse_definition).collect()),
            kinds: Arc::new(kinds),
            successors: Arc::default(),
            scopes: HashMap::new(),
            known_scopes: Arc::new(known),
        }
    }

    /// A custom schema: alone if nobody has asked this one for anything, otherwise together with it.
    ///
    /// # Errors
    /// A text that is no OpenAPI document.
    pub(crate) fn with_custom(&self, text: &[u8], file: &str) -> Result<Self> {
        let mut schema = self.copy();
        let place = if self.used.load(Ordering::Relaxed) {
            Place::Above
        } else if self.awaited.load(Ordering::Relaxed) {
            Place::Below
        } else {
            Place::Alone
        };
        if place == Place::Alone {
            schema.definitions = Arc::default();
            schema.kinds = Arc::default();
            schema.scopes.clear();
        }
        custom::add(&mut schema, text, file, place)?;
        Ok(schema)
    }

    /// Whether `openapi.version` may say so.
    pub(crate) fn has_version(version: &str) -> bool {
        version == BUILT_IN_VERSION
    }

    /// Whether the kind is known to have no namespaces.
    pub(crate) fn is_cluster_scoped(&self, gvk: &Gvk) -> bool {
        let key = (gvk.api_version(), gvk.kind.clone());
        if let Some(namespaced) = self.known_scopes.get(&key) {
            return !namespaced;
        }
        self.awaited.store(true, Ordering::Relaxed);
        self.scopes.get(&key) == Some(&false)
    }

    /// The type of objects of a kind.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        if api_version.is_empty() || kind.is_empty() {
            return None;
        }
        self.used.store(true, Ordering::Relaxed);
        let number = *self.kinds.get(&(api_version.to_owned(), kind.to_owned()))?;
        Some(TypeRef {
            schema: self,
            shape: Shape::Object(number),
            strategy: None,
        })
    }
}

/// A type within a schema.
#[derive(Debug, Clone)]
pub(crate) struct TypeRef<'a> {
    schema: &'a Schema,
    shape: Shape,
    strategy: Option<&'a Strategy>,
}

impl<'a> TypeRef<'a> {
    fn of(schema: &'a Schema, field: &'a Field) -> Self {
        Self {
            schema,
            shape: field.shape.clone(),
            strategy: field.strategy.as_ref(),
        }
    }

    /// The type of a field.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        match &self.shape {
            Shape::Object(number) => {
                let number = self.schema.successors.get(number).unwrap_or(number);
                let definition = self.schema.definitions.get(*number)?;
                let field = definition.fields.get(name).or(definition.values.as_ref())?;
                Some(Self::of(self.schema, field))
            }
            Shape::Map(values) => Some(Self {
                schema: self.schema,
                shape: (**values).clone(),
                strategy: None,
            }),
            _ => None,
        }
    }

    /// The type of a list's elements.
    pub(crate) fn elements(&self) -> Option<Self> {
        match &self.shape {
            Shape::List(element) => Some(Self {
                schema: self.schema,
                shape: (**element).clone(),
                strategy: None,
            }),
            _ => None,
        }
    }

    /// How the list merges, if the schema says so.
    pub(crate) fn strategy(&self) -> Option<&'a Strategy> {
        self.strategy
    }
}

fn parse_definition(line: &str) -> Definition {
    let mut definition = Definition::default();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let start = word.find(['>', '[', '{', '.']).unwrap_or(word.len());
        let (name, rest) = word.split_at(start);
        let (shape, strategy) = rest
            .split_once('!')
            .map_or((rest, None), |(shape, text)| (shape, Some(text)));
        let field = Field {
            shape: parse_shape(shape),
            strategy: strategy.map(parse_strategy),
        };
        if name == "*" {
            definition.values = Some(field);
        } else {
            definition.fields.insert(name.to_owned(), field);
        }
    }
    definition
}

fn parse_shape(text: &str) -> Shape {
    let mut characters = text.chars();
    match characters.next() {
        Some('>') => characters.as_str().parse().map_or(Shape::Any, Shape::Object),
        Some('[') => Shape::List(Box::new(parse_shape(characters.as_str()))),
        Some('{') => Shape::Map(Box::new(parse_shape(characters.as_str()))),
        Some('\'') => Shape::Scalar,
        _ => Shape::Any,
    }
}

fn parse_strategy(text: &str) -> Strategy {
    let (name, keys) = text.split_once(':').unwrap_or((text, ""));
    let keys = keys
        .split(',')
        .filter(|key| !key.is_empty())
        .map(str::to_owned)
        .collect();
    Strategy {
        name: name.to_owned(),
        keys,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy_at(path: &[&str]) -> Strategy {
        let schema = Schema::built_in();
        let mut current = schema.of_kind("apps/v1", "Deployment").unwrap();
        for step in path {
            current = if *step == "[]" {
                current.elements()
            } else {
                current.field(step)
            }
            .unwrap();
        }
        current.strategy().cloned().unwrap_or_default()
    }

    #[test]
    fn containers_merge_by_name_and_ports_by_port_and_protocol() {
        let containers = ["spec", "template", "spec", "containers"];
        assert_eq!(strategy_at(&containers).keys, ["name"]);
        let ports = strategy_at(&["spec", "template", "spec", "containers", "[]", "ports"]);
        assert!(ports.merges());
        assert_eq!(ports.keys, ["containerPort", "protocol"]);
        assert!(!strategy_at(&["spec", "template", "spec", "containers", "[]", "args"]).merges());
        let finalizers = strategy_at(&["metadata", "finalizers"]);
        assert!(finalizers.merges() && finalizers.keys.is_empty());
    }

    #[test]
    fn only_kinds_known_to_be_cluster_scoped_are() {
        let schema = Schema::built_in();
        assert!(schema.is_cluster_scoped(&Gvk::new("v1", "Namespace")));
        assert!(schema.is_cluster_scoped(&Gvk::new("rbac.authorization.k8s.io/v1", "ClusterRole")));
        assert!(!schema.is_cluster_scoped(&Gvk::new("bus.example.com/v1", "Namespace")));
        assert!(!schema.is_cluster_scoped(&Gvk::new("apps/v1", "Deployment")));
    }
}
