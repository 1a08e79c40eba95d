//! `sluice suspend` and `sluice resume`.

use clap_complete::ArgValueCompleter;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::command::get::no_objects;
use crate::command::reconcile::not_found;
use crate::command::wait::{Verdict, judge_ready, wait_quietly};
use crate::completion::words;
use crate::error::{CommandError, Result, is_unknown_kind};
use crate::kind::{Actions, Kind};
use crate::output::{Console, Progress};

/// Which objects.
#[derive(Debug, clap::Args)]
struct Selection {
    /// The kind and names, for example: kustomization apps, source git flux-system
    #[arg(required = true, add = ArgValueCompleter::new(words), value_name = "KIND [NAME…]")]
    words: Vec<String>,
    /// All objects of the kind in the namespace
    #[arg(long)]
    all: bool,
}

/// Arguments of `sluice suspend`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sluice suspend kustomization apps\n  sluice suspend source git --all")]
pub(crate) struct Suspend {
    #[command(flatten)]
    selection: Selection,
}

/// Arguments of `sluice resume`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sluice resume kustomization apps\n  sluice resume ks --all --wait")]
pub(crate) struct Resume {
    #[command(flatten)]
    selection: Selection,
    /// Wait for the objects to be ready; one object that is named is waited for anyway
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    wait: Option<bool>,
}

impl Suspend {
    /// Sets `spec.suspend` on the selected objects; each of them is tried.
    ///
    /// # Errors
    /// Unknown objects, or kinds that cannot be suspended.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kind, names) = self.selection.resolve(cluster).await?;
        let mut failures = Failures::of(names.len());
        for name in &names {
            if let Err(error) = set_suspended(cluster, kind, name, true, console).await {
                failures.add(error, console);
            }
        }
        failures.conclude(kind, "suspended")
    }
}

impl Resume {
    /// Clears `spec.suspend` and, if asked or for one named object, waits for readiness.
    ///
    /// # Errors
    /// Unknown objects, an object that does not become ready.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kind, names) = self.selection.resolve(cluster).await?;
        let waits = self.wait.unwrap_or(!self.selection.all && names.len() == 1);
        let mut failures = Failures::of(names.len());
        let mut resumed = Vec::new();
        for name in &names {
            match set_suspended(cluster, kind, name, false, console).await {
                Ok(object) => resumed.push((name.as_str(), object)),
                Err(error) => failures.add(error, console),
            }
        }
        if waits && !resumed.is_empty() {
            let progress = console.progress(&format!("waiting for {} reconciliation", kind.kind));
            let waiting = resumed.into_iter().map(|(name, object)| {
                let progress = &progress;
                async move { (name, ready(cluster, kind, name, object, progress).await) }
            });
            let results = futures::future::join_all(waiting).await;
            drop(progress);
            for (name, result) in results {
                match result {
                    Ok(object) => {
                        console.success(&format!("{} {name} reconciliation completed", kind.kind));
                        console.success(&kind.achievement(&object));
                    }
                    Err(error) => failures.add(error, console),
                }
            }
        }
        failures.conclude(kind, "resumed")
    }
}

/// Waits for a resumed object, which is ready at once if nothing reconciles it.
async fn ready(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    object: Value,
    progress: &Progress,
) -> Result<Value> {
    if kind.is_static(&object) {
        return Ok(object);
    }
    wait_quietly(cluster, kind, name, progress, |object| {
        match judge_ready(object) {
            Verdict::Failed(message) => {
                Verdict::Failed(format!("{} {name} reconciliation failed: {message}", kind.kind))
            }
            other => other,
        }
    })
    .await
}

/// What went wrong with some of several objects. The failure of a single one is the command's own.
struct Failures {
    objects: usize,
    errors: Vec<CommandError>,
}

impl Failures {
    fn of(objects: usize) -> Self {
        Self {
            objects,
            errors: Vec::new(),
        }
    }

    fn add(&mut self, error: CommandError, console: &Console) {
        if self.objects > 1 {
            console.failure(&error);
        }
        self.errors.push(error);
    }

    fn conclude(mut self, kind: &Kind, done: &str) -> Result<()> {
        match (self.errors.len(), self.objects) {
            (0, _) => Ok(()),
            (1, 1) => Err(self.errors.remove(0)),
            (failed, objects) => Err(CommandError::new(format!(
                "{failed} of {objects} {} were not {done}",
                kind.plural
            ))),
        }
    }
}

impl Selection {
    async fn resolve(&self, cluster: &Cluster) -> Result<(&'static Kind, Vec<String>)> {
        let (kinds, names) = Kind::split(&self.words)?;
        let [kind] = kinds.as_slice() else {
            return Err(CommandError::new("exactly one kind is needed here")
                .with_hint("for example: source git, kustomization"));
        };
        if kind.actions == Actions::None {
            return Err(CommandError::new(format!("{} can't be suspended", kind.kind)));
        }
        match (names.is_empty(), self.all) {
            (false, false) => {
                let mut known = std::collections::BTreeSet::new();
                let once = names.iter().filter(|name| known.insert(name.as_str()));
                Ok((kind, once.cloned().collect()))
            }
            (true, true) => {
                let listed = cluster.objects(kind).list(&ListParams::default()).await?;
                let names: Vec<String> = listed.items.iter().map(DynamicObject::name_any).collect();
                if names.is_empty() {
                    return Err(no_objects(kind, &format!("\"{}\"", cluster.namespace)));
                }
                Ok((kind, names))
            }
            (true, false) => Err(CommandError::new(format!("{} name is required", kind.human))
                .with_hint("give names, or --all for all of the namespace")),
            (false, true) => Err(CommandError::new("give names or --all, not both")),
        }
    }
}

async fn set_suspended(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    suspended: bool,
    console: &Console,
) -> Result<Value> {
    let (doing, done) = if suspended {
        ("suspending", "suspended")
    } else {
        ("resuming", "resumed")
    };
    let objects: Api<DynamicObject> = cluster.objects(kind);
    let value = if suspended { json!(true) } else { json!(null) };
    let patch = Patch::Merge(json!({"spec": {"suspend": value}}));
    console.action(&format!(
        "{doing} {} {name} in {} namespace",
        kind.human, cluster.namespace
    ));
    match objects.patch(name, &PatchParams::default(), &patch).await {
        Ok(object) => {
            console.success(&format!("{} {done}", kind.human));
            Ok(kind.value(object))
        }
        Err(kube::Error::Api(status)) if status.code == 404 && !is_unknown_kind(&status) => {
            Err(not_found(kind, name, &cluster.namespace))
        }
        Err(error) => Err(error.into()),
    }
}
