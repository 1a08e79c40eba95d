//! The command line's grammar.

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::cluster::ClusterArguments;
use crate::command;

/// GitOps for Kubernetes: pull desired state from Git, apply it, keep it there.
#[derive(Debug, Parser)]
#[command(
    name = "sluice",
    version,
    args_override_self = true,
    disable_help_subcommand = true,
    infer_long_args = false
)]
pub(crate) struct Arguments {
    /// The cluster and the bounds of the command.
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Print generated objects
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install the toolkit from a repository, so that it manages itself from there
    Bootstrap(Box<command::bootstrap::Bootstrap>),
    /// Check that the cluster is fit and the toolkit healthy
    Check(command::check::Check),
    /// Print a completion script
    Completion {
        /// The shell
        shell: Shell,
    },
    /// Show objects of the toolkit
    Get(command::get::Get),
    /// Work with charts on this machine
    Helm(command::helm::Helm),
    /// Install the controllers without a repository
    Install(command::install::Install),
    /// Work with kustomizations on this machine
    Kustomize(command::kustomize::Kustomize),
    /// Ask a controller to reconcile an object now, and wait for it
    Reconcile(command::reconcile::Reconcile),
    /// Resume the reconciliation of objects
    Resume(command::suspend::Resume),
    /// Suspend the reconciliation of objects
    Suspend(command::suspend::Suspend),
    /// Take the toolkit off the cluster; what it applied stays
    Uninstall(command::uninstall::Uninstall),
    /// Print the versions of the command line and of the toolkit in the cluster
    Version(command::version::Version),
}

impl Command {
    /// Whether the command talks to a cluster or a repository.
    pub(crate) fn is_online(&self) -> bool {
        !matches!(self, Self::Completion { .. } | Self::Helm(_) | Self::Kustomize(_))
    }
}
