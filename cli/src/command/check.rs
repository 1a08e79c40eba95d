//! `sluice check`: is the cluster fit, is the toolkit healthy?

use std::process::ExitCode;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use crate::cluster::Cluster;
use crate::error::{CommandError, Result};
use crate::output::Console;

/// The oldest Kubernetes that Flux 2.9 runs on.
const OLDEST_MINOR: u32 = 33;

/// What the toolkit's own objects are labelled with.
pub(crate) const PART_OF: &str = "app.kubernetes.io/part-of=flux";

/// Arguments of `sluice check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Only what must hold before an installation
    #[arg(long)]
    pre: bool,
}

impl Check {
    /// Prints one line a check; the exit code is 1 if one failed.
    ///
    /// # Errors
    /// The cluster can't be asked.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<ExitCode> {
        console.action("checking prerequisites");
        let mut fine = check_kubernetes(cluster, console).await?;
        if self.pre {
            return Ok(conclude(fine, "prerequisites checks passed", console));
        }
        console.action("checking controllers");
        fine &= check_controllers(cluster, console).await?;
        console.action("checking crds");
        fine &= check_definitions(cluster, console).await?;
        Ok(conclude(fine, "all checks passed", console))
    }
}

fn conclude(fine: bool, text: &str, console: &Console) -> ExitCode {
    if fine {
        console.success(text);
        return ExitCode::SUCCESS;
    }
    console.failed("check failed");
    ExitCode::FAILURE
}

async fn check_kubernetes(cluster: &Cluster, console: &Console) -> Result<bool> {
    let version = cluster.client.apiserver_version().await?;
    let number = |text: &str| text.trim_end_matches('+').parse::<u32>().unwrap_or(0);
    let fit = number(&version.major) > 1 || number(&version.minor) >= OLDEST_MINOR;
    let release = version.git_version.trim_start_matches('v');
    if fit {
        console.success(&format!("Kubernetes {release} >=1.{OLDEST_MINOR}.0-0"));
    } else {
        console.failed(&format!(
            "Kubernetes version {release} does not match >=1.{OLDEST_MINOR}.0-0"
        ));
    }
    Ok(fit)
}

async fn check_controllers(cluster: &Cluster, console: &Console) -> Result<bool> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let found = deployments
        .list(&ListParams::default().labels(PART_OF))
        .await?
        .items;
    if found.is_empty() {
        console.failed(&format!(
            "no controllers found in the '{}' namespace with the label '{PART_OF}'",
            cluster.namespace
        ));
        return Ok(false);
    }
    let mut fine = true;
    for deployment in found {
        let name = deployment.name_any();
        let value =
            serde_json::to_value(&deployment).map_err(|error| CommandError::new(error.to_string()))?;
        let assessment = sluice_health::assess(&value, jiff::Timestamp::now());
        if assessment.status == sluice_health::Status::Current {
            console.success(&format!("{name}: deployment ready"));
        } else {
            fine = false;
            console.failed(&format!("{name}: {}", assessment.message));
        }
        for image in images(&deployment) {
            console.action(&image);
        }
    }
    Ok(fine)
}

/// The images of a Deployment's containers.
pub(crate) fn images(deployment: &Deployment) -> Vec<String> {
    let pod = deployment.spec.template.spec.as_ref();
    pod.into_iter()
        .flat_map(|pod| &pod.containers)
        .filter_map(|container| container.image.clone())
        .collect()
}

async fn check_definitions(cluster: &Cluster, console: &Console) -> Result<bool> {
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let found = definitions
        .list(&ListParams::default().labels(PART_OF))
        .await?
        .items;
    if found.is_empty() {
        console.failed(&format!("no crds found with the label '{PART_OF}'"));
        return Ok(false);
    }
    let mut fine = true;
    for definition in found {
        let stored = definition
            .status
            .as_ref()
            .and_then(|status| status.stored_versions.clone())
            .unwrap_or_default();
        if stored.is_empty() {
            fine = false;
            console.failed(&format!("{}: no stored versions", definition.name_any()));
        } else {
            console.success(&format!("{}/{}", definition.name_any(), stored.join(",")));
        }
    }
    Ok(fine)
}
