//! The commands, one module each.

pub(crate) mod apply;
pub(crate) mod bootstrap;
pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod create;
pub(crate) mod debug;
pub(crate) mod delete;
pub(crate) mod diff;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod helm;
pub(crate) mod install;
pub(crate) mod installation;
pub(crate) mod kustomize;
pub(crate) mod logs;
pub(crate) mod reconcile;
pub(crate) mod stats;
pub(crate) mod suspend;
pub(crate) mod trace;
pub(crate) mod tree;
pub(crate) mod uninstall;
pub(crate) mod version;
pub(crate) mod wait;

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};
use crate::cluster::{Cluster, ClusterArguments};
use crate::error::{CommandError, Result};
use crate::output::Console;

/// Runs a command that talks to no cluster, without threads and TLS, so that scripts can call it often. `None` for
/// every other command.
pub(crate) fn run_offline(arguments: &Arguments, console: &Console) -> Option<Result<ExitCode>> {
    match &arguments.command {
        Command::Completion { shell } => {
            let script = crate::completion::script(*shell);
            Some(script.map(|script| {
                console.result(&script);
                ExitCode::SUCCESS
            }))
        }
        Command::Helm(helm) => {
            let rendered = helm.run(&arguments.cluster, console);
            Some(rendered.map(|()| ExitCode::SUCCESS))
        }
        Command::Kustomize(kustomize) => Some(kustomize.run(console).map(|()| ExitCode::SUCCESS)),
        _ => None,
    }
}

/// Runs what the arguments ask for.
///
/// # Errors
/// Whatever the command says; the caller prints it and exits with 1.
pub(crate) async fn run(arguments: Arguments, console: &Console) -> Result<ExitCode> {
    let connect = || Cluster::connect(&arguments.cluster);
    match &arguments.command {
        Command::Bootstrap(bootstrap) => bootstrap.run(&arguments.cluster, console).await?,
        Command::Build(build) => build.run(&arguments.cluster, console).await?,
        Command::Check(check) => return check.run(&connect().await?, console).await,
        Command::Create(create) => create.run(&arguments.cluster, console).await?,
        Command::Debug(debug) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, debug.run(&cluster, console)).await?;
        }
        Command::Delete(delete) => delete.run(&connect().await?, console).await?,
        Command::Diff(diff) => return Ok(diff.run(&arguments.cluster, console).await),
        Command::Events(events) if events.watches() => events.run(&connect().await?, console).await?,
        Command::Events(events) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, events.run(&cluster, console)).await?;
        }
        Command::Export(export) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, export.run(&cluster, console)).await?;
        }
        Command::Completion { .. } | Command::Helm(_) | Command::Kustomize(_) => {
            return run_offline(&arguments, console).unwrap_or(Ok(ExitCode::SUCCESS));
        }
        Command::Get(get) if get.watches() => get.run(&connect().await?, console).await?,
        Command::Get(get) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, get.run(&cluster, console)).await?;
        }
        Command::Install(install) => {
            install
                .run(&arguments.cluster, arguments.verbose, console)
                .await?;
        }
        Command::Logs(logs) => logs.run(&connect().await?, console).await?,
        Command::Reconcile(reconcile) => reconcile.run(&connect().await?, console).await?,
        Command::Resume(resume) => resume.run(&connect().await?, console).await?,
        Command::Stats(stats) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, stats.run(&cluster, console)).await?;
        }
        Command::Suspend(suspend) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, suspend.run(&cluster, console)).await?;
        }
        Command::Trace(trace) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, trace.run(&cluster, console)).await?;
        }
        Command::Tree(tree) => {
            let cluster = connect().await?;
            bounded(&arguments.cluster, tree.run(&cluster, console)).await?;
        }
        Command::Uninstall(uninstall) => uninstall.run(&connect().await?, console).await?,
        Command::Version(version) => {
            bounded(&arguments.cluster, version.run(&arguments.cluster, console)).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends what waits for nothing but answers of the API server.
async fn bounded(arguments: &ClusterArguments, command: impl Future<Output = Result<()>>) -> Result<()> {
    tokio::time::timeout(arguments.timeout, command)
        .await
        .unwrap_or_else(|_| {
            Err(CommandError::new(format!(
                "no answer from the API server in {:?}",
                arguments.timeout
            ))
            .with_hint("check --context and the network, or wait longer with --timeout"))
        })
}
