//! What readers and writers of YAML complain about, one example of each kind side by side.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail and report this way")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::json;
use sluice_goyaml::{Error, Flavour, Limits, parse_json, write_sigs};

/// A kind by name, and a text that is refused for it.
const EXAMPLES: [(&str, &[u8]); 12] = [
    ("Encoding", b"a: b\nc: \xff\n"),
    ("Encoding", b"a: \x01\n"),
    ("Syntax", b"a: b\nc: [\n"),
    ("Syntax", b"a: b\n\tc: d\n"),
    ("DuplicateKey", b"a: 1\nb: 2\na: 3\n"),
    ("InvalidKey", b"{a: {{ .Values.x }}}\n"),
    ("Alias", b"a: *gone\n"),
    ("Alias", b"a: &x [*x]\n"),
    ("Merge", b"a:\n  <<: text\n"),
    ("Tag", b"a: !!int x\n"),
    ("NoJson", b"a: b\nc: .inf\n"),
    ("Limit", b"a: [[[[[[]]]]]]\n"),
];

fn fail(text: &[u8]) -> Error {
    let limits = Limits {
        depth: 5,
        ..Limits::default()
    };
    match parse_json(text, Flavour::SigsStrict, limits) {
        Ok(value) => panic!("{}: {value}", text.escape_ascii()),
        Err(error) => error.in_file("values.yaml"),
    }
}

fn errors() -> Vec<(&'static str, Error)> {
    let mut errors: Vec<(&str, Error)> = EXAMPLES.iter().map(|(kind, text)| (*kind, fail(text))).collect();
    let unwritable = write_sigs(&json!({"a\u{85}b": 1})).unwrap_err();
    errors.push(("Unwritable", unwritable.in_file("values.yaml")));
    errors
}

#[test]
fn every_error_names_its_place_and_says_what_to_do() {
    let mut texts = String::new();
    for (kind, error) in errors() {
        assert_eq!(format!("{:?}", error.kind()), kind, "{error}");
        assert!(error.line().is_some() || kind == "Unwritable", "no line: {error}");
        assert!(!error.remedy().is_empty(), "no remedy: {error}");
        writeln!(texts, "{kind}\n    {error}").unwrap();
    }
    insta::assert_snapshot!("error_texts", texts);
}

#[test]
fn every_kind_has_an_example() {
    let source = include_str!("../src/error.rs");
    let (_, body) = source.split_once("pub enum ErrorKind {\n").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let kinds: BTreeSet<&str> = body
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()))
        .map(|line| line.trim_end_matches(','))
        .collect();
    let examples: BTreeSet<&str> = errors().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, examples);
}
