//! Hostile expressions end with a clear error, in bounded time and memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_expression::{Expression, Limits, Output};

fn problem(text: &str, object: &Value) -> String {
    let expression = Expression::parse(text).unwrap();
    expression.evaluate_fields(object).unwrap_err().to_string()
}

/// Macros over long lists within each other.
#[test]
fn nested_loops_run_out_of_steps() {
    let items: Vec<u32> = (0..2000).collect();
    let object = json!({"items": items});
    let text = "items.all(a, items.all(b, items.all(c, items.all(d, a + b + c + d >= 0))))";
    assert!(problem(text, &object).ends_with("the evaluation takes more than 1000000 steps"));
    // A limit is no error that an operator could absorb.
    let absorbed = format!("{text} || true");
    assert!(problem(&absorbed, &object).ends_with("the evaluation takes more than 1000000 steps"));
    let absorbed = format!("[true, false].exists(x, {text} || x)");
    assert!(problem(&absorbed, &object).ends_with("the evaluation takes more than 1000000 steps"));
}

/// Texts and lists that double again and again.
#[test]
fn exponential_growth_runs_out_of_bytes() {
    let double = "[0,1,2,3,4,5,6,7,8,9]";
    let grown = (0..40).fold("'0123456789'".to_owned(), |text, _| {
        format!("[{text}].map(x, x + x)[0]")
    });
    assert!(
        problem(&format!("{grown} == ''"), &json!({}))
            .contains("the evaluation makes values of more than 16777216 bytes")
    );
    let grown = (0..40).fold(double.to_owned(), |text, _| format!("[{text}].map(x, x + x)[0]"));
    assert!(
        problem(&format!("{grown} == []"), &json!({})).contains("the evaluation makes values of more than")
    );
    let shared = (0..60).fold("[1]".to_owned(), |text, _| format!("[{text}].map(x, [x, x])[0]"));
    let compared = problem(&format!("{shared} == {shared}"), &json!({}));
    assert!(compared.contains("the evaluation takes "), "{compared}");
    let written = (0..60).fold("[1]".to_owned(), |text, _| format!("[{text}].map(x, [x, x])[0]"));
    assert!(problem(&format!("'%s'.format([{written}]) == ''"), &json!({})).contains("the evaluation "));
    let replaced = (0..8).fold("'aaaaaaaaaa'".to_owned(), |text, _| {
        format!("{text}.replace('a', 'aaaaaaaaaa')")
    });
    assert!(problem(&format!("{replaced} == ''"), &json!({})).contains("the evaluation "));
}

#[test]
fn time_is_bounded() {
    let items: Vec<u32> = (0..2000).collect();
    let limits = Limits {
        steps: u64::MAX,
        bytes: u64::MAX,
        time: std::time::Duration::from_millis(20),
    };
    let expression = Expression::parse("items.all(a, items.all(b, items.all(c, a + b + c >= 0)))").unwrap();
    let error = expression
        .with_limits(limits)
        .evaluate_fields(&json!({"items": items}))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the evaluation takes longer than 20ms")
    );
}

/// Types that would double with every step, in the checker.
#[test]
fn types_are_bounded() {
    let text = (0..100).fold("[1]".to_owned(), |text, _| {
        format!("{text}.map(a, {{'k': [a], 'l': [a]}})")
    });
    let text = (0..60).fold(text, |text, _| format!("{text}.map(a, [[a]].map(b, {{b: b}}))"));
    let error = Expression::compile(&text, &["self"], Output::Bool).unwrap_err();
    assert!(
        error.to_string().contains("too large") || error.to_string().contains("recursion limit"),
        "{error}"
    );
    let text = (0..60).fold("[1]".to_owned(), |text, _| format!("{text}.map(a, {{a: a}})"));
    let error = Expression::compile(&text, &["self"], Output::Bool).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("the types of the expression get too large"),
        "{error}"
    );
}

/// Nesting of every kind, deeper than any stack. The threads of the controllers have two mebibytes.
#[test]
fn nesting_is_bounded() {
    let forms: [(&str, &str, &str); 13] = [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("{1: ", "1", "}"),
        ("!(", "true", ")"),
        ("-(", "1", ")"),
        ("size([", "1", "])"),
        ("", "a", ".b"),
        ("", "a", "[0]"),
        ("", "1", " + 1"),
        ("", "1", ".f()"),
        ("true ? 1 : ", "1", ""),
        ("[1].map(x, ", "1", ")"),
        ("optional.of(1).optMap(x, ", "1", ")"),
    ];
    for (before, inner, after) in forms {
        for depth in [240, 251, 1000, 20_000] {
            let text = format!("{}{inner}{}", before.repeat(depth), after.repeat(depth));
            if text.chars().count() > 100_000 {
                continue;
            }
            let parsed = Expression::parse(&text);
            let checked = Expression::compile(&text, &["a"], Output::Any);
            if depth > 250 {
                let error = parsed.unwrap_err().to_string();
                assert!(
                    error.contains("expression recursion limit exceeded: 250"),
                    "{before}{after}"
                );
                checked.unwrap_err();
            } else if let Ok(expression) = parsed {
                let _ = expression.evaluate_fields(&json!({"a": 1}));
            }
        }
    }
    let long = "1 + ".repeat(40_000) + "1";
    let error = Expression::parse(&long).unwrap_err().to_string();
    assert!(error.ends_with(
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 160001, limit 100000"
    ));
    // Chains of one logical operator are no nesting.
    let chain = "true && ".repeat(10_000) + "true";
    assert!(
        Expression::parse(&chain)
            .unwrap()
            .evaluate_fields(&json!({}))
            .unwrap()
    );
}

#[test]
fn patterns_are_bounded() {
    assert!(Expression::parse("'a'.matches('((a{900}){900}){900}')").is_err());
    let object = json!({"text": "a".repeat(100_000), "pattern": "(a*)*b".repeat(50)});
    let many = "[1,2,3,4,5,6,7,8,9,10].all(x, [1,2,3,4,5,6,7,8,9,10].all(y, !text.matches(pattern)))";
    assert!(problem(many, &object).contains("the evaluation takes more than"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Any text is compiled and evaluated, or refused.
    #[test]
    fn any_text_is_taken_or_refused(text in "[-a-c1-3.,:?!&|=<>+*/%'\"\\\\ux\\[\\](){} \n]{0,40}") {
        let object = json!({"a": {"b": [1, 2]}, "b": "c", "c": null});
        if let Ok(expression) = Expression::parse(&text) {
            let _ = expression.print_fields(&object);
        }
        if let Ok(expression) = Expression::compile(&text, &["a", "b"], Output::Any) {
            let _ = expression.print_fields(&object);
        }
    }
}
