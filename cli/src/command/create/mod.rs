//! `sluice create`: objects from flags, in the cluster or as manifests for a repository.

mod kustomization;
mod labels;
mod secret;
mod source;
mod ssh;

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Subcommand;
use kube::Api;
use kube::api::PostParams;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use sluice_api::meta::GoDuration;
use sluice_api::reasons::kustomize::ARTIFACT_FAILED;

use crate::cluster::{Cluster, ClusterArguments, is_label, parse_duration};
use crate::command::apply::MANAGER;
use crate::command::export::document;
use crate::command::wait::{Verdict, judge_ready, wait_quietly};
use crate::error::{CommandError, Result};
use crate::kind::{Kind, condition};
use crate::output::Console;

pub(crate) use ssh::SshKey;

/// Arguments of `sluice create`.
#[derive(Debug, clap::Args)]
pub(crate) struct Create {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Create or update a source
    Source(source::CreateSource),
    /// Create or update a Kustomization
    #[command(visible_alias = "ks")]
    Kustomization(Box<kustomization::CreateKustomization>),
    /// Create or update a Secret in the form that the toolkit reads
    Secret(secret::CreateSecret),
}

/// What every `create` is told.
#[derive(Debug, clap::Args)]
struct Common {
    /// Name of the object
    name: String,
    /// Print the manifest instead of creating the object
    #[arg(long)]
    export: bool,
    /// Labels of the object
    #[arg(long = "label", value_delimiter = ',', value_name = "KEY=VALUE", value_parser = labels::parse)]
    labels: Vec<(String, String)>,
}

/// How often an object is reconciled.
#[derive(Debug, clap::Args)]
struct Interval {
    /// How often to look for changes
    #[arg(long, default_value = "1m", value_parser = parse_duration)]
    interval: Duration,
}

impl Create {
    /// Creates the object, or prints its manifest.
    ///
    /// # Errors
    /// Flags that contradict each other, and whatever keeps the object from becoming ready.
    pub(crate) async fn run(&self, arguments: &ClusterArguments, console: &Console) -> Result<()> {
        match &self.what {
            What::Source(source) => source.run(arguments, console).await,
            What::Kustomization(kustomization) => kustomization.run(arguments, console).await,
            What::Secret(secret) => secret.run(arguments, console).await,
        }
    }
}

impl Common {
    /// Checks the name.
    fn check(&self) -> Result<()> {
        if is_label(&self.name) {
            return Ok(());
        }
        Err(CommandError::new(format!(
            "name '{}' is invalid, it should adhere to standard defined in RFC 1123, the name can only contain \
             alphanumeric characters or '-'",
            self.name
        )))
    }

    /// The manifest of an object with this spec.
    fn manifest(&self, kind: &Kind, namespace: &str, spec: &Value) -> Value {
        let resource = kind.resource();
        let mut manifest = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": self.name, "namespace": namespace},
            "spec": spec,
        });
        if !self.labels.is_empty() {
            manifest["metadata"]["labels"] = json!(self.labels());
        }
        manifest
    }

    fn labels(&self) -> BTreeMap<&str, &str> {
        self.labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect()
    }
}

/// A duration as it stands in a manifest.
fn duration(duration: Duration) -> Value {
    json!(GoDuration::from(duration))
}

/// Puts a text into a map of fields, unless there is none.
fn set(fields: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        fields[field] = value.into();
    }
}

/// Creates the object, or gives the one that is there its labels and spec. `noun` is what messages call it.
async fn upsert(
    cluster: &Cluster,
    kind: &Kind,
    manifest: &Value,
    noun: &str,
    console: &Console,
) -> Result<()> {
    let objects: Api<DynamicObject> = cluster.objects(kind);
    let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
    let parameters = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let wrong = |error: serde_json::Error| CommandError::new(error.to_string());
    match objects.get_opt(name).await? {
        None => {
            let object: DynamicObject = serde_json::from_value(manifest.clone()).map_err(wrong)?;
            objects.create(&parameters, &object).await?;
            console.success(&format!("{noun} created"));
        }
        Some(mut existing) => {
            existing.metadata.labels =
                serde_json::from_value(manifest["metadata"]["labels"].clone()).map_err(wrong)?;
            existing.data["spec"] = manifest["spec"].clone();
            objects.replace(name, &parameters, &existing).await?;
            console.success(&format!("{noun} updated"));
        }
    }
    Ok(())
}

/// Waits until a controller has made the object ready.
async fn await_ready(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    noun: &str,
    console: &Console,
) -> Result<Value> {
    let progress = console.progress(&format!("waiting for {noun} reconciliation"));
    wait_quietly(cluster, kind, name, &progress, |object| {
        match judge_ready(object) {
            // A source that is created at the same time may need a moment.
            Verdict::Failed(message)
                if condition(object, "Ready").is_some_and(|ready| ready["reason"] == ARTIFACT_FAILED) =>
            {
                Verdict::Wait(message)
            }
            Verdict::Failed(message) => {
                Verdict::Failed(format!("{} {name} reconciliation failed: {message}", kind.kind))
            }
            other => other,
        }
    })
    .await
}

fn print(manifest: &Value, console: &Console) -> Result<()> {
    console.result(&document(manifest)?);
    Ok(())
}
