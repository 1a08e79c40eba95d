//! Kubernetes objects during a build.

pub(crate) mod build_state;
mod factory;
mod hash;
mod id;
mod origin;

pub(crate) use factory::{parse_objects, read_objects};
pub(crate) use hash::{go_json, hash_of};
pub(crate) use id::{DEFAULT_NAMESPACE, IdKey, NOT_A_NAMESPACE, split_api_version};
pub use id::{Gvk, ResourceId};
pub(crate) use origin::{ORIGIN_ANNOTATION, Origin, TRANSFORMATIONS_ANNOTATION, clean_join};

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_goyaml::{Flavour, Mapping, Node, json_from_node};

use self::build_state::{BuildState, PreviousId};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::Schema;
use crate::tree::{self, Create, Shares};

/// Objects with this annotation are dropped at the end of a build.
pub(crate) const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// One Kubernetes object.
#[derive(Debug, Clone)]
pub struct Resource {
    node: Node,
    pub(crate) state: BuildState,
    /// Which of its fields change together.
    shares: Shares,
    /// The variables that read this object.
    pub(crate) variables: Vec<String>,
    /// Where it was read: file or generator.
    pub(crate) source: Option<Arc<str>>,
}

impl Resource {
    pub(crate) fn new(mut node: Node) -> Self {
        let state = BuildState::take_from(&mut node);
        Self {
            node,
            state,
            shares: Shares::default(),
            variables: Vec::new(),
            source: None,
        }
    }

    /// The object's tree.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    /// Starts a group of fields that get `text` and change together from then on.
    pub(crate) fn start_share(&mut self, text: &str) -> usize {
        self.shares.start(text)
    }

    /// Carries a change of one field over to those that change with it.
    pub(crate) fn settle_shares(&mut self) {
        self.shares.settle(&mut self.node);
    }

    /// The object's tree, taken out.
    #[must_use]
    pub fn into_node(self) -> Node {
        self.node
    }

    /// The file that the object was read from, or the generator that made it.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> &str {
        self.node.get("apiVersion").map_or("", tree::text_of)
    }

    /// The `kind`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.node.get("kind").map_or("", tree::text_of)
    }

    fn metadata(&self) -> Option<&Mapping> {
        self.node.get("metadata").and_then(Node::as_mapping)
    }

    fn metadata_text(&self, field: &str) -> &str {
        match self.metadata().and_then(|metadata| metadata.get(field)) {
            Some(node) if !tree::is_null(node) => tree::text_of(node),
            _ => "",
        }
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata_text("name")
    }

    /// `metadata.namespace`; empty if there is none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    /// Group, version and kind.
    #[must_use]
    pub fn gvk(&self) -> Gvk {
        Gvk::new(self.api_version(), self.kind())
    }

    /// The object as JSON.
    ///
    /// # Errors
    /// Values without JSON form, keys that are no strings, tags that do not fit.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        json_from_node(&self.node, Flavour::Kyaml).map_err(|error| self.yaml_error(&error))
    }

    /// The object as `kustomize build` prints it.
    ///
    /// # Errors
    /// As [`Resource::to_json`].
    pub fn to_yaml(&self) -> Result<String> {
        sluice_goyaml::write_sigs_node(&self.node, Flavour::Kyaml).map_err(|error| self.yaml_error(&error))
    }

    fn yaml_error(&self, error: &sluice_goyaml::Error) -> Error {
        let error = Error::from_yaml(error).while_doing(format!("writing {}", self.describe()));
        match &self.source {
            Some(source) => error.in_file(source.as_ref()),
            None => error,
        }
    }

    /// Kind and name for messages.
    pub(crate) fn describe(&self) -> String {
        let namespace = self.namespace();
        let namespace = if namespace.is_empty() {
            String::new()
        } else {
            format!(" in namespace {namespace}")
        };
        format!("{} {}{namespace}", self.kind(), self.name())
    }

    /// An error about this object.
    pub(crate) fn error(&self, kind: ErrorKind, problem: impl Into<String>) -> Error {
        let error = Error::new(kind, problem).while_doing(format!("in {}", self.describe()));
        match &self.source {
            Some(source) => error.in_file(source.as_ref()),
            None => error,
        }
    }

    /// The present identity.
    pub(crate) fn id(&self, schema: &Schema) -> ResourceId {
        ResourceId::new(self.gvk(), self.name(), self.namespace(), schema)
    }

    /// The former identities, oldest first. Group and version are the present ones.
    pub(crate) fn previous_ids(&self) -> impl Iterator<Item = ResourceId> + '_ {
        let (group, version) = split_api_version(self.api_version());
        self.state.previous.iter().map(move |previous| ResourceId {
            gvk: Gvk {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: previous.kind.to_string(),
            },
            name: previous.name.to_string(),
            namespace: previous.namespace.to_string(),
            // Former namespaces are kept in their effective form, which says it all.
            cluster_scoped: false,
        })
    }

    /// The first identity.
    pub(crate) fn original_id(&self, schema: &Schema) -> ResourceId {
        self.previous_ids().next().unwrap_or_else(|| self.id(schema))
    }

    /// Remembers the present identity before it changes.
    pub(crate) fn store_previous_id(&mut self, schema: &Schema) {
        let id = self.id(schema);
        self.state.previous.push(PreviousId {
            name: id.name.as_str().into(),
            namespace: id.effective_namespace().into(),
            kind: id.gvk.kind.as_str().into(),
        });
    }

    /// The annotations' texts.
    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        self.string_map("annotations")
    }

    /// The labels' texts.
    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        self.string_map("labels")
    }

    fn string_map(&self, field: &str) -> BTreeMap<String, String> {
        self.metadata()
            .and_then(|metadata| metadata.get(field))
            .map(|node| {
                tree::texts(node)
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .collect()
            })
            .unwrap_or_default()
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata()?.get("annotations")?.get(key).map(tree::text_of)
    }

    /// Replaces a map in the metadata; an empty one is removed.
    pub(crate) fn set_string_map(&mut self, field: &str, map: &BTreeMap<String, String>) -> Result<()> {
        let result =
            tree::lookup_create(&mut self.node, &["metadata"], Create::Mapping).and_then(|metadata| {
                tree::clear_field(metadata, field);
                if map.is_empty() {
                    return Ok(());
                }
                let mut values = Mapping::new();
                for (key, value) in map {
                    values.push(Node::plain(key.as_str()), tree::string(value.as_str()));
                }
                tree::set_field(metadata, field, Node::mapping(values))
            });
        result.map_err(|problem| self.error(ErrorKind::Resource, problem))
    }

    pub(crate) fn set_annotation(&mut self, key: &str, value: &str) -> Result<()> {
        let mut annotations = self.annotations();
        annotations.insert(key.to_owned(), value.to_owned());
        self.set_string_map("annotations", &annotations)
    }

    pub(crate) fn set_name(&mut self, name: &str) -> Result<()> {
        self.set_metadata_text("name", name)
    }

    /// Sets the namespace; an empty one is removed.
    pub(crate) fn set_namespace(&mut self, namespace: &str) -> Result<()> {
        if namespace.is_empty() {
            if let Some(metadata) = self.node.get_mut("metadata") {
                tree::clear_field(metadata, "namespace");
            }
            return Ok(());
        }
        self.set_metadata_text("namespace", namespace)
    }

    fn set_metadata_text(&mut self, field: &str, text: &str) -> Result<()> {
        tree::lookup_create(&mut self.node, &["metadata"], Create::Mapping)
            .and_then(|metadata| tree::set_text_field(metadata, field, text))
            .map_err(|problem| self.error(ErrorKind::Resource, problem))
    }

    pub(crate) fn set_kind(&mut self, kind: &str) -> Result<()> {
        tree::set_text_field(&mut self.node, "kind", kind)
            .map_err(|problem| self.error(ErrorKind::Resource, problem))
    }

    pub(crate) fn set_api_version(&mut self, api_version: &str) -> Result<()> {
        tree::set_text_field(&mut self.node, "apiVersion", api_version)
            .map_err(|problem| self.error(ErrorKind::Resource, problem))
    }

    /// Whether nothing is left of the object.
    pub(crate) fn is_empty(&self) -> bool {
        tree::is_null_or_empty(&self.node)
    }

    /// Checks that it still has kind and name.
    pub(crate) fn validate(&self) -> Result<()> {
        factory::validate(&self.node).map_err(|problem| self.error(ErrorKind::Resource, problem))
    }

    /// Runs `change` on the tree with the engine's notes written into the annotations, as kustomize keeps
    /// them, and reads them back.
    pub(crate) fn with_visible_state<T>(
        &mut self,
        change: impl FnOnce(&mut Node) -> std::result::Result<T, Error>,
    ) -> Result<T> {
        let written = self.state.write_into(&mut self.node);
        if let Err(problem) = written {
            return Err(self.error(ErrorKind::Resource, problem));
        }
        let result = change(&mut self.node);
        self.state = BuildState::take_from(&mut self.node);
        result
    }

    /// Removes what must not come out and makes every annotation a string.
    pub(crate) fn finish(&mut self, keep_origin: bool, keep_transformations: bool) -> Result<()> {
        let mut annotations = self.annotations();
        let untouched = annotations.is_empty()
            && keep_origin
            && keep_transformations
            && self.state == BuildState::default();
        if untouched {
            return Ok(());
        }
        annotations.retain(|key, _| {
            !build_state::is_internal_annotation(key)
                && (keep_origin || key != ORIGIN_ANNOTATION)
                && (keep_transformations || key != TRANSFORMATIONS_ANNOTATION)
        });
        self.set_string_map("annotations", &annotations)
    }
}

impl Resource {
    /// Takes labels, annotations, name, namespace and notes of the object that this one replaces; own labels
    /// and annotations win, the other's notes win.
    pub(crate) fn take_metadata_from(&mut self, other: &Self) -> Result<()> {
        let mut labels = other.labels();
        labels.extend(self.labels());
        self.set_string_map("labels", &labels)?;
        let mut annotations = other.annotations();
        annotations.extend(self.annotations());
        self.set_string_map("annotations", &annotations)?;
        let needs_hash = self.state.needs_hash;
        self.state = other.state.clone();
        self.state.needs_hash &= needs_hash;
        self.set_name(other.name())?;
        self.set_namespace(other.namespace())?;
        self.variables.clone_from(&other.variables);
        Ok(())
    }

    /// Merges the data of the object that this one is merged into; own values win.
    pub(crate) fn merge_data_from(&mut self, other: &Self) -> Result<()> {
        for field in ["data", "binaryData"] {
            let mut merged: BTreeMap<String, String> = BTreeMap::new();
            for node in [&other.node, &self.node] {
                if let Some(data) = node.get(field) {
                    let values = data.as_mapping().into_iter().flat_map(Mapping::iter);
                    merged.extend(
                        values.map(|(key, value)| (key.to_owned(), tree::value_of(value).to_owned())),
                    );
                }
            }
            tree::clear_field(&mut self.node, field);
            if !merged.is_empty() {
                let mut values = Mapping::new();
                for (key, value) in merged {
                    values.push(Node::plain(key), tree::string(value));
                }
                tree::set_field(&mut self.node, field, Node::mapping(values))
                    .map_err(|problem| self.error(ErrorKind::Generator, problem))?;
            }
        }
        Ok(())
    }
}
