//! `sluice check`: is the cluster fit, is the toolkit healthy?

use std::process::ExitCode;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use crate::cluster::{Cluster, parse_duration};
use crate::command::installation::Installation;
use crate::command::wait::{judge_deployment, wait_quietly};
use crate::error::Result;
use crate::kind::Kind;
use crate::output::{Console, Progress};

/// The oldest Kubernetes that Flux 2.9 runs on.
const OLDEST_MINOR: u32 = 33;

/// What the toolkit's own objects are labelled with.
pub(crate) const PART_OF: &str = "app.kubernetes.io/part-of=flux";

/// Arguments of `sluice check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  sluice check --pre\n  sluice check --timeout 1m")]
pub(crate) struct Check {
    /// Only what must hold before an installation
    #[arg(long)]
    pre: bool,
    /// Controllers that must be there, beside those that are found
    #[arg(long, value_delimiter = ',')]
    components: Vec<String>,
    /// Further controllers that must be there
    #[arg(long, value_delimiter = ',')]
    components_extra: Vec<String>,
    /// Accepted for scripts written for flux: the cluster is watched, not polled
    #[arg(long, hide = true, value_parser = parse_duration)]
    poll_interval: Option<Duration>,
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
        console.action("checking version in cluster");
        fine &= check_installation(cluster, console).await?;
        console.action("checking controllers");
        fine &= self.check_controllers(cluster, console).await?;
        console.action("checking crds");
        fine &= check_definitions(cluster, console).await?;
        Ok(conclude(fine, "all checks passed", console))
    }
}

impl Check {
    /// Waits for each controller to be ready, all at the same time, and prints its images.
    async fn check_controllers(&self, cluster: &Cluster, console: &Console) -> Result<bool> {
        let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let parameters = ListParams::default().labels(PART_OF);
        let found = deployments.list(&parameters).await?.items;
        if found.is_empty() {
            console.failed(&format!(
                "no controllers found in the '{}' namespace with the label selector '{PART_OF}'",
                cluster.namespace
            ));
            return Ok(false);
        }
        let progress = console.progress("waiting for the controllers");
        let waiting = found
            .iter()
            .map(|deployment| rolled_out(cluster, deployment.name_any(), &progress));
        let results = futures::future::join_all(waiting).await;
        drop(progress);
        let mut fine = true;
        for (deployment, result) in found.iter().zip(results) {
            match result {
                Ok(()) => console.success(&format!("{}: deployment ready", deployment.name_any())),
                Err(error) => {
                    fine = false;
                    console.failed(&format!(
                        "{}: deployment not ready: {error}",
                        deployment.name_any()
                    ));
                }
            }
            images(deployment).iter().for_each(|image| console.action(image));
        }
        let absent = |name: &&String| !found.iter().any(|deployment| deployment.name_any() == **name);
        for name in self
            .components
            .iter()
            .chain(&self.components_extra)
            .filter(absent)
        {
            fine = false;
            console.failed(&format!("{name}: deployment not found"));
        }
        Ok(fine)
    }
}

async fn rolled_out(cluster: &Cluster, name: String, progress: &Progress) -> Result<()> {
    wait_quietly(cluster, &Kind::DEPLOYMENT, &name, progress, judge_deployment)
        .await
        .map(drop)
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

async fn check_installation(cluster: &Cluster, console: &Console) -> Result<bool> {
    let Some(installation) = Installation::find(cluster).await? else {
        console.failed("no installation found: install one with: sluice install");
        return Ok(false);
    };
    if let Some(distribution) = installation.distribution() {
        console.success(&format!("distribution: {distribution}"));
    }
    console.success(&format!("bootstrapped: {}", installation.bootstrapped));
    Ok(true)
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
        console.failed(&format!("no crds found with the label selector '{PART_OF}'"));
        return Ok(false);
    }
    let mut fine = true;
    for definition in found {
        let stored = definition
            .status
            .as_ref()
            .and_then(|status| status.stored_versions.clone())
            .unwrap_or_default();
        if let Some(version) = stored.last() {
            console.success(&format!("{}/{version}", definition.name_any()));
        } else {
            fine = false;
            console.failed(&format!("no stored versions for {}", definition.name_any()));
        }
    }
    Ok(fine)
}
