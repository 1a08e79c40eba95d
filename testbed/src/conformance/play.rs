//! Playing many scenarios with one set of controllers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;

use super::compare::compare;
use super::recording::Recording;
use super::scenario::Scenario;
use super::stage::{Controllers, Stage};
use super::steps::Player;
use crate::{Error, Result};

/// How long one scenario may take.
const SCENARIO_LIMIT: Duration = Duration::from_secs(300);

/// What is done with what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It is kept as the recording.
    Record,
    /// It is compared with the recording.
    Compare,
}

/// What to play, and with what.
#[derive(Debug)]
pub struct Suite {
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// The controllers.
    pub controllers: Controllers,
    /// How many scenarios may be played at a time.
    pub jobs: usize,
    /// Whether to record or to compare.
    pub mode: Mode,
}

/// How it went with one scenario.
#[derive(Debug)]
pub struct Outcome {
    /// Its name.
    pub scenario: String,
    /// How long it took.
    pub took: Duration,
    /// What is wrong; nothing if it was recorded, or is as recorded.
    pub problems: Vec<String>,
    /// Where it differs because ours cannot do it yet.
    pub not_yet: Vec<String>,
    /// What was seen, unless a step failed.
    pub recording: Option<Recording>,
}

/// Plays scenarios on one control plane: those without flags of their own side by side, then those that want
/// to be alone, then those with flags, set by set. Tells each outcome as it comes.
///
/// # Errors
/// Where the stage or the controllers cannot be started. What goes wrong in a scenario is in its outcome.
pub async fn play(suite: Suite, mut tell: impl FnMut(&Outcome)) -> Result<Vec<Outcome>> {
    let stage = Arc::new(Stage::start().await?);
    let mut outcomes = Vec::new();
    let mut sets = BTreeMap::<BTreeMap<String, Vec<String>>, Vec<Scenario>>::new();
    for scenario in suite.scenarios {
        sets.entry(scenario.flags.clone()).or_default().push(scenario);
    }
    for (flags, scenarios) in sets {
        stage.start_controllers(&suite.controllers, &flags)?;
        let (alone, together): (Vec<_>, Vec<_>) = scenarios.into_iter().partition(|scenario| scenario.alone);
        for (scenarios, jobs) in [(together, suite.jobs), (alone, 1)] {
            let mut running = futures::stream::iter(scenarios)
                .map(|scenario| {
                    let task = tokio::spawn(play_one(Arc::clone(&stage), scenario, suite.mode));
                    async move {
                        task.await.map_err(|error| Error::Failed {
                            what: "play a scenario".to_owned(),
                            output: error.to_string(),
                        })
                    }
                })
                .buffer_unordered(jobs.max(1));
            while let Some(outcome) = running.next().await {
                let outcome = outcome?;
                tell(&outcome);
                outcomes.push(outcome);
            }
        }
        tokio::task::block_in_place(|| stage.stop_controllers())?;
    }
    Ok(outcomes)
}

async fn play_one(stage: Arc<Stage>, scenario: Scenario, mode: Mode) -> Outcome {
    let began = Instant::now();
    let (recording, mut problems) = match play_and_judge(&stage, &scenario, mode).await {
        Ok((recording, problems)) => (Some(recording), problems),
        Err(error) => (None, vec![error.to_string()]),
    };
    let mut not_yet = Vec::new();
    if let (Some(what), Mode::Compare) = (&scenario.not_yet, mode) {
        if problems.is_empty() {
            problems.push(format!(
                "{what:?} is there by now: take notYet out of the scenario"
            ));
        } else {
            not_yet = std::mem::take(&mut problems);
        }
    }
    Outcome {
        scenario: scenario.name,
        took: began.elapsed(),
        problems,
        not_yet,
        recording,
    }
}

async fn play_and_judge(stage: &Stage, scenario: &Scenario, mode: Mode) -> Result<(Recording, Vec<String>)> {
    let directory = Recording::directory();
    let expected = match mode {
        Mode::Record => None,
        Mode::Compare => Recording::read(&directory, &scenario.name)?,
    };
    if mode == Mode::Compare && expected.is_none() {
        return Err(Error::Failed {
            what: format!("compare scenario {}", scenario.name),
            output: "there is no recording of it".to_owned(),
        });
    }
    let player = Player::start(stage, scenario, expected.as_ref()).await?;
    let seen = tokio::time::timeout(SCENARIO_LIMIT, player.play())
        .await
        .map_err(|_| Error::Timeout {
            what: format!("scenario {}", scenario.name),
            after: SCENARIO_LIMIT,
            last: "a step that is not done".to_owned(),
        })??;
    match expected {
        Some(expected) => {
            let problems = compare(scenario, &expected, &seen);
            Ok((seen, problems))
        }
        None => {
            seen.write(&directory, &scenario.name)?;
            Ok((seen, Vec::new()))
        }
    }
}
