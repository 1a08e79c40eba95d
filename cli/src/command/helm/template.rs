//! `sluice helm template`: what `helm template` prints.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use sluice_helm::{
    Capabilities, KubeVersion, OutputDocument, OutputOptions, RenderOptions, Rendered, Target,
    check_release_name, name_from_template, render,
};

use super::chart;
use super::values::ValuesArguments;
use crate::cluster::ClusterArguments;
use crate::error::{CommandError, Result};
use crate::output::Console;

/// The name of a release where none is given.
const DEFAULT_NAME: &str = "release-name";

/// Arguments of `sluice helm template`.
#[derive(Debug, clap::Args)]
pub(super) struct Template {
    /// The name of the release, and the directory or .tgz of the chart
    #[arg(value_name = "[NAME] CHART", required = true, num_args = 1..=2)]
    names: Vec<String>,
    #[command(flatten)]
    values: ValuesArguments,
    /// Show only the templates whose path below the chart matches
    #[arg(long, short = 's', value_name = "PATTERN")]
    show_only: Vec<String>,
    /// Write files into this directory instead of printing
    #[arg(long, value_name = "DIRECTORY")]
    output_dir: Option<PathBuf>,
    /// Put the files into a folder named as the release
    #[arg(long)]
    release_name: bool,
    /// Show the custom resources of the chart as well
    #[arg(long)]
    include_crds: bool,
    /// Do not show hooks
    #[arg(long)]
    no_hooks: bool,
    /// Do not show tests
    #[arg(long)]
    skip_tests: bool,
    /// Render for an upgrade instead of an installation
    #[arg(long)]
    is_upgrade: bool,
    /// The version of Kubernetes to render for
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// API versions that the cluster has beside the usual ones
    #[arg(long, short = 'a', value_name = "VERSION", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Template of the name of the release
    #[arg(long, value_name = "TEMPLATE")]
    name_template: Option<String>,
    /// Make a name for the release
    #[arg(long, short = 'g')]
    generate_name: bool,
    /// Do not hold values against the schemas of the chart
    #[arg(long)]
    skip_schema_validation: bool,
    /// Only `client` is possible
    #[arg(long, value_name = "WHERE", num_args = 0..=1, default_missing_value = "client", require_equals = true)]
    dry_run: Option<String>,
    #[command(flatten)]
    without_effect: WithoutEffect,
}

/// Flags that helm accepts and that do not change what is rendered without a cluster.
#[derive(Debug, clap::Args)]
struct WithoutEffect {
    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, hide = true)]
    description: Option<String>,
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
    #[arg(long, hide = true)]
    force_conflicts: bool,
    #[arg(long, hide = true)]
    force_replace: bool,
    #[arg(long, hide = true)]
    hide_notes: bool,
    #[arg(long, short = 'l', hide = true)]
    labels: Vec<String>,
    #[arg(long, hide = true)]
    render_subchart_notes: bool,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, hide = true)]
    rollback_on_failure: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    server_side: Option<bool>,
    #[arg(long, hide = true)]
    skip_crds: bool,
    #[arg(long, hide = true)]
    take_ownership: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "watcher")]
    wait: Option<String>,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
}

impl Template {
    /// Renders and prints.
    ///
    /// # Errors
    /// As helm has them.
    pub(super) fn run(&self, cluster: &ClusterArguments, console: &Console) -> Result<()> {
        if let Some(other) = self.dry_run.as_deref().filter(|&place| place != "client") {
            return Err(CommandError::new(format!("--dry-run={other} is not possible"))
                .with_hint("charts are rendered here without a cluster: leave the flag out"));
        }
        let (name, chart) = self.name_and_chart()?;
        let values = self.values.values()?;
        let chart = chart::load(chart)?;
        check_release_name(&name).map_err(|error| CommandError::new(error.to_string()))?;
        let options = RenderOptions {
            capabilities: self.capabilities()?,
            skip_schema: self.skip_schema_validation,
            ..RenderOptions::default()
        };
        let target = Target {
            is_upgrade: self.is_upgrade,
            ..Target::install(&name, &cluster.release_namespace()?)
        };
        let rendered = render(&chart, &values, &target, &options)
            .map_err(|error| CommandError::new(error.to_string()))?;
        rendered
            .log
            .warnings()
            .iter()
            .for_each(|warning| console.warning(warning));
        self.show(&name, &rendered, console)
    }

    fn name_and_chart(&self) -> Result<(String, &str)> {
        let both = |flag: &str| {
            Err(CommandError::new(format!(
                "cannot set {flag} and also specify a name"
            )))
        };
        match self.names.as_slice() {
            [_, _] if self.generate_name => both("--generate-name"),
            [_, _] if self.name_template.is_some() => both("--name-template"),
            [name, chart] => Ok((name.clone(), chart)),
            [chart] => Ok((self.made_name(chart)?, chart)),
            _ => Err(CommandError::new("name a chart")),
        }
    }

    fn made_name(&self, chart: &str) -> Result<String> {
        if let Some(template) = &self.name_template {
            return name_from_template(template).map_err(CommandError::new);
        }
        if !self.generate_name {
            return Ok(DEFAULT_NAME.to_owned());
        }
        let base = Path::new(chart)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let base = base
            .as_deref()
            .unwrap_or("chart")
            .split('.')
            .next()
            .unwrap_or("chart");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(format!("{base}-{}", now.as_secs()))
    }

    fn capabilities(&self) -> Result<Capabilities> {
        let mut capabilities = Capabilities::default();
        if let Some(version) = self.kube_version.as_deref().filter(|version| !version.is_empty()) {
            capabilities.kube_version = KubeVersion::parse(version)
                .map_err(|error| CommandError::new(format!("invalid kube version '{version}': {error}")))?;
        }
        capabilities
            .api_versions
            .extend(self.api_versions.iter().cloned());
        Ok(capabilities)
    }

    fn show(&self, name: &str, rendered: &Rendered, console: &Console) -> Result<()> {
        let options = OutputOptions {
            custom_resources: self.include_crds,
            no_hooks: self.no_hooks,
            skip_tests: self.skip_tests,
            show_only: self.show_only.clone(),
        };
        let Some(directory) = &self.output_dir else {
            let text = rendered
                .output(&options)
                .map_err(|error| CommandError::new(error.to_string()))?;
            console.result(&text);
            return Ok(());
        };
        let mut told = String::new();
        for document in rendered.output_documents(&options) {
            let below = if self.release_name && !document.is_custom_resource {
                directory.join(name)
            } else {
                directory.clone()
            };
            let path = below.join(&document.path);
            put(&path, &document)
                .map_err(|error| CommandError::new(format!("{}: {error}", path.display())))?;
            told.push_str(&format!("wrote {}\n", path.display()));
        }
        console.result(&format!("{told}\n"));
        Ok(())
    }
}

/// Writes the first document of a file, or appends another one.
fn put(path: &Path, document: &OutputDocument) -> std::io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    let mut options = OpenOptions::new();
    if document.is_first {
        options.write(true).create(true).truncate(true);
    } else {
        options.append(true);
    }
    options.open(path)?.write_all(document.text.as_bytes())
}
