//! Which fields of which kinds the transformers touch: kustomize's defaults, the files under
//! `configurations`, and what OpenAPI definitions under `crds` say.

mod crds;
mod load;

pub(crate) use crds::load_crds;
pub(crate) use load::load_configurations;

use std::sync::{Arc, LazyLock};

use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};
use crate::resource::Gvk;

/// kustomize's defaults, one specification a line: group, version, kind (`-` for any), path and perhaps
/// `create`; in `nameReference`, a line with `>` names the kind that the lines below it refer to.
const DEFAULTS: &str = include_str!("defaults.txt");

/// A field of the kinds that match.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FieldSpec {
    /// The API group; empty for any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The version; empty for any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The kind; empty for any.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The path: steps separated by `/`, a slash in a step escaped by a backslash, lists without index.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Whether the field is made where it is missing.
    #[serde(skip_serializing_if = "crate::kustomization_is_false")]
    pub create: bool,
}

impl FieldSpec {
    /// A field of all kinds.
    pub(crate) fn of_all(path: &str, create: bool) -> Self {
        Self {
            path: path.to_owned(),
            create,
            ..Self::default()
        }
    }

    /// Whether objects of the kind have the field.
    pub(crate) fn selects(&self, gvk: &Gvk) -> bool {
        gvk.is_selected_by(&self.group, &self.version, &self.kind)
    }

    fn sort_key(&self) -> (i32, String) {
        gvk_sort_key(&self.group, &self.version, &self.kind)
    }

    /// Whether `other` is already covered: kustomize compares its own kind with the other as selector.
    fn covers(&self, other: &Self) -> bool {
        let matches = |own: &str, other: &str| other.is_empty() || own == other;
        self.path == other.path
            && matches(&self.group, &other.group)
            && matches(&self.version, &other.version)
            && matches(&self.kind, &other.kind)
    }
}

/// The steps of a path: split at `/`, which a backslash escapes; one at the start is ignored.
pub(crate) fn split_path(path: &str, delimiter: char) -> Vec<String> {
    let mut pieces: Vec<&str> = path.split(delimiter).collect();
    if pieces.len() > 1 && pieces[0].is_empty() {
        pieces.remove(0);
    }
    let mut steps: Vec<String> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match steps.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(piece);
            }
            _ => steps.push(piece.to_owned()),
        }
    }
    steps
}

/// A kind that is referred to by name, and the fields that do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NameReference {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) referrers: Vec<FieldSpec>,
}

/// All field specifications that apply to an accumulator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSpecs {
    pub(crate) name_prefix: Vec<FieldSpec>,
    pub(crate) name_suffix: Vec<FieldSpec>,
    pub(crate) namespace: Vec<FieldSpec>,
    pub(crate) common_labels: Vec<FieldSpec>,
    pub(crate) labels: Vec<FieldSpec>,
    pub(crate) template_labels: Vec<FieldSpec>,
    pub(crate) common_annotations: Vec<FieldSpec>,
    pub(crate) name_reference: Vec<NameReference>,
    pub(crate) var_reference: Vec<FieldSpec>,
    pub(crate) images: Vec<FieldSpec>,
    pub(crate) replicas: Vec<FieldSpec>,
}

impl FieldSpecs {
    /// kustomize's defaults.
    pub(crate) fn defaults() -> Arc<Self> {
        static TABLE: LazyLock<Arc<FieldSpecs>> = LazyLock::new(|| Arc::new(FieldSpecs::parse_defaults()));
        Arc::clone(&TABLE)
    }

    fn parse_defaults() -> Self {
        let mut result = Self::default();
        let mut section = "";
        for line in DEFAULTS.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                section = name;
                continue;
            }
            result.add_default(section, line);
        }
        result.sort();
        result
    }

    fn add_default(&mut self, section: &str, line: &str) {
        let word = |word: Option<&str>| word.filter(|word| *word != "-").unwrap_or_default().to_owned();
        if let Some(target) = line.strip_prefix("> ") {
            let mut words = target.split(' ');
            self.name_reference.push(NameReference {
                group: word(words.next()),
                version: word(words.next()),
                kind: word(words.next()),
                referrers: Vec::new(),
            });
            return;
        }
        let mut words = line.split(' ');
        let spec = FieldSpec {
            group: word(words.next()),
            version: word(words.next()),
            kind: word(words.next()),
            path: word(words.next()),
            create: words.next() == Some("create"),
        };
        if section == "nameReference" {
            if let Some(last) = self.name_reference.last_mut() {
                last.referrers.push(spec);
            }
        } else if let Some(list) = self.list_mut(section) {
            list.push(spec);
        }
    }

    /// The list of a section by its name in configuration files; `nameReference` is not such a list.
    pub(crate) fn list_mut(&mut self, section: &str) -> Option<&mut Vec<FieldSpec>> {
        Some(match section {
            "namePrefix" => &mut self.name_prefix,
            "nameSuffix" => &mut self.name_suffix,
            "namespace" => &mut self.namespace,
            "commonLabels" => &mut self.common_labels,
            "labels" => &mut self.labels,
            "templateLabels" => &mut self.template_labels,
            "commonAnnotations" => &mut self.common_annotations,
            "varReference" => &mut self.var_reference,
            "images" => &mut self.images,
            "replicas" => &mut self.replicas,
            _ => return None,
        })
    }

    /// Adds what `other` has and this has not. Even into an empty one this is more than a copy: of two
    /// specifications with the same path, one for a kind drops a later one for all kinds.
    ///
    /// # Errors
    /// The same field with another `create`.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<()> {
        if self == other {
            return Ok(());
        }
        merge_all(&mut self.name_prefix, &other.name_prefix)?;
        merge_all(&mut self.name_suffix, &other.name_suffix)?;
        merge_all(&mut self.namespace, &other.namespace)?;
        merge_all(&mut self.common_labels, &other.common_labels)?;
        merge_all(&mut self.labels, &other.labels)?;
        merge_all(&mut self.template_labels, &other.template_labels)?;
        merge_all(&mut self.common_annotations, &other.common_annotations)?;
        merge_all(&mut self.var_reference, &other.var_reference)?;
        merge_all(&mut self.images, &other.images)?;
        merge_all(&mut self.replicas, &other.replicas)?;
        for reference in &other.name_reference {
            self.merge_name_reference(reference)?;
        }
        self.sort();
        Ok(())
    }

    /// As [`merge`](Self::merge); specifications that all kustomizations have in common stay shared.
    ///
    /// # Errors
    /// As [`merge`](Self::merge).
    pub(crate) fn merge_shared(own: &mut Arc<Self>, other: &Arc<Self>) -> Result<()> {
        if Arc::ptr_eq(own, other) || own == other {
            return Ok(());
        }
        Arc::make_mut(own).merge(other)
    }

    pub(crate) fn merge_name_reference(&mut self, other: &NameReference) -> Result<()> {
        let mut found = false;
        for own in &mut self.name_reference {
            if own.group == other.group && own.version == other.version && own.kind == other.kind {
                merge_all(&mut own.referrers, &other.referrers)?;
                found = true;
            }
        }
        if !found {
            self.name_reference.push(other.clone());
        }
        Ok(())
    }

    pub(crate) fn sort(&mut self) {
        for list in [
            &mut self.name_prefix,
            &mut self.name_suffix,
            &mut self.namespace,
            &mut self.common_labels,
            &mut self.labels,
            &mut self.template_labels,
            &mut self.common_annotations,
            &mut self.var_reference,
            &mut self.images,
            &mut self.replicas,
        ] {
            list.sort_by_cached_key(FieldSpec::sort_key);
        }
        self.name_reference.sort_by_cached_key(|reference| {
            gvk_sort_key(&reference.group, &reference.version, &reference.kind)
        });
    }
}

/// Adds one specification, unless it is covered.
pub(crate) fn merge_one(list: &mut Vec<FieldSpec>, other: &FieldSpec) -> Result<()> {
    match list.iter().find(|own| own.covers(other)) {
        Some(own) if own.create != other.create => Err(Error::new(
            ErrorKind::Transformer,
            format!(
                "the field {:?} of {:?} is configured both with and without create",
                other.path, other.kind
            ),
        )
        .remedy("use the same value of create everywhere")),
        Some(_) => Ok(()),
        None => {
            list.push(other.clone());
            Ok(())
        }
    }
}

/// Adds specifications, each unless it is covered.
pub(crate) fn merge_all(list: &mut Vec<FieldSpec>, others: &[FieldSpec]) -> Result<()> {
    if list.as_slice() == others {
        return Ok(());
    }
    others.iter().try_for_each(|other| merge_one(list, other))
}

/// Kinds that sort before and after all others, as kustomize orders kinds.
pub(crate) const KINDS_FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
/// See [`KINDS_FIRST`].
pub(crate) const KINDS_LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

fn gvk_sort_key(group: &str, version: &str, kind: &str) -> (i32, String) {
    let place = |list: &[&str]| {
        list.iter()
            .position(|known| *known == kind)
            .and_then(|index| i32::try_from(index).ok())
    };
    let rank = match (place(&KINDS_FIRST), place(&KINDS_LAST)) {
        (Some(index), _) => index - 22,
        (None, Some(index)) => index + 1,
        (None, None) => 0,
    };
    let or = |text: &str, default: &str| {
        if text.is_empty() {
            default.to_owned()
        } else {
            text.to_owned()
        }
    };
    (
        rank,
        format!("{}_{}_{}", or(group, "~G"), or(version, "~V"), or(kind, "~K")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_have_every_section() {
        let specs = FieldSpecs::defaults();
        assert_eq!(specs.name_prefix, [FieldSpec::of_all("metadata/name", false)]);
        assert_eq!(specs.namespace.len(), 3);
        assert!(specs.common_labels.len() > 30 && specs.var_reference.len() > 50);
        assert!(specs.template_labels.iter().any(|spec| spec.kind == "CronJob"));
        let secrets = specs
            .name_reference
            .iter()
            .find(|reference| reference.kind == "Secret")
            .unwrap();
        assert!(
            secrets
                .referrers
                .iter()
                .any(|spec| spec.path == "spec/tls/secretName")
        );
        assert!(
            !specs.images.is_empty() && !specs.replicas.is_empty() && !specs.common_annotations.is_empty()
        );
    }

    #[test]
    fn paths_split_at_slashes_that_are_not_escaped() {
        assert_eq!(split_path("a/b\\/c/d", '/'), ["a", "b/c", "d"]);
        assert_eq!(split_path("/a/b", '/'), ["a", "b"]);
    }
}
