//! The recorded templates: Go's output, or Go's error, to the byte.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use serde_json::Value;

#[test]
fn recorded_templates_give_the_recorded_output_and_errors() {
    let Some(corpus) = support::corpus("gotemplate") else {
        return;
    };
    let read =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(corpus.join(name)).unwrap()).unwrap() };
    let cases = read("cases.json");
    let cases = cases.as_array().unwrap();
    let oracle = read("oracle.json");
    let mut failed = Vec::new();
    for case in cases {
        let text = |key: &str| case[key].as_str().unwrap();
        let expected = &oracle[text("name")];
        let expected = match expected["err"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(expected["out"].as_str().unwrap().to_owned()),
        };
        let found = support::render(text("tmpl"), &case["data"], text("mk"));
        if found != expected {
            eprintln!(
                "FAIL {}: {:?}\n  want {expected:?}\n  got  {found:?}",
                text("name"),
                text("tmpl")
            );
            failed.push(text("name"));
        }
    }
    eprintln!(
        "gotemplate: {} of {} pass",
        cases.len() - failed.len(),
        cases.len()
    );
    assert!(cases.len() > 200, "the corpus is not what it was");
    assert!(failed.is_empty(), "{failed:?}");
}
