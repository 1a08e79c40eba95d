//! `sluice get`: objects of the toolkit as a table, JSON or YAML.

use clap_complete::ArgValueCompleter;
use futures::TryStreamExt as _;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::completion::words;
use crate::error::{CommandError, Result, is_unknown_kind};
use crate::kind::Kind;
use crate::output::{Console, Format, Table, render};

/// Arguments of `sluice get`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice get all -A\n  sluice get sources git\n  sluice get kustomizations apps -o yaml\n  sluice get ks --status-selector ready=false"
)]
pub(crate) struct Get {
    /// The kind, for example: kustomizations, sources git, all; then names of objects
    #[arg(required = true, add = ArgValueCompleter::new(words), value_name = "KIND [NAME]")]
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
    /// Only objects with this condition, for example ready=false or ready!=true
    #[arg(long, value_name = "TYPE=STATUS")]
    status_selector: Option<String>,
    /// Show the source that each Kustomization or HelmRelease reads
    #[arg(long)]
    show_source: bool,
    /// Print JSON or YAML instead of a table
    #[arg(long, short = 'o', value_enum)]
    output: Option<Format>,
    /// Keep printing changes
    #[arg(long, short = 'w')]
    watch: bool,
}

impl Get {
    /// Whether the command goes on until it is ended.
    pub(crate) fn watches(&self) -> bool {
        self.watch
    }

    /// Prints what was asked for.
    ///
    /// # Errors
    /// Unknown kinds, unreachable clusters, a named object that does not exist, and no object at all of the one
    /// kind that was asked for.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (kinds, names) = Kind::split(&self.words)?;
        let selector = self
            .status_selector
            .as_deref()
            .map(StatusSelector::parse)
            .transpose()?;
        let wanted = Wanted { names, selector };
        if self.watch {
            return self.follow(cluster, &kinds, &wanted, console).await;
        }
        let found = self.collect(cluster, &kinds, names).await?;
        let total: usize = found.iter().map(|(_, objects)| objects.len()).sum();
        if total == 0 && (!names.is_empty() || (kinds.len() == 1 && self.output.is_none())) {
            return Err(self.nothing(cluster, &kinds, names));
        }
        let matching: Vec<(&Kind, Vec<Value>)> = found
            .into_iter()
            .map(|(kind, mut objects)| {
                objects.retain(|object| wanted.accepts(kind, object));
                (kind, objects)
            })
            .collect();
        match self.output {
            Some(format) => console.result(&render(&single_or_list(matching, names), format)?),
            None => console.result(&self.tables(&matching, kinds.len() > 1)),
        }
        Ok(())
    }

    /// The objects of each kind. A cluster may hold only some of the kinds: where several are asked for, the
    /// others are no failure.
    async fn collect(
        &self,
        cluster: &Cluster,
        kinds: &[&'static Kind],
        names: &[String],
    ) -> Result<Vec<(&'static Kind, Vec<Value>)>> {
        let mut found = Vec::new();
        for kind in kinds {
            match self.list(cluster, kind, names).await {
                Ok(objects) => found.push((*kind, objects)),
                Err(kube::Error::Api(status)) if is_unknown_kind(&status) && kinds.len() > 1 => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(found)
    }

    fn nothing(&self, cluster: &Cluster, kinds: &[&Kind], names: &[String]) -> CommandError {
        let place = if self.all_namespaces {
            "any".to_owned()
        } else {
            format!("\"{}\"", cluster.namespace)
        };
        let [kind] = kinds else {
            return CommandError::new(format!(
                "no object '{}' found in {place} namespace",
                names.join("', '")
            ))
            .with_hint("look in all namespaces with -A");
        };
        let error = match names.first() {
            Some(name) => CommandError::new(format!(
                "{} object '{name}' not found in {place} namespace",
                kind.kind
            )),
            None => no_objects(kind, &place),
        };
        if self.all_namespaces {
            error
        } else {
            error.with_hint("look in all namespaces with -A")
        }
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
        let values = list.items.into_iter().map(|object| kind.value(object));
        let named = |value: &Value| {
            let name = value["metadata"]["name"].as_str().unwrap_or_default();
            names.is_empty() || names.iter().any(|wanted| wanted == name)
        };
        Ok(values.filter(named).collect())
    }

    fn api(&self, cluster: &Cluster, kind: &Kind) -> kube::Api<DynamicObject> {
        if self.all_namespaces {
            cluster.objects_everywhere(kind)
        } else {
            cluster.objects(kind)
        }
    }

    fn tables(&self, found: &[(&Kind, Vec<Value>)], prefixed: bool) -> String {
        let tables = found.iter().filter_map(|(kind, objects)| {
            let mut table = self.empty_table(kind);
            for object in objects {
                table.push(self.row(kind, object, prefixed));
            }
            let text = table.render(!self.no_header);
            match (prefixed, table.is_empty()) {
                (true, true) => None,
                (true, false) => Some(text + "\n"),
                (false, _) => Some(text),
            }
        });
        tables.collect()
    }

    fn empty_table(&self, kind: &Kind) -> Table {
        let mut headers = if self.all_namespaces {
            vec!["namespace", "name"]
        } else {
            vec!["name"]
        };
        headers.extend(kind.headers(self.show_source));
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
        row.extend(kind.cells(object, self.show_source));
        row
    }

    async fn follow(
        &self,
        cluster: &Cluster,
        kinds: &[&'static Kind],
        wanted: &Wanted<'_>,
        console: &Console,
    ) -> Result<()> {
        let [kind] = kinds else {
            return Err(
                CommandError::new("expected a single resource type, but found all")
                    .with_hint("watch one kind at a time, for example: sluice get kustomizations -w"),
            );
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
            let value = kind.value(object);
            if wanted.accepts(kind, &value) {
                let mut table = self.empty_table(kind);
                table.push(self.row(kind, &value, false));
                console.result(&table.render(std::mem::take(&mut header)));
            }
        }
    }
}

/// There is no object of the kind.
pub(crate) fn no_objects(kind: &Kind, place: &str) -> CommandError {
    CommandError::new(format!("no {} objects found in {place} namespace", kind.kind))
}

/// Which of the objects are shown.
struct Wanted<'words> {
    names: &'words [String],
    selector: Option<StatusSelector<'words>>,
}

impl Wanted<'_> {
    fn accepts(&self, kind: &Kind, object: &Value) -> bool {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let named = self.names.is_empty() || self.names.iter().any(|wanted| wanted == name);
        let selected = |selector: &StatusSelector<'_>| selector.matches(kind, object);
        named && self.selector.as_ref().is_none_or(selected)
    }
}

/// `TYPE=STATUS` or `TYPE!=STATUS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StatusSelector<'text> {
    condition: &'text str,
    status: &'text str,
    negated: bool,
}

impl<'text> StatusSelector<'text> {
    fn parse(text: &'text str) -> Result<Self> {
        let negated = text.contains("!=");
        let (condition, status) = text.split_once(if negated { "!=" } else { "=" }).ok_or_else(|| {
            CommandError::new(format!(
                "expected status selector in type=status or type!=status format, but found: {text}"
            ))
            .with_hint("for example: --status-selector ready=false")
        })?;
        Ok(Self {
            condition,
            status,
            negated,
        })
    }

    fn matches(&self, kind: &Kind, object: &Value) -> bool {
        kind.has_condition(object, self.condition, self.status) != self.negated
    }
}

/// The object itself if it was asked for by name, else a list, as kubectl prints them.
fn single_or_list(found: Vec<(&Kind, Vec<Value>)>, names: &[String]) -> Value {
    let mut objects: Vec<Value> = found.into_iter().flat_map(|(_, objects)| objects).collect();
    if names.len() == 1 && objects.len() == 1 {
        return objects.remove(0);
    }
    serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects})
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn status_selectors_match_in_any_case_and_can_be_negated() {
        let kind = Kind::by_name("Kustomization").unwrap();
        let object = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let matches = |text: &str| StatusSelector::parse(text).unwrap().matches(kind, &object);
        assert!(matches("ready=false"));
        assert!(!matches("Ready=True"));
        assert!(matches("ready!=true"));
        assert!(matches("stalled!=true"));
        assert!(!matches("stalled=false"));
        assert!(StatusSelector::parse("ready").is_err());
    }
}
