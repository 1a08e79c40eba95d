//! What the engine knows of Kubernetes' OpenAPI schema: how lists merge, and which kinds have no namespace.
//!
//! The built-in table holds the facts of the schema that kustomize 5.8.1 carries (Kubernetes v1.21.2). First
//! come the kinds, one a line: scope (`n` namespaced, `c` cluster, `?` unknown), apiVersion, kind and the
//! number of its definition. After a line `#` come the definitions in the order of their numbers, one a line:
//! fields, separated by spaces, that are not plain scalars. A field is its name, its shape and perhaps its
//! patch strategy. Shapes: `>5` definition 5, `[` or `{` before the shape of a list's or map's elements (`'`
//! for scalars), `.` anything. `!merge:name` is a strategy with its merge keys. The field `*` stands for the
//! values of a map. The table is printed by the subcommand `schema` of the testbed's oracle.

mod built_in;
mod custom;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::built_in::BuiltIn;
use crate::error::Result;
use crate::resource::Gvk;

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
    /// Whether the built-in kinds have been replaced; their scopes hold even so.
    replaced: bool,
    /// The definitions of custom schemas, numbered after the built-in ones.
    definitions: Arc<Vec<Definition>>,
    /// The custom kinds that hold, by apiVersion and kind.
    kinds: Arc<HashMap<(String, String), Shape>>,
    /// Built-in definitions that a custom schema defines again, and which take their place.
    successors: Arc<HashMap<usize, usize>>,
    /// Whether custom kinds have namespaces.
    scopes: HashMap<(String, String), bool>,
}

/// Sets a flag. Most often it is set, and a write would cost more than a look.
fn raise(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}

impl Schema {
    /// The built-in schema, for one build.
    pub(crate) fn built_in() -> Arc<Self> {
        Arc::new(Self {
            used: AtomicBool::new(false),
            awaited: AtomicBool::new(false),
            replaced: false,
            definitions: Arc::default(),
            kinds: Arc::default(),
            successors: Arc::default(),
            scopes: HashMap::new(),
        })
    }

    fn copy(&self) -> Self {
        Self {
            used: AtomicBool::new(self.used.load(Ordering::Relaxed)),
            awaited: AtomicBool::new(self.awaited.load(Ordering::Relaxed)),
            replaced: self.replaced,
            definitions: Arc::clone(&self.definitions),
            kinds: Arc::clone(&self.kinds),
            successors: Arc::clone(&self.successors),
            scopes: self.scopes.clone(),
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
            schema.replaced = true;
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
        if let Some(namespaced) = BuiltIn::get().is_namespaced(&gvk.group, &gvk.version, &gvk.kind) {
            return !namespaced;
        }
        raise(&self.awaited);
        !self.scopes.is_empty() && self.scopes.get(&(gvk.api_version(), gvk.kind.clone())) == Some(&false)
    }

    /// The type of objects of a kind.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        if api_version.is_empty() || kind.is_empty() {
            return None;
        }
        raise(&self.used);
        let custom = if self.kinds.is_empty() {
            None
        } else {
            self.kinds.get(&(api_version.to_owned(), kind.to_owned()))
        };
        let shape = match custom {
            Some(shape) => shape,
            None if self.replaced => return None,
            None => BuiltIn::get().shape(api_version, kind)?,
        };
        Some(TypeRef {
            schema: self,
            shape,
            strategy: None,
        })
    }

    fn definition(&self, number: usize) -> Option<&Definition> {
        let number = self.successors.get(&number).copied().unwrap_or(number);
        let built_in = BuiltIn::get();
        match number.checked_sub(built_in.len()) {
            None => built_in.definition(number),
            Some(custom) => self.definitions.get(custom),
        }
    }
}

/// A type within a schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeRef<'a> {
    schema: &'a Schema,
    shape: &'a Shape,
    strategy: Option<&'a Strategy>,
}

impl<'a> TypeRef<'a> {
    /// The type of a field.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        match self.shape {
            Shape::Object(number) => {
                let definition = self.schema.definition(*number)?;
                let field = definition.fields.get(name).or(definition.values.as_ref())?;
                Some(Self {
                    schema: self.schema,
                    shape: &field.shape,
                    strategy: field.strategy.as_ref(),
                })
            }
            Shape::Map(values) => Some(Self {
                schema: self.schema,
                shape: values,
                strategy: None,
            }),
            _ => None,
        }
    }

    /// The type of a list's elements.
    pub(crate) fn elements(&self) -> Option<Self> {
        match self.shape {
            Shape::List(element) => Some(Self {
                schema: self.schema,
                shape: element,
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
