//! What kustomize prints, read and written again.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::PathBuf;

use sluice_goyaml::{Flavour, Limits, json_from_node, parse_documents, write_sigs};

/// Every document that kustomize printed must come out of a reader and the writer as it was: the writer is
/// then the one that kustomize uses.
#[test]
fn the_output_of_kustomize_is_written_byte_for_byte() {
    let folder = std::env::var_os("SLUICE_CORPUS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus")),
        PathBuf::from,
    );
    if !folder.join("kustomize").is_dir() {
        assert!(
            std::env::var("SLUICE_REQUIRE").as_deref() != Ok("1"),
            "no corpus in {}; set SLUICE_CORPUS",
            folder.display()
        );
        eprintln!("SKIPPED: no corpus in {}; set SLUICE_CORPUS", folder.display());
        return;
    }
    let mut files = 0;
    let mut differences = Vec::new();
    for kind in ["kustomize", "bugs-kustomize"] {
        for case in std::fs::read_dir(folder.join(kind)).unwrap() {
            let path = case.unwrap().path().join("expected.yaml");
            let Ok(expected) = std::fs::read_to_string(&path) else {
                continue;
            };
            files += 1;
            for flavour in [Flavour::Kyaml, Flavour::Sigs] {
                let documents = parse_documents(expected.as_bytes(), flavour, Limits::default()).unwrap();
                let written: Vec<String> = documents
                    .iter()
                    .map(|node| write_sigs(&json_from_node(node, flavour).unwrap()).unwrap())
                    .collect();
                if written.join("---\n") != expected {
                    differences.push(format!("{} as {flavour:?}", path.display()));
                }
            }
        }
    }
    eprintln!("{files} files");
    assert!(files > 100, "only {files} files");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
