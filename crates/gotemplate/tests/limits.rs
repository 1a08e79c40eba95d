//! Hostile templates end with a clear error, within limits and on a small stack.
#![allow(clippy::unwrap_used, reason = "tests fail this way")]

mod support;

use std::time::{Duration, Instant};

use serde_json::json;
use sluice_gotemplate::Budget;

/// Renders on a thread with little stack.
fn render(budget: Budget, template: impl Into<String>) -> Result<String, String> {
    let template = template.into();
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    thread
        .spawn(move || support::render_within(budget, &template, &json!({"Values": {}}), "zero"))
        .unwrap()
        .join()
        .unwrap()
}

fn error(budget: Budget, template: impl Into<String>) -> String {
    render(budget, template).unwrap_err()
}

#[test]
fn templates_that_call_themselves_end_where_go_ends_them() {
    let found = error(
        Budget::default(),
        "{{define \"r\"}}{{template \"r\" .}}{{end}}{{template \"r\" .}}",
    );
    assert_eq!(
        found,
        "template: t.yaml:1:25: executing \"r\" at <{{template \"r\" .}}>: exceeded maximum template depth (100000)"
    );
}

#[test]
fn functions_that_execute_templates_end_at_the_depth_of_the_budget() {
    let budget = Budget {
        depth: 20,
        ..Budget::default()
    };
    let found = error(
        budget,
        "{{define \"r\"}}{{include \"r\" .}}{{end}}{{include \"r\" .}}",
    );
    assert!(
        found.contains("call each other through functions deeper than 20 levels"),
        "{found}"
    );
}

#[test]
fn nesting_is_bounded_when_parsed_and_when_executed() {
    let parentheses = |depth: usize| format!("{{{{{}1{}}}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(render(Budget::default(), parentheses(9_999)).unwrap(), "1");
    assert_eq!(
        error(Budget::default(), parentheses(10_001)),
        "template: t.yaml:1: max expression depth exceeded"
    );
    let branches = |depth: usize| format!("{}x{}", "{{if 1}}".repeat(depth), "{{end}}".repeat(depth));
    assert_eq!(render(Budget::default(), branches(10_000)).unwrap(), "x");
    assert!(error(Budget::default(), branches(10_001)).contains("actions nest deeper than 10000"));
    let chain = format!(
        "{{{{if 0}}}}{}{{{{else}}}}y{{{{end}}}}",
        "{{else if 0}}x".repeat(9_000)
    );
    assert_eq!(render(Budget::default(), chain).unwrap(), "y");
}

#[test]
fn values_may_nest_deep_or_contain_themselves() {
    let deep = "{{$d := dict}}{{range 200000}}{{$d = dict \"k\" $d}}{{end}}";
    assert_eq!(render(Budget::default(), deep).unwrap(), "");
    let found = error(Budget::default(), format!("{deep}{{{{$d}}}}"));
    assert!(
        found.ends_with("a value nests deeper than 10000 levels; it may contain itself"),
        "{found}"
    );
    let found = error(
        Budget::default(),
        "{{$d := dict}}{{$_ := set $d \"self\" $d}}{{$d}}",
    );
    assert!(found.contains("it may contain itself"), "{found}");
    let found = error(
        Budget::default(),
        "{{$d := dict}}{{$_ := set $d \"a\" $d}}{{$_ := set $d \"b\" $d}}{{printf \"%s\" $d}}",
    );
    assert!(found.contains("it may contain itself"), "{found}");
}

#[test]
fn loops_end_with_the_budget() {
    let steps = Budget {
        steps: 100_000,
        ..Budget::default()
    };
    let found = error(steps, "{{range 9223372036854775807}}{{end}}");
    assert_eq!(
        found,
        "template: t.yaml:1:8: executing \"t.yaml\" at <9223372036854775807>: more than 100000 steps in one render; look for a loop or recursion without end"
    );
    let output = Budget {
        output_bytes: 1 << 20,
        ..Budget::default()
    };
    let found = error(output, "{{range 100000000}}some text{{end}}");
    assert!(found.contains("more than 1048576 bytes of output"), "{found}");
    let produced = Budget {
        produced_bytes: 16 << 20,
        ..Budget::default()
    };
    let doubling = "{{$s := \"0123456789\"}}{{range 60}}{{$s = print $s $s}}{{end}}";
    assert!(error(produced.clone(), doubling).contains("take too much memory"));
    let wide = "{{range 100}}{{$_ := printf \"%1000000d\" 1}}{{end}}";
    assert!(error(produced, wide).contains("take too much memory"));
    let late = Budget {
        deadline: Some(Instant::now() + Duration::from_millis(50)),
        steps: u64::MAX,
        ..Budget::default()
    };
    assert!(
        error(late, "{{range 9223372036854775807}}{{end}}")
            .contains("the time allowed for this render is over")
    );
}

#[test]
fn exact_formatting_of_floats_has_no_limit_of_its_own() {
    let wide = render(Budget::default(), "{{printf \"%.100000f\" 1.5}}").unwrap();
    assert_eq!(wide.len(), 100_002);
    let wide = render(Budget::default(), "{{printf \"%.99999e|%100000.3g\" 1.5 2.0}}").unwrap();
    assert_eq!(wide.len(), 100_001 + 4 + 1 + 100_000);
    let wide = render(
        Budget::default(),
        "{{printf \"%.90000U|%#.90000d|%.90000x\" 65 7 \"a\"}}",
    )
    .unwrap();
    assert_eq!(wide.len(), 90_002 + 1 + 90_000 + 1 + 2);
}
