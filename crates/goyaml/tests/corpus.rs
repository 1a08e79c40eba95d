//! The recorded corpus of YAML documents and values with what the Go libraries make of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::path::PathBuf;

use serde_json::Value;
use sluice_goyaml::{
    Content, Entry, Flavour, Limits, Mapping, Node, Resolved, Style, json_from_node, parse_document,
    parse_for_editing, parse_json, write_kyaml, write_sigs, write_v3,
};

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

/// Flavour names in the corpus with what we make of a text: output or Go's error.
fn read_as_recorded(text: &[u8]) -> Vec<(&'static str, Result<String, String>)> {
    let limits = Limits::default();
    let json = |flavour| {
        parse_json(text, flavour, limits)
            .map(|value| value.to_string())
            .map_err(|error| error.go_message().to_owned())
    };
    let v3 = parse_document(text, Flavour::Kyaml, limits)
        .and_then(|node| match node {
            Some(node) => json_from_node(&with_printed_keys(node), Flavour::Kyaml),
            None => Ok(Value::Null),
        })
        .map(|value| value.to_string())
        .map_err(|error| error.go_message().to_owned());
    let kyaml = parse_for_editing(text, limits)
        .map_err(|error| error.go_message().to_owned())
        .and_then(|documents| match documents.get(..1) {
            Some(first) => Ok(write_kyaml(first)),
            None => Err("EOF".to_owned()),
        });
    vec![
        ("sigs", json(Flavour::Sigs)),
        ("strict", json(Flavour::SigsStrict)),
        ("v3", v3),
        ("ky", kyaml),
    ]
}

/// The recording program printed keys that are not strings with `%v`, and did not go through kyaml's text,
/// where empty values in flow collections become strings.
fn with_printed_keys(mut node: Node) -> Node {
    if node.style == Style::Flow {
        node.style = Style::Plain;
    }
    match &mut node.content {
        Content::Sequence(items) => {
            *items = std::mem::take(items).into_iter().map(with_printed_keys).collect();
        }
        Content::Mapping(mapping) => {
            let entries = std::mem::take(mapping).into_entries();
            *mapping = Mapping::from_entries(
                entries
                    .into_iter()
                    .map(|Entry { key, value }| Entry {
                        key: match key.resolve() {
                            Some(Resolved::Null) => Node::string("<nil>"),
                            Some(Resolved::Int(key)) => Node::string(key.to_string()),
                            _ => Node::string(key.text().unwrap()),
                        },
                        value: with_printed_keys(value),
                    })
                    .collect(),
            );
        }
        _ => {}
    }
    node
}

/// Errors whose text in Go prints values or depends on the order of a Go map; only their kind counts.
fn shorten(error: &str) -> &str {
    for prefix in ["yaml: invalid map key", "unsupported map key of type"] {
        if error.starts_with(prefix) {
            return prefix;
        }
    }
    error
}

#[test]
fn documents_are_read_as_go_reads_them() {
    let Some(folder) = corpus() else { return };
    let inputs = read_json(folder.join("yaml/in.json"));
    let expected = read_json(folder.join("yaml/oracle.json"));
    let mut differences = Vec::new();
    for input in inputs.as_array().unwrap() {
        let name = input["n"].as_str().unwrap();
        for (flavour, ours) in read_as_recorded(input["y"].as_str().unwrap().as_bytes()) {
            let recorded = &expected[name];
            let error = recorded[format!("{flavour}_err")].as_str();
            // The program recorded no output for the strict reader.
            let theirs = match (error, recorded[flavour].as_str()) {
                (Some(error), _) => Err(shorten(error)),
                (None, Some(out)) => Ok(out.to_owned()),
                (None, None) => Ok(recorded["sigs"].as_str().unwrap_or_default().to_owned()),
            };
            let same = match (&ours, &theirs) {
                (Ok(ours), Ok(theirs)) if flavour == "ky" => ours == theirs,
                (Ok(ours), Ok(theirs)) => {
                    serde_json::from_str::<Value>(ours).unwrap()
                        == serde_json::from_str::<Value>(theirs).unwrap()
                }
                (Err(ours), Err(theirs)) => shorten(ours) == *theirs,
                _ => false,
            };
            if !same {
                differences.push(format!(
                    "{name}, {flavour}:\n  ours   {ours:?}\n  theirs {theirs:?}"
                ));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
