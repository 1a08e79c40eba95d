//! The report: an aligned table for people, JSON for programs.

use serde_json::{Value, json};

use crate::measure::{Comparison, Run, Runs};

const HEAD: [&str; 9] = [
    "",
    "sluice",
    "kustomize",
    "ratio",
    "CPU",
    "kustomize",
    "ratio",
    "peak",
    "kustomize",
];

/// The medians of all cases, one a line.
pub(crate) fn table(comparisons: &[Comparison]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows[0].extend(["ratio".to_owned(), "each object".to_owned()]);
    for comparison in comparisons {
        let ours = comparison.ours.median;
        let other = comparison.other.as_ref().map(|runs| runs.median);
        let mut row = vec![comparison.case.title()];
        row.extend(beside(ours.seconds, other.map(|run| run.seconds), seconds));
        row.extend(beside(ours.cpu, other.map(|run| run.cpu), seconds));
        row.extend(beside(ours.peak, other.map(|run| run.peak), mebibytes));
        // Exact below 2^53.
        row.push(seconds(ours.seconds / comparison.case.objects() as f64));
        rows.push(row);
    }
    aligned(&rows)
}

/// A figure of ours, the same of the other, and how many times ours the other's is.
fn beside(ours: f64, other: Option<f64>, format: fn(f64) -> String) -> [String; 3] {
    match other {
        Some(other) => [format(ours), format(other), format!("× {:.1}", other / ours)],
        None => [format(ours), "-".to_owned(), "-".to_owned()],
    }
}

fn mebibytes(value: f64) -> String {
    format!("{value:.1} MiB")
}

/// Seconds in the unit that suits them.
fn seconds(value: f64) -> String {
    if value < 1e-3 {
        format!("{:.0} µs", value * 1e6)
    } else if value < 1.0 {
        format!("{:.1} ms", value * 1e3)
    } else {
        format!("{value:.2} s")
    }
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column == 0 {
                line.push_str(&format!("{cell:width$}"));
            } else {
                line.push_str(&format!("  {cell:>width$}"));
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// All runs and their medians.
pub(crate) fn json(comparisons: &[Comparison]) -> Value {
    let figures = |run: &Run| json!({"seconds": run.seconds, "cpuSeconds": run.cpu, "peakMiB": run.peak});
    let engine = |runs: &Runs| {
        json!({
            "runs": runs.runs.iter().map(figures).collect::<Vec<_>>(),
            "median": figures(&runs.median),
        })
    };
    let cases = comparisons.iter().map(|comparison| {
        json!({
            "case": comparison.case.title(),
            "objects": comparison.case.objects(),
            "sluice": engine(&comparison.ours),
            "kustomize": comparison.other.as_ref().map(engine),
        })
    });
    Value::Array(cases.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    fn runs(seconds: f64) -> Runs {
        let run = Run {
            seconds,
            cpu: seconds * 0.9,
            peak: 12.5 + seconds,
        };
        Runs {
            runs: vec![run],
            median: run,
        }
    }

    fn comparisons() -> Vec<Comparison> {
        let comparison = |count, ours, other: Option<f64>| Comparison {
            case: Case { count },
            ours: runs(ours),
            other: other.map(runs),
        };
        vec![
            comparison(4, 0.001, Some(0.008)),
            comparison(4000, 0.25, Some(30.0)),
            comparison(8000, 0.5, None),
        ]
    }

    #[test]
    fn cases_stand_below_each_other_with_ratios() {
        insta::assert_snapshot!(table(&comparisons()));
    }

    #[test]
    fn json_holds_all_runs() {
        let json = json(&comparisons());
        assert_eq!(json[1]["kustomize"]["runs"][0]["seconds"], 30.0);
        assert_eq!(json[1]["objects"], 4000);
        assert!(json[2]["kustomize"].is_null());
    }
}
