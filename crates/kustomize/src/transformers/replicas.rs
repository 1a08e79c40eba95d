use sluice_goyaml::Style;

use super::Spec;
use crate::error::{Error, ErrorKind, Result};
use crate::field_specs::FieldSpec;
use crate::kustomization::Replica;
use crate::resource::{Gvk, Resource};
use crate::resource_map::ResourceMap;
use crate::tree::{self, Create};

/// Sets the replica count of the objects that have or had a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replicas {
    pub(crate) replica: Replica,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Replicas {
    pub(crate) fn apply(&self, map: &mut ResourceMap) -> Result<()> {
        let specs = Spec::all(&self.fields);
        let count = self.replica.count.to_string();
        let mut found = false;
        for index in map.candidates(Some(&self.replica.name)) {
            let Some(resource) = map.content_mut(index).filter(|resource| !resource.is_empty()) else {
                continue;
            };
            let gvk = resource.gvk();
            for spec in &specs {
                if !has_id(resource, &gvk, &self.replica.name, spec.field) {
                    continue;
                }
                found = true;
                spec.apply(resource, &gvk, Create::Scalar(tree::INTEGER), &mut |node| {
                    tree::replace_scalar(node, tree::scalar(count.as_str(), tree::INTEGER, Style::Plain))
                })?;
            }
        }
        if found {
            return Ok(());
        }
        let kinds: Vec<&str> = self.fields.iter().map(|field| field.kind.as_str()).collect();
        Err(Error::new(
            ErrorKind::Reference,
            format!(
                "there is no object {:?} of the kinds {}",
                self.replica.name,
                kinds.join(", ")
            ),
        )
        .at_field(format!("replicas[{}]", self.replica.name))
        .remedy("correct the name, or remove the entry"))
    }
}

fn has_id(resource: &Resource, gvk: &Gvk, name: &str, field: &FieldSpec) -> bool {
    let former = resource
        .previous_ids()
        .any(|id| id.name == name && field.selects(&id.gvk));
    former || resource.name() == name && field.selects(gvk)
}
