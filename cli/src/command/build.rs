//! `sluice build kustomization`: what the controller would apply, from a directory of this machine.

use clap::Subcommand;

use crate::cluster::{Cluster, ClusterArguments};
use crate::error::Result;
use crate::local::{Builder, LocalArguments};
use crate::output::{Console, yaml};

/// Arguments of `sluice build`.
#[derive(Debug, clap::Args)]
pub(crate) struct Build {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Build a Kustomization from a local directory and print its manifests
    #[command(visible_alias = "ks", after_help = EXAMPLES)]
    Kustomization(BuildKustomization),
}

const EXAMPLES: &str = "\
Examples:
  sluice build kustomization apps --path ./apps/production
  sluice build kustomization apps --path ./apps/production --kustomization-file ./clusters/production/apps.yaml
  sluice build kustomization apps --path ./apps --kustomization-file ./apps.yaml --dry-run
  sluice build kustomization root --path ./clusters/production -r --local-sources GitRepository/flux-system/fleet=.

Without --dry-run the Kustomization and its variables are read from the cluster. With it nothing is asked, and
variables of ConfigMaps and Secrets are left out. What SOPS has encrypted is masked.";

#[derive(Debug, clap::Args)]
struct BuildKustomization {
    #[command(flatten)]
    local: LocalArguments,
    /// Ask no cluster; needs --kustomization-file
    #[arg(long, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    dry_run: bool,
}

impl Build {
    /// Prints the manifests, each ended by a separator as in `flux`.
    ///
    /// # Errors
    /// Wrong paths, no such Kustomization, manifests that do not build.
    pub(crate) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        let What::Kustomization(build) = &self.what;
        let cluster = if build.dry_run {
            None
        } else {
            Some(Cluster::connect(arguments).await?)
        };
        let builder = match &cluster {
            Some(cluster) => Builder::online(&build.local, cluster),
            None => Builder::offline(&build.local, arguments)?,
        };
        let built = builder.build_named(false).await?;
        let mut text = String::new();
        for object in builder.with_children(built).await? {
            text.push_str(&yaml(&object.into_value())?);
            text.push_str("---\n");
        }
        console.result(&text);
        Ok(())
    }
}
