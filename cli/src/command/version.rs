//! `sluice version`.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use crate::cluster::{Cluster, ClusterArguments};
use crate::command::check::{PART_OF, images};
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
    /// The cluster can't be asked, or an image carries no tag.
    pub(crate) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        let mut versions = BTreeMap::from([("sluice".to_owned(), format!("v{}", env!("CARGO_PKG_VERSION")))]);
        if !self.client {
            let cluster = Cluster::connect(arguments).await?;
            let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
            for deployment in deployments
                .list(&ListParams::default().labels(PART_OF))
                .await?
                .items
            {
                for image in images(&deployment) {
                    versions.insert(deployment.name_any(), tag(&image)?);
                }
            }
        }
        if let Some(format) = self.output {
            console.result(&render(&versions, format)?);
        } else {
            let lines: Vec<String> = versions
                .iter()
                .map(|(name, version)| format!("{name}: {version}\n"))
                .collect();
            console.result(&lines.concat());
        }
        Ok(())
    }
}

fn tag(image: &str) -> Result<String> {
    let name = image.split('@').next().unwrap_or_default();
    let (_, tag) = name
        .rsplit_once(':')
        .filter(|(_, tag)| !tag.contains('/'))
        .ok_or_else(|| CommandError::new(format!("the image {image} carries no tag")))?;
    Ok(tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_is_what_follows_the_last_colon_of_the_name() {
        assert_eq!(tag("ghcr.io/x/y:v1").unwrap(), "v1");
        assert_eq!(tag("localhost:5000/y:v1@sha256:00").unwrap(), "v1");
        assert!(tag("localhost:5000/y").is_err());
    }
}
