//! The command line's grammar.

use std::ffi::OsString;

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
pub(crate) struct Grammar<C: Subcommand> {
    /// The cluster and the bounds of the command.
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Print generated objects
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: C,
}

/// The whole grammar.
pub(crate) type Arguments = Grammar<Command>;

/// The commands that are called many times in a row, by scripts and editors: setting up the whole grammar would take as
/// long as a small build.
#[derive(Debug, Subcommand)]
enum EngineCommand {
    Helm(command::helm::Helm),
    Kustomize(command::kustomize::Kustomize),
}

impl Arguments {
    /// Reads what the program was called with.
    ///
    /// # Errors
    /// A wrong use, or a call for help or the version, which is then to be printed.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let words: Vec<OsString> = std::env::args_os().collect();
        let is_engine = words
            .get(1)
            .is_some_and(|word| word == "helm" || word == "kustomize");
        // What is wrong there is told by the whole grammar, which knows all commands.
        if is_engine && let Ok(arguments) = Grammar::<EngineCommand>::try_parse_from(&words) {
            return Ok(arguments.into());
        }
        Self::try_parse_from(words)
    }
}

impl From<Grammar<EngineCommand>> for Arguments {
    fn from(arguments: Grammar<EngineCommand>) -> Self {
        Self {
            cluster: arguments.cluster,
            verbose: arguments.verbose,
            command: match arguments.command {
                EngineCommand::Helm(helm) => Command::Helm(helm),
                EngineCommand::Kustomize(kustomize) => Command::Kustomize(kustomize),
            },
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install the toolkit from a repository, so that it manages itself from there
    Bootstrap(Box<command::bootstrap::Bootstrap>),
    /// Build what a controller would apply, from a directory of this machine
    Build(command::build::Build),
    /// Check that the cluster is fit and the toolkit healthy
    Check(command::check::Check),
    /// Print a completion script
    Completion {
        /// The shell
        shell: Shell,
    },
    /// Create or update objects of the toolkit, or print their manifests
    Create(command::create::Create),
    /// Show what a controller knows of an object
    Debug(command::debug::Debug),
    /// Delete an object of the toolkit
    Delete(command::delete::Delete),
    /// Show what a directory of this machine would change in the cluster
    Diff(command::diff::Diff),
    /// Show what happened to objects of the toolkit
    Events(command::events::Events),
    /// Print objects of the toolkit as manifests
    Export(command::export::Export),
    /// Show objects of the toolkit
    Get(command::get::Get),
    /// Work with charts on this machine
    Helm(command::helm::Helm),
    /// Install the controllers without a repository
    Install(command::install::Install),
    /// Work with kustomizations on this machine
    Kustomize(command::kustomize::Kustomize),
    /// Show what the controllers log
    Logs(command::logs::Logs),
    /// Ask a controller to reconcile an object now, and wait for it
    Reconcile(command::reconcile::Reconcile),
    /// Resume the reconciliation of objects
    Resume(command::suspend::Resume),
    /// Count the objects of the toolkit
    Stats(command::stats::Stats),
    /// Suspend the reconciliation of objects
    Suspend(command::suspend::Suspend),
    /// Show where an object in the cluster comes from
    Trace(command::trace::Trace),
    /// Show what an object has applied
    Tree(command::tree::Tree),
    /// Take the toolkit off the cluster; what it applied stays
    Uninstall(command::uninstall::Uninstall),
    /// Print the versions of the command line and of the toolkit in the cluster
    Version(command::version::Version),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_the_documentation_are_understood() {
        let text = include_str!("../../docs/cli.md");
        let commands: Vec<&str> = text
            .lines()
            .map(|line| line.strip_prefix("$ ").unwrap_or(line))
            .filter(|line| line.starts_with("sluice "))
            .collect();
        assert!(commands.len() > 20);
        for command in commands {
            // The only quotes are around a value with a space.
            let (before, quoted) = command.split_once('\'').unwrap_or((command, ""));
            let mut words: Vec<String> = before.split_whitespace().map(str::to_owned).collect();
            if let Some((value, after)) = quoted.split_once('\'') {
                if let Some(last) = words.last_mut() {
                    last.push_str(value);
                }
                words.extend(after.split_whitespace().map(str::to_owned));
            }
            if let Err(error) = Arguments::try_parse_from(&words) {
                panic!("{command}: {error}");
            }
        }
    }

    #[test]
    fn the_part_for_engines_reads_what_the_whole_grammar_reads() {
        for line in [
            "sluice kustomize build",
            "sluice kustomize build clusters/staging --reorder none -o out.yaml --verbose",
            "sluice kustomize build --load-restrictor LoadRestrictionsNone -n apps --timeout 1m",
            "sluice helm template app ./chart --set a=b,c=d -f values.yaml --kube-version 1.30.0 -n apps",
            "sluice helm show values ./chart",
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let whole = Arguments::try_parse_from(&words).unwrap();
            let part: Arguments = Grammar::<EngineCommand>::try_parse_from(&words).unwrap().into();
            assert_eq!(format!("{part:?}"), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn the_grammar_holds_together() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }
}
