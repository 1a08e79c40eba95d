//! `sluice debug kustomization`: what the controller knows of a Kustomization.

use clap_complete::ArgValueCompleter;
use std::collections::BTreeMap;

use clap::{ArgGroup, Subcommand};
use kube::Api;
use serde_json::{Value, json};
use sluice_api::kustomize::Kustomization;

use crate::cluster::Cluster;
use crate::command::reconcile::not_found;
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::{Console, yaml};

/// Arguments of `sluice debug`.
#[derive(Debug, clap::Args)]
pub(crate) struct Debug {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the status, the variables or the history of a Kustomization
    #[command(
        visible_alias = "ks",
        after_help = "Examples:\n  sluice debug ks apps --show-status\n  sluice debug ks apps --show-vars > vars.env\n\nWARNING: --show-vars prints values of Secrets that spec.postBuild.substituteFrom refers to."
    )]
    Kustomization(DebugKustomization),
}

#[derive(Debug, clap::Args)]
#[command(group(ArgGroup::new("part").required(true)))]
struct DebugKustomization {
    /// Name of the Kustomization
    #[arg(add = ArgValueCompleter::new(crate::completion::kustomizations))]
    name: String,
    /// Print the status
    #[arg(long, group = "part")]
    show_status: bool,
    /// Print the variables that are substituted after the build, as NAME=value
    #[arg(long, group = "part")]
    show_vars: bool,
    /// Print the last reconciliations
    #[arg(long, group = "part")]
    show_history: bool,
}

impl Debug {
    /// Prints the part that was asked for.
    ///
    /// # Errors
    /// No such Kustomization, or variables that can't be read.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let What::Kustomization(debug) = &self.what;
        let kustomizations: Api<Kustomization> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let found = kustomizations.get_opt(&debug.name).await?;
        let Some(kustomization) = found else {
            let kind = Kind::by_name("Kustomization").unwrap_or(&Kind::DEPLOYMENT);
            return Err(not_found(kind, &debug.name, &cluster.namespace));
        };
        let text = if debug.show_vars {
            show_variables(cluster, &kustomization).await?
        } else {
            let status = serde_json::to_value(kustomization.status.unwrap_or_default())
                .map_err(|error| CommandError::new(error.to_string()))?;
            show(&status, debug.show_history)?
        };
        console.result(&text);
        Ok(())
    }
}

fn show(status: &Value, only_history: bool) -> Result<String> {
    const DOCUMENTATION: &str = "https://fluxcd.io/flux/components/kustomize/kustomizations";
    if only_history {
        let history = status.get("history").cloned().unwrap_or_else(|| json!([]));
        return Ok(format!(
            "# History documentation: {DOCUMENTATION}/#history\n{}",
            yaml(&history)?
        ));
    }
    Ok(format!(
        "# Status documentation: {DOCUMENTATION}/#kustomization-status\n{}",
        yaml(status)?
    ))
}

/// The variables as the controller puts them together, inline ones above those that are referred to.
async fn show_variables(cluster: &Cluster, kustomization: &Kustomization) -> Result<String> {
    let Some(post_build) = &kustomization.spec.post_build else {
        return Err(CommandError::new("no post build substitutions found")
            .with_hint("the Kustomization has no spec.postBuild"));
    };
    let references = &post_build.substitute_from;
    let variables: BTreeMap<String, String> =
        sluice_kustomization::load_variables(&cluster.client, &cluster.namespace, references)
            .await
            .map_err(CommandError::new)?;
    let variables = sluice_kustomization::with_inline(variables, post_build);
    Ok(variables
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect())
}
