use std::collections::BTreeMap;

use super::Spec;
use crate::error::Result;
use crate::field_specs::FieldSpec;
use crate::resource_map::ResourceMap;
use crate::tree::{Create, Shares};

/// Sets labels.
#[derive(Debug, Clone, Default)]
pub(crate) struct Labels {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Labels {
    pub(crate) fn apply(&self, map: &mut ResourceMap) -> Result<()> {
        set_all(map, &self.labels, &self.fields)
    }
}

/// Sets annotations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Annotations {
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Annotations {
    pub(crate) fn apply(&self, map: &mut ResourceMap) -> Result<()> {
        set_all(map, &self.annotations, &self.fields)
    }
}

fn set_all(map: &mut ResourceMap, values: &BTreeMap<String, String>, fields: &[FieldSpec]) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let specs = Spec::all(fields);
    for resource in map.contents_mut() {
        let gvk = resource.gvk();
        if !specs.iter().any(|spec| spec.field.selects(&gvk)) {
            continue;
        }
        for (key, value) in values {
            let group = resource.start_share(value);
            for spec in &specs {
                spec.apply(resource, &gvk, Create::Mapping, &mut |node| {
                    Shares::set_field(node, key, value, group)
                })?;
            }
        }
        resource.settle_shares();
    }
    Ok(())
}
