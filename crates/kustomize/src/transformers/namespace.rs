use std::collections::HashMap;

use sluice_goyaml::Node;

use super::Spec;
use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::FieldSpec;
use crate::resource::build_state::HELM_GENERATED;
use crate::resource::{IdKey, Resource};
use crate::resource_map::ResourceMap;
use crate::schema::Schema;
use crate::tree::{self, Create, Outcome};

/// Which subjects of role bindings get the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SubjectMode {
    /// Those named `default`.
    #[default]
    DefaultOnly,
    /// All service accounts.
    AllServiceAccounts,
    /// None.
    None,
}

/// Sets the namespace of namespaced objects and of what refers to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Namespace {
    pub(crate) namespace: String,
    pub(crate) fields: Vec<FieldSpec>,
    /// Leaves namespaces that are there.
    pub(crate) unset_only: bool,
    pub(crate) subjects: SubjectMode,
}

impl Namespace {
    pub(crate) fn apply(&self, map: &mut ResourceMap, schema: &Schema) -> Result<()> {
        if self.namespace.is_empty() {
            return Ok(());
        }
        let mut counts: HashMap<IdKey, usize> = HashMap::with_capacity(map.len());
        for resource in map.iter() {
            *counts.entry(resource.id(schema).into_key()).or_default() += 1;
        }
        let specs = Spec::all(&self.fields);
        for resource in map.resources_mut() {
            if resource.is_empty() || resource.annotation(HELM_GENERATED) == Some("true") {
                continue;
            }
            let before = resource.id(schema).into_key();
            resource.store_previous_id(schema);
            self.set_in(resource, &specs, schema)?;
            if let Some(count) = counts.get_mut(&before) {
                *count -= 1;
            }
            let count = counts.entry(resource.id(schema).into_key()).or_default();
            *count += 1;
            if *count != 1 {
                return Err(conflict(resource, &resource.id(schema).to_string()));
            }
        }
        Ok(())
    }

    /// Sets the namespace in one object.
    pub(crate) fn apply_to(&self, resource: &mut Resource, schema: &Schema) -> Result<()> {
        self.set_in(resource, &Spec::all(&self.fields), schema)
    }

    fn set_in(&self, resource: &mut Resource, specs: &[Spec<'_>], schema: &Schema) -> Result<()> {
        let gvk = resource.gvk();
        let in_v1 = resource.api_version() == "v1";
        let is_binding = matches!(gvk.kind.as_str(), "RoleBinding" | "ClusterRoleBinding");
        if !schema.is_cluster_scoped(&gvk) {
            let own = FieldSpec::of_all("metadata/namespace", true);
            Spec::new(&own).apply(resource, &gvk, Create::Scalar(""), &mut |node| self.set(node))?;
        }
        if is_binding {
            self.set_in_subjects(resource)?;
        }
        for spec in specs {
            let handled = spec.field.path == "metadata/namespace"
                || spec.field.path == "metadata/name" && !in_v1
                || is_binding
                    && matches!(spec.field.kind.as_str(), "RoleBinding" | "ClusterRoleBinding")
                    && spec.field.path == "subjects/namespace";
            if !handled {
                spec.apply(resource, &gvk, Create::Scalar(tree::STRING), &mut |node| {
                    self.set(node)
                })?;
            }
        }
        Ok(())
    }

    fn set(&self, node: &mut Node) -> Outcome<()> {
        if self.unset_only && !tree::is_null(node) && !tree::value_of(node).is_empty() {
            return Ok(());
        }
        tree::replace_scalar(node, tree::string(self.namespace.as_str()))
    }

    fn set_in_subjects(&self, resource: &mut Resource) -> Result<()> {
        let result = self.visit_subjects(resource.node_mut());
        result.map_err(|problem| {
            resource
                .error(ErrorKind::Transformer, problem)
                .at_field("subjects")
        })
    }

    fn visit_subjects(&self, node: &mut Node) -> Outcome<()> {
        let (field, wanted) = match self.subjects {
            SubjectMode::None => return Ok(()),
            SubjectMode::DefaultOnly => ("name", "default"),
            SubjectMode::AllServiceAccounts => ("kind", "ServiceAccount"),
        };
        let Some(subjects) = node
            .get_mut("subjects")
            .filter(|subjects| !tree::is_null(subjects))
        else {
            return Ok(());
        };
        let Some(subjects) = subjects.as_sequence_mut() else {
            return Err("expected a list".to_owned());
        };
        for subject in subjects {
            let matches = match subject.get(field) {
                None => false,
                Some(value) if tree::is_null(value) => false,
                Some(value) if value.text().is_none() => {
                    return Err(format!(
                        "expected a scalar in {field}, found {}",
                        tree::kind_name(value)
                    ));
                }
                Some(value) => tree::value_of(value) == wanted,
            };
            if matches {
                let target = tree::lookup_create(subject, &["namespace"], Create::Scalar(tree::STRING))?;
                self.set(target)?;
            }
        }
        Ok(())
    }
}

fn conflict(resource: &Resource, id: &str) -> Error {
    resource
        .error(
            ErrorKind::DuplicateId,
            format!("setting the namespace makes two objects {id}"),
        )
        .remedy("give the objects different names, or remove one")
}
