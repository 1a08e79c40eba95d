//! The report: an aligned table for people, JSON for programs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::figures::{Figures, Metric, Role, Unit};
use crate::run::Comparison;

/// A line of the table: a metric's name, and one cell for each column.
struct Row {
    label: String,
    cells: Vec<String>,
}

/// The medians of all sets side by side; from the second on with the ratio to the first.
pub(crate) fn table(comparison: &Comparison) -> String {
    let title = format!(
        "{}\nmedian of {}, memory {} s after all was done\n\n",
        comparison.scenario.title(),
        runs(comparison),
        comparison.settle.as_secs()
    );
    let sets = comparison
        .sets
        .iter()
        .map(|set| (set.set.label.as_str(), &set.median));
    title + &aligned(&rows(&sets.collect::<Vec<_>>()))
}

fn runs(comparison: &Comparison) -> usize {
    comparison.sets.first().map_or(0, |set| set.runs.len())
}

/// All lines, the heads of the sections among them.
fn rows(sets: &[(&str, &Figures)]) -> Vec<Row> {
    let Some(((first_label, first), others)) = sets.split_first() else {
        return Vec::new();
    };
    let mut head = vec![(*first_label).to_owned()];
    head.extend(
        others
            .iter()
            .flat_map(|(label, _)| [(*label).to_owned(), "ratio".to_owned()]),
    );
    let mut rows = vec![Row {
        label: String::new(),
        cells: head,
    }];
    let metrics = sets
        .iter()
        .flat_map(|(_, figures)| figures.keys())
        .collect::<BTreeSet<_>>();
    let mut section: Option<Role> = None;
    for metric in metrics {
        if metric.role() != section {
            section = metric.role();
            let label = section.map_or("", Role::program).to_owned();
            rows.push(Row {
                label,
                cells: Vec::new(),
            });
        }
        let reference = value(first, metric);
        let mut cells = vec![formatted(reference, metric.unit())];
        for (_, figures) in others {
            let value = value(figures, metric);
            cells.extend([formatted(value, metric.unit()), ratio(value, reference)]);
        }
        let indent = if section.is_some() { "  " } else { "" };
        rows.push(Row {
            label: format!("{indent}{}", metric.label()),
            cells,
        });
    }
    rows
}

/// A metric that a set lacks is zero there: a request that it never made.
fn value(figures: &Figures, metric: &Metric) -> f64 {
    figures.get(metric).copied().unwrap_or_default()
}

fn formatted(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Number => format!("{value:.1}"),
        Unit::Seconds => format!("{value:.2} s"),
        Unit::Mebibytes => format!("{value:.1} MiB"),
        // Half requests come from medians of even numbers of runs.
        Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
        Unit::Count => format!("{value:.1}"),
    }
}

/// How many times the reference a value is; a dash where that means nothing.
fn ratio(value: f64, reference: f64) -> String {
    if reference == 0.0 {
        "-".to_owned()
    } else {
        format!("× {:.2}", value / reference)
    }
}

/// Labels to the left, cells to the right of their columns.
fn aligned(rows: &[Row]) -> String {
    let width = |text: &str| text.chars().count();
    let label_width = rows.iter().map(|row| width(&row.label)).max().unwrap_or_default();
    let mut cell_widths = BTreeMap::new();
    for (column, cell) in rows.iter().flat_map(|row| row.cells.iter().enumerate()) {
        let widest = cell_widths.entry(column).or_insert(0);
        *widest = width(cell).max(*widest);
    }
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:label_width$}", row.label);
        for (column, cell) in row.cells.iter().enumerate() {
            let cell_width = cell_widths.get(&column).copied().unwrap_or_default();
            line.push_str(&format!("  {cell:>cell_width$}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// All runs and their medians, by the metrics' keys.
pub(crate) fn json(comparison: &Comparison) -> Value {
    let figures = |figures: &Figures| {
        let pairs = figures.iter().map(|(metric, value)| (metric.key(), json!(value)));
        Value::Object(pairs.collect())
    };
    let sets = comparison.sets.iter().map(|set| {
        json!({
            "label": set.set.label,
            "runs": set.runs.iter().map(figures).collect::<Vec<_>>(),
            "median": figures(&set.median),
        })
    });
    json!({
        "scenario": comparison.scenario.slug(),
        "title": comparison.scenario.title(),
        "settleSeconds": comparison.settle.as_secs(),
        "sets": sets.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::controllers::ControllerSet;
    use crate::figures::{OfController, medians};
    use crate::run::SetRuns;
    use crate::scenario::Scenario;

    fn run(scale: f64, deletes: bool) -> Figures {
        let of = |of| Metric::Of(Role::Kustomize, of);
        let mut figures = Figures::from([
            (Metric::LoadBefore, 1.25),
            (Metric::AllReady, 10.0 * scale),
            (Metric::Of(Role::Source, OfController::Resident), 12.34),
            (of(OfController::Resident), 30.0 * scale),
            (of(OfController::AllRequests), 1500.0 * scale),
            (of(OfController::Requests("patch (dry run)".to_owned())), 1000.0),
        ]);
        if deletes {
            figures.insert(of(OfController::Requests("delete".to_owned())), 2.0);
        }
        figures
    }

    fn comparison(sets: &[(&str, Vec<Figures>)]) -> Comparison {
        let sets = sets.iter().map(|(label, runs)| SetRuns {
            set: ControllerSet {
                label: (*label).to_owned(),
                directory: "unused".into(),
            },
            runs: runs.clone(),
            median: medians(runs),
        });
        let settle = Duration::from_secs(60);
        Comparison {
            scenario: Scenario::Idle,
            settle,
            sets: sets.collect(),
        }
    }

    #[test]
    fn sets_stand_side_by_side_with_ratios_to_the_first() {
        let both = comparison(&[
            ("ours", vec![run(1.0, false), run(1.5, false)]),
            ("others", vec![run(4.0, true), run(4.0, true)]),
        ]);
        insta::assert_snapshot!(table(&both));
    }

    #[test]
    fn one_set_has_no_ratios() {
        insta::assert_snapshot!(table(&comparison(&[("ours", vec![run(1.0, false)])])));
    }

    #[test]
    fn json_holds_every_run_and_the_median() {
        let json = json(&comparison(&[(
            "ours",
            vec![run(1.0, false), run(2.0, true), run(3.0, false)],
        )]));
        assert_eq!(json["scenario"], "idle");
        assert_eq!(json["settleSeconds"], 60);
        let set = &json["sets"][0];
        assert_eq!(set["label"], "ours");
        assert_eq!(set["runs"][2]["allReadySeconds"], 30.0);
        assert_eq!(set["median"]["allReadySeconds"], 20.0);
        assert_eq!(set["median"]["kustomize-controller/requests"], 3000.0);
        assert_eq!(set["median"]["kustomize-controller/requests/delete"], 0.0);
        assert_eq!(set["median"]["source-controller/vmRssMiB"], 12.34);
    }
}
