use std::fmt;

use crate::schema::Schema;

/// The stand-in for the namespace of objects that have none.
pub(crate) const NOT_A_NAMESPACE: &str = "_non_namespaceable_";
/// The namespace of objects that name none.
pub(crate) const DEFAULT_NAMESPACE: &str = "default";

/// Group, version and kind of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl Gvk {
    pub(crate) fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = split_api_version(api_version);
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Whether each text that is not empty is the same.
    pub(crate) fn is_selected_by(&self, group: &str, version: &str, kind: &str) -> bool {
        (group.is_empty() || self.group == group)
            && (version.is_empty() || self.version == version)
            && (kind.is_empty() || self.kind == kind)
    }

    /// `group/version`, or the version alone for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Gvk {
    /// `Deployment.v1.apps`, with `[noGrp]` and so on for what is missing.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |text: &'static str, value: &str| {
            if value.is_empty() {
                text.to_owned()
            } else {
                value.to_owned()
            }
        };
        write!(
            formatter,
            "{}.{}.{}",
            or("[noKind]", &self.kind),
            or("[noVer]", &self.version),
            or("[noGrp]", &self.group)
        )
    }
}

/// Group and version of an `apiVersion`.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// What tells an object from others in a build.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ResourceId {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// The name.
    pub name: String,
    /// The namespace; empty if none is given.
    pub namespace: String,
    /// Whether the kind is known to have no namespaces.
    pub(crate) cluster_scoped: bool,
}

impl ResourceId {
    pub(crate) fn new(gvk: Gvk, name: &str, namespace: &str, schema: &Schema) -> Self {
        let cluster_scoped = schema.is_cluster_scoped(&gvk);
        Self {
            gvk,
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            cluster_scoped,
        }
    }

    /// The namespace for comparisons: `default` where none is given, and a word that is none for kinds
    /// without namespaces.
    #[must_use]
    pub fn effective_namespace(&self) -> &str {
        if self.cluster_scoped {
            NOT_A_NAMESPACE
        } else if self.namespace.is_empty() {
            DEFAULT_NAMESPACE
        } else {
            &self.namespace
        }
    }

    pub(crate) fn same_namespace(&self, other: &Self) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// Whether both mean the same object.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk && self.same_namespace(other)
    }

    /// The key under which equal ids are found.
    pub(crate) fn key(&self) -> IdKey {
        self.clone().into_key()
    }

    /// As [`key`](Self::key), of an id that is not needed any more.
    pub(crate) fn into_key(mut self) -> IdKey {
        if self.cluster_scoped || self.namespace.is_empty() {
            self.namespace = self.effective_namespace().to_owned();
        }
        IdKey {
            gvk: self.gvk,
            name: self.name,
            namespace: self.namespace,
        }
    }
}

impl fmt::Display for ResourceId {
    /// `Deployment.v1.apps/name.namespace`, as kustomize prints ids.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() {
            "[noName]"
        } else {
            &self.name
        };
        let namespace = if self.namespace.is_empty() {
            "[noNs]"
        } else {
            &self.namespace
        };
        write!(formatter, "{}/{name}.{namespace}", self.gvk)
    }
}

/// An id with its effective namespace, for look-ups.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct IdKey {
    gvk: Gvk,
    pub(crate) name: String,
    namespace: String,
}
