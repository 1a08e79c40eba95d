//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Parser, ValueEnum};

use crate::controllers::ControllerSet;
use crate::scenario::{Features, Scenario, Shape};

/// How many Kustomizations wait in vain in that scenario.
const WAITING: usize = 50;

/// Measures Flux-compatible controllers on a local control plane.
///
/// Every run has a control plane, a Git server and directories of its own, and ends all of them. With several
/// sets of controllers the runs take turns, so that the noise of the machine meets all alike.
#[derive(Debug, Parser)]
#[command(name = "sluice-bench", version)]
pub(crate) struct Arguments {
    /// A directory that holds the programs source-controller and kustomize-controller; may be given several
    /// times, then all are compared with the first.
    #[arg(long, required = true, value_name = "[LABEL=]DIR")]
    pub(crate) controllers: Vec<ControllerSet>,
    /// What the controllers have to do.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Work::Idle, Work::Kustomizations])]
    pub(crate) scenario: Vec<Work>,
    /// How many Kustomizations.
    #[arg(long, value_delimiter = ',', default_values_t = [500], value_parser = clap::value_parser!(u16).range(1..=5000))]
    pub(crate) count: Vec<u16>,
    /// Runs of each scenario and set; the median counts.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=99))]
    pub(crate) repeat: u8,
    /// How long after the last object became Ready memory is read, such as 60s or 2m.
    #[arg(long, default_value = "60s", value_parser = duration)]
    pub(crate) settle: Duration,
    /// The longest time until everything is Ready.
    #[arg(long, default_value = "10m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// The Kustomizations wait until their objects are healthy.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(crate) wait: bool,
    /// The Kustomizations prune.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(crate) prune: bool,
    /// The Kustomizations substitute variables.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub(crate) substitution: bool,
    /// `--concurrent` of the source-controller.
    #[arg(long, default_value_t = 10)]
    pub(crate) concurrent_sources: u16,
    /// `--concurrent` of the kustomize-controller.
    #[arg(long, default_value_t = 20)]
    pub(crate) concurrent_kustomizations: u16,
    /// A further argument for all controllers, such as --kube-api-qps=500; may be given several times.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(crate) controller_argument: Vec<String>,
    /// Keeps the controllers' logs in this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) logs: Option<PathBuf>,
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// The kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Work {
    /// No objects at all.
    Idle,
    /// Kustomizations of two objects each on one artifact.
    Kustomizations,
    /// Some Kustomizations beside 50 whose health check goes on in vain.
    Waiting,
    /// One Kustomization on an artifact of 400 MB.
    ArtifactBytes,
    /// One Kustomization on an artifact of 100,000 files.
    ArtifactFiles,
}

/// The forms of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Aligned text.
    Table,
    /// All runs and the medians.
    Json,
}

impl Arguments {
    /// The scenarios to run, in order.
    pub(crate) fn scenarios(&self) -> Vec<Scenario> {
        let features = Features {
            wait: self.wait,
            prune: self.prune,
            substitution: self.substitution,
        };
        let with = |work| match work {
            Work::Idle => vec![Scenario::Idle],
            Work::Waiting => vec![Scenario::Waiting { count: WAITING }],
            Work::ArtifactBytes => vec![Scenario::Artifact(Shape::Bytes)],
            Work::ArtifactFiles => vec![Scenario::Artifact(Shape::Files)],
            Work::Kustomizations => {
                let sizes = self.count.iter();
                sizes
                    .map(|count| Scenario::Kustomizations {
                        count: usize::from(*count),
                        features,
                    })
                    .collect()
            }
        };
        self.scenario.iter().copied().flat_map(with).collect()
    }
}

/// Reads a number of seconds (`60s`) or minutes (`2m`), at most an hour.
fn duration(text: &str) -> Result<Duration, String> {
    let invalid = || format!("{text:?} is no time such as 60s or 2m, at most 60m");
    let (number, unit) = match (text.strip_suffix('s'), text.strip_suffix('m')) {
        (Some(number), _) => (number, 1),
        (_, Some(number)) => (number, 60),
        _ => return Err(invalid()),
    };
    let seconds = number
        .parse::<u32>()
        .ok()
        .and_then(|number| number.checked_mul(unit));
    let seconds = seconds.filter(|seconds| *seconds <= 3600).ok_or_else(invalid)?;
    Ok(Duration::from_secs(u64::from(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(["sluice-bench"].iter().chain(arguments))
    }

    #[test]
    fn both_scenarios_run_unless_told_otherwise() {
        let arguments = parse(&["--controllers", "target/release"]).unwrap();
        let features = Features {
            wait: true,
            prune: true,
            substitution: true,
        };
        let expected = [Scenario::Idle, Scenario::Kustomizations { count: 500, features }];
        assert_eq!(arguments.scenarios(), expected);
        assert_eq!(arguments.settle, Duration::from_secs(60));
        assert_eq!(arguments.repeat, 3);
    }

    #[test]
    fn scenarios_sizes_and_features_can_be_chosen() {
        let arguments = parse(&[
            "--controllers=ours=target/release",
            "--controllers=others=/opt/others",
            "--scenario=kustomizations",
            "--count=100,500",
            "--wait=false",
            "--controller-argument=--kube-api-qps=500",
        ])
        .unwrap();
        assert_eq!(arguments.controllers[1].label, "others");
        assert_eq!(arguments.controller_argument, ["--kube-api-qps=500"]);
        let features = Features {
            wait: false,
            prune: true,
            substitution: true,
        };
        let expected = [100, 500].map(|count| Scenario::Kustomizations { count, features });
        assert_eq!(arguments.scenarios(), expected);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        assert!(parse(&[]).is_err());
        for argument in [
            "--scenario=sleep",
            "--count=0",
            "--count=9999",
            "--repeat=0",
            "--settle=1h",
        ] {
            assert!(parse(&["--controllers=x", argument]).is_err(), "{argument}");
        }
    }

    #[test]
    fn times_are_seconds_or_minutes() {
        assert_eq!(duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for text in ["", "s", "5", "-1s", "61m", "1.5s", "4294967295m"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
