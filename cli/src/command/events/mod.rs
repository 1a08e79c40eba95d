//! `sluice events`: what happened to objects of the toolkit.

mod reference;
mod time;

use std::collections::BTreeSet;

use futures::stream::select_all;
use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::{Console, Format, Table, render};
use reference::{Subject, references};

/// How many events the API server is asked for at a time.
const PAGE: u32 = 500;

/// Arguments of `sluice events`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  sluice events -n apps\n  sluice events -A --types warning\n  sluice events --for Kustomization/apps\n  sluice events --for Kustomization -w"
)]
pub(crate) struct Events {
    /// Events of all namespaces
    #[arg(long, short = 'A')]
    all_namespaces: bool,
    /// Keep printing events as they happen
    #[arg(long, short = 'w')]
    watch: bool,
    /// Only events of this kind, or of this object and the source that it reads
    #[arg(long = "for", value_name = "KIND[/NAME]")]
    subject: Option<String>,
    /// Only events of these types: Normal, Warning
    #[arg(long, value_delimiter = ',', value_name = "TYPE", ignore_case = true, value_parser = ["Normal", "Warning"])]
    types: Vec<String>,
    /// Print JSON or YAML instead of a table
    #[arg(long, short = 'o', value_enum, conflicts_with = "watch")]
    output: Option<Format>,
}

/// Where events are looked for, and which.
struct Query {
    events: Api<Event>,
    /// A selector of fields, empty for all.
    fields: String,
}

impl Events {
    /// Whether the command goes on until it is ended.
    pub(crate) fn watches(&self) -> bool {
        self.watch
    }

    /// Prints the events, the latest last.
    ///
    /// # Errors
    /// An object or a kind that is not there.
    pub(crate) async fn run(&self, cluster: &Cluster, console: &Console) -> Result<()> {
        let (queries, shows_namespace) = self.queries(cluster).await?;
        if self.watch {
            return self.follow(queries, shows_namespace, console).await;
        }
        let mut events = Vec::new();
        for query in &queries {
            events.extend(query.list().await?);
        }
        events.retain(|event| self.accepts(event));
        // Sorting keeps the order of those that happened at the same time.
        events.sort_by_key(time::of);
        if let Some(format) = self.output {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": events.iter().map(as_manifest).collect::<Vec<_>>()});
            console.result(&render(&list, format)?);
            return Ok(());
        }
        if events.is_empty() {
            let place = if self.all_namespaces {
                String::new()
            } else {
                format!(" in {} namespace", cluster.namespace)
            };
            console.failed(&format!("No events found{place}."));
            return Ok(());
        }
        let mut table = empty_table(shows_namespace);
        let now = Timestamp::now();
        for event in &events {
            table.push(row(event, shows_namespace, now));
        }
        console.result(&table.render(true));
        Ok(())
    }

    /// What to ask for, and whether it lies in several namespaces.
    async fn queries(&self, cluster: &Cluster) -> Result<(Vec<Query>, bool)> {
        let events = if self.all_namespaces {
            Api::all(cluster.client.clone())
        } else {
            Api::namespaced(cluster.client.clone(), &cluster.namespace)
        };
        let Some(subject) = &self.subject else {
            let query = Query {
                events,
                fields: String::new(),
            };
            return Ok((vec![query], self.all_namespaces));
        };
        let subject = Subject::parse(subject)?;
        let mut queries = vec![Query {
            events,
            fields: selector(subject.kind.kind, subject.name.as_deref()),
        }];
        let mut shows_namespace = self.all_namespaces;
        for referred in references(cluster, &subject).await? {
            shows_namespace |= referred.namespace != cluster.namespace;
            queries.push(Query {
                events: Api::namespaced(cluster.client.clone(), &referred.namespace),
                fields: selector(&referred.kind, Some(&referred.name)),
            });
        }
        Ok((queries, shows_namespace))
    }

    fn accepts(&self, event: &Event) -> bool {
        let kind = event.involved_object.kind.as_deref().unwrap_or_default();
        let event_type = event.type_.as_deref().unwrap_or_default();
        Kind::by_name(kind).is_some_and(|kind| kind.kind != "ExternalArtifact")
            && (self.types.is_empty()
                || self
                    .types
                    .iter()
                    .any(|wanted| wanted.eq_ignore_ascii_case(event_type)))
    }

    async fn follow(&self, queries: Vec<Query>, shows_namespace: bool, console: &Console) -> Result<()> {
        let streams = queries.into_iter().map(|query| {
            let configuration = watcher::Config::default().fields(&query.fields);
            watcher(query.events, configuration).boxed()
        });
        let mut changes = select_all(streams);
        let mut with_header = true;
        // A watch that is opened anew tells again what it has told.
        let mut told = BTreeSet::new();
        while let Some(change) = changes
            .try_next()
            .await
            .map_err(|error| CommandError::new(error.to_string()))?
        {
            let (watcher::Event::Apply(event) | watcher::Event::InitApply(event)) = change else {
                continue;
            };
            if !self.accepts(&event) || !told.insert((event.uid(), event.resource_version())) {
                continue;
            }
            let mut table = empty_table(shows_namespace);
            table.push(row(&event, shows_namespace, Timestamp::now()));
            console.result(&table.render(std::mem::take(&mut with_header)));
        }
        Ok(())
    }
}

impl Query {
    async fn list(&self) -> Result<Vec<Event>> {
        let mut events = Vec::new();
        let mut parameters = ListParams::default().limit(PAGE);
        if !self.fields.is_empty() {
            parameters = parameters.fields(&self.fields);
        }
        loop {
            let page = self.events.list(&parameters).await?;
            let next = page.metadata.continue_.filter(|token| !token.is_empty());
            events.extend(page.items);
            match next {
                Some(token) => parameters = parameters.continue_token(&token),
                None => return Ok(events),
            }
        }
    }
}

fn selector(kind: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("involvedObject.kind={kind},involvedObject.name={name}"),
        None => format!("involvedObject.kind={kind}"),
    }
}

fn empty_table(shows_namespace: bool) -> Table {
    let headers = ["namespace", "last seen", "type", "reason", "object", "message"];
    Table::new(if shows_namespace { &headers } else { &headers[1..] })
}

fn row(event: &Event, shows_namespace: bool, now: Timestamp) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let object = &event.involved_object;
    let mut row = vec![
        event.namespace().unwrap_or_default(),
        time::last_seen(event, now),
        text(&event.type_),
        text(&event.reason),
        format!("{}/{}", text(&object.kind), text(&object.name)),
        text(&event.message),
    ];
    if !shows_namespace {
        row.remove(0);
    }
    row
}

fn as_manifest(event: &Event) -> Value {
    let mut value = serde_json::to_value(event).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value["apiVersion"] = "v1".into();
    value["kind"] = "Event".into();
    value
}
