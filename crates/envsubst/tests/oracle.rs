//! Substitution compared with the library that Flux uses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use sluice_envsubst::{Error, Options, substitute};

const CASES: usize = 1500;

/// The real library's answers; None, with a note, where the oracle is not built.
fn ask_oracle(cases: &[Value]) -> Option<Vec<Value>> {
    let tools = std::env::var_os("SLUICE_TOOLS").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.tools")),
        PathBuf::from,
    );
    let oracle = tools.join("oracle");
    if !oracle.is_file() {
        assert!(
            std::env::var("SLUICE_REQUIRE").as_deref() != Ok("1"),
            "{} is absent",
            oracle.display()
        );
        eprintln!("SKIPPED: {} is absent", oracle.display());
        return None;
    }
    let mut child = Command::new(oracle)
        .arg("envsubst")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = serde_json::to_vec(cases).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn answer(case: &Value) -> Result<String, Error> {
    let variables: BTreeMap<String, String> = serde_json::from_value(case["vars"].clone()).unwrap();
    let options = Options {
        strict: case["strict"].as_bool().unwrap(),
        ..Options::default()
    };
    substitute(case["text"].as_str().unwrap(), &variables, &options)
}

/// Compares our answer with the real one, leaving out what the real library crashes on or cuts characters in.
fn assert_same(case: &Value, expected: &Value) {
    let ours = answer(case);
    if expected["panic"] == json!(true) {
        assert!(
            matches!(ours, Err(Error::SubstringLength { .. })),
            "{case}: {ours:?}"
        );
    } else if expected["invalid"] == json!(true) {
        assert_eq!(ours, Err(Error::NotUtf8), "{case}");
    } else if expected["error"] != json!("") {
        assert_eq!(
            ours.as_ref().map_err(ToString::to_string),
            Err(expected["error"].as_str().unwrap().to_owned()),
            "{case}"
        );
    } else {
        assert_eq!(ours.as_deref(), Ok(expected["out"].as_str().unwrap()), "{case}");
    }
}

fn compare(cases: &[Value]) {
    let Some(expected) = ask_oracle(cases) else { return };
    assert_eq!(expected.len(), cases.len());
    for (case, expected) in cases.iter().zip(&expected) {
        assert_same(case, expected);
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c", "empty", "none", "1a", "a.b", "é"]);
    let operator = prop::sample::select(vec![
        "", "^", "^^", ",", ",,", ":", "#", "##", "%", "%%", "/", "//", "/#", "/%", ":-", ":=", "=", ":?",
        ":+", "-", "^,", "###", ":::", "@",
    ]);
    let operand = prop_oneof![
        "[a-c*?./\\\\\\[\\]^$ 0-9-]{0,6}",
        "[a-zA-Z]{1,3}",
        "[+-]?[0-9]{1,2}(:[+-]?[0-9]{1,2})?",
        "[a-c]{0,2}/[x-z]{0,2}",
        "\\*[./a-c]|[./a-c]\\*",
        "\\PC{0,3}",
    ];
    let simple = (name, operator, operand)
        .prop_map(|(name, operator, operand)| format!("${{{name}{operator}{operand}}}"));
    let nested = (simple.clone(), simple.clone()).prop_map(|(outer, inner)| {
        let body = outer.strip_suffix('}').unwrap().to_owned();
        format!("{body}{inner}}}")
    });
    prop_oneof![
        4 => simple,
        2 => nested,
        1 => Just("$$".to_owned()),
        1 => Just("$${a}".to_owned()),
        1 => Just("${#a}".to_owned()),
        1 => "[a-z{}$\\\\/ \n]{0,5}",
    ]
}

#[test]
fn random_texts_are_substituted_as_the_real_library_does() {
    let values = prop_oneof!["[a-c./]{0,8}", "[a-zA-Z0-9 ./:-]{0,12}", "\\PC{0,5}"];
    let strategy = (
        prop::collection::vec(pieces(), 1..4),
        (values.clone(), values.clone(), values),
        any::<bool>(),
    );
    let mut runner = TestRunner::new(Config::default());
    let cases: Vec<Value> = (0..CASES)
        .map(|_| {
            let (pieces, (a, b, c), strict) = strategy.new_tree(&mut runner).unwrap().current();
            json!({
                "text": pieces.concat(),
                "vars": {"a": a, "b": b, "c": c, "empty": ""},
                "strict": strict,
            })
        })
        .collect();
    compare(&cases);
}

/// One letter of each case pair that Unicode has.
#[test]
fn all_letters_change_case_as_in_go() {
    let letters: Vec<String> = (0x80..0x3_0000u32)
        .filter_map(char::from_u32)
        .filter(|letter| letter.is_alphabetic() || letter.is_lowercase() || letter.is_uppercase())
        .filter(|letter| {
            letter.to_lowercase().next() != Some(*letter) || letter.to_uppercase().next() != Some(*letter)
        })
        .map(String::from)
        .collect();
    let cases: Vec<Value> = letters
        .chunks(64)
        .map(|chunk| json!({"text": "${a^^} ${a,,}", "vars": {"a": chunk.concat()}, "strict": true}))
        .collect();
    compare(&cases);
}

/// Marks are no letters, digits are decimal ones. Blocks without characters newer than Go's Unicode 15.
#[test]
fn names_consist_of_the_letters_and_digits_of_go() {
    let cases: Vec<Value> = (0x80..0x530_u32)
        .chain(0x590..0x700)
        .chain(0x900..0x980)
        .chain(0xA80..0xB00)
        .chain(0x3041..0x3097)
        .filter_map(char::from_u32)
        .map(|character| json!({"text": format!("${{a{character}}}"), "vars": {}, "strict": false}))
        .collect();
    compare(&cases);
}

/// KUS-031, KUS-032, KUS-033: the documented table and what was found to differ.
#[test]
fn the_documented_expressions_equal_the_real_library() {
    let texts = [
        "${v}",
        "${#v}",
        "${v^}",
        "${v^^}",
        "${v,}",
        "${v,,}",
        "${v:2}",
        "${v:0:3}",
        "${v: -1}",
        "${v:-1}",
        "${v:0:-1}",
        "${v:1:9223372036854775807}",
        "${v:99:1}",
        "${v#*o}",
        "${v##*o}",
        "${v%o*}",
        "${v%%o*}",
        "${v#[}",
        "${v#[a-z]}",
        "${v%[a-z]}",
        "${v#\\}",
        "${v/o/0}",
        "${v//o/0}",
        "${v/#fo/X}",
        "${v/%ar/X}",
        "${v/o/}",
        "${v//o}",
        "${v/#fo/}",
        "${missing:-d}",
        "${missing:=d}",
        "${missing=d}",
        "${missing:?d}",
        "${missing:+d}",
        "${v:?d}",
        "${v:+d}",
        "${empty:-d}",
        "${missing:-${v}}",
        "${missing:-a${v}b}",
        "${v:-${missing}}",
        "${missing-d}",
        "${a.b}",
        "$v",
        "$(v)",
        "$",
        "$$",
        "$$$",
        "$${v}",
        "$$${v}",
        "cost $$5",
        "${missing}",
        "${",
        "${}",
        "${v",
        "${v:",
        "${v:é}",
        "${v#}",
        "${v/a}",
        "${v:-}",
        "${1a}",
        "${#}",
        "${##}",
        "${#v:-d}",
        "a\\/b ${v/\\//x} ${v//\\\\/x}",
        "${v/$$/x}",
        "${missing:-$$}",
        "line\n${v}\n\u{0}rest",
    ];
    let cases: Vec<Value> = texts
        .iter()
        .flat_map(|text| {
            [true, false]
                .map(|strict| json!({"text": text, "vars": {"v": "foobar", "empty": ""}, "strict": strict}))
        })
        .collect();
    compare(&cases);
}
