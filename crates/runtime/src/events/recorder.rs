//! The recorder: takes events, and delivers them in the background.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::jiff;
use kube::{Client, Resource, ResourceExt};
use sluice_api::annotations::EVENT_PREFIX;
use sluice_api::meta::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{Span, debug, error, trace};

use super::kubernetes::{Notice, Writer};
use super::webhook::{EventDocument, Webhook};
use super::{Event, Severity};
use crate::error::RuntimeError;
use crate::telemetry::Metrics;

/// How many events wait for delivery, per queue, before further ones are dropped.
const CAPACITY: usize = 1024;

/// How many events are posted at once. Those of one object are posted one after the other, in their order.
const LANES: usize = 4;

/// What a recorder needs.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// The controller's name, as it appears in events.
    pub controller: String,
    /// Base address of notification-controller (`--events-addr`); empty: Kubernetes Events only.
    pub events_address: String,
}

/// Emits events. Cheap to clone; all clones deliver through the same queues.
#[derive(Clone)]
pub struct Recorder {
    controller: String,
    instance: String,
    notices: mpsc::Sender<Notice>,
    lanes: Vec<mpsc::Sender<(EventDocument, Span)>>,
    metrics: Metrics,
}

/// The tasks behind a recorder.
#[derive(Debug)]
pub struct RecorderTasks {
    tasks: Vec<JoinHandle<()>>,
    closing: CancellationToken,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Recorder")
            .field("controller", &self.controller)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// Starts a recorder.
    ///
    /// # Errors
    /// [`RuntimeError::Configuration`] if the events address is no URL.
    pub fn start(
        client: Client,
        options: RecorderOptions,
        metrics: Metrics,
    ) -> Result<(Self, RecorderTasks), RuntimeError> {
        let closing = CancellationToken::new();
        let (notices, queue) = mpsc::channel(CAPACITY);
        let writer = Writer::new(client, options.controller.clone());
        let mut tasks = vec![tokio::spawn(write_notices(
            writer,
            Inbox::new(queue, &closing),
            metrics.clone(),
        ))];
        let mut lanes = Vec::new();
        if !options.events_address.is_empty() {
            let webhook = webhook(&options.events_address)?;
            for _ in 0..LANES {
                let (sender, queue) = mpsc::channel(CAPACITY);
                let inbox = Inbox::new(queue, &closing);
                tasks.push(tokio::spawn(post_documents(
                    webhook.clone(),
                    inbox,
                    metrics.clone(),
                )));
                lanes.push(sender);
            }
        }
        let recorder = Self {
            controller: options.controller,
            instance: host_name(),
            notices,
            lanes,
            metrics,
        };
        Ok((recorder, RecorderTasks { tasks, closing }))
    }

    /// Emits an event on an object: its `event.toolkit.fluxcd.io/` annotations join the event's metadata.
    pub fn emit<K: Resource<DynamicType = ()>>(&self, object: &K, event: Event) {
        let involved = reference(object);
        let mut metadata = event.metadata;
        metadata.extend(
            object
                .annotations()
                .iter()
                .filter(|(key, _)| key.starts_with(EVENT_PREFIX))
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        trace!(reason = event.reason, annotations = ?metadata, "{}", event.message);
        let kind = if event.severity == Severity::Error {
            "Warning"
        } else {
            "Normal"
        };
        let notice = Notice {
            involved: involved.clone(),
            kind,
            reason: event.reason.clone(),
            message: event.message.clone(),
            annotations: metadata.clone(),
            at: jiff::Timestamp::now(),
        };
        if self.notices.try_send(notice).is_err() {
            self.metrics.event_dropped("kubernetes");
        }
        let severity = match event.severity {
            Severity::Trace => return,
            Severity::Info => "info",
            Severity::Error => "error",
        };
        if let Some(lane) = self.lane(&involved) {
            let document = self.document(involved, severity, event.reason, &event.message, metadata);
            if lane.try_send((document, Span::current())).is_err() {
                self.metrics.event_dropped("webhook");
            }
        }
    }

    fn lane(&self, involved: &ObjectReference) -> Option<&mpsc::Sender<(EventDocument, Span)>> {
        let mut hasher = DefaultHasher::new();
        (&involved.kind, &involved.namespace, &involved.name).hash(&mut hasher);
        let count = u64::try_from(self.lanes.len()).ok().filter(|count| *count > 0)?;
        self.lanes.get(usize::try_from(hasher.finish() % count).ok()?)
    }

    fn document(
        &self,
        involved_object: ObjectReference,
        severity: &'static str,
        reason: String,
        message: &str,
        metadata: BTreeMap<String, String>,
    ) -> EventDocument {
        EventDocument {
            involved_object,
            severity,
            timestamp: Timestamp::now(),
            message: EventDocument::cut_message(message),
            reason,
            metadata,
            reporting_controller: self.controller.clone(),
            reporting_instance: self.instance.clone(),
        }
    }
}

impl RecorderTasks {
    /// Delivers what has been emitted so far, but for no longer than `limit`. What is emitted from now on is dropped.
    pub async fn flush(self, limit: Duration) {
        self.closing.cancel();
        let all = futures::future::join_all(self.tasks);
        if tokio::time::timeout(limit, all).await.is_err() {
            error!("events were still undelivered when the process had to end");
        }
    }
}

/// A queue that can be closed from outside while senders are still there.
struct Inbox<T> {
    queue: mpsc::Receiver<T>,
    closing: CancellationToken,
}

impl<T> Inbox<T> {
    fn new(queue: mpsc::Receiver<T>, closing: &CancellationToken) -> Self {
        Self {
            queue,
            closing: closing.clone(),
        }
    }

    /// The next entry; `None` once the queue is closed and empty.
    async fn next(&mut self) -> Option<T> {
        if !self.closing.is_cancelled() {
            tokio::select! {
                entry = self.queue.recv() => return entry,
                () = self.closing.cancelled() => {}
            }
        }
        self.queue.close();
        self.queue.recv().await
    }
}

async fn write_notices(mut writer: Writer, mut inbox: Inbox<Notice>, metrics: Metrics) {
    while let Some(notice) = inbox.next().await {
        let reason = notice.reason.clone();
        match writer.write(notice).await {
            Ok(true) => {}
            Ok(false) => metrics.event_dropped("kubernetes"),
            Err(failure) => debug!(reason, error = %failure, "unable to write the Kubernetes Event"),
        }
    }
}

async fn post_documents(webhook: Webhook, mut inbox: Inbox<(EventDocument, Span)>, metrics: Metrics) {
    while let Some((document, span)) = inbox.next().await {
        if let Err(failure) = webhook.post(&document).await {
            metrics.event_dropped("webhook");
            span.in_scope(|| error!(error = %failure, "unable to record event"));
        }
    }
}

fn webhook(address: &str) -> Result<Webhook, RuntimeError> {
    let invalid = |message: String| RuntimeError::Configuration {
        name: "--events-addr".to_owned(),
        message,
    };
    let url = url::Url::parse(address).map_err(|error| {
        invalid(format!(
            "'{address}' is not a URL ({error}); give one such as http://notification-controller/"
        ))
    })?;
    Webhook::new(url).map_err(|error| invalid(error.to_string()))
}

/// The reference by which events name an object.
pub(crate) fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        namespace: object.namespace(),
        name: object.meta().name.clone(),
        uid: object.uid(),
        resource_version: object.resource_version(),
        field_path: None,
    }
}

/// The host's name: the Pod's, in a cluster.
pub(crate) fn host_name() -> String {
    std::env::var("HOSTNAME")
        .ok()
        .filter(|name| !name.is_empty())
        .or_else(|| std::fs::read_to_string("/proc/sys/kernel/hostname").ok())
        .map(|name| name.trim().to_owned())
        .unwrap_or_default()
}
