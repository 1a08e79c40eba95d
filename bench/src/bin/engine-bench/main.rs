//! Measures `sluice kustomize build` beside the real `kustomize build`, both as whole processes on the same
//! generated kustomizations: time, CPU and peak memory. How to read and reproduce the figures is described in
//! `docs/benchmarks.md`.

mod case;
mod error;
mod measure;
mod report;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::case::Case;
use crate::error::{Error, Result};
use crate::measure::{Comparison, Engine};

/// Measures kustomize engines on generated kustomizations.
///
/// The engines take turns, so that the noise of the machine meets both alike, and what they print must be the
/// same.
#[derive(Debug, Parser)]
#[command(name = "engine-bench", version)]
struct Arguments {
    /// The program `sluice`.
    #[arg(long, value_name = "PROGRAM")]
    sluice: PathBuf,
    /// The program `kustomize`, to compare with.
    #[arg(long, value_name = "PROGRAM")]
    kustomize: Option<PathBuf>,
    /// How many objects the kustomizations have that both build; below 10 it is the tiny one.
    #[arg(long, value_delimiter = ',', default_values_t = [4, 1000, 4000])]
    count: Vec<usize>,
    /// How many objects the kustomizations have that sluice alone builds.
    #[arg(long, value_delimiter = ',', default_values_t = [8000, 16000])]
    alone: Vec<usize>,
    /// Runs of each engine, after one that does not count; the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..=99))]
    repeat: u8,
    /// An engine whose first run takes longer than so many seconds is not run again.
    #[arg(long, default_value_t = 10.0)]
    patience: f64,
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// The forms of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Aligned text.
    Table,
    /// All runs and the medians.
    Json,
}

fn main() -> ExitCode {
    match compare_all(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "engine-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures all cases and prints the report.
fn compare_all(arguments: &Arguments) -> Result<()> {
    let ours = Engine::new("sluice", &arguments.sluice, &["kustomize", "build"])?;
    let other = arguments
        .kustomize
        .as_ref()
        .map(|program| Engine::new("kustomize", program, &["build"]))
        .transpose()?;
    let both = arguments.count.iter().map(|count| (*count, other.as_ref()));
    let alone = arguments.alone.iter().map(|count| (*count, None));
    let mut comparisons: Vec<Comparison> = Vec::new();
    for (count, other) in both.chain(alone) {
        let case = Case { count };
        let _ = writeln!(std::io::stderr(), "{}", case.title());
        comparisons.push(measure::compare(
            case,
            &ours,
            other,
            usize::from(arguments.repeat),
            arguments.patience,
        )?);
    }
    let text = match arguments.output {
        Output::Table => report::table(&comparisons),
        Output::Json => format!("{:#}\n", report::json(&comparisons)),
    };
    write!(std::io::stdout(), "{text}").map_err(Error::io("write to standard output"))
}
