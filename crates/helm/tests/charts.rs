//! Covers HEL-051, HEL-057, HEL-058, HEL-059, HEL-060 (as far as the engine goes).
//!
//! Charts of ours, each rendered by the engine and by the real helm with several sets of arguments: output
//! and errors must be equal to the byte.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail and report this way"
)]

mod support;

use std::path::Path;

use support::{Case, compare, tool, write};

#[test]
fn charts_render_as_with_helm() {
    let Some(helm) = tool("helm") else {
        return;
    };
    let only = std::env::var("SLUICE_CHART").ok();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts");
    let mut problems = Vec::new();
    let (mut rendered, mut refused) = (0, 0);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let case = Case::parse(&std::fs::read_to_string(&path).unwrap());
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &case.files);
        assert!(!case.runs.is_empty(), "{name} is never run");
        for (run, renders) in &case.runs {
            match compare(&helm, directory.path(), &case.files, run) {
                Ok(true) if *renders => rendered += 1,
                Ok(false) if !*renders => refused += 1,
                Ok(_) => {
                    let ours = support::run_ours(&case.files, run);
                    problems.push(format!("=== {name} {}\nunexpected: {ours:?}", run.join(" ")));
                }
                Err(problem) => problems.push(format!("=== {name} {}\n{problem}", run.join(" "))),
            }
        }
    }
    eprintln!("{rendered} rendered alike, {refused} refused alike");
    assert!(
        problems.is_empty(),
        "{} differ\n{}",
        problems.len(),
        problems.join("\n")
    );
}
