//! Plays the conformance scenarios with our controllers and compares with what Flux's did. The checklist ids
//! stand in the scenarios.

#![expect(clippy::unwrap_used, reason = "a test fails this way")]

#[path = "conformance/change_over.rs"]
mod change_over;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sluice_testbed::conformance::{
    Controllers, Mode, Recording, Scenario, Suite, play, undocumented_differences,
};
use sluice_testbed::tools;

/// How many scenarios are played at a time.
const JOBS: usize = 6;

/// The folder of the programs that were built with this test.
pub(crate) fn programs() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().to_owned()
}

fn scenarios() -> Vec<Scenario> {
    Scenario::read_all(&Scenario::directory(), &[]).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_do_what_was_recorded() {
    let Some(controllers) = tools::require_or_skip(Controllers::in_directory(&programs())) else {
        return;
    };
    let Some(_) = tools::require_or_skip(tools::tool("control-plane")) else {
        return;
    };
    let suite = Suite {
        scenarios: scenarios(),
        controllers,
        jobs: JOBS,
        mode: Mode::Compare,
    };
    let outcomes = play(suite, |_| ()).await.unwrap();
    let mut problems = Vec::new();
    for outcome in &outcomes {
        problems.extend(
            outcome
                .problems
                .iter()
                .map(|problem| format!("{}: {problem}", outcome.scenario)),
        );
        if !outcome.not_yet.is_empty() {
            // Not eprintln: the test runner would swallow it.
            let count = outcome.not_yet.len();
            let _ = writeln!(
                std::io::stderr(),
                "NOT YET: {}: {count} mismatches",
                outcome.scenario
            );
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_scenario_has_a_recording_and_every_difference_a_reason() {
    let parity = std::fs::read_to_string(tools::workspace().join("docs/parity.md")).unwrap();
    let (differences, not_yet) = parity.split_once("## Not there yet").unwrap();
    let scenarios = scenarios();
    for scenario in &scenarios {
        let name = &scenario.name;
        assert!(!scenario.covers.is_empty(), "{name} covers nothing");
        assert!(
            Recording::read(&Recording::directory(), name).unwrap().is_some(),
            "{name} has no recording"
        );
        let undocumented = undocumented_differences(scenario, differences);
        assert!(
            undocumented.is_empty(),
            "{name}: not in docs/parity.md: {undocumented:?}"
        );
        if let Some(what) = &scenario.not_yet {
            assert!(
                not_yet.contains(what.as_str()),
                "{name}: {what:?} is not in \"Not there yet\""
            );
        }
    }
    let names: BTreeSet<_> = scenarios
        .iter()
        .map(|scenario| format!("{}.json", scenario.name))
        .collect();
    for entry in std::fs::read_dir(Recording::directory()).unwrap() {
        let file = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(names.contains(&file), "{file} belongs to no scenario");
    }
}
