//! What the tests share.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sluice_goyaml::{Flavour, Limits, json_from_node, parse_documents};

/// The objects in `tests/samples/<kind>.yaml`: the first one sets every field that can be set at once, the
/// others those that exclude them.
#[allow(
    dead_code,
    reason = "each test file is a crate of its own, and not all need samples"
)]
pub(crate) fn samples(kind: &str) -> Vec<Value> {
    read_yaml(
        &Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/samples")
            .join(format!("{kind}.yaml")),
    )
}

/// The documents of a YAML file.
pub(crate) fn read_yaml(path: &Path) -> Vec<Value> {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse_documents(&text, Flavour::Sigs, Limits::default())
        .and_then(|documents| {
            documents
                .iter()
                .map(|document| json_from_node(document, Flavour::Sigs))
                .collect()
        })
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
