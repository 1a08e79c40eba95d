//! `sluice trace`: where an object in the cluster comes from.

mod report;
mod resource;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Api;
use kube::core::DynamicObject;
use serde_json::{Value, json};
use sluice_api::{helm, kustomize};

use crate::cluster::Cluster;
use crate::command::reconcile::fetch;
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::{Console, Format, render};
use report::Report;
use resource::Catalogue;

/// How many owners are followed upwards.
const MOST_OWNERS: usize = 10;

/// Arguments of `sluice trace`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice trace -n apps deployment web\n  sluice trace -n apps pod/web-0 cm/settings\n  sluice trace namespace apps\n  sluice trace web -n apps --kind Deployment --api-version apps/v1"
)]
pub(crate) struct Trace {
    /// Kind and names, or several KIND/NAME
    #[arg(required = true, value_name = "KIND NAME…")]
    words: Vec<String>,
    /// Kind of the object, instead of a word before its name
    #[arg(long, requires = "api_version")]
    kind: Option<String>,
    /// API version of that kind, for example apps/v1
    #[arg(long, requires = "kind")]
    api_version: Option<String>,
    /// Print JSON or YAML instead of text
    #[arg(long, short = 'o', value_enum)]
    output: Option<Format>,
}

impl Trace {
    /// Prints a report for each object.
    ///
    /// # Errors
    /// An object that is not there, or whose owner or source is not; the others are told.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let catalogue = Catalogue::read(cluster).await?;
        let objects = self.objects(cluster, &catalogue).await?;
        let (mut reports, mut failures) = (Vec::new(), 0);
        let count = objects.len();
        for object in objects {
            match trace(cluster, &catalogue, &object).await {
                Ok(report) => reports.push(report),
                Err(error) if count == 1 => return Err(error),
                Err(error) => {
                    console.failure(&error);
                    failures += 1;
                }
            }
        }
        let text = match self.output {
            Some(format) => {
                let values: Vec<Value> = reports.iter().map(Report::to_value).collect();
                match values.as_slice() {
                    [value] if count == 1 => render(value, format)?,
                    _ => render(&values, format)?,
                }
            }
            None => reports
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("---\n"),
        };
        console.result(&text);
        if failures == 0 {
            return Ok(());
        }
        Err(CommandError::new(format!(
            "{failures} of {count} objects can't be traced"
        )))
    }

    /// Reads the objects that the arguments name.
    async fn objects(&self, cluster: &Cluster, catalogue: &Catalogue) -> Result<Vec<Value>> {
        let mut objects = Vec::new();
        if let (Some(kind), Some(api_version)) = (&self.kind, &self.api_version) {
            let [name] = self.words.as_slice() else {
                return Err(CommandError::new("with --kind one object name is required"));
            };
            let resource = catalogue.of_kind(api_version, kind)?;
            objects.push(resource.get(cluster, &cluster.namespace, name).await?);
            return Ok(objects);
        }
        for (word, name) in pairs(&self.words)? {
            let resource = catalogue.by_word(word)?;
            objects.push(resource.get(cluster, &cluster.namespace, name).await?);
        }
        Ok(objects)
    }
}

/// Splits `KIND NAME…` or `KIND/NAME…`.
fn pairs(words: &[String]) -> Result<Vec<(&str, &str)>> {
    let wrong = || {
        CommandError::new("either `<resource>/<name>` or `<resource> <name>` is required as an argument")
            .with_hint("for example: sluice trace deployment web, sluice trace deployment/web")
    };
    if words.iter().all(|word| word.contains('/')) {
        return words
            .iter()
            .map(|word| {
                word.split_once('/')
                    .filter(|(kind, name)| !kind.is_empty() && !name.is_empty())
            })
            .map(|pair| pair.ok_or_else(wrong))
            .collect();
    }
    match words {
        [kind, names @ ..] if !names.is_empty() && !words.iter().any(|word| word.contains('/')) => {
            Ok(names.iter().map(|name| (kind.as_str(), name.as_str())).collect())
        }
        _ => Err(wrong()),
    }
}

async fn trace(cluster: &Cluster, catalogue: &Catalogue, object: &Value) -> Result<Report> {
    for (group, kind) in [(kustomize::GROUP, "Kustomization"), (helm::GROUP, "HelmRelease")] {
        let Some((namespace, name)) = find_owner(cluster, catalogue, object, group, MOST_OWNERS).await?
        else {
            continue;
        };
        let place = cluster.within(&namespace);
        let owner = fetch_kind(&place, kind, &name).await?;
        let mut sources = Vec::new();
        if kind == "HelmRelease"
            && let Some((namespace, name)) = owner["status"]["helmChart"]
                .as_str()
                .and_then(|text| text.split_once('/'))
        {
            sources.push(fetch_kind(&cluster.within(namespace), "HelmChart", name).await?);
        }
        if let Some(source) = source_of(&place, &owner).await? {
            sources.push(source);
        }
        return Ok(Report::new(object, owner, sources));
    }
    let metadata = &object["metadata"];
    Err(CommandError::new(format!(
        "failed to trace {}/{} in namespace {}: object not managed by Flux",
        text(&object["kind"]),
        text(&metadata["name"]),
        text(&metadata["namespace"])
    ))
    .with_hint("it has no owner labels of a Kustomization or HelmRelease, and neither have its owners"))
}

/// Namespace and name in the owner labels of the object, or else of one that owns it.
fn find_owner<'a>(
    cluster: &'a Cluster,
    catalogue: &'a Catalogue,
    object: &'a Value,
    group: &'a str,
    levels: usize,
) -> BoxFuture<'a, Result<Option<(String, String)>>> {
    async move {
        let label = |key: &str| text(&object["metadata"]["labels"][format!("{group}/{key}")]).to_owned();
        if !label("name").is_empty() {
            return Ok(Some((label("namespace"), label("name"))));
        }
        if levels == 0 {
            return Ok(None);
        }
        let owners = object["metadata"]["ownerReferences"].as_array();
        for reference in owners.into_iter().flatten() {
            let Ok(resource) = catalogue.of_kind(text(&reference["apiVersion"]), text(&reference["kind"]))
            else {
                continue;
            };
            let namespace = text(&object["metadata"]["namespace"]);
            // An owner that is gone leads nowhere.
            let Ok(owner) = resource.get(cluster, namespace, text(&reference["name"])).await else {
                continue;
            };
            let found = find_owner(cluster, catalogue, &owner, group, levels - 1).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
    .boxed()
}

/// The source that the owner reads, if it names one of a kind that is known.
async fn source_of(place: &Cluster, owner: &Value) -> Result<Option<Value>> {
    let spec = &owner["spec"];
    let reference = match text(&owner["kind"]) {
        "Kustomization" => &spec["sourceRef"],
        _ if spec["chart"].is_object() => &spec["chart"]["spec"]["sourceRef"],
        _ => &spec["chartRef"],
    };
    let kind = text(&reference["kind"]);
    if Kind::by_name(kind).is_none() || kind == "HelmChart" {
        return Ok(None);
    }
    let namespace = text(&reference["namespace"]);
    let place = if namespace.is_empty() {
        place.clone()
    } else {
        place.within(namespace)
    };
    fetch_kind(&place, kind, text(&reference["name"])).await.map(Some)
}

async fn fetch_kind(place: &Cluster, kind: &str, name: &str) -> Result<Value> {
    let Some(kind) = Kind::by_name(kind) else {
        return Err(CommandError::new(format!("'{kind}' is no kind of the toolkit")));
    };
    fetch(place, kind, name).await
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

impl resource::Found {
    /// Reads an object of the kind.
    async fn get(&self, cluster: &Cluster, namespace: &str, name: &str) -> Result<Value> {
        let api: Api<DynamicObject> = if self.namespaced {
            Api::namespaced_with(cluster.client.clone(), namespace, &self.resource)
        } else {
            Api::all_with(cluster.client.clone(), &self.resource)
        };
        let Some(object) = api.get_opt(name).await? else {
            let place = if self.namespaced {
                format!(" in \"{namespace}\" namespace")
            } else {
                String::new()
            };
            return Err(CommandError::new(format!(
                "failed to find object: {} '{name}' not found{place}",
                self.resource.kind
            ))
            .with_hint("check the name and -n"));
        };
        let mut value = serde_json::to_value(object).map_err(|error| CommandError::new(error.to_string()))?;
        value["apiVersion"] = json!(self.resource.api_version);
        value["kind"] = json!(self.resource.kind);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_named_in_two_ways() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            pairs(&words("deploy a b")).unwrap(),
            [("deploy", "a"), ("deploy", "b")]
        );
        assert_eq!(pairs(&words("pod/a cm/b")).unwrap(), [("pod", "a"), ("cm", "b")]);
        for wrong in ["deploy", "deploy a/b", "pod/", "/x"] {
            assert!(pairs(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
