//! `sluice helm template` beside `helm template`: the same bytes, the same words.

use std::path::Path;
use std::process::Command;

use sluice_testbed::tools;

use crate::support::Sluice;

const FILES: &[(&str, &str)] = &[
    (
        "chart/Chart.yaml",
        "apiVersion: v2\nname: chart\nversion: 1.2.3\nappVersion: \"7\"\ndependencies:\n- {name: sub, version: 0.x, \
         condition: sub.enabled}\n",
    ),
    (
        "chart/values.yaml",
        "count: 1000000\nlabels: {a: b, none: null}\nsub: {enabled: true}\n",
    ),
    (
        "chart/values.schema.json",
        r#"{"properties": {"count": {"type": "integer", "minimum": 1}}}"#,
    ),
    ("chart/crds/widget.yaml", "kind: CustomResourceDefinition\n"),
    (
        "chart/templates/_names.tpl",
        "{{- define \"name\" }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}\n",
    ),
    (
        "chart/templates/all.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include \"name\" . }}, namespace: {{ .Release.Namespace \
         }}}\ndata:\n  values: {{ .Values | toJson | quote }}\n  kube: {{ .Capabilities.KubeVersion.Version }}\n  has: \
         \"{{ .Capabilities.APIVersions.Has \"example.com/v1\" }}\"\n  upgrade: \"{{ .Release.IsUpgrade }}\"\n---\n\
         apiVersion: v1\nkind: Service\nmetadata: {name: first}\n",
    ),
    (
        "chart/templates/tests/test.yaml",
        "kind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n",
    ),
    (
        "chart/templates/hook.yaml",
        "kind: Job\nmetadata: {name: hook, annotations: {helm.sh/hook: pre-install}}\n",
    ),
    ("chart/templates/NOTES.txt", "Thanks.\n"),
    (
        "chart/charts/sub/Chart.yaml",
        "apiVersion: v2\nname: sub\nversion: 0.1.0\n",
    ),
    (
        "chart/charts/sub/templates/a.yaml",
        "kind: Secret\nglobal: {{ .Values.global | toJson }}\n",
    ),
    ("more.yaml", "labels: {c: [1, null]}\nglobal: {x: ü}\n"),
    ("text.txt", "a, b\n"),
];

fn write(directory: &Path) {
    for (path, contents) in FILES {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
}

/// What helm prints, or says after `Error: `.
fn helm(helm: &Path, home: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(helm)
        .arg("template")
        .args(arguments)
        .env_clear()
        .env("HOME", home)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        return Ok(text(output.stdout));
    }
    let told = text(output.stderr);
    let error = told.split_once("Error: ").unwrap().1.trim_end();
    Err(error
        .trim_end_matches("\n\nUse --debug flag to render out invalid YAML")
        .to_owned())
}

#[test]
fn charts_print_as_with_helm() {
    let Some(tool) = tools::require_or_skip(tools::tool("helm")) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    let at = |path: &str| directory.path().join(path).to_string_lossy().into_owned();
    let (chart, more, text) = (
        at("chart"),
        at("more.yaml"),
        format!("labels.f={}", at("text.txt")),
    );
    for arguments in [
        &[][..],
        &[
            "-f",
            &more,
            "--set",
            "labels.none=null,labels.a=null,count=5",
            "--set-string",
            "labels.s=5",
        ],
        &[
            "--set-json",
            "labels={\"x\": [1, null]}",
            "--set-literal",
            "labels.l=a,b={c}",
            "--set-file",
            &text,
        ],
        &["--include-crds", "--no-hooks", "--set", "sub.enabled=false"],
        &["--skip-tests", "--is-upgrade", "--namespace", "prod"],
        &[
            "--kube-version",
            "1.30.1-gke.5",
            "--api-versions",
            "a/v1,example.com/v1",
        ],
        &[
            "-s",
            "templates/h*.yaml",
            "--show-only",
            "charts/sub/templates/a.yaml",
        ],
        &["-s", "templates/none.yaml"],
        &["--set", "count=0"],
        &["--set", "count=text", "--skip-schema-validation"],
        &["--set", "count"],
        &["--kube-version", "x"],
        &["--dry-run", "--create-namespace", "--wait", "--server-side=false"],
        &[
            "--dry-run=client",
            "--timeout",
            "1m",
            "--labels",
            "a=b",
            "--skip-crds",
        ],
    ] {
        let arguments = [&["rel", &chart], arguments].concat();
        let ended = Sluice::alone().run(&[&["helm", "template"], arguments.as_slice()].concat());
        let ours = match ended.code {
            0 => Ok(ended.stdout),
            _ => Err(ended.stderr.trim_start_matches("✗ ").trim_end().to_owned()),
        };
        assert_eq!(ours, helm(&tool, directory.path(), &arguments), "{arguments:?}");
    }
    for arguments in [
        &[chart.as_str()][..],
        &[&chart, "--name-template", "x-{{ upper \"a\" | lower }}"],
        &["Name", &chart],
        &["a", &chart, "-g"],
    ] {
        let ended = Sluice::alone().run(&[&["helm", "template"], arguments].concat());
        let ours = match ended.code {
            0 => Ok(ended.stdout),
            _ => Err(ended.stderr.trim_start_matches("✗ ").trim_end().to_owned()),
        };
        assert_eq!(ours, helm(&tool, directory.path(), arguments), "{arguments:?}");
    }
}

#[test]
fn parts_of_charts_are_shown_as_by_helm() {
    let Some(tool) = tools::require_or_skip(tools::tool("helm")) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    let chart = directory.path().join("chart");
    for (name, text) in [
        ("README.md", "# Ünder\n"),
        ("crds/b.yaml", "---\nkind: B\n"),
        ("crds/c.json", "{}"),
    ] {
        std::fs::create_dir_all(chart.join(name).parent().unwrap()).unwrap();
        std::fs::write(chart.join(name), text).unwrap();
    }
    let (chart, bare) = (chart.to_string_lossy(), chart.join("charts/sub"));
    for path in [&*chart, &*bare.to_string_lossy()] {
        for part in ["all", "chart", "crds", "readme", "values"] {
            let output = Command::new(&tool)
                .args(["show", part, path])
                .env_clear()
                .env("HOME", directory.path())
                .output()
                .unwrap();
            assert!(output.status.success());
            let wanted = String::from_utf8(output.stdout).unwrap();
            assert_eq!(
                Sluice::alone().result(&["helm", "show", part, path]),
                wanted,
                "{part} {path}"
            );
        }
    }
}

/// The files below a folder with their contents.
fn files(directory: &Path, below: &str, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{below}/{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            files(&path, &name, found);
        } else {
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
}

#[test]
fn charts_are_written_into_files_as_by_helm() {
    let Some(tool) = tools::require_or_skip(tools::tool("helm")) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    write(directory.path());
    let at = |path: &str| directory.path().join(path).to_string_lossy().into_owned();
    let (chart, theirs, ours) = (at("chart"), at("theirs"), at("ours"));
    for more in [
        &["--include-crds"][..],
        &["--include-crds", "--release-name", "--skip-tests"],
    ] {
        let told = helm(
            &tool,
            directory.path(),
            &[&["rel", &chart, "--output-dir", &theirs], more].concat(),
        )
        .unwrap();
        let arguments = [&["helm", "template", "rel", &chart, "--output-dir", &ours], more].concat();
        assert_eq!(Sluice::alone().result(&arguments), told.replace(&theirs, &ours));
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        files(Path::new(&theirs), "", &mut wanted);
        files(Path::new(&ours), "", &mut found);
        assert!(wanted.len() > 3);
        assert_eq!(found, wanted);
    }
}
