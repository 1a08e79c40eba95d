//! Naming and reaching objects of any kind.

use std::collections::BTreeMap;

use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::Value;

use super::scenario::Scenario;
use crate::{Error, Result};

/// What is known of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kind {
    resource: ApiResource,
    cluster: bool,
}

/// Kinds in namespaces: API version, kind, plural.
const NAMESPACED: [(&str, &str, &str); 19] = [
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Secret", "secrets"),
    ("v1", "Service", "services"),
    ("v1", "ServiceAccount", "serviceaccounts"),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    ("v1", "Event", "events"),
    ("v1", "Pod", "pods"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "StatefulSet", "statefulsets"),
    ("apps/v1", "DaemonSet", "daemonsets"),
    ("batch/v1", "Job", "jobs"),
    ("batch/v1", "CronJob", "cronjobs"),
    ("rbac.authorization.k8s.io/v1", "Role", "roles"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies"),
    ("networking.k8s.io/v1", "Ingress", "ingresses"),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
    ),
    ("source.toolkit.fluxcd.io/v1", "GitRepository", "gitrepositories"),
    (
        "kustomize.toolkit.fluxcd.io/v1",
        "Kustomization",
        "kustomizations",
    ),
];

/// Kinds of the whole cluster.
const CLUSTER: [(&str, &str, &str); 6] = [
    ("v1", "Namespace", "namespaces"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"),
    (
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
    ),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    ),
    ("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses"),
    ("storage.k8s.io/v1", "StorageClass", "storageclasses"),
];

/// The kinds that a snapshot does not show as managed objects: events and custom resources have a place of
/// their own, and pods belong to the control plane's controllers.
const NOT_MANAGED: [&str; 4] = ["Event", "Pod", "GitRepository", "Kustomization"];

/// All kinds of a scenario by name.
#[derive(Debug, Clone)]
pub(super) struct Kinds(BTreeMap<String, Kind>);

impl Kinds {
    /// The built-in kinds and those that the scenario declares.
    pub(super) fn of(scenario: &Scenario) -> Result<Self> {
        let declared = scenario.declared_kinds()?;
        let declared = declared
            .iter()
            .map(|(version, kind, plural)| (version.as_str(), kind.as_str(), plural.as_str(), false));
        let namespaced = NAMESPACED
            .iter()
            .map(|(version, kind, plural)| (*version, *kind, *plural, false));
        let cluster = CLUSTER
            .iter()
            .map(|(version, kind, plural)| (*version, *kind, *plural, true));
        Ok(Self(
            namespaced
                .chain(cluster)
                .chain(declared)
                .map(|(version, kind, plural, cluster)| {
                    let (group, version) = version.split_once('/').unwrap_or(("", version));
                    let kind_of = GroupVersionKind::gvk(group, version, kind);
                    let resource = ApiResource::from_gvk_with_plural(&kind_of, plural);
                    (kind.to_owned(), Kind { resource, cluster })
                })
                .collect(),
        ))
    }

    fn get(&self, kind: &str) -> Result<&Kind> {
        self.0.get(kind).ok_or_else(|| Error::Failed {
            what: format!("find kind {kind}"),
            output: "it is neither built in nor declared under `kinds`".to_owned(),
        })
    }

    /// The API for objects of a kind; `namespace` is ignored where the kind has none.
    pub(super) fn api(&self, client: &Client, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        let kind = self.get(kind)?;
        Ok(if kind.cluster {
            Api::all_with(client.clone(), &kind.resource)
        } else {
            Api::namespaced_with(client.clone(), namespace, &kind.resource)
        })
    }

    /// The API and the name of the object that `Kind/name` or `Kind/namespace/name` means.
    pub(super) fn resolve(
        &self,
        client: &Client,
        reference: &str,
        namespace: &str,
    ) -> Result<(Api<DynamicObject>, String)> {
        let parts: Vec<_> = reference.split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [kind, name] => (kind, namespace, name),
            [kind, namespace, name] => (kind, namespace, name),
            _ => {
                return Err(Error::Failed {
                    what: format!("find object {reference:?}"),
                    output: "it must be Kind/name or Kind/namespace/name".to_owned(),
                });
            }
        };
        Ok((self.api(client, kind, namespace)?, name.to_owned()))
    }

    /// The kinds that snapshots show among the managed objects, with whether they have no namespace.
    pub(super) fn managed(&self) -> impl Iterator<Item = (&str, bool)> {
        self.0
            .iter()
            .map(|(name, kind)| (name.as_str(), kind.cluster))
            .filter(|(name, _)| !NOT_MANAGED.contains(name))
    }
}

/// An object as plain JSON.
pub(super) fn json(object: &DynamicObject) -> Result<Value> {
    serde_json::to_value(object).map_err(Error::json("an object"))
}
