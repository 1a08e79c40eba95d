use regex::Regex;

use super::labels::LabelSelector;
use crate::error::{Error, ErrorKind, Result};
use crate::kustomization::Selector;
use crate::resource::{Gvk, Resource, split_api_version};
use crate::schema::Schema;

/// A pattern that must match a whole text.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Any,
    Literal(String),
    Expression(Regex),
}

impl Pattern {
    pub(crate) fn new(text: &str) -> std::result::Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        if text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_/:".contains(&byte))
        {
            return Ok(Self::Literal(text.to_owned()));
        }
        Regex::new(&format!("^(?:{text})$"))
            .map(Self::Expression)
            .map_err(|error| format!("{text:?} is no regular expression: {error}"))
    }

    /// The one text that matches, if there is but one.
    fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => literal == text,
            Self::Expression(expression) => expression.is_match(text),
        }
    }
}

/// A [`Selector`], ready to match.
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: LabelSelector,
    annotations: LabelSelector,
    /// Whether nothing but labels and annotations is asked for.
    pub(crate) has_no_id: bool,
}

impl Matcher {
    pub(crate) fn new(selector: &Selector) -> Result<Self> {
        let problem = |field: &str, problem: String| {
            Error::new(
                ErrorKind::Reference,
                format!("{field} of the selector: {problem}"),
            )
            .remedy("correct the selector")
        };
        let pattern = |field: &str, text: &str| Pattern::new(text).map_err(|text| problem(field, text));
        Ok(Self {
            group: pattern("group", &selector.group)?,
            version: pattern("version", &selector.version)?,
            kind: pattern("kind", &selector.kind)?,
            name: pattern("name", &selector.name)?,
            namespace: pattern("namespace", &selector.namespace)?,
            labels: LabelSelector::parse(&selector.label_selector)
                .map_err(|text| problem("labelSelector", text))?,
            annotations: LabelSelector::parse(&selector.annotation_selector)
                .map_err(|text| problem("annotationSelector", text))?,
            has_no_id: [
                &selector.group,
                &selector.version,
                &selector.kind,
                &selector.name,
                &selector.namespace,
            ]
            .iter()
            .all(|text| text.is_empty()),
        })
    }

    pub(crate) fn matches_gvk(&self, gvk: &Gvk) -> bool {
        self.kind.matches(&gvk.kind) && self.group.matches(&gvk.group) && self.version.matches(&gvk.version)
    }

    /// The one name that is asked for, if it is but one.
    pub(crate) fn literal_name(&self) -> Option<&str> {
        self.name.literal()
    }

    /// Whether the object is or was of a kind that is asked for.
    pub(crate) fn matches_kind(&self, resource: &Resource) -> bool {
        self.kind.matches(resource.kind())
            || resource
                .state
                .previous
                .iter()
                .any(|id| self.kind.matches(&id.kind))
    }

    pub(crate) fn matches_name(&self, name: &str) -> bool {
        self.name.matches(name)
    }

    pub(crate) fn matches_namespace(&self, namespace: &str) -> bool {
        self.namespace.matches(namespace)
    }

    pub(crate) fn matches_labels(&self, resource: &Resource) -> bool {
        (self.labels.is_empty() || self.labels.matches(&resource.labels()))
            && (self.annotations.is_empty() || self.annotations.matches(&resource.annotations()))
    }

    /// Whether the selector asks for annotations or labels at all.
    pub(crate) fn has_labels(&self) -> bool {
        !self.labels.is_empty() || !self.annotations.is_empty()
    }

    /// Whether a patch with this target is for the object.
    pub(crate) fn selects(&self, resource: &Resource, schema: &Schema) -> bool {
        let (group, version) = split_api_version(resource.api_version());
        let original = resource.state.previous.first();
        self.kind.matches(resource.kind())
            && self.group.matches(group)
            && self.version.matches(version)
            && (self.matches_name(resource.name())
                || original.is_some_and(|original| self.matches_name(&original.name)))
            && self.selects_namespace(resource, schema)
            && self.matches_labels(resource)
    }

    fn selects_namespace(&self, resource: &Resource, schema: &Schema) -> bool {
        matches!(self.namespace, Pattern::Any)
            || self.matches_namespace(resource.original_id(schema).effective_namespace())
            || self.matches_namespace(resource.id(schema).effective_namespace())
    }
}
