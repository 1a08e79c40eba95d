//! Kubernetes Events (`v1`, the kind that `kubectl describe` and `flux events` read), written as client-go's recorder writes them:
//! equal ones are counted in one object, and one object cannot flood the API server.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::core::v1::{Event as CoreEvent, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::Instant;

/// Longest text of a Kubernetes Event, in bytes.
const MESSAGE_LIMIT: usize = 1024;

/// How many distinct events are remembered for counting.
const MEMORY: usize = 4096;

/// How many events one object may emit in a burst.
const BURST: f64 = 25.0;

/// How many more events per second one object may emit after a burst: one in five minutes.
const REFILL: f64 = 1.0 / 300.0;

/// An event on its way to the API server.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    pub(crate) involved: ObjectReference,
    pub(crate) kind: &'static str,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) at: Timestamp,
}

/// Writes events of one controller.
pub(crate) struct Writer {
    client: Client,
    controller: String,
    seen: HashMap<u64, Seen>,
    order: VecDeque<u64>,
    allowances: HashMap<String, Allowance>,
}

#[derive(Clone, Debug)]
struct Seen {
    name: String,
    count: i32,
}

struct Allowance {
    tokens: f64,
    at: Instant,
}

impl Writer {
    pub(crate) fn new(client: Client, controller: String) -> Self {
        Self {
            client,
            controller,
            seen: HashMap::new(),
            order: VecDeque::new(),
            allowances: HashMap::new(),
        }
    }

    /// Writes one event: a new object, or a higher count in the object of an equal one. Returns whether it was written, or left
    /// out because its object emits too many.
    pub(crate) async fn write(&mut self, mut notice: Notice) -> Result<bool, kube::Error> {
        cut(&mut notice.message);
        if !self.allows(&notice.involved) {
            return Ok(false);
        }
        let namespace = notice
            .involved
            .namespace
            .clone()
            .unwrap_or_else(|| "default".to_owned());
        let api: Api<CoreEvent> = Api::namespaced(self.client.clone(), &namespace);
        let hash = digest(&notice);
        if let Some(seen) = self.seen.get_mut(&hash) {
            let count = seen.count + 1;
            let patch = json!({ "count": count, "lastTimestamp": whole_seconds(notice.at) });
            match api
                .patch(&seen.name, &PatchParams::default(), &Patch::Merge(&patch))
                .await
            {
                Ok(_) => {
                    seen.count = count;
                    return Ok(true);
                }
                // The API server drops events after an hour.
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    self.seen.remove(&hash);
                }
                Err(error) => return Err(error),
            }
        }
        let event = self.event(notice, namespace);
        let name = event.metadata.name.clone().unwrap_or_default();
        api.create(&PostParams::default(), &event).await?;
        self.remember(hash, name);
        Ok(true)
    }

    fn event(&self, notice: Notice, namespace: String) -> CoreEvent {
        let at = whole_seconds(notice.at);
        let name = notice.involved.name.clone().unwrap_or_default();
        CoreEvent {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", notice.at.as_nanosecond())),
                namespace: Some(namespace),
                annotations: (!notice.annotations.is_empty()).then_some(notice.annotations),
                ..ObjectMeta::default()
            },
            involved_object: notice.involved,
            reason: Some(notice.reason),
            message: Some(notice.message),
            type_: Some(notice.kind.to_owned()),
            source: Some(EventSource {
                component: Some(self.controller.clone()),
                host: None,
            }),
            first_timestamp: Some(at.clone()),
            last_timestamp: Some(at),
            count: Some(1),
            reporting_component: Some(self.controller.clone()),
            reporting_instance: Some(String::new()),
            ..CoreEvent::default()
        }
    }

    fn remember(&mut self, hash: u64, name: String) {
        if self.order.len() == MEMORY
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        self.order.retain(|known| *known != hash);
        self.order.push_back(hash);
        self.seen.insert(hash, Seen { name, count: 1 });
    }

    fn allows(&mut self, involved: &ObjectReference) -> bool {
        let now = Instant::now();
        if self.allowances.len() > MEMORY {
            self.allowances
                .retain(|_, allowance| now.duration_since(allowance.at).as_secs_f64() * REFILL < BURST);
        }
        let key = involved.uid.clone().unwrap_or_default();
        let allowance = self.allowances.entry(key).or_insert(Allowance {
            tokens: BURST,
            at: now,
        });
        let refill = now.duration_since(allowance.at).as_secs_f64() * REFILL;
        allowance.tokens = (allowance.tokens + refill).min(BURST);
        allowance.at = now;
        let allowed = allowance.tokens >= 1.0;
        if allowed {
            allowance.tokens -= 1.0;
        }
        allowed
    }
}

fn digest(notice: &Notice) -> u64 {
    let mut hasher = DefaultHasher::new();
    let involved = &notice.involved;
    (
        &involved.kind,
        &involved.namespace,
        &involved.name,
        &involved.uid,
        &involved.api_version,
    )
        .hash(&mut hasher);
    (notice.kind, &notice.reason, &notice.message).hash(&mut hasher);
    hasher.finish()
}

fn whole_seconds(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

fn cut(message: &mut String) {
    if message.len() > MESSAGE_LIMIT {
        let end = message.floor_char_boundary(MESSAGE_LIMIT - 3);
        message.truncate(end);
        message.push_str("...");
    }
}
