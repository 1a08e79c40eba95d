use super::Spec;
use crate::error::{ErrorKind, Result};
use crate::field_specs::FieldSpec;
use crate::resource::{Gvk, hash_of};
use crate::resource_map::ResourceMap;
use crate::schema::Schema;
use crate::tree::{self, Create};

/// Where a text is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Before,
    After,
}

/// Puts a prefix before or a suffix after names.
#[derive(Debug, Clone)]
pub(crate) struct AddName {
    pub(crate) text: String,
    pub(crate) position: Position,
    pub(crate) fields: Vec<FieldSpec>,
}

/// Kinds whose names never change.
fn keeps_name(gvk: &Gvk) -> bool {
    matches!(gvk.kind.as_str(), "CustomResourceDefinition" | "Namespace")
        || gvk.kind == "APIService" && gvk.group == "apiregistration.k8s.io"
}

impl AddName {
    pub(crate) fn apply(&self, map: &mut ResourceMap, schema: &Schema) -> Result<()> {
        let specs = Spec::all(&self.fields);
        let text: std::sync::Arc<str> = self.text.as_str().into();
        for resource in map.resources_mut() {
            let original = resource.original_id(schema).gvk;
            if keeps_name(&original) {
                continue;
            }
            for spec in specs.iter().filter(|spec| spec.field.selects(&original)) {
                if spec.field.path == "metadata/name" && !text.is_empty() {
                    match self.position {
                        Position::Before => resource.state.prefixes.push(text.clone()),
                        Position::After => resource.state.suffixes.push(text.clone()),
                    }
                    resource.store_previous_id(schema);
                }
                let gvk = resource.gvk();
                spec.apply(resource, &gvk, Create::Scalar(tree::STRING), &mut |node| {
                    let old = tree::text_of(node);
                    let new = match self.position {
                        Position::Before => format!("{}{old}", self.text),
                        Position::After => format!("{old}{}", self.text),
                    };
                    tree::replace_scalar(node, tree::untagged(new))
                })?;
            }
        }
        Ok(())
    }
}

/// Puts the hash of their contents after the names of generated objects.
pub(crate) fn add_hashes(map: &mut ResourceMap, schema: &Schema) -> Result<()> {
    if !map.iter().any(|resource| resource.state.needs_hash) {
        return Ok(());
    }
    for resource in map.resources_mut() {
        if resource.state.needs_hash {
            let hash = hash_of(resource.node())
                .map_err(|error| resource.error(ErrorKind::Generator, error.problem().to_owned()))?;
            resource.store_previous_id(schema);
            let name = format!("{}-{hash}", resource.name());
            resource.set_name(&name)?;
        }
    }
    Ok(())
}
