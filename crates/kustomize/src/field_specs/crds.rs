//! Files under `crds`: OpenAPI definitions whose extensions say which fields refer to other objects.

use serde_json::{Map, Value};
use sluice_goyaml::{Flavour, Limits, parse_json};

use super::{FieldSpec, FieldSpecs, NameReference, merge_one};
use crate::error::{Error, ErrorKind, Result};

/// Reads one file of definitions.
///
/// # Errors
/// A text that is no mapping of definitions.
pub(crate) fn load_crds(text: &[u8], file: &str, limits: &Limits) -> Result<FieldSpecs> {
    let document =
        parse_json(text, Flavour::Sigs, *limits).map_err(|error| Error::from_yaml(&error).in_file(file))?;
    let Some(definitions) = document.as_object() else {
        return Err(
            Error::new(ErrorKind::Schema, "expected OpenAPI definitions by name")
                .in_file(file)
                .remedy("give a mapping from type names to definitions with a Schema"),
        );
    };
    let mut specs = FieldSpecs::default();
    for (name, definition) in definitions {
        let Some(properties) = properties_of(definition) else {
            continue;
        };
        if !["kind", "apiVersion", "metadata"]
            .iter()
            .all(|field| properties.contains_key(*field))
        {
            continue;
        }
        let kind = name.rsplit('.').next().unwrap_or(name);
        let mut walk = Walk {
            specs: &mut specs,
            definitions,
            kind,
            depth: 0,
        };
        walk.definition(name, &mut Vec::new())
            .map_err(|error| error.in_file(file))?;
    }
    specs.sort();
    Ok(specs)
}

/// Field names of this file format match without regard to case.
fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value
        .as_object()?
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

fn properties_of(definition: &Value) -> Option<&Map<String, Value>> {
    field(definition, "Schema")?.get("properties")?.as_object()
}

struct Walk<'a> {
    specs: &'a mut FieldSpecs,
    definitions: &'a Map<String, Value>,
    kind: &'a str,
    depth: usize,
}

impl Walk<'_> {
    fn definition(&mut self, name: &str, path: &mut Vec<String>) -> Result<()> {
        if self.depth > 64 {
            return Err(Error::new(
                ErrorKind::Limit,
                format!("the definition {name} refers to itself"),
            )
            .remedy("remove the circular $ref"));
        }
        let definitions = self.definitions;
        let Some(properties) = definitions.get(name).and_then(properties_of) else {
            return Ok(());
        };
        for (property, value) in properties {
            path.push(property.clone());
            self.property(value, path)?;
            path.pop();
        }
        Ok(())
    }

    fn property(&mut self, value: &Value, path: &mut Vec<String>) -> Result<()> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let spec = FieldSpec {
            kind: self.kind.to_owned(),
            path: path.join("/"),
            ..FieldSpec::default()
        };
        if text("x-kubernetes-annotation").is_some() {
            merge_one(&mut self.specs.common_annotations, &spec)?;
        }
        if text("x-kubernetes-label-selector").is_some() {
            merge_one(&mut self.specs.common_labels, &spec)?;
        }
        if text("x-kubernetes-identity").is_some() {
            merge_one(&mut self.specs.name_prefix, &spec)?;
        }
        if let (Some(version), Some(kind)) = (
            text("x-kubernetes-object-ref-api-version"),
            text("x-kubernetes-object-ref-kind"),
        ) {
            let name = text("x-kubernetes-object-ref-name-key").unwrap_or("name");
            self.specs.merge_name_reference(&NameReference {
                group: String::new(),
                version: version.to_owned(),
                kind: kind.to_owned(),
                referrers: vec![FieldSpec {
                    path: format!("{}/{name}", spec.path),
                    ..spec
                }],
            })?;
        }
        if let Some(reference) = text("$ref") {
            self.depth += 1;
            self.definition(reference, path)?;
            self.depth -= 1;
        }
        Ok(())
    }
}
