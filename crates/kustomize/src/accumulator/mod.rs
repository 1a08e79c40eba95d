//! Building a kustomization: collecting objects from bases, files, generators and components, then changing
//! them, in kustomize's order.

mod schema_state;
mod target;
mod transform;

pub(crate) use schema_state::SchemaState;
pub(crate) use target::Target;

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::FieldSpecs;
use crate::kustomization::Var;
use crate::resource::{Gvk, Resource, ResourceId, split_api_version};
use crate::resource_map::ResourceMap;
use crate::schema::Schema;

/// What has been collected so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accumulator {
    pub(crate) map: ResourceMap,
    pub(crate) specs: Arc<FieldSpecs>,
    pub(crate) variables: Vec<Var>,
}

impl Accumulator {
    /// Adds everything of another one.
    pub(crate) fn merge(&mut self, other: Self, schema: &Schema) -> Result<()> {
        if self.map.is_empty() && *self.specs == FieldSpecs::default() && self.variables.is_empty() {
            other.map.check_unique(schema)?;
            *self = other;
            return Ok(());
        }
        self.map.append_all(other.map, schema)?;
        FieldSpecs::merge_shared(&mut self.specs, &other.specs)?;
        other
            .variables
            .into_iter()
            .try_for_each(|variable| self.add_variable(variable))
    }

    fn add_variable(&mut self, mut variable: Var) -> Result<()> {
        let Err(place) = self
            .variables
            .binary_search_by(|known| known.name.cmp(&variable.name))
        else {
            return Err(Error::new(
                ErrorKind::Variable,
                format!("the variable {:?} is defined twice", variable.name),
            )
            .remedy("remove one of the definitions"));
        };
        if variable.fieldref.field_path.is_empty() {
            "metadata.name".clone_into(&mut variable.fieldref.field_path);
        }
        self.variables.insert(place, variable);
        Ok(())
    }

    /// Takes up the variables of a kustomization and notes at each object which of them read it.
    pub(crate) fn add_variables(&mut self, variables: &[Var], schema: &Schema) -> Result<()> {
        for variable in variables {
            let mut variable = variable.clone();
            let target = &mut variable.objref;
            if !target.api_version.is_empty() {
                let (group, version) = split_api_version(&target.api_version);
                (target.group, target.version) = (group.to_owned(), version.to_owned());
            }
            let gvk = Gvk {
                group: target.group.clone(),
                version: target.version.clone(),
                kind: target.kind.clone(),
            };
            let wanted = ResourceId {
                gvk,
                name: target.name.clone(),
                namespace: target.namespace.clone(),
                cluster_scoped: false,
            };
            let fits = |id: &ResourceId| {
                id.gvk == wanted.gvk
                    && id.name == wanted.name
                    && (wanted.namespace.is_empty() || id.same_namespace(&wanted))
            };
            let mut matches = self.map.candidates(Some(wanted.name.as_str()));
            matches.retain(|index| {
                self.map
                    .get(*index)
                    .is_some_and(|resource| is_or_was(resource, &fits, schema))
            });
            match matches[..] {
                [] => {}
                [index] => {
                    if let Some(resource) = self.map.content_mut(index) {
                        resource.variables.push(variable.name.clone());
                    }
                }
                _ => {
                    return Err(Error::new(
                        ErrorKind::Variable,
                        format!("{} objects match the variable {:?}", matches.len(), variable.name),
                    )
                    .remedy("give the namespace in objref, or name another object"));
                }
            }
            self.add_variable(variable)?;
        }
        Ok(())
    }
}

fn is_or_was(resource: &Resource, fits: &dyn Fn(&ResourceId) -> bool, schema: &Schema) -> bool {
    !resource.is_empty() && (resource.previous_ids().any(|id| fits(&id)) || fits(&resource.id(schema)))
}
