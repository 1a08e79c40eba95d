//! In which order and in which stages objects are applied.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::{Object, ObjectId};

/// The kinds that come first, in this order.
const FIRST: [&str; 23] = [
    "CustomResourceDefinition",
    "Namespace",
    "ClusterRole",
    "ClusterClass",
    "RuntimeClass",
    "PriorityClass",
    "StorageClass",
    "VolumeSnapshotClass",
    "IngressClass",
    "GatewayClass",
    "ClusterRoleBinding",
    "ResourceQuota",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Secret",
    "Service",
    "LimitRange",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// The kinds that come last, in this order.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// The place of a kind: listed kinds by their place, all others together between them.
fn rank(kind: &str) -> usize {
    let place = |list: &[&str]| list.iter().position(|listed| *listed == kind);
    place(&FIRST)
        .or_else(|| place(&LAST).map(|place| FIRST.len() + 1 + place))
        .unwrap_or(FIRST.len())
}

/// Compares two objects by the order in which Flux applies them: rank of the kind, group, kind, namespace,
/// name.
pub(crate) fn compare(left: &ObjectId, right: &ObjectId) -> Ordering {
    let key = |id: &ObjectId| rank(&id.kind);
    key(left).cmp(&key(right)).then_with(|| {
        (&left.group, &left.kind, &left.namespace, &left.name).cmp(&(
            &right.group,
            &right.kind,
            &right.namespace,
            &right.name,
        ))
    })
}

/// Sorts objects into the order in which they are applied.
pub fn sort(objects: &mut [Object]) {
    objects.sort_by_cached_key(|object| Ordered(object.id()));
}

#[derive(PartialEq, Eq)]
struct Ordered(ObjectId);

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

/// Objects split into the stages in which they are applied.
#[derive(Debug, Default)]
pub struct Stages {
    /// Custom resource definitions, namespaces and cluster roles; waited for before the next stage.
    pub definitions: Vec<Object>,
    /// Kinds that end in `Class`; waited for before the next stage.
    pub classes: Vec<Object>,
    /// The kinds that the operator named; not waited for.
    pub custom: Vec<Object>,
    /// All else.
    pub resources: Vec<Object>,
}

impl Stages {
    /// Splits objects; `custom` holds the group and kind of those that form the stage of that name.
    pub fn split(objects: Vec<Object>, custom: &HashSet<(String, String)>) -> Self {
        let mut stages = Self::default();
        for object in objects {
            let key = (object.group().to_owned(), object.kind().to_owned());
            let stage = if is_cluster_definition(&object) {
                &mut stages.definitions
            } else if object.kind().ends_with("Class") {
                &mut stages.classes
            } else if custom.contains(&key) {
                &mut stages.custom
            } else {
                &mut stages.resources
            };
            stage.push(object);
        }
        stages
    }
}

/// Whether the object is a custom resource definition, namespace or cluster role.
pub fn is_cluster_definition(object: &Object) -> bool {
    let has_version = object.api_version().contains('/');
    match object.kind().to_lowercase().as_str() {
        "customresourcedefinition" => object.group() == "apiextensions.k8s.io" && has_version,
        "namespace" => object.api_version() == "v1",
        "clusterrole" => object.group() == "rbac.authorization.k8s.io" && has_version,
        _ => false,
    }
}

/// Whether the object is a custom resource definition.
pub(crate) fn is_custom_resource_definition(object: &Object) -> bool {
    is_cluster_definition(object) && object.kind().eq_ignore_ascii_case("CustomResourceDefinition")
}

/// Parses the value of `--custom-apply-stage-kinds`: `group/Kind,group/Kind,Kind`.
pub fn parse_group_kinds(text: &str) -> HashSet<(String, String)> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .map(|item| match item.split_once('/') {
            Some((group, kind)) => (group.to_owned(), kind.to_owned()),
            None => (String::new(), item.to_owned()),
        })
        .collect()
}
