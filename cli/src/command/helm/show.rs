//! `sluice helm show`: what `helm show` prints.

use clap::Subcommand;
use sluice_helm::Chart;

use super::chart;
use crate::error::{CommandError, Result};
use crate::output::Console;

/// Arguments of `sluice helm show`.
#[derive(Debug, clap::Args)]
pub(super) struct Show {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Show all of the below
    All(Shown),
    /// Show what Chart.yaml says
    Chart(Shown),
    /// Show the files in crds/
    Crds(Shown),
    /// Show the README
    Readme(Shown),
    /// Show values.yaml
    Values(Shown),
}

#[derive(Debug, clap::Args)]
struct Shown {
    /// The directory or .tgz of the chart
    chart: String,
}

impl Show {
    /// Prints.
    ///
    /// # Errors
    /// A chart that cannot be loaded, in the words of helm.
    pub(super) fn run(&self, console: &Console) -> Result<()> {
        let (Part::All(shown)
        | Part::Chart(shown)
        | Part::Crds(shown)
        | Part::Readme(shown)
        | Part::Values(shown)) = &self.part;
        let chart = chart::load_any(&shown.chart)?;
        let is_all = matches!(self.part, Part::All(_));
        let mut text = String::new();
        if is_all || matches!(self.part, Part::Chart(_)) {
            text.push_str(&definition(&chart)?);
            text.push('\n');
        }
        if is_all || matches!(self.part, Part::Values(_)) {
            push_values(&chart, is_all, &mut text);
        }
        if is_all || matches!(self.part, Part::Readme(_)) {
            push_readme(&chart, is_all, &mut text);
        }
        if is_all || matches!(self.part, Part::Crds(_)) {
            push_custom_resources(&chart, &mut text);
        }
        console.result(&text);
        Ok(())
    }
}

fn definition(chart: &Chart) -> Result<String> {
    let metadata =
        serde_json::to_value(&chart.metadata).map_err(|error| CommandError::new(error.to_string()))?;
    sluice_goyaml::write_sigs(&metadata).map_err(|error| CommandError::new(error.to_string()))
}

fn push_values(chart: &Chart, is_all: bool, text: &mut String) {
    if chart.values.is_none() {
        return;
    }
    if is_all {
        text.push_str("---\n");
    }
    for file in chart.raw.iter().filter(|file| file.name == "values.yaml") {
        text.push_str(&String::from_utf8_lossy(&file.data));
        text.push('\n');
    }
}

fn push_readme(chart: &Chart, is_all: bool, text: &mut String) {
    let is_readme = |name: &str| {
        ["readme.md", "readme.txt", "readme"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    };
    if let Some(file) = chart.files.iter().find(|file| is_readme(&file.name)) {
        if is_all {
            text.push_str("---\n");
        }
        text.push_str(&String::from_utf8_lossy(&file.data));
        text.push('\n');
    }
}

fn push_custom_resources(chart: &Chart, text: &mut String) {
    for file in chart.custom_resource_files() {
        if !file.data.starts_with(b"---") {
            text.push_str("---\n");
        }
        text.push_str(&String::from_utf8_lossy(&file.data));
        text.push('\n');
    }
}
