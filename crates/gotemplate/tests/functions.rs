//! The functions of sprig and Helm, each on edge cases and on random arguments, judged by the real ones.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use support::{generator, oracle};

/// Cases that we wrote, by the functions that they are about.
const CASES: &str = include_str!("functions.txt");

fn cases() -> impl Iterator<Item = (&'static str, &'static str)> {
    CASES
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(": ").unwrap())
}

/// Compares cases and gives the number of those that succeed.
fn compare(templates: &[String]) -> Option<usize> {
    let data = generator::data();
    let cases: Vec<Value> = templates
        .iter()
        .map(|template| json!({"template": template, "data": data, "library": "helm"}))
        .collect();
    let expected = oracle::ask(&cases)?;
    let mut failed = 0;
    let mut succeeded = 0;
    for (template, expected) in templates.iter().zip(&expected) {
        let expected = oracle::outcome(expected);
        succeeded += usize::from(expected.is_ok());
        let found = support::render_chart(template, &data);
        if found != expected {
            failed += 1;
            if failed <= 40 {
                eprintln!("FAIL {template}\n  want {expected:?}\n  got  {found:?}");
            }
        }
    }
    assert_eq!(failed, 0, "of {} cases", templates.len());
    Some(succeeded)
}

#[test]
fn written_cases_give_what_the_real_functions_give() {
    let templates: Vec<String> = cases().map(|(_, template)| template.to_owned()).collect();
    compare(&templates);
}

#[test]
fn every_function_has_a_case() {
    let covered: BTreeSet<&str> = cases().flat_map(|(names, _)| names.split(' ')).collect();
    let all = sluice_gotemplate::functions().names();
    let missing: Vec<_> = all
        .iter()
        .map(sluice_gotemplate::Text::to_text)
        .filter(|name| !covered.contains(&**name))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
    for (names, template) in cases() {
        for name in names.split(' ') {
            assert!(template.contains(name), "{template} does not call {name}");
        }
    }
}

#[test]
fn random_arguments_give_what_the_real_functions_give() {
    let count = std::env::var("SLUICE_CASES").map_or(4_000, |count| count.parse().unwrap());
    let names: Vec<String> = sluice_gotemplate::functions()
        .names()
        .iter()
        .map(|name| name.to_text().into_owned())
        // The order of chance, and functions whose random arguments mean too much work or other texts.
        .filter(|name| !["keys", "values", "untilStep", "seq"].contains(&name.as_str()))
        .filter(|name| !name.contains("egex") && !name.contains("rand") && !name.starts_with("gen"))
        .filter(|name| {
            ![
                "now",
                "shuffle",
                "uuidv4",
                "ago",
                "bcrypt",
                "htpasswd",
                "derivePassword",
                "encryptAES",
                "fromToml",
            ]
            .contains(&name.as_str())
        })
        .filter(|name| !name.contains("ate") || name.contains("odify") || name.contains("oDate"))
        .collect();
    let argument = select(vec![
        "0",
        "1",
        "2",
        "-1",
        "3",
        "7",
        "1.5",
        "-2.5",
        "1e3",
        "true",
        "false",
        "nil",
        "\"\"",
        "\"a\"",
        "\"foo bar\"",
        "\" x \"",
        "\"é\"",
        "\"FooBar\"",
        "\"foo_bar-baz Qux9\"",
        "\"1.2.3\"",
        "\"^1.2\"",
        "\"12\"",
        "\"0x1F\"",
        "\"1.50\"",
        "\"a,b,c\"",
        "\",\"",
        "\"/a/../b.txt\"",
        "\"http://u:p@host:80/p?q=1#f\"",
        "\"{\\\"a\\\":[1,null]}\"",
        "\"aGVsbG8=\"",
        "\"x: 1\\ny: [a]\"",
        "(list)",
        "(list 1 \"a\" nil)",
        "(list \"b\" \"a\")",
        "(dict)",
        "(dict \"a\" 1 \"b\" (dict \"c\" nil))",
        "(dict \"b\" (dict \"c\" 2 \"d\" 3) \"e\" (list 1))",
        ".Values.list",
        ".Values.mixed",
        ".Values.map",
        ".Values.nested",
        ".Values.replicas",
        ".Values.f",
        ".Values.neg",
        ".Values.nul",
        ".Values.nope",
        ".Values.uni",
        ".Values.name",
        ".Values.multi",
        "(until 3)",
        "(splitList \",\" \"a,b\")",
        "(int64 5)",
        "(toDate \"2006\" \"2024\")",
        "\"1h\"",
        "\"2006-01-02\"",
    ]);
    let strategy = (select(names), prop::collection::vec(argument, 0..4))
        .prop_map(|(name, arguments)| format!("{{{{ {name} {} }}}}", arguments.join(" ")));
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::default()
    });
    let templates: Vec<String> = (0..count)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect();
    if let Some(succeeded) = compare(&templates) {
        assert!(succeeded > count / 10, "only {succeeded} of {count} succeed");
    }
}
