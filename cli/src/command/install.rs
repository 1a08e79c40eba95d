//! `sluice install`: the controllers and their custom resources, without a repository.

use crate::cluster::{Cluster, ClusterArguments};
use crate::command::apply::{apply, wait_for_deployments};
use crate::error::Result;
use crate::manifests::components::ComponentArguments;
use crate::output::Console;

/// Arguments of `sluice install`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sluice install\n  sluice install --export > gotk-components.yaml")]
pub(crate) struct Install {
    #[command(flatten)]
    components: ComponentArguments,
    /// Print the manifests instead of applying them
    #[arg(long)]
    export: bool,
}

impl Install {
    /// Installs, or prints.
    ///
    /// # Errors
    /// The API server refuses an object, or a controller does not become ready in time.
    pub(crate) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        if self.export {
            console.result(&self.components.manifest(&arguments.namespace)?);
            return Ok(());
        }
        let cluster = Cluster::connect(arguments).await?;
        console.generated("generating manifests");
        let objects = self.components.objects(&cluster.namespace)?;
        console.success("manifests build completed");
        console.action(&format!(
            "installing components in {} namespace",
            cluster.namespace
        ));
        apply(&cluster, objects.clone(), console).await?;
        wait_for_deployments(&cluster, &objects, console).await?;
        console.success("install finished");
        Ok(())
    }
}
