//! Covers HEL-057 and HEL-058 (as far as the engine goes).
//!
//! Random trees of charts with random values: what every chart sees must be equal with the real helm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail this way")]

mod support;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use support::{Files, compare, tool, write};

/// Names of charts and keys: few, so that they meet.
const NAMES: [&str; 5] = ["one", "two", "three", "four", "five"];
const KEYS: [&str; 9] = ["a", "b", "c", "global", "one", "two", "three", "enabled", "übung"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        2 => (-5i64..2_000_000).prop_map(Value::from),
        1 => select(vec![json!(0.1), json!(1e21), json!(1.5e-7), json!(12_345_678_901_234_567_890_u64), json!(1_000_000)]),
        3 => select(vec!["", "text", "1", "true", "null", "héllo 世界", "a: b", "line\nbreak", " space ", "#", "0x1", "2024-01-01"])
            .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            4 => table(inner),
        ]
    })
}

fn table(inner: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    prop::collection::vec((select(&KEYS[..]), inner), 0..4).prop_map(|entries| {
        let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value));
        Value::Object(entries.collect::<Map<_, _>>())
    })
}

/// Values for a chart: mostly tables where charts and globals are.
fn values() -> impl Strategy<Value = Value> {
    let sections = prop::collection::vec(
        (
            select(vec!["global", "one", "two", "three", "tags"]),
            table(value()),
        ),
        0..3,
    );
    (table(value()), sections).prop_map(|(mut values, sections)| {
        for (key, section) in sections {
            values[key] = section;
        }
        values
    })
}

/// What a chart says of one of the charts inside it; None leaves it undeclared.
fn dependency(name: &'static str) -> impl Strategy<Value = Option<Value>> {
    let conditions = select(vec![
        "",
        "",
        "enabled",
        "a.enabled",
        "global.enabled,enabled",
        "one.enabled",
        "b",
    ]);
    let tags = prop::collection::vec(select(vec!["a", "b"]), 0..2);
    let imports = prop::collection::vec(
        select(vec![
            json!("a"),
            json!("b"),
            json!({"child": "a", "parent": "c"}),
            json!({"child": "global", "parent": "b.a"}),
            json!({"child": "one.a", "parent": "."}),
        ]),
        0..3,
    );
    let versions = select(vec!["*", ">=0.1.0", "0.1.x", "~0.1", "9.9.9"]);
    let alias = prop::option::weighted(0.2, select(vec!["alias", "other"]));
    prop::option::weighted(
        0.8,
        (conditions, tags, imports, versions, alias).prop_map(
            move |(condition, tags, imports, version, alias)| {
                let mut dependency = json!({
                    "name": name, "version": version, "repository": "", "condition": condition, "tags": tags,
                    "import-values": imports,
                });
                if let Some(alias) = alias {
                    dependency["alias"] = json!(alias);
                }
                dependency
            },
        ),
    )
}

#[derive(Debug, Clone)]
struct Chart {
    name: &'static str,
    values: Option<Value>,
    exports: Value,
    inner: Vec<(Chart, Option<Value>)>,
}

fn chart(depth: usize, name: &'static str) -> BoxedStrategy<Chart> {
    let inner = if depth == 0 {
        Just(Vec::new()).boxed()
    } else {
        let names = prop::sample::subsequence(&NAMES[..3], 0..=2);
        names
            .prop_flat_map(move |names| {
                let charts = names
                    .into_iter()
                    .map(|name| (chart(depth - 1, name), dependency(name)));
                charts.collect::<Vec<_>>()
            })
            .boxed()
    };
    (
        prop::option::weighted(0.9, values()),
        table(table(value())),
        inner,
    )
        .prop_map(move |(values, exports, inner)| Chart {
            name,
            values,
            exports,
            inner,
        })
        .boxed()
}

const TEMPLATE: &str = "kind: {{ .Chart.Name }}\nvalues: |\n{{ toYaml .Values | indent 2 }}\nplace: {{ .Template.Name \
                        }} {{ .Chart.IsRoot }} {{ keys .Subcharts | sortAlpha | toJson }}\nchart: {{ .Chart.Dependencies \
                        | toJson | quote }}\n";

fn add(chart: &Chart, path: &str, files: &mut Files) {
    let declared: Vec<&Value> = chart
        .inner
        .iter()
        .filter_map(|(_, dependency)| dependency.as_ref())
        .collect();
    let about = json!({"apiVersion": "v2", "name": chart.name, "version": "0.1.0", "dependencies": declared});
    files.push((format!("{path}/Chart.yaml"), about.to_string()));
    if let Some(values) = &chart.values {
        let mut values = values.clone();
        values["exports"] = chart.exports.clone();
        files.push((format!("{path}/values.yaml"), values.to_string()));
    }
    files.push((format!("{path}/templates/a.yaml"), TEMPLATE.to_owned()));
    for (inner, _) in &chart.inner {
        add(inner, &format!("{path}/charts/{}", inner.name), files);
    }
}

#[test]
fn random_charts_see_the_same_values() {
    let Some(helm) = tool("helm") else {
        return;
    };
    let cases = std::env::var("SLUICE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(48);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    });
    let seen = std::cell::Cell::new((0, 0));
    let whole = (
        chart(4, "top"),
        values(),
        prop::collection::vec(assignment(), 0..3),
    );
    let outcome = runner.run(&whole, |(chart, values, assignments)| {
        let mut files: Files = vec![("user.yaml".to_owned(), values.to_string())];
        add(&chart, "chart", &mut files);
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &files);
        let mut arguments = vec!["-f".to_owned(), "user.yaml".to_owned()];
        for assignment in assignments {
            arguments.extend(["--set".to_owned(), assignment]);
        }
        let (rendered, refused) = seen.get();
        match compare(&helm, directory.path(), &files, &arguments) {
            Ok(true) => seen.set((rendered + 1, refused)),
            Ok(false) => seen.set((rendered, refused + 1)),
            Err(problem) => {
                let shown: String = files
                    .iter()
                    .map(|(path, text)| format!("-- {path} --\n{text}\n"))
                    .collect();
                return Err(TestCaseError::fail(format!("{problem}\n{arguments:?}\n{shown}")));
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (rendered, refused) = seen.get();
    assert!(
        rendered >= refused,
        "{rendered} rendered alike, but {refused} refused alike"
    );
}

fn assignment() -> impl Strategy<Value = String> {
    let path = prop::collection::vec(select(&KEYS[..8]), 1..4).prop_map(|names| names.join("."));
    let value = select(vec![
        "1", "null", "true", "false", "text", "{1,x}", "007", "1000000",
    ]);
    (path, value).prop_map(|(path, value)| format!("{path}={value}"))
}
