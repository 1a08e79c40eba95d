//! Files under `configurations`.

use sluice_goyaml::{Flavour, Limits, Node, parse_document};

use super::{FieldSpecs, NameReference};
use crate::error::{Error, Result};
use crate::kustomization::decode::Decoder;
use crate::kustomization::parse::read_field_spec;

/// Reads one file of field specifications.
///
/// # Errors
/// What is not YAML, unknown sections and fields, with file and line.
pub(crate) fn load_configurations(text: &[u8], file: &str, limits: &Limits) -> Result<FieldSpecs> {
    let node = parse_document(text, Flavour::SigsStrict, *limits)
        .map_err(|error| Error::from_yaml(&error).in_file(file))?
        .unwrap_or_else(Node::null);
    let decoder = Decoder { file, strict: true };
    let mut fields = decoder.fields(&node, "")?;
    let mut specs = FieldSpecs::default();
    for section in [
        "namePrefix",
        "nameSuffix",
        "namespace",
        "commonLabels",
        "labels",
        "templateLabels",
        "commonAnnotations",
        "varReference",
        "images",
        "replicas",
    ] {
        let list = fields.list(section, read_field_spec)?;
        if let Some(target) = specs.list_mut(section) {
            *target = list;
        }
    }
    specs.name_reference = fields.list("nameReference", |decoder, node, path| {
        let mut fields = decoder.fields(node, path)?;
        let result = NameReference {
            group: fields.string("group")?,
            version: fields.string("version")?,
            kind: fields.string("kind")?,
            referrers: fields.list("fieldSpecs", read_field_spec)?,
        };
        fields.finish()?;
        Ok(result)
    })?;
    fields.finish()?;
    specs.sort();
    Ok(specs)
}
