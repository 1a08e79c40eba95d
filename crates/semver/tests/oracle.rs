//! Random versions and constraints, judged by the real library at both releases.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says what it skips"
)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use sluice_semver::{Constraints, Rules, Version};

const CASES: usize = 6_000;

/// Texts that match a regular expression, which is compiled once.
fn text(expression: &str) -> impl Strategy<Value = String> + use<> {
    proptest::string::string_regex(expression).unwrap()
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![8 => text("[0-3]"), 2 => text("x|X|\\*"), 1 => text("0[0-9]"), 1 => text("[0-9]{1,21}"), 1 => text("[0-9|x*]{1,3}")]
}

fn pre_release() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        4 => text("-(0|1|2|10|alpha|beta|rc)(\\.(0|1|2|10|alpha|beta|rc|-)){0,2}"),
        1 => text("-[0-9A-Za-z.-]{0,5}"),
    ]
}

fn metadata() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just(String::new()), 1 => text("\\+[0-9a-z.-]{0,5}")]
}

fn bound() -> impl Strategy<Value = String> {
    (
        text("v?"),
        prop::collection::vec(number(), 1..4),
        pre_release(),
        metadata(),
    )
        .prop_map(|(prefix, numbers, pre_release, metadata)| {
            format!("{prefix}{}{pre_release}{metadata}", numbers.join("."))
        })
}

fn version() -> impl Strategy<Value = String> {
    (
        text("v?"),
        prop::collection::vec(text("[0-3]|[0-3]|[0-3]|0[0-9]|[0-9]{1,21}"), 1..4),
        pre_release(),
        metadata(),
    )
        .prop_map(|(prefix, numbers, pre_release, metadata)| {
            format!("{prefix}{}{pre_release}{metadata}", numbers.join("."))
        })
}

fn comparator() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (text("=|!=|>|<|>=|=>|<=|=<|~|~>|\\^|"), text(" {0,2}"), bound()).prop_map(|(sign, space, bound)| format!("{sign}{space}{bound}")),
        2 => (bound(), text(" {1,2}"), bound()).prop_map(|(lower, space, upper)| format!("{lower}{space}-{space}{upper}")),
    ]
}

fn constraint() -> impl Strategy<Value = String> {
    prop_oneof![
        12 => (prop::collection::vec(comparator(), 1..4), prop::collection::vec(text(" |, ?| \\|\\| ?|\\|\\|"), 3))
            .prop_map(|(comparators, separators)| {
                comparators.into_iter().zip(separators).fold(String::new(), |text, (comparator, separator)| {
                    if text.is_empty() { comparator } else { format!("{text}{separator}{comparator}") }
                })
            }),
        1 => text("[0-9x*.<>=~^!|, v-]{0,12}"),
    ]
}

fn ask_oracle(cases: &[Value]) -> Option<Vec<Value>> {
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
        .arg("semver")
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

/// Our answer in the oracle's shape: null where the text is refused, else printed or judged.
fn answer(case: &Value) -> Value {
    let text = |key: &str| case[key].as_str().unwrap();
    let parsed = Version::parse(text("version"));
    let other = Version::parse(text("other"));
    let verdict = |rules| match (Constraints::parse(text("constraint"), rules), &parsed) {
        (Ok(constraints), Ok(version)) => json!(constraints.matches(version)),
        (Ok(_), Err(_)) => json!("valid"),
        (Err(_), _) => Value::Null,
    };
    json!({
        "version": parsed.as_ref().ok().map(ToString::to_string),
        "strict": Version::parse_strict(text("version")).is_ok(),
        "order": parsed.as_ref().ok().zip(other.as_ref().ok()).map(|(left, right)| left.cmp(right) as i8),
        "helm": verdict(Rules::Helm),
        "flux": verdict(Rules::Flux),
    })
}

#[test]
fn random_pairs_are_judged_as_the_real_library_judges_them() {
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (constraint(), version(), version());
    let cases: Vec<Value> = (0..CASES)
        .map(|_| {
            let (constraint, version, other) = strategy.new_tree(&mut runner).unwrap().current();
            json!({"constraint": constraint, "version": version, "other": other})
        })
        .collect();
    let Some(expected) = ask_oracle(&cases) else {
        return;
    };
    assert_eq!(expected.len(), cases.len());
    let judged = expected
        .iter()
        .filter(|verdict| verdict["helm"].is_boolean())
        .count();
    assert!(
        judged > CASES / 10,
        "only {judged} cases are valid: the generator is too wild"
    );
    for (case, expected) in cases.iter().zip(&expected) {
        assert_eq!(&answer(case), expected, "{case}");
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_text_panics(text in ".{0,40}") {
        let _ = Version::parse(&text);
        let _ = Version::parse_strict(&text);
        let _ = Constraints::parse(&text, Rules::Helm);
    }

    #[test]
    fn printing_and_parsing_again_keeps_precedence(text in version()) {
        if let Ok(version) = Version::parse(&text) {
            prop_assert_eq!(Version::parse(&version.to_string()).unwrap(), version);
        }
    }
}
