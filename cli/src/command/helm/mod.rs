//! `sluice helm`: charts on this machine, without a cluster.

mod chart;
mod show;
mod template;
mod values;

use clap::Subcommand;

use crate::cluster::ClusterArguments;
use crate::error::Result;
use crate::output::Console;

/// Arguments of `sluice helm`.
#[derive(Debug, clap::Args)]
pub(crate) struct Helm {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show parts of a chart as they are
    Show(show::Show),
    /// Render a chart and print its manifests
    Template(Box<template::Template>),
}

impl Helm {
    /// Runs the action.
    ///
    /// # Errors
    /// A chart that cannot be loaded or rendered, in the words of helm.
    pub(crate) fn run(&self, cluster: &ClusterArguments, console: &Console) -> Result<()> {
        match &self.action {
            Action::Show(show) => show.run(console),
            Action::Template(template) => template.run(cluster, console),
        }
    }
}
