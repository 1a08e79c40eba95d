//! `sluice version`.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;

use crate::cluster::{Cluster, ClusterArguments};
use crate::command::check::{PART_OF, images};
use crate::command::installation::Installation;
use crate::error::{CommandError, Result};
use crate::output::{Console, Format, render};

/// Arguments of `sluice version`.
#[derive(Debug, clap::Args)]
pub(crate) struct Version {
    /// Only the command line's own version; no cluster is asked
    #[arg(long)]
    client: bool,
    /// Print JSON or YAML
    #[arg(long, short = 'o', value_enum)]
    output: Option<Format>,
}

impl Version {
    /// Prints the versions.
    ///
    /// # Errors
    /// The cluster can't be asked, there is no installation, or an image carries no tag.
    pub(crate) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        let mut versions = vec![("sluice".to_owned(), format!("v{}", env!("CARGO_PKG_VERSION")))];
        if !self.client {
            let cluster = Cluster::connect(arguments).await?;
            versions.extend(installed(&cluster).await?);
        }
        let text = match self.output {
            // As YAML, but in this order.
            None | Some(Format::Yaml) => versions
                .iter()
                .map(|(name, version)| format!("{name}: {version}\n"))
                .collect(),
            Some(Format::Json) => render(&BTreeMap::from_iter(versions), Format::Json)?,
        };
        console.result(&text);
        Ok(())
    }
}

/// The distribution in the cluster and its controllers, by the names and tags of their images.
async fn installed(cluster: &Cluster) -> Result<Vec<(String, String)>> {
    let distribution = Installation::find(cluster)
        .await?
        .and_then(|found| found.distribution());
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let parameters = ListParams::default().labels(PART_OF);
    let found = deployments.list(&parameters).await?.items;
    if found.is_empty() {
        return Err(
            CommandError::new(format!("no deployments found in {} namespace", cluster.namespace))
                .with_hint("name the namespace with -n, or print only this program's version with --client"),
        );
    }
    let mut controllers = BTreeMap::new();
    for image in found.iter().flat_map(images) {
        let (name, tag) = name_and_tag(&image)?;
        controllers.insert(name, tag);
    }
    let distribution = distribution.map(|version| ("distribution".to_owned(), version));
    Ok(distribution.into_iter().chain(controllers).collect())
}

fn name_and_tag(image: &str) -> Result<(String, String)> {
    let reference = image.split('@').next().unwrap_or_default();
    let (name, tag) = reference
        .rsplit_once(':')
        .filter(|(_, tag)| !tag.contains('/'))
        .ok_or_else(|| CommandError::new(format!("missing image tag in image {image}")))?;
    let name = name.rsplit('/').next().unwrap_or(name);
    Ok((name.to_owned(), tag.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_and_tag_are_the_last_parts_of_the_image() {
        let parts = |image: &str| name_and_tag(image).map(|(name, tag)| format!("{name} {tag}"));
        assert_eq!(parts("ghcr.io/x/y:v1").unwrap(), "y v1");
        assert_eq!(parts("localhost:5000/y:v1@sha256:00").unwrap(), "y v1");
        assert_eq!(parts("y:v1").unwrap(), "y v1");
        assert!(parts("localhost:5000/y").is_err());
    }
}
