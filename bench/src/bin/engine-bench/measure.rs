//! Runs of the engines as processes.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use wait4::Wait4 as _;

use crate::case::Case;
use crate::error::{Error, Result};

/// A program that builds kustomizations.
#[derive(Debug)]
pub(crate) struct Engine {
    /// Its name in the report.
    pub(crate) label: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
}

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    /// Seconds from the start of the process until it was reaped.
    pub(crate) seconds: f64,
    /// Seconds of CPU, user and system.
    pub(crate) cpu: f64,
    /// The highest resident memory, in MiB.
    pub(crate) peak: f64,
}

/// All runs of one engine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Runs {
    /// In order.
    pub(crate) runs: Vec<Run>,
    /// The median of each figure.
    pub(crate) median: Run,
}

/// The engines on one case.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// What was built.
    pub(crate) case: Case,
    /// Ours.
    pub(crate) ours: Runs,
    /// The other engine's, if it took part.
    pub(crate) other: Option<Runs>,
}

impl Engine {
    /// An engine; the directory follows its arguments.
    pub(crate) fn new(
        label: &'static str,
        program: &Path,
        arguments: &'static [&'static str],
    ) -> Result<Self> {
        if !program.is_file() {
            return Err(Error::NoProgram(program.to_owned()));
        }
        Ok(Self {
            label,
            program: program.to_owned(),
            arguments,
        })
    }

    /// Builds a directory into a file.
    fn run(&self, case: Case, directory: &Path, output: &Path) -> Result<Run> {
        let create = |path: &Path| File::create(path).map_err(Error::io(format!("write {}", path.display())));
        let errors = output.with_extension("errors");
        let mut command = Command::new(&self.program);
        command
            .args(self.arguments)
            .arg(directory)
            .stdin(Stdio::null())
            .stdout(create(output)?)
            .stderr(create(&errors)?);
        let what = || Error::io(format!("run {}", self.program.display()));
        let started = Instant::now();
        let used = command.spawn().map_err(what())?.wait4().map_err(what())?;
        let seconds = started.elapsed().as_secs_f64();
        if !used.status.success() {
            let mut text = String::new();
            if let Ok(file) = File::open(&errors) {
                let _ = file.take(4096).read_to_string(&mut text);
            }
            return Err(Error::Failed {
                engine: self.label,
                case: case.title(),
                output: text,
            });
        }
        Ok(Run {
            seconds,
            cpu: (used.rusage.utime + used.rusage.stime).as_secs_f64(),
            // Exact below 2^53.
            peak: used.rusage.maxrss as f64 / f64::from(1 << 20),
        })
    }
}

/// Runs both engines by turns on a case. The first run of an engine does not count unless it took longer than
/// `patience` seconds: then it is the only one.
pub(crate) fn compare(
    case: Case,
    ours: &Engine,
    other: Option<&Engine>,
    repeat: usize,
    patience: f64,
) -> Result<Comparison> {
    let directory = tempfile::Builder::new()
        .prefix("engine-bench-")
        .tempdir()
        .map_err(Error::io("make a temporary directory"))?;
    let overlay = case.write(directory.path())?;
    let output = |place: usize| directory.path().join(format!("{place}.out"));
    let engines: Vec<&Engine> = std::iter::once(ours).chain(other).collect();
    let mut runs = vec![Vec::new(); engines.len()];
    let mut done = vec![false; engines.len()];
    for round in 0..=repeat {
        for (place, engine) in engines.iter().enumerate() {
            if done[place] {
                continue;
            }
            let run = engine.run(case, &overlay, &output(place))?;
            done[place] = round == 0 && run.seconds > patience;
            if round > 0 || done[place] {
                runs[place].push(run);
            }
        }
        if round == 0 && other.is_some() {
            check_same(case, &output(0), &output(1))?;
        }
    }
    let mut runs = runs.into_iter().map(|runs| Runs {
        median: median(&runs),
        runs,
    });
    let ours = runs.next().unwrap_or_else(|| Runs {
        runs: Vec::new(),
        median: median(&[]),
    });
    Ok(Comparison {
        case,
        ours,
        other: runs.next(),
    })
}

/// Compares two files piece by piece: this process must stay small, for a child's peak memory is never less
/// than that of its parent at its start.
fn check_same(case: Case, ours: &Path, other: &Path) -> Result<()> {
    let open = |path: &Path| {
        let what = || Error::io(format!("read {}", path.display()));
        let file = File::open(path).map_err(what())?;
        let length = file.metadata().map_err(what())?.len();
        Ok::<_, Error>((BufReader::new(file), length))
    };
    let ((mut left, left_length), (mut right, right_length)) = (open(ours)?, open(other)?);
    let different = Error::Different {
        case: case.title(),
        ours: left_length,
        other: right_length,
    };
    loop {
        let read = || Error::io("compare the manifests");
        let (a, b) = (
            left.fill_buf().map_err(read())?,
            right.fill_buf().map_err(read())?,
        );
        let common = a.len().min(b.len());
        if a[..common] != b[..common] || (common == 0 && a.len() != b.len()) {
            return Err(different);
        }
        if common == 0 {
            return Ok(());
        }
        left.consume(common);
        right.consume(common);
    }
}

/// The median of each figure.
fn median(runs: &[Run]) -> Run {
    let of = |figure: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        match (values.len(), values.get(middle)) {
            (_, None) => 0.0,
            (length, Some(upper)) if length % 2 == 1 => *upper,
            (_, Some(upper)) => f64::midpoint(values[middle - 1], *upper),
        }
    };
    Run {
        seconds: of(|run| run.seconds),
        cpu: of(|run| run.cpu),
        peak: of(|run| run.peak),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(script: &'static [&'static str]) -> Engine {
        Engine::new("shell", Path::new("/bin/sh"), script).unwrap()
    }

    #[test]
    fn engines_that_print_the_same_are_measured() {
        let print = engine(&["-c", "cat \"$0\"/../base/objects.yaml"]);
        let comparison = compare(Case { count: 4 }, &print, Some(&print), 2, 60.0).unwrap();
        for runs in [comparison.ours, comparison.other.unwrap()] {
            assert_eq!(runs.runs.len(), 2);
            assert!(runs.median.seconds > 0.0 && runs.median.peak > 0.0);
        }
    }

    #[test]
    fn an_engine_that_is_too_slow_runs_once() {
        let print = engine(&["-c", "exit 0"]);
        let comparison = compare(Case { count: 4 }, &print, None, 5, -1.0).unwrap();
        assert_eq!(comparison.ours.runs.len(), 1);
    }

    #[test]
    fn engines_that_fail_or_differ_are_reported() {
        let case = Case { count: 4 };
        let fail = engine(&["-c", "echo no such thing >&2; exit 1"]);
        let error = compare(case, &fail, None, 1, 60.0).unwrap_err();
        assert!(error.to_string().contains("no such thing"), "{error}");
        let (print, longer) = (engine(&["-c", "echo a"]), engine(&["-c", "echo a; echo b"]));
        let error = compare(case, &print, Some(&longer), 1, 60.0).unwrap_err();
        assert!(
            matches!(
                error,
                Error::Different {
                    ours: 2,
                    other: 4,
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn medians_are_taken_figure_by_figure() {
        let run = |seconds, cpu, peak| Run { seconds, cpu, peak };
        let runs = [run(1.0, 3.0, 2.0), run(2.0, 1.0, 3.0), run(3.0, 2.0, 1.0)];
        assert_eq!(median(&runs), run(2.0, 2.0, 2.0));
        assert_eq!(median(&runs[..2]), run(1.5, 2.0, 2.5));
    }
}
