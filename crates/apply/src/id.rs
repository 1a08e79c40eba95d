//! What names an object in an inventory, whatever its version.

use std::fmt;
use std::str::FromStr;

/// The group whose names may hold colons, which an id writes as two underscores.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Namespace, name, group and kind of an object.
///
/// Its text is `<namespace>_<name>_<group>_<kind>` with empty parts kept, as in the status of Flux's
/// objects: `_flux-system__Namespace`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// The namespace, empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The API group, empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
}

/// A text that is not an object id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse stored object metadata: {0}")]
pub struct IdError(String);

impl ObjectId {
    /// How messages and events call the object: `Kind/namespace/name`, or `Kind/name` without a namespace.
    pub fn subject(&self) -> String {
        let Self {
            namespace,
            name,
            kind,
            ..
        } = self;
        if namespace.is_empty() {
            format!("{kind}/{name}")
        } else {
            format!("{kind}/{namespace}/{name}")
        }
    }

    fn allows_colons(&self) -> bool {
        self.group == RBAC_GROUP
            && matches!(
                self.kind.as_str(),
                "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding"
            )
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            name,
            group,
            kind,
        } = self;
        if self.allows_colons() {
            return write!(
                formatter,
                "{namespace}_{}_{group}_{kind}",
                name.replace(':', "__")
            );
        }
        write!(formatter, "{namespace}_{name}_{group}_{kind}")
    }
}

impl FromStr for ObjectId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        // The error shows what was left when a separator was missing, as Flux's does.
        let split = |text: &str, at: Option<usize>| {
            let at = at.ok_or_else(|| IdError(text.to_owned()))?;
            Ok((text[..at].to_owned(), text[at + 1..].to_owned()))
        };
        let (namespace, rest) = split(text, text.find('_'))?;
        let (rest, kind) = split(&rest, rest.rfind('_'))?;
        let (name, group) = split(&rest, rest.rfind('_'))?;
        Ok(Self {
            namespace,
            name: name.replace("__", ":"),
            group,
            kind,
        })
    }
}
