//! What the engine remembers of an object during a build: kustomize keeps it in annotations of the object,
//! which patches and replacements can see, so it can be written into the tree and read back.

use std::sync::Arc;

use sluice_goyaml::Node;

use crate::tree::{self, Create, Outcome};

const DOMAIN: &str = "internal.config.kubernetes.io/";
const PREVIOUS_KINDS: &str = "previousKinds";
const PREVIOUS_NAMES: &str = "previousNames";
const PREVIOUS_NAMESPACES: &str = "previousNamespaces";
const PREFIXES: &str = "prefixes";
const SUFFIXES: &str = "suffixes";
const BEHAVIOR: &str = "generatorBehavior";
const NEEDS_HASH: &str = "needsHashSuffix";
const ALLOW_NAME_CHANGE: &str = "allowNameChange";
const ALLOW_KIND_CHANGE: &str = "allowKindChange";
const REFERRED_BY: &str = "refBy";
const ENABLED: &str = "enabled";

/// Annotations of the function pipeline that never come out.
const READER_ANNOTATIONS: [&str; 8] = [
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
];
/// Set by Helm's generator; never comes out either.
pub(crate) const HELM_GENERATED: &str = "internal.config.kubernetes.io/helm-generated";

/// An identity that an object had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreviousId {
    pub(crate) name: Arc<str>,
    pub(crate) namespace: Arc<str>,
    pub(crate) kind: Arc<str>,
}

/// The engine's notes on one object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BuildState {
    /// Prefixes that were put before the name, in order.
    pub(crate) prefixes: Vec<Arc<str>>,
    /// Suffixes that were put after the name, in order.
    pub(crate) suffixes: Vec<Arc<str>>,
    /// Former identities, oldest first.
    pub(crate) previous: Vec<PreviousId>,
    /// The `behavior` of the generator that made it.
    pub(crate) behavior: Option<String>,
    /// Whether the name gets a hash of the contents.
    pub(crate) needs_hash: bool,
    /// For patches: whether they may change names.
    pub(crate) allow_name_change: bool,
    /// For patches: whether they may change kinds.
    pub(crate) allow_kind_change: bool,
    /// Whether some other object refers to it.
    pub(crate) referred_to: bool,
}

fn csv<'a>(values: impl Iterator<Item = &'a Arc<str>>) -> String {
    values.map(AsRef::as_ref).collect::<Vec<&str>>().join(",")
}

fn split(text: &str) -> Vec<Arc<str>> {
    text.split(',').map(Arc::from).collect()
}

impl BuildState {
    /// The annotations that kustomize would have for this.
    fn annotations(&self) -> Vec<(&'static str, String)> {
        let mut result = Vec::new();
        let mut add = |name, value: String| {
            if !value.is_empty() {
                result.push((name, value));
            }
        };
        add(PREFIXES, csv(self.prefixes.iter()));
        add(SUFFIXES, csv(self.suffixes.iter()));
        add(PREVIOUS_NAMES, csv(self.previous.iter().map(|id| &id.name)));
        add(
            PREVIOUS_NAMESPACES,
            csv(self.previous.iter().map(|id| &id.namespace)),
        );
        add(PREVIOUS_KINDS, csv(self.previous.iter().map(|id| &id.kind)));
        add(BEHAVIOR, self.behavior.clone().unwrap_or_default());
        for (set, name) in [
            (self.needs_hash, NEEDS_HASH),
            (self.allow_name_change, ALLOW_NAME_CHANGE),
            (self.allow_kind_change, ALLOW_KIND_CHANGE),
            (self.referred_to, REFERRED_BY),
        ] {
            add(name, if set { ENABLED.to_owned() } else { String::new() });
        }
        result
    }

    /// Writes the notes into the annotations of an object.
    pub(crate) fn write_into(&self, node: &mut Node) -> Outcome<()> {
        let annotations = self.annotations();
        if annotations.is_empty() {
            return Ok(());
        }
        let target = tree::lookup_create(node, &["metadata", "annotations"], Create::Mapping)?;
        if tree::is_null(target) {
            *target = Node::mapping(sluice_goyaml::Mapping::new());
        }
        for (name, value) in annotations {
            tree::set_field(target, &format!("{DOMAIN}{name}"), tree::string(value))?;
        }
        Ok(())
    }

    /// Takes the notes out of the annotations of an object.
    pub(crate) fn take_from(node: &mut Node) -> Self {
        let mut state = Self::default();
        let Some(metadata) = node.get_mut("metadata") else {
            return state;
        };
        let Some(annotations) = metadata.get_mut("annotations").and_then(Node::as_mapping_mut) else {
            return state;
        };
        if !annotations.keys().any(|key| key.starts_with(DOMAIN)) {
            return state;
        }
        let mut take = |name: &str| {
            annotations
                .remove(&format!("{DOMAIN}{name}"))
                .map(|node| tree::text_of(&node).to_owned())
        };
        state.prefixes = take(PREFIXES).map(|text| split(&text)).unwrap_or_default();
        state.suffixes = take(SUFFIXES).map(|text| split(&text)).unwrap_or_default();
        if let (Some(names), Some(namespaces), Some(kinds)) = (
            take(PREVIOUS_NAMES),
            take(PREVIOUS_NAMESPACES),
            take(PREVIOUS_KINDS),
        ) {
            state.previous = split(&names)
                .into_iter()
                .zip(split(&namespaces))
                .zip(split(&kinds))
                .map(|((name, namespace), kind)| PreviousId {
                    name,
                    namespace,
                    kind,
                })
                .collect();
        }
        state.behavior = take(BEHAVIOR);
        let mut enabled = |name: &str| take(name).is_some_and(|text| text == ENABLED);
        state.needs_hash = enabled(NEEDS_HASH);
        state.allow_name_change = enabled(ALLOW_NAME_CHANGE);
        state.allow_kind_change = enabled(ALLOW_KIND_CHANGE);
        state.referred_to = enabled(REFERRED_BY);
        if annotations.is_empty() {
            tree::clear_field(metadata, "annotations");
        }
        state
    }
}

/// Whether an annotation is the engine's own or the function pipeline's, and so never comes out.
pub(crate) fn is_internal_annotation(key: &str) -> bool {
    key == HELM_GENERATED || READER_ANNOTATIONS.contains(&key)
}
