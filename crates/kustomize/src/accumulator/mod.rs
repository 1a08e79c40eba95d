//! Building a kustomization: collecting objects from bases, files, generators and components, then changing
//! them, in kustomize's order.

mod schema_state;
mod target;
mod transform;

pub(crate) use schema_state::SchemaState;
pub(crate) use target::Target;

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
    pub(crate) specs: FieldSpecs,
    pub(crate) variables: Vec<Var>,
}

impl Accumulator {
    /// Adds everything of another one.
    pub(crate) fn merge(&mut self, other: Self, schema: &Schema) -> Result<()> {
        if self.map.is_empty() && self.specs == FieldSpecs::default() && self.variables.is_empty() {
            other.map.check_unique(schema)?;
            *self = other;
            return Ok(());
        }
        self.map.append_all(other.map, schema)?;
        self.specs.merge(&other.specs)?;
        other
            .variables
            .into_iter()
            .try_for_each(|variable| self.add_variable(variable))
    }

    fn add_variable(&mut self, mut variable: Var) -> Result<()> {
        if self.variables.iter().any(|known| known.name == variable.name) {
            return Err(Error::new(
                ErrorKind::Variable,
                format!("the variable {:?} is defined twice", variable.name),
            )
            .remedy("remove one of the definitions"));
        }
        if variable.fieldref.field_path.is_empty() {
            "metadata.name".clone_into(&mut variable.fieldref.field_path);
        }
        self.variables.push(variable);
        self.variables.sort_by(|left, right| left.name.cmp(&right.name));
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
            let matches: Vec<usize> = self
                .map
                .iter()
                .enumerate()
                .filter(|(_, resource)| is_or_was(resource, &fits, schema))
                .map(|(index, _)| index)
                .collect();
            match matches[..] {
                [] => {}
                [index] => {
                    if let Some(resource) = self.map.contents_mut().get_mut(index) {
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
