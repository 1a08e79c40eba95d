//! `sluice suspend` and `sluice resume`.

use kube::api::{ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::cluster::Cluster;
use crate::command::wait::{judge_ready, wait_for};
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::Console;

/// Which objects.
#[derive(Debug, clap::Args)]
struct Selection {
    /// The kind and names, for example: kustomization apps, source git flux-system
    #[arg(required = true, value_name = "KIND [NAME…]")]
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
    /// Wait for each object to be ready, also with --all
    #[arg(long)]
    wait: bool,
}

impl Suspend {
    /// Sets `spec.suspend` on the selected objects.
    ///
    /// # Errors
    /// Unknown objects or kinds that cannot be suspended.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kind, names) = self.selection.resolve(cluster).await?;
        for name in names {
            console.action(&format!(
                "suspending {} {name} in {} namespace",
                kind.kind, cluster.namespace
            ));
            set_suspended(cluster, kind, &name, true).await?;
            console.success(&format!("{} suspended", kind.kind));
        }
        Ok(())
    }
}

impl Resume {
    /// Clears `spec.suspend` and, for named objects, waits for readiness.
    ///
    /// # Errors
    /// Unknown objects, an object that does not become ready.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kind, names) = self.selection.resolve(cluster).await?;
        for name in &names {
            console.action(&format!(
                "resuming {} {name} in {} namespace",
                kind.kind, cluster.namespace
            ));
            set_suspended(cluster, kind, name, false).await?;
            console.success(&format!("{} resumed", kind.kind));
        }
        if kind.reconciled && (self.wait || !self.selection.all) {
            for name in &names {
                let object = wait_for(cluster, kind, name, console, judge_ready).await?;
                console.success(&format!(
                    "{} {name} is ready at revision {}",
                    kind.kind,
                    kind.revision(&object)
                ));
            }
        }
        Ok(())
    }
}

impl Selection {
    async fn resolve(&self, cluster: &Cluster) -> Result<(&'static Kind, Vec<String>)> {
        let take = if matches!(self.words[0].trim_end_matches('s'), "source" | "image") {
            2
        } else {
            1
        };
        let (kind, names) = self.words.split_at(take.min(self.words.len()));
        let kinds = Kind::find(kind)?;
        let [kind] = kinds.as_slice() else {
            return Err(CommandError::new("exactly one kind is needed here"));
        };
        if !kind.reconciled && kind.kind != "Alert" {
            return Err(CommandError::new(format!("{} can't be suspended", kind.kind)));
        }
        match (names.is_empty(), self.all) {
            (false, false) => Ok((kind, names.to_vec())),
            (true, true) => {
                let listed = cluster.objects(kind).list(&ListParams::default()).await?;
                let names: Vec<String> = listed.items.iter().map(DynamicObject::name_any).collect();
                if names.is_empty() {
                    return Err(CommandError::new(format!(
                        "no {} in namespace {}",
                        kind.kind, cluster.namespace
                    )));
                }
                Ok((kind, names))
            }
            (true, false) => Err(CommandError::new("which one?").with_hint("give names, or --all")),
            (false, true) => Err(CommandError::new("give names or --all, not both")),
        }
    }
}

async fn set_suspended(cluster: &Cluster, kind: &Kind, name: &str, suspended: bool) -> Result<()> {
    let objects: Api<DynamicObject> = cluster.objects(kind);
    let value = if suspended { json!(true) } else { json!(null) };
    let patch = json!({"spec": {"suspend": value}});
    match objects
        .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
        .await
    {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(CommandError::new(format!(
            "no {} '{name}' in namespace {}",
            kind.kind, cluster.namespace
        ))
        .with_hint(format!("list them with: sluice get {} -A", kind.plural))),
        Err(error) => Err(error.into()),
    }
}
