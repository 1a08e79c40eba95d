//! Plays the conformance scenarios with a set of controllers, and compares with or makes the recordings.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sluice_testbed::conformance::{Controllers, Mode, Outcome, Recording, Scenario, Suite, play};
use sluice_testbed::{Error, Result};

#[derive(Parser)]
#[command(about = "Plays the conformance scenarios with a set of controllers")]
struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Play scenarios and print where they differ from their recordings
    Play {
        /// The folder that holds source-controller and kustomize-controller
        #[arg(long, value_name = "DIRECTORY")]
        controllers: PathBuf,
        /// Keep what is seen as the recording instead of comparing: for Flux's own controllers
        #[arg(long)]
        record: bool,
        /// Write what is seen into this folder too
        #[arg(long, value_name = "DIRECTORY")]
        keep: Option<PathBuf>,
        /// How many scenarios are played at a time
        #[arg(long, default_value_t = 4)]
        jobs: usize,
        /// The scenarios; all without any
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

fn main() -> ExitCode {
    let Action::Play {
        controllers,
        record,
        keep,
        jobs,
        names,
    } = Arguments::parse().command;
    let mode = if record { Mode::Record } else { Mode::Compare };
    let run = || -> Result<Vec<Outcome>> {
        let suite = Suite {
            scenarios: Scenario::read_all(&Scenario::directory(), &names)?,
            controllers: Controllers::in_directory(&controllers)?,
            jobs,
            mode,
        };
        let runtime = tokio::runtime::Runtime::new().map_err(Error::io("make a tokio runtime"))?;
        runtime.block_on(play(suite, tell))
    };
    let outcomes = match run() {
        Ok(outcomes) => outcomes,
        Err(error) => {
            say(&format!("conformance: {error}"));
            return ExitCode::FAILURE;
        }
    };
    for outcome in &outcomes {
        if let (Some(folder), Some(recording)) = (&keep, &outcome.recording)
            && let Err(error) = write(recording, folder, &outcome.scenario)
        {
            say(&format!("conformance: {error}"));
            return ExitCode::FAILURE;
        }
    }
    let failed = outcomes
        .iter()
        .filter(|outcome| !outcome.problems.is_empty())
        .count();
    let not_yet = outcomes
        .iter()
        .filter(|outcome| !outcome.not_yet.is_empty())
        .count();
    say(&format!(
        "{} scenarios: {} as they should be, {not_yet} not there yet, {failed} differ",
        outcomes.len(),
        outcomes.len() - failed - not_yet
    ));
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn write(recording: &Recording, folder: &std::path::Path, scenario: &str) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(format!("create {}", folder.display())))?;
    recording.write(folder, scenario)
}

fn tell(outcome: &Outcome) {
    let verdict = match (outcome.problems.is_empty(), outcome.not_yet.is_empty()) {
        (true, true) => "ok",
        (true, false) => "NOT YET",
        (false, _) => "DIFFERS",
    };
    say(&format!(
        "{verdict:8} {} ({:.1} s)",
        outcome.scenario,
        outcome.took.as_secs_f64()
    ));
    for problem in outcome.problems.iter().chain(&outcome.not_yet) {
        say(&format!("  {problem}"));
    }
}

fn say(line: &str) {
    // Nobody may be reading any more.
    let _ = writeln!(std::io::stdout(), "{line}");
}
