//! What a kind is: its names, its printer columns, and how a controller meets it.

use schemars::{Schema, SchemaGenerator};

use crate::meta::Condition;

/// A column that `kubectl get` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Heading.
    pub name: &'static str,
    /// JSON path of the value within the object.
    pub path: &'static str,
    /// `string` or `date`.
    pub kind: &'static str,
    /// 0 is always printed, 1 only with `-o wide`.
    pub priority: i32,
}

impl PrinterColumn {
    /// Time since the object was created.
    pub const AGE: Self = Self {
        name: "Age",
        path: ".metadata.creationTimestamp",
        kind: "date",
        priority: 0,
    };

    /// Status of the Ready condition.
    pub const READY: Self = Self::text("Ready", r#".status.conditions[?(@.type=="Ready")].status"#);

    /// Message of the Ready condition.
    pub const STATUS: Self = Self::text("Status", r#".status.conditions[?(@.type=="Ready")].message"#);

    /// A column with a text.
    #[must_use]
    pub const fn text(name: &'static str, path: &'static str) -> Self {
        Self {
            name,
            path,
            kind: "string",
            priority: 0,
        }
    }

    /// A column with a text that is printed only with `-o wide`.
    #[must_use]
    pub const fn wide(name: &'static str, path: &'static str) -> Self {
        Self {
            name,
            path,
            kind: "string",
            priority: 1,
        }
    }
}

/// Everything that a custom resource definition says besides its schema.
///
/// All kinds are namespaced and have exactly one version, which is served and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// API group, such as `source.toolkit.fluxcd.io`.
    pub group: &'static str,
    /// Version, such as `v1`.
    pub version: &'static str,
    /// Kind, such as `GitRepository`.
    pub kind: &'static str,
    /// Name of the resource in URLs, such as `gitrepositories`.
    pub plural: &'static str,
    /// Name for one object on the command line, such as `gitrepository`.
    pub singular: &'static str,
    /// Further names for the command line, such as `gitrepo`.
    pub short_names: &'static [&'static str],
    /// Sets of kinds that this one is listed with: `kubectl get fluxcd`.
    pub categories: &'static [&'static str],
    /// What `kubectl get` prints after the name.
    pub columns: &'static [PrinterColumn],
    /// Whether the status is a resource of its own. Without one, a status field is not kept.
    pub status_subresource: bool,
    /// Whether a fresh object shows `observedGeneration: -1`, so that tools see it as in progress.
    pub status_default: bool,
    /// Whether variable substitution must leave the definition alone, because its texts contain `${...}`.
    pub substitute_disabled: bool,
}

impl Definition {
    /// The `apiVersion` of objects: `<group>/<version>`.
    #[must_use]
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// Name of the custom resource definition: `<plural>.<group>`.
    #[must_use]
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }
}

/// A kind of this API. Implemented by the objects themselves.
pub trait CustomResource:
    kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
{
    /// Names, columns and the other facts of the kind.
    const DEFINITION: Definition;

    /// What an object of the kind is, in a sentence or two.
    const DESCRIPTION: &str;

    /// Schema of the spec.
    fn spec_schema(generator: &mut SchemaGenerator) -> Schema;

    /// Schema of the status, for kinds that have one.
    fn status_schema(_generator: &mut SchemaGenerator) -> Option<Schema> {
        None
    }
}

/// The parts of an object that every controller reads and writes in the same way.
pub trait Reconciled: CustomResource {
    /// Whether the user asked for the object to be left alone (`spec.suspend`).
    fn suspended(&self) -> bool {
        false
    }

    /// The conditions, empty when there is no status.
    fn conditions(&self) -> &[Condition];

    /// The conditions for change; a missing status is created.
    fn conditions_mut(&mut self) -> &mut Vec<Condition>;

    /// The generation of the spec that was last reconciled; -1 on a fresh object.
    fn observed_generation(&self) -> Option<i64> {
        None
    }

    /// Records the generation of the spec that was reconciled, for kinds that have the field.
    fn set_observed_generation(&mut self, _generation: i64) {}

    /// The value of the annotation [`RECONCILE_REQUESTED_AT`](crate::annotations::RECONCILE_REQUESTED_AT)
    /// that was last answered.
    fn last_handled_reconcile_at(&self) -> Option<&str> {
        None
    }

    /// Records the request that was answered, for kinds that have the field.
    fn set_last_handled_reconcile_at(&mut self, _request: &str) {}

    /// The condition of the given type.
    fn condition(&self, condition_type: &str) -> Option<&Condition> {
        self.conditions()
            .iter()
            .find(|condition| condition.condition_type == condition_type)
    }
}
