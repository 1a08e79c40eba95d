//! The real text/template, as a program that answers in JSON.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::unwrap_used, reason = "tests fail this way")]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

/// The answers to cases, or None (after saying so) where there is no oracle and none is required.
pub(crate) fn ask(cases: &[Value]) -> Option<Vec<Value>> {
    let mut input = Vec::new();
    for case in cases {
        serde_json::to_writer(&mut input, case).unwrap();
        input.push(b'\n');
    }
    let output = run("gotemplate", input)?;
    let answers: Vec<Value> = serde_json::Deserializer::from_slice(&output)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(answers.len(), cases.len());
    Some(answers)
}

/// An answer as output or error.
pub(crate) fn outcome(answer: &Value) -> Result<String, String> {
    match answer["err"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer["out"].as_str().unwrap().to_owned()),
    }
}

/// What the oracle prints for an input, or None (after saying so) where it is absent and not required.
pub(crate) fn run(subcommand: &str, input: Vec<u8>) -> Option<Vec<u8>> {
    let tools = std::env::var_os("SLUICE_TOOLS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools"),
        PathBuf::from,
    );
    let oracle = tools.join("oracle");
    if !oracle.is_file() {
        super::skip(&format!("{} is absent", oracle.display()));
        return None;
    }
    let mut child = Command::new(&oracle)
        .arg(subcommand)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}
