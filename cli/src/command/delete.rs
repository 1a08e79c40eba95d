//! `sluice delete`: deletes an object of the toolkit and waits until it is gone.

use clap_complete::ArgValueCompleter;
use futures::StreamExt as _;
use kube::api::DeleteParams;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};

use crate::cluster::Cluster;
use crate::command::reconcile::{fetch, not_found};
use crate::completion::words;
use crate::error::{CommandError, Result, is_unknown_kind};
use crate::kind::Kind;
use crate::output::{Console, confirm};

/// Arguments of `sluice delete`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice delete kustomization apps\n  sluice delete source git fleet --silent\n\nWhat a Kustomization has applied goes with it, if its spec.prune or spec.deletionPolicy says so."
)]
pub(crate) struct Delete {
    /// The kind and the name, for example: kustomization apps, source git fleet
    #[arg(required = true, add = ArgValueCompleter::new(words), value_name = "KIND NAME")]
    words: Vec<String>,
    /// Don't ask
    #[arg(long, short = 's')]
    silent: bool,
    /// Wait until the controller has let go of the object
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    wait: bool,
}

impl Delete {
    /// Deletes the object.
    ///
    /// # Errors
    /// No such object, no confirmation, or one that does not go away in time.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kinds, names) = Kind::split(&self.words)?;
        let ([kind], [name]) = (kinds.as_slice(), names) else {
            return Err(CommandError::new("one kind and one name are needed here")
                .with_hint("for example: sluice delete kustomization apps"));
        };
        let object = fetch(cluster, kind, name).await?;
        if !self.silent {
            confirm(
                &format!(
                    "Are you sure you want to delete this {} ({name} in {} namespace)?",
                    kind.human, cluster.namespace
                ),
                "add --silent to delete without a question",
            )?;
        }
        console.action(&format!(
            "deleting {} {name} in {} namespace",
            kind.human, cluster.namespace
        ));
        match cluster.objects(kind).delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 && !is_unknown_kind(&status) => {
                return Err(not_found(kind, name, &cluster.namespace));
            }
            Err(error) => return Err(error.into()),
        }
        if self.wait {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            wait_until_gone(cluster, kind, name, uid, console).await?;
        }
        console.success(&format!("{} deleted", kind.human));
        Ok(())
    }
}

/// Waits until the object is gone, or another one has taken its name.
async fn wait_until_gone(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    uid: &str,
    console: &Console,
) -> Result<()> {
    let objects: Api<_> = cluster.objects(kind);
    let configuration = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut changes = std::pin::pin!(watcher(objects, configuration));
    let progress = console.quiet_progress(&format!("waiting for the end of {} {name}", kind.kind));
    let deadline = tokio::time::Instant::now() + cluster.timeout;
    let mut seen = false;
    let mut holders = String::new();
    loop {
        let Ok(change) = tokio::time::timeout_at(deadline, changes.next()).await else {
            let text = format!("timed out waiting for the end of {} {name}{holders}", kind.kind);
            return Err(CommandError::new(text).with_hint(format!(
                "look at it with: kubectl -n {} describe {} {name}; is the controller running?",
                cluster.namespace, kind.plural
            )));
        };
        match change {
            Some(Ok(watcher::Event::Init)) => seen = false,
            Some(Ok(watcher::Event::InitApply(object) | watcher::Event::Apply(object))) => {
                if object.uid().as_deref() != Some(uid) {
                    return Ok(());
                }
                seen = true;
                holders = format!(": finalizers {}", object.finalizers().join(", "));
                progress.update(&format!("waiting for the end of {} {name}{holders}", kind.kind));
            }
            Some(Ok(watcher::Event::InitDone)) if !seen => return Ok(()),
            Some(Ok(watcher::Event::Delete(_))) => return Ok(()),
            Some(Ok(watcher::Event::InitDone)) => {}
            Some(Err(error)) => holders = format!(": {error}"),
            None => return Ok(()),
        }
    }
}
