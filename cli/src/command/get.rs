//! `sluice get`: objects of the toolkit as a table, JSON or YAML.

use futures::TryStreamExt as _;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::{Console, Format, Table, render};

/// Arguments of `sluice get`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice get all -A\n  sluice get sources git\n  sluice get kustomizations apps -o yaml\n  sluice get ks --status-selector ready=false"
)]
pub(crate) struct Get {
    /// The kind, for example: kustomizations, sources git, all; then names of objects
    #[arg(required = true, value_name = "KIND [NAME]")]
    words: Vec<String>,
    /// Objects of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Leave the header out
    #[arg(long)]
    no_header: bool,
    /// Only objects with these labels
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    label_selector: Option<String>,
    /// Only objects with this condition, for example ready=false
    #[arg(long, value_name = "TYPE=STATUS")]
    status_selector: Option<String>,
    /// Print JSON or YAML instead of a table
    #[arg(long, short = 'o', value_enum)]
    output: Option<Format>,
    /// Keep printing changes
    #[arg(long, short = 'w')]
    watch: bool,
}

impl Get {
    /// Prints what was asked for.
    ///
    /// # Errors
    /// Unknown kinds, unreachable clusters, a named object that does not exist.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kinds, names) = self.split_words()?;
        let mut found = Vec::new();
        for kind in &kinds {
            match self.list(cluster, kind, &names).await {
                Ok(objects) => found.push((*kind, objects)),
                // A cluster may hold only some of the kinds; asked for all, the others are no failure.
                Err(kube::Error::Api(status)) if status.code == 404 && kinds.len() > 1 => {}
                Err(error) => return Err(error.into()),
            }
        }
        let total: usize = found.iter().map(|(_, objects)| objects.len()).sum();
        if let Some(name) = names.first().filter(|_| total == 0) {
            return Err(CommandError::new(format!(
                "no {} '{name}' in namespace {}",
                kinds[0].kind, cluster.namespace
            ))
            .with_hint("look in all namespaces with -A"));
        }
        if self.watch {
            return self.follow(cluster, &kinds, &names, console).await;
        }
        if let Some(format) = self.output {
            let objects: Vec<Value> = found.into_iter().flat_map(|(_, objects)| objects).collect();
            let value = if !names.is_empty() && objects.len() == 1 {
                objects.into_iter().next().unwrap_or_default()
            } else {
                serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects})
            };
            console.result(&render(&value, format)?);
            return Ok(());
        }
        if total == 0 {
            let place = if self.all_namespaces {
                "any namespace"
            } else {
                cluster.namespace.as_str()
            };
            console.failed(&format!("no {} objects found in {place}", kinds[0].kind));
            return Ok(());
        }
        console.result(&self.tables(&found, kinds.len() > 1));
        Ok(())
    }

    fn split_words(&self) -> Result<(Vec<&'static Kind>, Vec<String>)> {
        let family = |word: &str| matches!(word.trim_end_matches('s'), "source" | "image" | "artifact");
        let take = if family(&self.words[0].to_lowercase()) {
            2
        } else {
            1
        };
        if self.words.len() < take {
            return Err(
                CommandError::new(format!("'{}' needs a kind behind it", self.words[0]))
                    .with_hint("for example: sluice get sources git, sluice get sources all"),
            );
        }
        let (kind, names) = self.words.split_at(take);
        Ok((Kind::find(kind)?, names.to_vec()))
    }

    async fn list(
        &self,
        cluster: &Cluster,
        kind: &Kind,
        names: &[String],
    ) -> Result<Vec<Value>, kube::Error> {
        let objects = self.api(cluster, kind);
        let mut parameters = ListParams::default();
        if let Some(selector) = &self.label_selector {
            parameters = parameters.labels(selector);
        }
        let list = objects.list(&parameters).await?;
        let type_of = kind.resource();
        let values = list.items.into_iter().filter_map(|mut object| {
            object.metadata.managed_fields = None;
            object.types = Some(kube::core::TypeMeta {
                api_version: type_of.api_version.clone(),
                kind: type_of.kind.clone(),
            });
            serde_json::to_value(object).ok()
        });
        Ok(values.filter(|value| self.wanted(value, names)).collect())
    }

    fn api(&self, cluster: &Cluster, kind: &Kind) -> kube::Api<DynamicObject> {
        if self.all_namespaces {
            cluster.objects_everywhere(kind)
        } else {
            cluster.objects(kind)
        }
    }

    fn wanted(&self, object: &Value, names: &[String]) -> bool {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            return false;
        }
        let Some((kind, status)) = self
            .status_selector
            .as_deref()
            .and_then(|text| text.split_once('='))
        else {
            return true;
        };
        let conditions = object["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            condition["type"]
                .as_str()
                .is_some_and(|text| text.eq_ignore_ascii_case(kind))
                && condition["status"]
                    .as_str()
                    .is_some_and(|text| text.eq_ignore_ascii_case(status))
        })
    }

    fn tables(&self, found: &[(&'static Kind, Vec<Value>)], prefixed: bool) -> String {
        let tables = found.iter().filter_map(|(kind, objects)| {
            let mut table = self.empty_table(kind);
            objects
                .iter()
                .for_each(|object| table.push(self.row(kind, object, prefixed)));
            (!table.is_empty()).then(|| table.render(!self.no_header))
        });
        tables.collect::<Vec<_>>().join("\n")
    }

    fn empty_table(&self, kind: &Kind) -> Table {
        let mut headers = if self.all_namespaces {
            vec!["namespace", "name"]
        } else {
            vec!["name"]
        };
        headers.extend(kind.headers());
        Table::new(&headers)
    }

    fn row(&self, kind: &Kind, object: &Value, prefixed: bool) -> Vec<String> {
        let metadata = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let prefix = if prefixed {
            format!("{}/", kind.kind.to_lowercase())
        } else {
            String::new()
        };
        let mut row = if self.all_namespaces {
            vec![metadata("namespace")]
        } else {
            Vec::new()
        };
        row.push(prefix + &metadata("name"));
        row.extend(kind.cells(object));
        row
    }

    async fn follow(
        &self,
        cluster: &Cluster,
        kinds: &[&'static Kind],
        names: &[String],
        console: &Console,
    ) -> Result<()> {
        let [kind] = kinds else {
            return Err(CommandError::new("only one kind can be watched at a time"));
        };
        let mut configuration = watcher::Config::default();
        if let Some(selector) = &self.label_selector {
            configuration = configuration.labels(selector);
        }
        let stream = watcher(self.api(cluster, kind), configuration);
        let mut changes = std::pin::pin!(stream);
        let mut header = !self.no_header;
        loop {
            let event = changes
                .try_next()
                .await
                .map_err(|error| CommandError::new(error.to_string()))?;
            let Some(event) = event else { return Ok(()) };
            let (watcher::Event::Apply(object) | watcher::Event::InitApply(object)) = event else {
                continue;
            };
            let value = serde_json::to_value(object).unwrap_or_default();
            if self.wanted(&value, names) {
                let mut table = self.empty_table(kind);
                table.push(self.row(kind, &value, false));
                console.result(&table.render(std::mem::take(&mut header)));
            }
        }
    }
}
