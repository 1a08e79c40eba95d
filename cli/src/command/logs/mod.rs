//! `sluice logs`: what the controllers say, of the objects that one asks for.

mod entry;

use futures::io::AsyncBufReadExt as _;
use futures::stream::select_all;
use futures::{AsyncBufRead, Stream, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, LogParams};
use kube::{Api, ResourceExt as _};
use sluice_api::labels;

use crate::cluster::{Cluster, parse_duration};
use crate::error::{CommandError, Result};
use crate::output::Console;
use entry::Filter;

/// The container to read where a pod has several.
const CONTAINER: &str = "manager";

/// Arguments of `sluice logs`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice logs -A\n  sluice logs --kind Kustomization --name apps -n apps --since 10m\n  sluice logs --level error -A -f"
)]
pub(crate) struct Logs {
    #[command(flatten)]
    filter: Filter,
    /// Keep printing what is logged
    #[arg(long, short = 'f')]
    follow: bool,
    /// Only this many of the last lines of each controller, before they are filtered
    #[arg(long, value_name = "LINES", allow_negative_numbers = true)]
    tail: Option<i64>,
    /// Namespace of the controllers
    #[arg(
        long,
        value_name = "NAMESPACE",
        env = "FLUX_SYSTEM_NAMESPACE",
        hide_env = true,
        default_value = "flux-system"
    )]
    flux_namespace: String,
    /// Only lines that are not older, for example 90s or 2h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, conflicts_with = "since_time")]
    since: Option<std::time::Duration>,
    /// Only lines after this time, for example 2026-01-02T03:04:05Z
    #[arg(long, value_name = "TIME")]
    since_time: Option<Timestamp>,
}

impl Logs {
    /// Prints the lines, one controller after the other; while following, as they come.
    ///
    /// # Errors
    /// No controllers, or none whose log can be read.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let pods = self.pods(cluster).await?;
        let api: Api<Pod> = Api::namespaced(cluster.client.clone(), &self.flux_namespace);
        let (mut streams, mut failures) = (Vec::new(), 0);
        for pod in &pods {
            match api.log_stream(&pod.name_any(), &self.parameters(pod)).await {
                Ok(stream) => streams.push(lines(stream).boxed()),
                Err(error) => {
                    let error = CommandError::from(error);
                    console.failed(&format!("failed getting logs of {}: {error}", pod.name_any()));
                    failures += 1;
                }
            }
        }
        if self.follow {
            let mut all = select_all(streams);
            while let Some(line) = all.next().await {
                self.print(&line, cluster, console);
            }
        } else {
            for mut stream in streams {
                while let Some(line) = stream.next().await {
                    self.print(&line, cluster, console);
                }
            }
        }
        if failures == 0 {
            return Ok(());
        }
        Err(
            CommandError::new("failed to collect logs from all Flux pods").with_hint(format!(
                "look at them with: kubectl -n {} get pods",
                self.flux_namespace
            )),
        )
    }

    fn print(&self, line: &str, cluster: &Cluster, console: &Console) {
        if let Some(text) = self.filter.show(line, &cluster.namespace) {
            console.result(&text);
        }
    }

    fn parameters(&self, pod: &Pod) -> LogParams {
        let containers = pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
        LogParams {
            container: (containers > 1).then(|| CONTAINER.to_owned()),
            follow: self.follow,
            tail_lines: self.tail.filter(|lines| *lines >= 0),
            // The API server counts in seconds.
            since_seconds: self.since.map(|since| since.as_secs_f64().round() as i64),
            since_time: self.since_time,
            ..LogParams::default()
        }
    }

    /// One pod of each controller: of several the one that runs and is ready.
    async fn pods(&self, cluster: &Cluster) -> Result<Vec<Pod>> {
        let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &self.flux_namespace);
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &self.flux_namespace);
        let selector = format!("{}=flux", labels::PART_OF);
        let mut chosen = Vec::new();
        for deployment in deployments.list(&ListParams::default().labels(&selector)).await? {
            let template = deployment.spec.template.metadata;
            let labels = template.and_then(|metadata| metadata.labels).unwrap_or_default();
            let selector: Vec<String> = labels
                .iter()
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            let listed = pods
                .list(&ListParams::default().labels(&selector.join(",")))
                .await?;
            chosen.extend(listed.items.into_iter().min_by_key(rank));
        }
        if chosen.is_empty() {
            return Err(CommandError::new(format!(
                "no Flux pods found in namespace \"{}\"",
                self.flux_namespace
            ))
            .with_hint("name the namespace of the controllers with --flux-namespace"));
        }
        Ok(chosen)
    }
}

/// How well a pod's log serves, the lowest best.
fn rank(pod: &Pod) -> (bool, u8, bool, std::cmp::Reverse<Option<Timestamp>>) {
    let status = pod.status.as_ref();
    let phase = match status.and_then(|status| status.phase.as_deref()) {
        Some("Running") => 0,
        Some("Pending") => 1,
        _ => 2,
    };
    let conditions = status
        .and_then(|status| status.conditions.as_deref())
        .unwrap_or_default();
    let ready = conditions
        .iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let unassigned = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.as_ref())
        .is_none();
    let started = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    (unassigned, phase, !ready, std::cmp::Reverse(started))
}

/// The lines of a log; a log that breaks off ends.
fn lines(stream: impl AsyncBufRead + Send + 'static) -> impl Stream<Item = String> + Send {
    Box::pin(stream)
        .lines()
        .take_while(|line| std::future::ready(line.is_ok()))
        .filter_map(|line| async { line.ok() })
}
