//! Custom resource definitions, generated from the types.
//!
//! The schema of a field is what its Rust type says ([`schemars`]) and what its attributes add: patterns,
//! bounds, defaults, CEL rules. [`normalize`](mod@normalize) brings that into the structural form that the API
//! server wants. Descriptions are the documentation comments of the types.

mod normalize;
mod yaml;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::annotations;
use crate::resource::{CustomResource, PrinterColumn};
use crate::{extensions, helm, image, kustomize, notification, source};

pub use yaml::to_yaml;

/// One generated definition.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedDefinition {
    /// Name of its file: `<group>_<plural>.yaml`.
    pub file_name: String,
    /// The definition, an object of `apiextensions.k8s.io/v1`.
    pub object: Value,
}

/// The definitions of all kinds, sorted by file name.
#[must_use]
pub fn definitions() -> Vec<GeneratedDefinition> {
    let mut all = vec![
        definition::<source::Bucket>(),
        definition::<source::ExternalArtifact>(),
        definition::<source::GitRepository>(),
        definition::<source::HelmChart>(),
        definition::<source::HelmRepository>(),
        definition::<source::OciRepository>(),
        definition::<kustomize::Kustomization>(),
        definition::<helm::HelmRelease>(),
        definition::<notification::Alert>(),
        definition::<notification::Provider>(),
        definition::<notification::Receiver>(),
        definition::<image::ImagePolicy>(),
        definition::<image::ImageRepository>(),
        definition::<image::ImageUpdateAutomation>(),
        definition::<extensions::ArtifactGenerator>(),
    ];
    all.sort_by(|one, other| one.file_name.cmp(&other.file_name));
    all
}

/// The definition of one kind.
#[must_use]
pub fn definition<K: CustomResource>() -> GeneratedDefinition {
    let facts = K::DEFINITION;
    let mut annotations = Map::new();
    if facts.substitute_disabled {
        annotations.insert(
            annotations::kustomize::SUBSTITUTE.to_owned(),
            json!(annotations::kustomize::DISABLED),
        );
    }
    let mut metadata = json!({ "name": facts.crd_name() });
    if !annotations.is_empty() {
        metadata["annotations"] = Value::Object(annotations);
    }
    let mut names = json!({
        "categories": facts.categories,
        "kind": facts.kind,
        "listKind": format!("{}List", facts.kind),
        "plural": facts.plural,
        "singular": facts.singular,
    });
    if !facts.short_names.is_empty() {
        names["shortNames"] = json!(facts.short_names);
    }
    let subresources = if facts.status_subresource {
        json!({ "status": {} })
    } else {
        json!({})
    };
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": facts.group,
            "names": names,
            "scope": "Namespaced",
            "versions": [{
                "additionalPrinterColumns": facts.columns.iter().map(column).collect::<Vec<_>>(),
                "name": facts.version,
                "schema": { "openAPIV3Schema": schema::<K>() },
                "served": true,
                "storage": true,
                "subresources": subresources,
            }],
        },
    });
    GeneratedDefinition {
        file_name: format!("{}_{}.yaml", facts.group, facts.plural),
        object,
    }
}

/// A printer column as the API server wants it.
fn column(column: &PrinterColumn) -> Value {
    let mut object = json!({ "name": column.name, "jsonPath": column.path, "type": column.kind });
    if column.priority != 0 {
        object["priority"] = json!(column.priority);
    }
    object
}

/// The schema of a kind's objects.
fn schema<K: CustomResource>() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
            settings.transforms.clear();
        })
        .into_generator();
    let mut properties = json!({
        "apiVersion": {
            "description": "Version of the form that this object has, as <group>/<version>.",
            "type": "string",
        },
        "kind": {
            "description": "Kind of this object. It cannot be changed.",
            "type": "string",
        },
        "metadata": { "type": "object" },
        "spec": normalize::structural(K::spec_schema(&mut generator).to_value()),
    });
    if let Some(status) = K::status_schema(&mut generator) {
        properties["status"] = normalize::structural(status.to_value());
        if K::DEFINITION.status_default {
            properties["status"]["default"] = json!({ "observedGeneration": -1 });
        }
    }
    json!({
        "description": K::DESCRIPTION,
        "properties": properties,
        "type": "object",
    })
}
