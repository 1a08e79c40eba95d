//! The recorded corpus of YAML documents and values with what the Go libraries make of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::path::PathBuf;

use serde_json::Value;
use sluice_goyaml::{write_sigs, write_v3};

/// The corpus folder; None, with a note, where there is none.
fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("SLUICE_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    if folder.join("yaml/in.json").is_file() {
        return Some(folder);
    }
    assert!(
        std::env::var("SLUICE_REQUIRE").as_deref() != Ok("1"),
        "no corpus in {}; set SLUICE_CORPUS",
        folder.display()
    );
    eprintln!("SKIPPED: no corpus in {}; set SLUICE_CORPUS", folder.display());
    None
}

fn read_json(path: PathBuf) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The recording program decoded JSON into floats only.
fn with_floats(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::from(number.as_f64().unwrap()),
        Value::Array(items) => items.into_iter().map(with_floats).collect(),
        Value::Object(object) => object
            .into_iter()
            .map(|(key, value)| (key, with_floats(value)))
            .collect(),
        other => other,
    }
}

#[test]
fn values_are_written_as_go_writes_them() {
    let Some(folder) = corpus() else { return };
    let inputs = read_json(folder.join("yaml/emit.json"));
    let expected = read_json(folder.join("yaml/emit_oracle.json"));
    let inputs = inputs.as_array().unwrap();
    let expected = expected.as_array().unwrap();
    assert_eq!(inputs.len(), expected.len());
    for (input, expected) in inputs.iter().zip(expected) {
        let value = with_floats(input.clone());
        for (writer, written) in [
            ("sigs", write_sigs(&value).unwrap()),
            ("v3", write_v3(&value, false)),
            ("ky", write_v3(&value, true)),
        ] {
            let expected = expected[writer].as_str().unwrap();
            for (number, (ours, theirs)) in written.lines().zip(expected.lines()).enumerate() {
                assert_eq!(ours, theirs, "{writer}, line {}", number + 1);
            }
            assert_eq!(written, expected, "{writer}");
        }
    }
}
