//! `sluice diff kustomization`: what the controller would change in the cluster, from a directory of this machine.

mod report;
mod structure;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use sluice_api::kustomize::Kustomization;
use sluice_apply::{
    Action, Applier, ApplyOptions, Comparison, Difference, Discovery, Entry, Inventory, Object, normalise_all,
};

use crate::cluster::{Cluster, ClusterArguments};
use crate::error::{CommandError, Result};
use crate::local::{Builder, LocalArguments, LocalBuild, child_of, is_masked};
use crate::output::{Colour, Console, Progress};

/// Arguments of `sluice diff`.
#[derive(Debug, clap::Args)]
pub(crate) struct Diff {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show what a local directory would change in the cluster
    #[command(visible_alias = "ks", after_help = EXAMPLES)]
    Kustomization(DiffKustomization),
}

const EXAMPLES: &str = "\
Examples:
  sluice diff kustomization apps --path ./apps/production
  sluice diff kustomization apps --path ./apps/production --kustomization-file ./clusters/production/apps.yaml
  sluice diff kustomization root --path ./clusters/production -r --local-sources GitRepository/flux-system/fleet=.

Nothing is written: the API server is asked for a dry run. Values of Secrets are masked.
Exit status: 0 nothing would change, 1 something would, 2 it can't be told.";

#[derive(Debug, clap::Args)]
struct DiffKustomization {
    #[command(flatten)]
    local: LocalArguments,
    /// Show progress on a terminal
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    progress_bar: bool,
    /// Take a Kustomization that the cluster does not have for a new one; needs --kustomization-file
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    ignore_not_found: bool,
}

/// How a command ends that found a change.
const CHANGED: u8 = 1;
/// How a command ends that could not find out.
const FAILED: u8 = 2;

impl Diff {
    /// Prints the differences, and tells by the exit code whether there are any.
    pub(crate) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> ExitCode {
        let What::Kustomization(diff) = &self.what;
        let (told, outcome) = diff.run(arguments, console).await;
        console.result(&told);
        match outcome {
            Ok(false) => ExitCode::SUCCESS,
            Ok(true) => {
                console.warning("identified at least one change, exiting with non-zero exit code");
                ExitCode::from(CHANGED)
            }
            Err(error) => {
                console.failure(&error);
                ExitCode::from(FAILED)
            }
        }
    }
}

impl DiffKustomization {
    /// What is known, and whether anything would change.
    async fn run(&self, arguments: &ClusterArguments, console: &Console) -> (String, Result<bool>) {
        let cluster = match Cluster::connect(arguments).await {
            Ok(cluster) => cluster,
            Err(error) => return (String::new(), Err(error)),
        };
        if self.ignore_not_found && !self.local.has_kustomization_file() {
            let error = CommandError::new("kustomization file is required when assuming new kustomizations")
                .with_hint("name it with --kustomization-file");
            return (String::new(), Err(error));
        }
        let builder = Builder::online(&self.local, &cluster);
        let progress = if self.progress_bar {
            console.quiet_progress("building")
        } else {
            Progress::none()
        };
        let discovery = Arc::new(Discovery::new(cluster.client.clone()));
        let mut differ = Differ {
            applier: Applier::new(cluster.client.clone(), discovery),
            builder: &builder,
            recursive: self.local.is_recursive(),
            console,
            progress: &progress,
            text: String::new(),
            problems: Vec::new(),
        };
        let outcome = match builder.build_named(self.ignore_not_found).await {
            Ok(build) => differ.compare(build).await,
            Err(error) => Err(error),
        };
        let Differ { text, problems, .. } = differ;
        drop(progress);
        let outcome = outcome.and_then(|changed| {
            if problems.is_empty() {
                return Ok(changed);
            }
            Err(CommandError::new(problems.join("\n"))
                .with_hint("what is listed above was compared, and nothing was written"))
        });
        (text, outcome)
    }
}

/// Compares builds with the cluster, and gathers what is to be told.
struct Differ<'command> {
    applier: Applier,
    builder: &'command Builder<'command>,
    recursive: bool,
    console: &'command Console,
    progress: &'command Progress,
    text: String,
    /// Why some objects could not be compared.
    problems: Vec<String>,
}

impl Differ<'_> {
    /// Compares the objects of a build, then of the Kustomizations among them if that is wished; `true` if
    /// anything would change.
    fn compare(&mut self, build: LocalBuild) -> BoxFuture<'_, Result<bool>> {
        async move {
            let LocalBuild {
                kustomization,
                mut objects,
            } = build;
            normalise_all(&mut objects);
            let options =
                sluice_kustomization::apply_options(&kustomization.spec).map_err(CommandError::new)?;
            let problems_before = self.problems.len();
            let mut changed = false;
            let mut inventory = Inventory::new();
            let count = objects.len();
            for (number, object) in objects.into_iter().enumerate() {
                let subject = object.subject();
                self.progress.update(&format!(
                    "running dry-run of {subject} ({} of {count})",
                    number + 1
                ));
                let Some(action) = self.compare_object(&object, &options, &mut inventory).await? else {
                    continue;
                };
                changed |= action.is_change();
                if self.recursive && action != Action::Created {
                    changed |= self.compare_child(&object, &kustomization).await?;
                }
            }
            if kustomization.spec.prune && self.problems.len() == problems_before {
                changed |= self.show_stale(&kustomization, &inventory)?;
            }
            Ok(changed)
        }
        .boxed()
    }

    /// Compares one object; `None` if the API server refuses it, which is noted.
    async fn compare_object(
        &mut self,
        object: &Object,
        options: &ApplyOptions,
        inventory: &mut Inventory,
    ) -> Result<Option<Action>> {
        let Comparison { change, difference } = match self.applier.compare(object, options).await {
            Ok(comparison) => comparison,
            Err(error) => {
                self.problems.push(error.to_string());
                return Ok(None);
            }
        };
        inventory.merge([Entry::from(&change)]);
        let subject = change.id.subject();
        match (change.action, difference) {
            (Action::Skipped, _) => self.say(Colour::Yellow, &format!("► {subject} skipped")),
            (Action::Created, _) => self.say(Colour::Green, &format!("► {subject} created")),
            (Action::Configured, Some(difference)) => {
                let Some(Difference { live, merged }) = without_cipher_text(object, difference) else {
                    return Ok(Some(Action::Unchanged));
                };
                self.say(Colour::Bold, &format!("► {subject} drifted"));
                let report = report::write(&structure::compare(&live.into_value(), &merged.into_value()))?;
                self.text.push_str(&report);
            }
            _ => {}
        }
        Ok(Some(change.action))
    }

    /// Compares what a Kustomization among the objects brings.
    async fn compare_child(&mut self, object: &Object, parent: &Kustomization) -> Result<bool> {
        let Some(child) = child_of(object, parent)? else {
            return Ok(false);
        };
        let subject = object.subject();
        if child.spec.kube_config.is_some() {
            let text = format!("⚠️ {subject} skipped: diff not supported for remote clusters");
            self.say(Colour::Yellow, &text);
            return Ok(false);
        }
        let before = std::mem::take(&mut self.text);
        let outcome = match self.builder.build_child(child).await {
            Ok(build) => self.compare(build).await,
            Err(error) => Err(error),
        };
        let below = std::mem::replace(&mut self.text, before);
        let changed = match outcome {
            Ok(changed) => changed,
            Err(error) => {
                self.problems.push(error.to_string());
                return Ok(false);
            }
        };
        if changed {
            self.say(Colour::Bold, &format!("📁 {subject} changed"));
            self.text.push_str(&below);
        }
        Ok(changed)
    }

    /// Tells which objects of the inventory would be deleted.
    fn show_stale(&mut self, kustomization: &Kustomization, new: &Inventory) -> Result<bool> {
        let recorded = kustomization
            .status
            .as_ref()
            .and_then(|status| status.inventory.as_ref());
        let old: Inventory = recorded
            .map(|inventory| inventory.entries.as_slice())
            .unwrap_or_default()
            .iter()
            .map(|entry| {
                Ok(Entry {
                    id: entry.id.parse()?,
                    version: entry.version.clone(),
                })
            })
            .collect::<std::result::Result<_, sluice_apply::IdError>>()
            .map_err(|error| CommandError::new(error.to_string()))?;
        let stale = old.difference(new);
        for entry in &stale {
            self.say(Colour::Red, &format!("► {} deleted", entry.id.subject()));
        }
        Ok(!stale.is_empty())
    }

    fn say(&mut self, colour: Colour, line: &str) {
        self.text.push_str(&self.console.paint(colour, line));
        self.text.push('\n');
    }
}

/// The difference of a Secret of which SOPS has encrypted values can be told by the keys alone; `None` if they
/// are the same.
fn without_cipher_text(object: &Object, mut difference: Difference) -> Option<Difference> {
    if object.kind() != "Secret" || !is_masked(object) {
        return Some(difference);
    }
    for side in [&mut difference.live, &mut difference.merged] {
        let data = side.content_mut().get_mut("data");
        let values = data.and_then(serde_json::Value::as_object_mut);
        values
            .into_iter()
            .flat_map(|values| values.values_mut())
            .for_each(|value| *value = "*****".into());
    }
    let differs = difference.live.field(&["data"]) != difference.merged.field(&["data"]);
    differs.then_some(difference)
}
