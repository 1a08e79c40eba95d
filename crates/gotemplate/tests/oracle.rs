//! Random templates, executed by the real text/template as well: output and errors are the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use support::{generator, oracle};

const CASES: usize = 1_500;

/// Makes templates on a thread with a stack that the generator's nesting fits into.
fn generate(strategy: fn() -> BoxedStrategy<String>, count: usize) -> Vec<String> {
    let make = move || {
        let mut runner = TestRunner::new(Config {
            failure_persistence: None,
            ..Config::default()
        });
        let strategy = strategy();
        (0..count)
            .map(|_| strategy.new_tree(&mut runner).unwrap().current())
            .collect()
    };
    let thread = std::thread::Builder::new().stack_size(512 << 20);
    thread.spawn(make).unwrap().join().unwrap()
}

/// Renders random templates here and there.
fn compare(strategy: fn() -> BoxedStrategy<String>) {
    let count = std::env::var("SLUICE_CASES").map_or(CASES, |count| count.parse().unwrap());
    let data = generator::data();
    let missing = ["zero", "default", "error", "zero"];
    let cases: Vec<Value> = generate(strategy, count)
        .into_iter()
        .zip(missing.into_iter().cycle())
        .map(|(template, missing)| {
            json!({"template": template, "data": data, "missingkey": missing, "library": "recorded"})
        })
        .collect();
    let Some(expected) = oracle::ask(&cases) else {
        return;
    };
    let mut succeeded = 0;
    let mut failed = 0;
    for (case, expected) in cases.iter().zip(&expected) {
        let text = |key: &str| case[key].as_str().unwrap();
        let expected = oracle::outcome(expected);
        succeeded += usize::from(expected.is_ok());
        let found = support::render(text("template"), &data, text("missingkey"));
        if found != expected {
            failed += 1;
            if failed <= 20 {
                eprintln!(
                    "FAIL {:?} ({})\n  want {expected:?}\n  got  {found:?}",
                    text("template"),
                    text("missingkey")
                );
            }
        }
    }
    assert_eq!(failed, 0, "of {count} cases, {succeeded} of which succeed");
    assert!(
        succeeded > count / 20,
        "only {succeeded} of {count} succeed: the generator is too wild"
    );
}

#[test]
fn random_templates_give_what_go_gives() {
    compare(generator::template);
}

#[test]
fn random_expressions_give_what_go_gives() {
    compare(generator::expression);
}
