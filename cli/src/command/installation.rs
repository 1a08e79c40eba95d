//! What is installed on a cluster, told by the labels of one of its definitions.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt as _};
use sluice_api::labels;

use crate::cluster::Cluster;
use crate::error::Result;

const DEFINITION: &str = "gitrepositories.source.toolkit.fluxcd.io";

/// An installation of the toolkit, or of Flux itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Installation {
    /// Whether the toolkit manages itself from a repository.
    pub(crate) bootstrapped: bool,
    /// The tool that manages the installation, if it says so.
    pub(crate) managed_by: Option<String>,
    /// What it is a part of.
    pub(crate) part_of: Option<String>,
    /// Its version.
    pub(crate) version: Option<String>,
}

impl Installation {
    /// Looks for an installation; `None` if there is none.
    ///
    /// # Errors
    /// The cluster can't be asked.
    pub(crate) async fn find(cluster: &Cluster) -> Result<Option<Self>> {
        let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
        Ok(definitions.get_metadata_opt(DEFINITION).await?.map(|definition| {
            let label = |name: &str| definition.labels().get(name).cloned();
            Self {
                bootstrapped: label(labels::KUSTOMIZE_NAMESPACE).is_some(),
                managed_by: label(labels::MANAGED_BY),
                part_of: label(labels::PART_OF),
                version: label(labels::VERSION),
            }
        }))
    }

    /// Name and version, such as `flux-v2.9.4`; `None` where no label tells.
    pub(crate) fn distribution(&self) -> Option<String> {
        let version = self.version.as_deref().unwrap_or_default();
        match &self.part_of {
            Some(part_of) => Some(format!("{part_of}-{version}")),
            None => self.version.clone(),
        }
    }

    /// The tool that manages the installation, if it is another one than the toolkit's command line.
    pub(crate) fn foreign_manager(&self) -> Option<&str> {
        self.managed_by
            .as_deref()
            .filter(|manager| !manager.is_empty() && *manager != "flux")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distribution_is_told_as_flux_tells_it() {
        let mut found = Installation::default();
        assert_eq!(found.distribution(), None);
        found.version = Some("v2.9.4".into());
        assert_eq!(found.distribution().as_deref(), Some("v2.9.4"));
        found.part_of = Some("flux".into());
        assert_eq!(found.distribution().as_deref(), Some("flux-v2.9.4"));
    }

    #[test]
    fn only_other_tools_are_foreign() {
        let managed = |by: &str| Installation {
            managed_by: Some(by.into()),
            ..Installation::default()
        };
        assert_eq!(managed("Helm").foreign_manager(), Some("Helm"));
        assert_eq!(managed("flux").foreign_manager(), None);
        assert_eq!(managed("").foreign_manager(), None);
    }
}
