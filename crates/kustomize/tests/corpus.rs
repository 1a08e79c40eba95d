//! The recorded builds of kustomize 5.8.1. Case names in `known_failures.txt` are allowed to differ; one that
//! passes must be taken off the list.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use sluice_kustomize::{BuildOptions, LoadRestrictions, Reorder, build};
use sluice_vfs::VirtualPath;

/// What a case's outcome should be.
enum Expected {
    Output(String),
    /// With what kustomize said.
    Failure(String),
}

fn expected(case: &Path) -> Expected {
    match std::fs::read_to_string(case.join("expected.yaml")) {
        Ok(text) => Expected::Output(text),
        Err(_) if case.join("error").exists() => Expected::Failure(support::reasons::recorded(case)),
        // kustomize 5.8.1 crashes on an image name that is no regular expression; nothing should change.
        Err(_) => {
            let pod = std::fs::read(case.join("p.yaml")).unwrap();
            let limits = sluice_goyaml::Limits::default();
            let nodes = sluice_kustomize::parse_objects(&pod, "p.yaml", &limits).unwrap();
            Expected::Output(
                sluice_goyaml::write_sigs_node(&nodes[0], sluice_goyaml::Flavour::Kyaml).unwrap(),
            )
        }
    }
}

/// Builds and compares; the error is the report.
fn check(
    directory: &Path,
    root: &str,
    options: &BuildOptions<'_>,
    expected: &Expected,
) -> Result<(), String> {
    let files = support::read_tree(directory);
    let root = VirtualPath::parse(root).map_err(|error| error.to_string())?;
    let outcome = build(&files, &root, options).and_then(|build| build.to_yaml());
    match (outcome, expected) {
        (Ok(found), Expected::Output(wanted)) if found == *wanted => Ok(()),
        (Ok(found), Expected::Output(wanted)) => Err(support::difference(wanted, &found)),
        (Err(error), Expected::Output(_)) => Err(format!("  failed: {error}\n")),
        (Ok(_), Expected::Failure(_)) => Err("  should have failed\n".to_owned()),
        (Err(error), Expected::Failure(real)) => {
            if std::env::var_os("SLUICE_SHOW_ERRORS").is_some() {
                eprintln!("{}: {error}", directory.display());
            }
            support::reasons::compare_reasons(real, error.kind(), &error.to_string())
        }
    }
}

fn report(corpus: &str, outcomes: Vec<(String, Result<(), String>)>) {
    let known: BTreeSet<&str> = include_str!("known_failures.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let count = outcomes.len();
    let mut failed = Vec::new();
    let mut wrong = Vec::new();
    for (name, outcome) in outcomes {
        let listed = known.contains(format!("{corpus}/{name}").as_str());
        match outcome {
            Ok(()) if listed => wrong.push(format!("{name} passes: take it off known_failures.txt")),
            Ok(()) => {}
            Err(report) => {
                eprintln!("FAIL {name}\n{report}");
                if !listed {
                    wrong.push(format!("{name} fails"));
                }
                failed.push(name);
            }
        }
    }
    eprintln!("{corpus}: {} of {count} pass", count - failed.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn builds_equal_the_recorded_ones() {
    let Some(corpus) = support::corpus("kustomize") else {
        return;
    };
    let mut outcomes = Vec::new();
    for (name, case) in support::cases(&corpus) {
        let meta = std::fs::read_to_string(case.join("meta")).unwrap();
        let setting = |key: &str| {
            meta.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
                .unwrap_or_default()
                .to_owned()
        };
        let options = BuildOptions {
            reorder: if setting("reorder") == "none" {
                Reorder::None
            } else {
                Reorder::Legacy
            },
            load_restrictions: if setting("load") == "LoadRestrictionsNone" {
                LoadRestrictions::None
            } else {
                LoadRestrictions::RootOnly
            },
            managed_by_label: setting("managedby") == "true",
            ..BuildOptions::default()
        };
        outcomes.push((
            name,
            check(&case.join("in"), &setting("path"), &options, &expected(&case)),
        ));
    }
    report("kustomize", outcomes);
}

#[test]
fn builds_of_public_bug_reports_equal_the_recorded_ones() {
    let Some(corpus) = support::corpus("bugs-kustomize") else {
        return;
    };
    let options = BuildOptions {
        load_restrictions: LoadRestrictions::None,
        ..BuildOptions::default()
    };
    let mut outcomes = Vec::new();
    for (name, case) in support::cases(&corpus) {
        let (directory, root) = if case.join("in").is_dir() {
            (case.join("in"), "")
        } else {
            (case.clone(), "")
        };
        let root = if directory.join("kustomization.yaml").is_file() {
            root
        } else {
            "overlay"
        };
        outcomes.push((name, check(&directory, root, &options, &expected(&case))));
    }
    report("bugs-kustomize", outcomes);
}
