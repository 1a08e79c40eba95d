//! `sluice tree kustomization`: what a Kustomization has applied, and what that has applied in turn.

mod branch;
mod release;

use clap_complete::ArgValueCompleter;
use std::collections::BTreeSet;

use clap::Subcommand;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use sluice_api::kustomize::GROUP;
use sluice_apply::{Discovery, ObjectId};

use crate::cluster::Cluster;
use crate::command::reconcile::fetch;
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::{Console, Format, render};
use branch::Branch;

/// Part of the groups of all kinds of the toolkit.
const TOOLKIT: &str = "toolkit.fluxcd.io";

/// Arguments of `sluice tree`.
#[derive(Debug, clap::Args)]
pub(crate) struct Tree {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print what a Kustomization has applied
    #[command(
        visible_alias = "ks",
        after_help = "Examples:\n  sluice tree kustomization flux-system\n  sluice tree kustomization flux-system --compact -o yaml"
    )]
    Kustomization(TreeKustomization),
}

#[derive(Debug, clap::Args)]
struct TreeKustomization {
    /// Name of the Kustomization
    #[arg(add = ArgValueCompleter::new(crate::completion::kustomizations))]
    name: String,
    /// Only objects of the toolkit
    #[arg(long)]
    compact: bool,
    /// Print JSON or YAML instead of a tree
    #[arg(long, short = 'o', value_enum)]
    output: Option<Format>,
}

impl Tree {
    /// Prints the tree.
    ///
    /// # Errors
    /// No such Kustomization, or an inventory that can't be read.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let What::Kustomization(tree) = &self.what;
        let Some(kind) = Kind::by_name("Kustomization") else {
            return Ok(());
        };
        let object = fetch(cluster, kind, &tree.name).await?;
        let mut planter = Planter {
            cluster,
            console,
            discovery: Discovery::new(cluster.client.clone()),
            kind,
            compact: tree.compact,
            seen: BTreeSet::new(),
        };
        let mut root = Branch::new(ObjectId {
            namespace: cluster.namespace.clone(),
            name: tree.name.clone(),
            group: GROUP.to_owned(),
            kind: "Kustomization".to_owned(),
        });
        planter.grow(&mut root, &object).await?;
        // The empty line behind it is that of `flux`, for scripts that compare.
        let text = match tree.output {
            Some(Format::Json) => render(&root.to_value(), Format::Json)?,
            Some(Format::Yaml) => render(&root.to_value(), Format::Yaml)? + "\n",
            None => root.to_string() + "\n",
        };
        console.result(&text);
        Ok(())
    }
}

/// Adds to each object what it has applied.
struct Planter<'command> {
    cluster: &'command Cluster,
    console: &'command Console,
    discovery: Discovery,
    kind: &'static Kind,
    compact: bool,
    /// Kustomizations that are in the tree: one that applies its own parent ends there.
    seen: BTreeSet<ObjectId>,
}

impl Planter<'_> {
    /// Adds what the Kustomization `object` has in its inventory.
    fn grow<'a>(&'a mut self, branch: &'a mut Branch, object: &'a Value) -> BoxFuture<'a, Result<()>> {
        async move {
            self.seen.insert(branch.id.clone());
            let is_remote = object["spec"]["kubeConfig"].is_object();
            let entries = object["status"]["inventory"]["entries"].as_array();
            for entry in entries.into_iter().flatten() {
                let id: ObjectId = entry["id"]
                    .as_str()
                    .unwrap_or_default()
                    .parse()
                    .map_err(|error: sluice_apply::IdError| CommandError::new(error.to_string()))?;
                if id == branch.id || !self.is_wanted(&id) {
                    continue;
                }
                let child = branch.add(id.clone());
                match (id.group.as_str(), id.kind.as_str()) {
                    (GROUP, "Kustomization") if !is_remote => self.grow_child(child, &id).await?,
                    (release::GROUP, "HelmRelease") if !is_remote => {
                        let applied = release::inventory(self.cluster, &self.discovery, &id).await?;
                        applied
                            .into_iter()
                            .filter(|id| self.is_wanted(id))
                            .for_each(|id| {
                                child.add(id);
                            });
                    }
                    _ => {}
                }
            }
            Ok(())
        }
        .boxed()
    }

    async fn grow_child(&mut self, child: &mut Branch, id: &ObjectId) -> Result<()> {
        if self.seen.contains(id) {
            return Ok(());
        }
        let place = self.cluster.within(&id.namespace);
        match place.objects(self.kind).get_opt(&id.name).await? {
            Some(object) => {
                let object = self.kind.value(object);
                self.grow(child, &object).await
            }
            None => {
                self.console.warning(&format!(
                    "{} is in the inventory but not in the cluster",
                    id.subject()
                ));
                Ok(())
            }
        }
    }

    fn is_wanted(&self, id: &ObjectId) -> bool {
        !self.compact || id.group.contains(TOOLKIT)
    }
}
