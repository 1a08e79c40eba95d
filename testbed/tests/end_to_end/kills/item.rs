//! The objects of the applications, as files and as the cluster has them.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt as _};

use crate::support::*;

/// The annotation that every object carries its value in.
const VALUE: &str = "example.com/value";

/// What an application consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    ConfigMap,
    Secret,
    ServiceAccount,
    Service,
    Role,
    /// Cluster-scoped, and applied before the rest.
    Namespace,
    /// A definition of a cluster-scoped kind, applied before the rest.
    Definition,
    /// An object of a kind that a definition of the same application brings.
    Widget,
}

/// The kinds that every application has, in turn.
pub(super) const COMMON: [Kind; 5] = [
    Kind::ConfigMap,
    Kind::Secret,
    Kind::ServiceAccount,
    Kind::Service,
    Kind::Role,
];

impl Kind {
    /// Group, version, kind and plural of a kind whose group does not depend on the object.
    fn resource(self) -> ApiResource {
        let (group, version, kind, plural) = match self {
            Self::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            Self::Secret => ("", "v1", "Secret", "secrets"),
            Self::ServiceAccount => ("", "v1", "ServiceAccount", "serviceaccounts"),
            Self::Service => ("", "v1", "Service", "services"),
            Self::Role => ("rbac.authorization.k8s.io", "v1", "Role", "roles"),
            Self::Namespace => ("", "v1", "Namespace", "namespaces"),
            Self::Definition => (
                "apiextensions.k8s.io",
                "v1",
                "CustomResourceDefinition",
                "customresourcedefinitions",
            ),
            Self::Widget => ("", "v1", "Widget", "widgets"),
        };
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
    }
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: Kind,
    /// The API group.
    pub(super) group: String,
    /// Where it ends up; empty for cluster-scoped objects.
    pub(super) namespace: String,
    pub(super) name: String,
    /// Whether its file says where it goes; else the Kustomization does.
    pub(super) explicit: bool,
    pub(super) value: u64,
}

impl Item {
    /// The id in inventories.
    pub(super) fn id(&self) -> String {
        let kind = self.kind.resource().kind;
        format!("{}_{}_{}_{kind}", self.namespace, self.name, self.group)
    }

    /// The file that asks for it.
    pub(super) fn manifest(&self) -> String {
        let resource = self.kind.resource();
        let api_version = match self.group.as_str() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        };
        let (kind, name, value) = (resource.kind, &self.name, self.value);
        let namespace = if self.explicit && !self.namespace.is_empty() {
            format!("  namespace: {}\n", self.namespace)
        } else {
            String::new()
        };
        let body = match self.kind {
            Kind::ConfigMap => format!("data:\n  value: \"{value}\"\n"),
            Kind::Secret => format!("stringData:\n  value: \"{value}\"\n"),
            Kind::Service => "spec:\n  clusterIP: None\n  ports:\n  - port: 80\n".to_owned(),
            Kind::Role => format!(
                "rules:\n- apiGroups: ['']\n  resources: [pods]\n  resourceNames: [\"pod-{value}\"]\n  verbs: [get]\n"
            ),
            Kind::ServiceAccount | Kind::Namespace => String::new(),
            Kind::Definition => {
                let group = name.strip_prefix("widgets.").unwrap();
                format!(
                    "spec:\n  group: {group}\n  scope: Cluster\n  names: {{kind: Widget, plural: widgets, singular: widget}}\n  \
                     versions:\n  - name: v1\n    served: true\n    storage: true\n    \
                     schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}\n"
                )
            }
            Kind::Widget => format!("spec:\n  value: {value}\n"),
        };
        format!(
            "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n{namespace}  annotations: \
             {{{VALUE}: \"{value}\"}}\n{body}"
        )
    }
}

/// An object of the cluster that carries our labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owned {
    /// The Kustomization that its label names.
    pub(super) owner: String,
    pub(super) uid: Option<String>,
    /// The value, from its annotation.
    pub(super) value: u64,
}

/// Everything, by inventory id, that carries the labels of a Kustomization in that namespace and is not on its
/// way out.
pub(super) async fn owned(client: &Client, namespace: &str) -> BTreeMap<String, Owned> {
    let selector = format!("kustomize.toolkit.fluxcd.io/namespace={namespace}");
    let parameters = ListParams::default().labels(&selector);
    let mut found = BTreeMap::new();
    let mut resources: Vec<ApiResource> = COMMON.iter().map(|kind| kind.resource()).collect();
    resources.push(Kind::Namespace.resource());
    resources.push(Kind::Definition.resource());
    let mut position = 0;
    while let Some(resource) = resources.get(position).cloned() {
        position += 1;
        let api: Api<Object> = Api::all_with(client.clone(), &resource);
        let objects = match api.list(&parameters).await {
            Ok(list) => list.items,
            // A definition that is on its way out.
            Err(kube::Error::Api(status)) if status.code == 404 && resource.kind == "Widget" => continue,
            Err(error) => panic!("{}: {error}", resource.plural),
        };
        for object in objects {
            if object.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let name = object.name_any();
            let id = format!(
                "{}_{name}_{}_{}",
                object.namespace().unwrap_or_default(),
                resource.group,
                resource.kind
            );
            if resource.kind == "CustomResourceDefinition" {
                let group = name.strip_prefix("widgets.").unwrap();
                let kind = GroupVersionKind::gvk(group, "v1", "Widget");
                resources.push(ApiResource::from_gvk_with_plural(&kind, "widgets"));
            }
            let entry = Owned {
                owner: object.labels()["kustomize.toolkit.fluxcd.io/name"].clone(),
                uid: object.uid(),
                value: object.annotations()[VALUE].parse().unwrap(),
            };
            found.insert(id, entry);
        }
    }
    found
}
