//! `sluice export`: objects as they may stand in a repository.

use clap_complete::ArgValueCompleter;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Map, Value, json};

use crate::cluster::Cluster;
use crate::command::get::no_objects;
use crate::command::reconcile::fetch;
use crate::completion::words;
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::{Console, yaml};

/// Arguments of `sluice export`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice export source git --all > sources.yaml\n  sluice export source git fleet --with-credentials > source.yaml\n  sluice export kustomization apps"
)]
pub(crate) struct Export {
    /// The kind and the name, for example: kustomization apps, source git fleet
    #[arg(required = true, add = ArgValueCompleter::new(words), value_name = "KIND [NAME]")]
    words: Vec<String>,
    /// All objects of the kind in the namespace
    #[arg(long)]
    all: bool,
    /// Print the Secrets with the credentials of sources as well
    #[arg(long)]
    with_credentials: bool,
}

impl Export {
    /// Prints manifests that can be applied again.
    ///
    /// # Errors
    /// Unknown kinds, no such object.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kinds, names) = Kind::split(&self.words)?;
        let [kind] = kinds.as_slice() else {
            return Err(CommandError::new("exactly one kind is needed here")
                .with_hint("for example: source git, kustomization"));
        };
        let mut objects = Vec::new();
        match (names, self.all) {
            ([name], false) => objects.push(fetch(cluster, kind, name).await?),
            ([], true) => {
                let listed = cluster.objects(kind).list(&ListParams::default()).await?;
                objects.extend(listed.items.into_iter().map(|object| kind.value(object)));
                if objects.is_empty() {
                    return Err(no_objects(kind, &format!("\"{}\"", cluster.namespace)));
                }
            }
            ([], false) => {
                return Err(CommandError::new("name is required")
                    .with_hint("give a name, or --all for all of the namespace"));
            }
            _ => return Err(CommandError::new("give one name or --all")),
        }
        let mut text = String::new();
        for object in &objects {
            text.push_str(&document(&manifest(object))?);
            let secret = object["spec"]["secretRef"]["name"].as_str();
            if let Some(secret) = secret.filter(|_| self.with_credentials && kind.is_source()) {
                text.push_str(&document(&credentials(cluster, secret).await?)?);
            }
        }
        console.result(&text);
        Ok(())
    }
}

/// One manifest with a separator before it.
///
/// # Errors
/// A value that YAML cannot hold.
pub(crate) fn document(manifest: &Value) -> Result<String> {
    Ok(format!("---\n{}", yaml(manifest)?))
}

/// What of an object its author has written: not what the API server and the controllers have added.
pub(crate) fn manifest(object: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "labels", "annotations"] {
        let value = &object["metadata"][field];
        if !value.is_null() && value != &json!({}) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": metadata,
        "spec": object["spec"],
    })
}

async fn credentials(cluster: &Cluster, name: &str) -> Result<Value> {
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let Some(secret) = secrets.get_opt(name).await? else {
        return Err(CommandError::new(format!(
            "failed to retrieve secret {name}: not found in \"{}\" namespace",
            cluster.namespace
        ))
        .with_hint("leave --with-credentials out, or create the Secret"));
    };
    let mut value = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": cluster.namespace},
    });
    if let Some(data) = secret.data {
        value["data"] = json!(data);
    }
    if let Some(secret_type) = secret.type_ {
        value["type"] = json!(secret_type);
    }
    Ok(value)
}
