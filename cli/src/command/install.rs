//! `sluice install`: the controllers and their custom resources, without a repository.

use crate::cluster::{Cluster, ClusterArguments};
use crate::command::apply::{apply, wait_for_deployments};
use crate::command::installation::Installation;
use crate::error::{CommandError, Result};
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
    /// Install over an installation that another tool manages, such as Helm
    #[arg(long)]
    force: bool,
}

impl Install {
    /// Installs, or prints; `verbose` does both.
    ///
    /// # Errors
    /// The API server refuses an object, or a controller does not become ready in time.
    pub(crate) async fn run(
        &self,
        arguments: &ClusterArguments,
        verbose: bool,
        console: &Console,
    ) -> Result<()> {
        if self.export {
            console.result(&self.components.manifest(&arguments.namespace()?)?);
            return Ok(());
        }
        let cluster = Cluster::connect(arguments).await?;
        console.generated("generating manifests");
        let objects = self.components.objects(&cluster.namespace)?;
        if verbose {
            console.result(&self.components.manifest(&cluster.namespace)?);
        }
        console.success("manifests build completed");
        if let Some(installation) = Installation::find(&cluster).await? {
            self.refuse_foreign(&installation)?;
        }
        console.action(&format!(
            "installing components in {} namespace",
            cluster.namespace
        ));
        apply(&cluster, objects.clone(), console).await?;
        wait_for_deployments(&cluster, &objects, console).await?;
        console.success("install finished");
        Ok(())
    }

    /// A cluster that manages itself would undo what is installed beside its repository, and another tool would
    /// fight for the same objects.
    fn refuse_foreign(&self, installation: &Installation) -> Result<()> {
        let version = installation.version.as_deref().unwrap_or("of an unknown version");
        if installation.bootstrapped {
            return Err(CommandError::new(format!(
                "this cluster has already been bootstrapped with Flux {version}"
            ))
            .with_hint("upgrade it with: sluice bootstrap"));
        }
        match installation.foreign_manager() {
            Some(manager) if !self.force => Err(CommandError::new(format!(
                "Flux {version} has been installed on this cluster with {manager}"
            ))
            .with_hint(format!(
                "upgrade it with {manager}, or install over it with --force"
            ))),
            _ => Ok(()),
        }
    }
}
