//! The API server's audit log as a request counter: the noise-free measure of how much a controller asks.
//!
//! Every request counts once: a watch when it starts, anything else when it is answered. The requests of the
//! control plane's own components are not in the log.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use serde::Deserialize;

use crate::{Error, Result};

/// The user agent of the requests by which positions in the log are found; they are left out of the counts.
pub(crate) const MARKER_USER_AGENT: &str = "sluice-testbed-marker";

/// How long the log may lag behind.
const LAG: Duration = Duration::from_secs(30);

/// A position in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// The log of one API server.
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
    client: MarkerClient,
}

#[derive(Clone)]
struct MarkerClient(Client);

impl std::fmt::Debug for MarkerClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Client")
    }
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf, client: Client) -> Self {
        Self {
            path,
            client: MarkerClient(client),
        }
    }

    /// The log's file: one JSON document of kind `Event` a line.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The present end of the log: everything answered before the call lies before it.
    pub async fn mark(&self) -> Result<Mark> {
        let start = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let (_, end) = self.read_to_marker(start).await?;
        Ok(Mark(end))
    }

    /// All requests since a mark that were answered before the call.
    pub async fn since(&self, mark: Mark) -> Result<Requests> {
        let (text, _) = self.read_to_marker(mark.0).await?;
        let mut requests = Vec::new();
        for line in text.lines() {
            let event: Event =
                serde_json::from_str(line).map_err(Error::json(self.path.display().to_string()))?;
            if event.counts() {
                requests.push(event.into_request());
            }
        }
        Ok(Requests(requests))
    }

    /// All requests since a mark, as soon as there are enough of them: a watch can tell of a write before that
    /// is answered, so that what follows from the write may come before its line in the log.
    ///
    /// # Errors
    /// A log that cannot be read. When its time is up it gives the requests that there are, for the caller to judge.
    pub async fn since_with(&self, mark: Mark, enough: impl Fn(&Requests) -> bool) -> Result<Requests> {
        let began = Instant::now();
        loop {
            let requests = self.since(mark).await?;
            if enough(&requests) || began.elapsed() > LAG {
                return Ok(requests);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Makes a request that cannot be mistaken for another, and reads from a position up to its line, which
    /// is left out; returns also where the line ends. The log is written before a request is answered, so
    /// nothing that was answered before can come after.
    async fn read_to_marker(&self, start: u64) -> Result<(String, u64)> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let uri = format!("/testbed-marker/{}-{serial}", std::process::id());
        let request = http::Request::get(&uri)
            .body(Vec::new())
            .map_err(|error| Error::Answer {
                what: uri.clone(),
                answer: error.to_string(),
            })?;
        match self.client.0.request_text(request).await {
            // There is nothing at that path.
            Ok(_) | Err(kube::Error::Api(_)) => {}
            Err(error) => return Err(Error::kubernetes(uri)(error)),
        }
        let began = Instant::now();
        loop {
            let text = self.read_from(start)?;
            let mut offset = 0;
            for line in text.split_inclusive('\n') {
                if line.contains(&format!("\"{uri}\"")) && line.ends_with('\n') {
                    let end = start + (offset + line.len()) as u64;
                    return Ok((text[..offset].to_owned(), end));
                }
                offset += line.len();
            }
            if began.elapsed() > LAG {
                let what = format!("the audit event of {uri}");
                return Err(Error::Timeout {
                    what,
                    after: LAG,
                    last: format!("{} bytes since", text.len()),
                });
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn read_from(&self, start: u64) -> Result<String> {
        let what = || format!("read {}", self.path.display());
        let mut file = std::fs::File::open(&self.path).map_err(Error::io(what()))?;
        file.seek(SeekFrom::Start(start)).map_err(Error::io(what()))?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(Error::io(what()))?;
        Ok(String::from_utf8_lossy(&content).into_owned())
    }
}

/// One request to the API server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who asked, before impersonation.
    pub user: String,
    /// As whom, with impersonation.
    pub impersonated: Option<String>,
    /// The client's header.
    pub user_agent: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The API group, empty for the core one.
    pub group: String,
    /// The plural, such as `configmaps`; empty for what is no object, such as discovery.
    pub resource: String,
    /// Such as `status`; empty for the object itself.
    pub subresource: String,
    /// Empty for cluster-wide requests.
    pub namespace: String,
    /// Empty for requests about no single object.
    pub name: String,
    /// Path and query.
    pub uri: String,
    /// The HTTP status of the answer.
    pub code: u16,
}

impl Request {
    /// True for a server-side dry run, which stores nothing.
    pub fn is_dry_run(&self) -> bool {
        self.uri.contains("dryRun=All")
    }

    /// True for server-side apply.
    pub fn is_apply(&self) -> bool {
        self.verb == "patch" && self.uri.contains("fieldManager=") && self.uri.contains("force=")
    }

    /// `VERB RESOURCE[/SUBRESOURCE]`, with ` (dry run)` behind it where it is one; for other paths the path.
    pub fn label(&self) -> String {
        let mut label = if self.resource.is_empty() {
            format!("{} {}", self.verb, self.uri.split('?').next().unwrap_or_default())
        } else {
            format!("{} {}", self.verb, self.resource)
        };
        if !self.subresource.is_empty() {
            label = format!("{label}/{}", self.subresource);
        }
        if self.is_dry_run() {
            label.push_str(" (dry run)");
        }
        label
    }
}

/// Requests to be narrowed down and counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests(Vec<Request>);

impl Requests {
    /// Those whose user agent starts so.
    #[must_use]
    pub fn by_user_agent(&self, prefix: &str) -> Self {
        self.filter(|request| request.user_agent.starts_with(prefix))
    }

    /// Those of a verb.
    #[must_use]
    pub fn of_verb(&self, verb: &str) -> Self {
        self.filter(|request| request.verb == verb)
    }

    /// Those about a resource, such as `configmaps`, or about a subresource, such as `kustomizations/status`.
    #[must_use]
    pub fn on(&self, resource: &str) -> Self {
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        self.filter(|request| request.resource == resource && request.subresource == subresource)
    }

    /// Those in a namespace, and those about the namespace itself.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        self.filter(|request| request.namespace == namespace)
    }

    /// Those that create, change or delete something: no reads, no watches, no dry runs.
    #[must_use]
    pub fn writes(&self) -> Self {
        self.filter(|request| {
            !matches!(request.verb.as_str(), "get" | "head" | "list" | "watch") && !request.is_dry_run()
        })
    }

    /// Those for which a condition holds.
    #[must_use]
    pub fn filter(&self, condition: impl Fn(&Request) -> bool) -> Self {
        Self(
            self.0
                .iter()
                .filter(|request| condition(request))
                .cloned()
                .collect(),
        )
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// In the order of their answers.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.0.iter()
    }

    /// How many there are of each [label](Request::label), in alphabetical order: for assertions and snapshots.
    pub fn table(&self) -> BTreeMap<String, usize> {
        let mut table = BTreeMap::new();
        for request in &self.0 {
            *table.entry(request.label()).or_insert(0) += 1;
        }
        table
    }
}

/// A line of the log, as the API server writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    #[serde(default)]
    user: User,
    impersonated_user: Option<User>,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    object_ref: ObjectReference,
    #[serde(default)]
    response_status: ResponseStatus,
}

#[derive(Debug, Default, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ObjectReference {
    resource: String,
    namespace: String,
    name: String,
    api_group: String,
    subresource: String,
}

#[derive(Debug, Default, Deserialize)]
struct ResponseStatus {
    #[serde(default)]
    code: u16,
}

impl Event {
    /// Streams are in the log when they start and when they end; the start counts.
    fn counts(&self) -> bool {
        let starts = self.verb == "watch" && self.stage == "ResponseStarted";
        // A watch that was refused has no start.
        let refused =
            self.verb == "watch" && self.stage == "ResponseComplete" && self.response_status.code >= 400;
        let answered = self.verb != "watch" && self.stage == "ResponseComplete";
        (starts || refused || answered || self.stage == "Panic") && self.user_agent != MARKER_USER_AGENT
    }

    fn into_request(self) -> Request {
        Request {
            user: self.user.username,
            impersonated: self.impersonated_user.map(|user| user.username),
            user_agent: self.user_agent,
            verb: self.verb,
            group: self.object_ref.api_group,
            resource: self.object_ref.resource,
            subresource: self.object_ref.subresource,
            namespace: self.object_ref.namespace,
            name: self.object_ref.name,
            uri: self.request_uri,
            code: self.response_status.code,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(verb: &str, stage: &str, code: u16) -> Event {
        let json = serde_json::json!({
            "stage": stage, "requestURI": "/api/v1/namespaces/a/configmaps/x?dryRun=All&fieldManager=m&force=true",
            "verb": verb, "userAgent": "agent/1", "user": {"username": "admin"},
            "objectRef": {"resource": "configmaps", "namespace": "a", "name": "x", "apiVersion": "v1"},
            "responseStatus": {"code": code},
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn watch_counts_at_its_start_and_others_at_their_end() {
        assert!(event("watch", "ResponseStarted", 200).counts());
        assert!(!event("watch", "ResponseComplete", 200).counts());
        assert!(event("watch", "ResponseComplete", 403).counts());
        assert!(event("get", "ResponseComplete", 200).counts());
        assert!(!event("get", "ResponseStarted", 200).counts());
    }

    #[test]
    fn requests_are_narrowed_down_and_labelled() {
        let requests = Requests(vec![
            event("patch", "ResponseComplete", 200).into_request(),
            event("get", "ResponseComplete", 404).into_request(),
            event("get", "ResponseComplete", 200).into_request(),
        ]);
        assert_eq!(requests.by_user_agent("agent/").count(), 3);
        assert_eq!(requests.by_user_agent("other").count(), 0);
        assert_eq!(requests.on("configmaps").of_verb("get").count(), 2);
        assert_eq!(requests.on("configmaps/status").count(), 0);
        assert_eq!(
            requests.of_verb("patch").writes().count(),
            0,
            "a dry run writes nothing"
        );
        let table = requests.table();
        assert_eq!(table["patch configmaps (dry run)"], 1);
        assert_eq!(table["get configmaps (dry run)"], 2);
    }
}
