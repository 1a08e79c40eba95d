//! The generated definitions against those that Flux ships (`$SLUICE_ORACLE/crds`).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests fail and report this way"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use sluice_api::crd;
use sluice_testbed::tools;

/// Written by the tool that generated Flux's files, which did not generate ours.
const GENERATOR_MARK: &str = "controller-gen.kubebuilder.io/version";

/// Takes out what may differ: descriptions of schemas (a property may still be called so), and the mark of the
/// generator.
fn comparable(mut definition: Value) -> Value {
    if let Some(annotations) = definition
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(GENERATOR_MARK);
        if annotations.is_empty() {
            definition["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("annotations");
        }
    }
    for version in definition["spec"]["versions"].as_array_mut().unwrap() {
        strip_descriptions(&mut version["schema"]["openAPIV3Schema"]);
    }
    definition
}

fn read_document(path: &Path) -> Value {
    common::read_yaml(path).remove(0)
}

fn strip_descriptions(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    object.remove("description");
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(strip_descriptions);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            strip_descriptions(inner);
        }
    }
}

/// All differences as lines `path: theirs / ours`.
fn differences(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: BTreeMap<&String, ()> = left.keys().chain(right.keys()).map(|key| (key, ())).collect();
            for key in keys.keys() {
                let inner = format!("{path}.{key}");
                match (left.get(*key), right.get(*key)) {
                    (Some(one), Some(other)) => differences(&inner, one, other, found),
                    (Some(one), None) => found.push(format!("{inner}: {one} / absent")),
                    (None, Some(other)) => found.push(format!("{inner}: absent / {other}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (one, other)) in left.iter().zip(right).enumerate() {
                differences(&format!("{path}[{index}]"), one, other, found);
            }
        }
        (one, other) if one != other => found.push(format!("{path}: {one} / {other}")),
        _ => {}
    }
}

/// COM-001, COM-002, COM-003: groups, versions, names, categories, printer columns, schemas, defaults,
/// rules and subresources are Flux's.
#[test]
fn definitions_equal_those_of_flux_apart_from_descriptions() {
    let Some(directory) = tools::require_or_skip(tools::oracle_data("crds")) else {
        return;
    };
    let ours: BTreeMap<String, Value> = crd::definitions()
        .into_iter()
        .map(|definition| (definition.file_name, comparable(definition.object)))
        .collect();
    let theirs: BTreeMap<String, Value> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                comparable(read_document(&path)),
            )
        })
        .collect();
    assert_eq!(theirs.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
    assert_eq!(ours.len(), 15);
    let mut found = Vec::new();
    for (name, definition) in &theirs {
        differences(name, definition, &ours[name], &mut found);
    }
    assert!(found.is_empty(), "theirs / ours:\n{}", found.join("\n"));
}

#[test]
fn every_field_has_a_description() {
    fn check(path: &str, schema: &Value, missing: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let inner = format!("{path}.{name}");
            if property["description"].as_str().is_none_or(str::is_empty) && !inner.ends_with("#.metadata") {
                missing.push(inner.clone());
            }
            check(&inner, property, missing);
        }
        if let Some(items) = schema.get("items") {
            check(&format!("{path}[]"), items, missing);
        }
    }
    let mut missing = Vec::new();
    for definition in crd::definitions() {
        let schema = &definition.object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert!(schema["description"].is_string());
        check(&format!("{}#", definition.file_name), schema, &mut missing);
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_files_in_config_are_up_to_date() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/crd");
    let definitions = crd::definitions();
    for definition in &definitions {
        let path = directory.join(&definition.file_name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(
            text == crd::to_yaml(&definition.object),
            "{} is old: run make generate",
            path.display()
        );
        assert_eq!(read_document(&path), definition.object);
    }
    let listed = read_document(&directory.join("kustomization.yaml"));
    let names: Vec<_> = definitions
        .iter()
        .map(|definition| Value::from(definition.file_name.as_str()))
        .collect();
    assert_eq!(listed["resources"], Value::from(names));
    let files = fs::read_dir(&directory).unwrap().count();
    assert_eq!(
        files,
        definitions.len() + 1,
        "config/crd holds files that are not generated"
    );
}
