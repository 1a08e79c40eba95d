//! What changes objects: each transformer is a value with its configuration and a method `apply`.

mod annotations;
mod images;
mod name_references;
mod names;
mod namespace;
mod patches;
mod replacements;
mod replicas;
mod value_add;
mod variables;

pub(crate) use annotations::{Annotations, Labels};
pub(crate) use images::Images;
pub(crate) use name_references::fix_name_references;
pub(crate) use names::{AddName, Position, add_hashes};
pub(crate) use namespace::{Namespace, SubjectMode};
pub(crate) use patches::{InlinePatch, JsonTransformer, PatchTransformer, StrategicTransformer};
pub(crate) use replacements::Replacements;
pub(crate) use replicas::Replicas;
pub(crate) use value_add::{ValueAdd, ValueTarget};
pub(crate) use variables::resolve_variables;

use sluice_goyaml::Node;

use crate::error::{ErrorKind, Result};
use crate::field_specs::{FieldSpec, split_path};
use crate::resource::{Gvk, Resource};
use crate::tree::{self, Create, Outcome};

/// A field specification with its path split.
#[derive(Debug, Clone)]
pub(crate) struct Spec<'a> {
    pub(crate) field: &'a FieldSpec,
    pub(crate) steps: Vec<String>,
}

impl<'a> Spec<'a> {
    pub(crate) fn new(field: &'a FieldSpec) -> Self {
        Self {
            field,
            steps: split_path(&field.path, '/'),
        }
    }

    pub(crate) fn all(fields: &'a [FieldSpec]) -> Vec<Self> {
        fields.iter().map(Self::new).collect()
    }

    /// Calls `set` for the field in an object, if the object's kind has it.
    pub(crate) fn apply(
        &self,
        resource: &mut Resource,
        gvk: &Gvk,
        create: Create,
        set: &mut dyn FnMut(&mut Node) -> Outcome<()>,
    ) -> Result<()> {
        if !self.field.selects(gvk) {
            return Ok(());
        }
        let create = if self.field.create {
            create
        } else {
            Create::Nothing
        };
        tree::visit(resource.node_mut(), &self.steps, create, set).map_err(|problem| {
            resource
                .error(ErrorKind::Transformer, problem)
                .at_field(self.field.path.as_str())
        })
    }
}
