//! Expressions judged by Flux's own library: written ones for every function, and random ones.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it skips"
)]

mod cases;
mod random;

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sluice_expression::{Expression, Health, HealthExpressions, Output, StatusEvaluator};

/// Asks the real library.
fn ask(command: &str, cases: &[Value]) -> Option<Vec<Value>> {
    let tools = std::env::var_os("SLUICE_TOOLS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.tools"),
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
    let mut child = Command::new(&oracle)
        .arg(command)
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
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), cases.len());
    Some(answers)
}

/// One expression: parsed only, or checked against `self` and `dep`.
fn case(expression: &str, checked: bool, data: &Value) -> Value {
    let mut case = json!({"expression": expression, "data": data, "output": ""});
    if checked {
        case["variables"] = json!(["self", "dep"]);
    }
    case
}

/// Our answer in the oracle's shape.
fn answer(case: &Value) -> Value {
    let text = case["expression"].as_str().unwrap();
    let failed = |phase: &str, error: String| json!({"phase": phase, "error": error});
    let compiled = if case["variables"].is_array() {
        Expression::compile(text, &["self", "dep"], Output::Any)
    } else {
        Expression::parse(text)
    };
    let expression = match compiled {
        Ok(expression) => expression,
        Err(error) => return failed("compile", error.to_string()),
    };
    match expression.print_fields(&case["data"]) {
        Ok(value) => json!({"value": value}),
        Err(error) => failed("evaluate", error.to_string()),
    }
}

/// What must agree: values, whether there is an error and when, and with `words` its text.
fn differs(expected: &Value, ours: &Value, words: bool) -> bool {
    if words {
        return expected != ours;
    }
    expected.get("value") != ours.get("value") || expected.get("phase") != ours.get("phase")
}

fn data() -> Value {
    json!({
        "self": {"metadata": {"name": "second", "labels": {"go": "yes"}}, "spec": {"interval": "10m"}},
        "dep": {
            "metadata": {"name": "first", "labels": {"go": "yes"}, "generation": 3},
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "True", "reason": "Succeeded"},
                    {"type": "Stalled", "status": "False"},
                ],
                "observedGeneration": 3,
                "lastHandledReconcileAt": "2024-05-06T07:08:09.123+02:00",
            },
        },
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {
            "name": "w",
            "namespace": "default",
            "generation": 7,
            "annotations": {"example.com/key": "value", "size": "12"},
        },
        "spec": {"replicas": 3, "ratio": 1.5, "names": ["a", "b", "ü"], "empty": {}, "none": null, "flag": true,
                 "big": 9_223_372_036_854_775_807_i64, "items": [{"n": 1}, {"n": 2}], "word": "Grüße, Welt"},
        "status": {"phase": "Done", "replicas": 3, "observedGeneration": 7, "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-02T03:04:05Z"},
            {"type": "Synced", "status": "False", "message": "no"},
        ]},
    })
}

/// Differences that are meant: keys of maps are numbers, texts and truth values here, and what makes the real
/// library panic or refuse its own plan is an error of the evaluation.
fn is_deliberate(expected: &Value, ours: &Value) -> bool {
    let says = |answer: &Value, words: &str| {
        answer["error"]
            .as_str()
            .is_some_and(|error| error.contains(words))
    };
    says(ours, "unsupported key type")
        || says(expected, "panic: ")
        || says(expected, "test only expressions must have constant qualifiers")
}

/// Asks for all cases in both modes and lists what differs.
fn compare(expressions: &[String], words: bool) {
    let data = data();
    let cases: Vec<Value> = expressions
        .iter()
        .flat_map(|text| [case(text, false, &data), case(text, true, &data)])
        .collect();
    let Some(answers) = ask("cel", &cases) else { return };
    let mut wrong = Vec::new();
    for (case, expected) in cases.iter().zip(&answers) {
        let ours = answer(case);
        if differs(expected, &ours, words) && !is_deliberate(expected, &ours) {
            let mode = if case["variables"].is_array() {
                "checked"
            } else {
                "parsed"
            };
            wrong.push(format!(
                "{} ({mode})\n  real: {expected}\n  ours: {ours}",
                case["expression"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        cases.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

/// Every function, operator and macro that Flux's environment has, and what is next to them. KUS-055
#[test]
fn values_are_those_of_the_real_library() {
    let expressions: Vec<String> = cases::VALUES.iter().map(|text| (*text).to_owned()).collect();
    compare(&expressions, false);
}

/// Errors that a user is likely to see, word for word. KUS-049
#[test]
fn errors_are_those_of_the_real_library() {
    let expressions: Vec<String> = cases::ERRORS.iter().map(|text| (*text).to_owned()).collect();
    compare(&expressions, true);
}

/// Whatever is no expression is refused by both.
#[test]
fn broken_expressions_are_refused_as_by_the_real_library() {
    let expressions: Vec<String> = cases::BROKEN.iter().map(|text| (*text).to_owned()).collect();
    compare(&expressions, false);
}

/// The status of an object by the expressions of its kind: the order in which they are tried, generations that
/// differ, expressions that fail or are none. KUS-055
#[test]
fn health_is_that_of_the_real_library() {
    let expressions = [
        "",
        "true",
        "false",
        "status.phase == 'Done'",
        "has(status.phase) && status.phase == 'Broken'",
        "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
        "1",
        "status.phase == ",
        "timestamp('x') == timestamp(0)",
    ];
    let objects = [
        json!({"metadata": {"generation": 1}, "status": {"phase": "Done"}}),
        json!({"metadata": {"generation": 2}, "status": {"phase": "Done", "observedGeneration": 1}}),
        json!({"metadata": {"generation": 2}, "status": {"phase": "Broken", "observedGeneration": 2}}),
        json!({"metadata": {"generation": 2}, "status": {"phase": "Done", "observedGeneration": "1"}}),
        json!({"metadata": {"generation": 2}, "status": {"phase": "Done", "observedGeneration": 1.5}}),
        json!({"metadata": {}, "status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True"}]}}),
        json!({"metadata": {"generation": 1}}),
        json!({}),
    ];
    let mut cases = Vec::new();
    for current in expressions {
        for failed in expressions {
            for progressing in expressions {
                for object in &objects {
                    let checks = json!({"current": current, "failed": failed, "inProgress": progressing});
                    cases.push(json!({"checks": checks, "object": object}));
                }
            }
        }
    }
    let Some(answers) = ask("cel-health", &cases) else {
        return;
    };
    for (case, expected) in cases.iter().zip(&answers) {
        let text = |name: &str| case["checks"][name].as_str().unwrap();
        let evaluator = StatusEvaluator::new(HealthExpressions {
            in_progress: text("inProgress"),
            failed: text("failed"),
            current: text("current"),
        });
        let ours = match evaluator.map(|evaluator| evaluator.evaluate(&case["object"])) {
            Err(error) => json!({"phase": "compile", "error": error.to_string()}),
            Ok(Err(error)) => json!({"phase": "evaluate", "error": error.to_string()}),
            Ok(Ok(Health::InProgress)) => json!({"value": "InProgress"}),
            Ok(Ok(Health::Failed)) => json!({"value": "Failed"}),
            Ok(Ok(Health::Current)) => json!({"value": "Current"}),
        };
        assert_eq!(*expected, ours, "{case}");
    }
}

/// What a dependency's expression must yield. KUS-049
#[test]
fn the_wrong_type_of_result_is_refused_as_by_the_real_library() {
    let texts = [
        "dep.metadata.name",
        "1",
        "'a'",
        "dep",
        "[true]",
        "optional.of(true)",
        "dep.x == 1",
        "true",
        "null",
        "dyn(true)",
        "int",
        "true ? true : dep.x",
        "true ? dep.x : true",
        "[dep.x, true][0]",
        "[true].first()",
        "[true].first().value()",
        "{'a': true}.a",
        "{}",
        "[]",
        "timestamp(0)",
        "duration('1s')",
        "type(1)",
        "optional.none()",
        "[].map(x, x)",
        "{'a': [1u]}",
        "dep.?x.orValue(true)",
        "[].first()",
        "optional.none().orValue(true)",
        "[[]][0] == [1]",
        "dep.x + 1",
        "dep.x + dep.y",
        "size(dep.x)",
        "dep.all(k, true)",
    ];
    for (output, wanted) in [("bool", Output::Bool), ("string", Output::String)] {
        let cases: Vec<Value> = texts
            .iter()
            .map(|text| json!({"expression": text, "variables": ["self", "dep"], "output": output, "data": {"self": {}, "dep": {"x": 1}}}))
            .collect();
        let Some(answers) = ask("cel", &cases) else { return };
        for (text, expected) in texts.iter().zip(&answers) {
            let ours = match Expression::compile(text, &["self", "dep"], wanted) {
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            };
            let real =
                (expected["phase"] == "compile").then(|| expected["error"].as_str().unwrap().to_owned());
            assert_eq!(real, ours, "{text}");
        }
    }
}
