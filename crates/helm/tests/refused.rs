//! Charts that cannot be loaded or parsed: the errors must be those of the real helm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail this way")]

mod support;

use support::{Files, compare, tool, write};

const CHART: &str = "apiVersion: v2\nname: chart\nversion: 0.1.0\n";

/// Charts of few files; `Chart.yaml` is there unless it is among them.
const CHARTS: &[&[(&str, &str)]] = &[
    &[("Chart.yaml", "apiVersion: v2\nname: x\n")],
    &[("Chart.yaml", "apiVersion: v4\nname: x\n")],
    &[("Chart.yaml", "apiVersion: v2\nversion: 1.0.0\n")],
    &[("Chart.yaml", "name: x\nversion: 1.0.0\n")],
    &[("Chart.yaml", "apiVersion: v2\nname: x\nversion: one\n")],
    &[("Chart.yaml", "apiVersion: v2\nname: x/y\nversion: 1.0.0\n")],
    &[("Chart.yaml", "apiVersion: v2\nname: ..\nversion: 1.0.0\n")],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ntype: thing\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ntype: library\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nkubeVersion: '<1.0.0'\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nkubeVersion: 'nonsense'\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nmaintainers: [null]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [null]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: a}, {name: b, alias: a}]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: a, alias: 'a b'}]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: a}, {name: b}]\n",
    )],
    &[("Chart.yaml", "apiVersion: v2\nname: [x]\nversion: 1.0.0\n")],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nkeywords: text\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nkeywords: [[a]]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nannotations: {a: [b]}\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nannotations: text\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nmaintainers: text\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nmaintainers: [text]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nmaintainers: [{name: {a: 1}}]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{tags: x}]\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: {}\n",
    )],
    &[(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\ndeprecated: text\n",
    )],
    &[("Chart.yaml", "- a\n")],
    &[("Chart.yaml", "text\n")],
    &[("Chart.yaml", "a: [\n")],
    &[("Chart.yaml", "")],
    &[("values.yaml", "- a\n")],
    &[("values.yaml", "text\n")],
    &[("values.yaml", "a: [\n")],
    &[("values.yaml", "a: 1\n---\n- a\n")],
    &[("values.yaml", "\ta: 1\n")],
    &[("values.yaml", "a: .inf\n")],
    &[("Chart.lock", "- a\n")],
    &[(".helmignore", "a/**\n")],
    &[(".helmignore", "a[\n")],
    &[("charts/a/values.yaml", "a: 1\n")],
    &[("charts/a/Chart.yaml", "apiVersion: v2\n")],
    &[
        ("charts/a/Chart.yaml", CHART),
        ("charts/a/charts/b/Chart.yaml", "x: [\n"),
    ],
    &[("charts/a.tgz", "no archive\n")],
    &[("charts/a.tgz/x", "no archive\n")],
    &[("templates/a.yaml", "a: {{ .Values.x\n")],
    &[("templates/a.yaml", "a: {{ if .x }}\n")],
    &[("templates/a.yaml", "a: {{ nosuch }}\n")],
    &[("templates/a.yaml", "a:\n\n{{ end }}\n")],
    &[(
        "templates/a.yaml",
        "{{ define \"x\" }}{{ define \"y\" }}{{ end }}{{ end }}\n",
    )],
    &[("templates/a.yaml", "{{ $x }}\n")],
    &[("templates/a.yaml", "{{ \"x: y }}\n")],
    &[("templates/a.yaml", "{{ env \"HOME\" }}\n")],
    &[("templates/a.yaml", "{{ template \"nope\" . }}\n")],
    &[("templates/a.yaml", "a: {{ .Values.x.y.z }}\n")],
    &[(
        "templates/a.yaml",
        "a: {{ (lookup \"v1\" \"Pod\" \"\" \"\").x.y.z }}\n",
    )],
    &[("templates/a.yaml", "a: {{ .Chart.Name.x }}\n")],
    &[("templates/a.yaml", "a: {{ .Capabilities.Nope }}\n")],
    &[("templates/a.yaml", "a: {{ .Release.Name.x.y }}\n")],
    &[("templates/a.yaml", "a: {{ fail nil }}\n")],
    &[("templates/a.yaml", "a: {{ fail \"\" }}\n")],
    &[("templates/a.yaml", "a: {{ required \"x\" }}\n")],
    &[("templates/a.yaml", "a: {{ include .Values . }}\n")],
    &[("templates/a.yaml", "a: {{ .Files.Get 5 }}\n")],
    &[("templates/a.yaml", "a: {{ .Files.Get }}\n")],
    &[(
        "templates/a.yaml",
        "a: {{ range 5 }}{{ . }}{{ index . 1 }}{{ end }}\n",
    )],
    &[("templates/a.yaml", "%a: 1\n")],
    &[("templates/a.yaml", "a: 1\na: 2\n---\nb: *x\n")],
    &[("templates/a.yaml", "kind: [a]\n")],
    &[("templates/a.yaml", "apiVersion: {a: 1}\n")],
    &[("templates/a.yaml", "metadata: {annotations: [a]}\n")],
    &[("templates/a.yaml", "metadata: 5\n")],
];

#[test]
fn errors_are_those_of_helm() {
    let Some(helm) = tool("helm") else {
        return;
    };
    let mut problems = Vec::new();
    for chart in CHARTS {
        let mut files: Files = chart
            .iter()
            .map(|(path, contents)| (format!("chart/{path}"), (*contents).to_owned()))
            .collect();
        if chart.iter().all(|(path, _)| *path != "Chart.yaml") {
            files.push(("chart/Chart.yaml".to_owned(), CHART.to_owned()));
        }
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &files);
        if let Err(problem) = compare(&helm, directory.path(), &files, &[]) {
            problems.push(format!("=== {chart:?}\n{problem}"));
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {} differ\n{}",
        problems.len(),
        CHARTS.len(),
        problems.join("\n")
    );
}
