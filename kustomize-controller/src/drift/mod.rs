//! Drift that is corrected when it happens: watches on the metadata of managed objects, which ring for the
//! Kustomization that manages them.
//!
//! A watch is a doorbell. It runs as the controller itself and decides nothing: what it rings for is an ordinary
//! reconcile under the Kustomization's own identity, with all its rules. One watch serves all objects of a kind;
//! it begins when the first object of the kind is applied and ends with the last one.

mod fight;
mod ledger;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use kube::{Client, ResourceExt as _};
use sluice_api::annotations::WATCH_MANAGED_OBJECTS;
use sluice_api::annotations::kustomize::{DISABLED, ENABLED};
use sluice_api::kustomize::{GROUP, Kustomization};
use sluice_api::labels::KUSTOMIZE_NAME;
use sluice_apply::{ChangeSet, Discovery, ManagerPattern, Mark, MarkRules, ObjectId, last_writer};
use sluice_runtime::controller::Controller;
use sluice_runtime::telemetry::Metrics;
use sluice_runtime::watch::{Notice, Scope, watch_kind};
use sluice_runtime::{Cause, ObjectKey, RuntimeError};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;
use tracing::{debug, info};

use crate::metrics::OwnMetrics;
pub(crate) use ledger::Report;
use ledger::{Kind, Ledger, Left, Ring, Seen};

/// The pause before a kind that the cluster does not serve is looked for again.
const LOOK: Duration = Duration::from_secs(30);

/// What counts on managed objects, for a field manager that takes over the fields of others.
pub(crate) fn mark_rules(manager: &str, taken_over: Vec<ManagerPattern>) -> MarkRules {
    MarkRules {
        manager: manager.to_owned(),
        taken_over,
        label: KUSTOMIZE_NAME.to_owned(),
        switches: format!("{GROUP}/"),
    }
}

/// The watches, and the book they are compared with.
#[derive(Debug)]
pub(crate) struct DriftWatch {
    /// Whether objects are watched where the Kustomization does not say.
    by_default: bool,
    metrics: OwnMetrics,
    ledger: Mutex<Ledger>,
    /// Something may have to be started, stopped or rung.
    changed: Notify,
}

impl DriftWatch {
    /// Watches that are on or off by default.
    pub(crate) fn new(by_default: bool, metrics: OwnMetrics) -> Self {
        Self {
            by_default,
            metrics,
            ledger: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Whether the objects of a Kustomization are to be watched: those of other clusters are not.
    pub(crate) fn is_on(&self, object: &Kustomization) -> bool {
        let asked = object.annotations().get(WATCH_MANAGED_OBJECTS);
        let on = match asked {
            Some(value) if value.eq_ignore_ascii_case(ENABLED) => true,
            Some(value) if value.eq_ignore_ascii_case(DISABLED) => false,
            _ => self.by_default,
        };
        on && object.spec.kube_config.is_none()
    }

    /// A reconcile begins; it ends when what is returned is dropped.
    pub(crate) fn begin(self: &Arc<Self>, object: &Kustomization) -> Reconciling {
        let key = ObjectKey::of(object);
        let on = self.is_on(object);
        if on {
            self.ledger().begin(&key);
        } else {
            self.forget(&key);
        }
        Reconciling {
            watch: on.then(|| Arc::clone(self)),
            key,
            settled: false,
        }
    }

    /// Drops what is known of a Kustomization.
    pub(crate) fn forget(&self, key: &ObjectKey) {
        self.ledger().forget(key);
        self.changed.notify_one();
    }

    /// Runs the watches and rings, until it is dropped.
    pub(crate) async fn run(
        self: Arc<Self>,
        client: Client,
        metrics: Metrics,
        controller: Arc<Controller<Kustomization>>,
        rules: MarkRules,
    ) -> Result<(), RuntimeError> {
        let discovery = Arc::new(Discovery::new(client.clone()));
        let mut tasks = JoinSet::new();
        let mut running: HashMap<Kind, AbortHandle> = HashMap::new();
        let mut known = None;
        loop {
            let version = self.ledger().kinds_version();
            if known != Some(version) {
                known = Some(version);
                let wanted: HashMap<Kind, String> = self
                    .ledger()
                    .kinds()
                    .map(|(kind, version)| (kind.clone(), version.to_owned()))
                    .collect();
                running.retain(|kind, task| {
                    let kept = wanted.contains_key(kind) && !task.is_finished();
                    if !kept {
                        debug!(kind = kind.kind, "the watch ends");
                        task.abort();
                    }
                    kept
                });
                for (kind, version) in wanted {
                    running.entry(kind.clone()).or_insert_with(|| {
                        debug!(kind = kind.kind, "watching managed objects");
                        let look = Look {
                            watch: Arc::clone(&self),
                            client: client.clone(),
                            discovery: Arc::clone(&discovery),
                            metrics: metrics.clone(),
                            rules: rules.clone(),
                            kind,
                            version,
                        };
                        tasks.spawn(look.run())
                    });
                }
            }
            self.metrics
                .watched_kinds
                .set(crate::metrics::gauge(running.len()));
            self.metrics
                .watched_objects
                .set(crate::metrics::gauge(self.ledger().len()));
            let rings = self.ledger().ring(Instant::now());
            rings.into_iter().for_each(|ring| answer(&controller, ring));
            let due = self.ledger().next_due();
            let timer = async {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = timer => {}
                // One that has panicked is begun anew.
                Some(_) = tasks.join_next(), if !tasks.is_empty() => known = None,
            }
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observe(&self, id: &ObjectId, seen: Seen, manager: Option<&str>) {
        if self.ledger().observe(id, seen, manager, Instant::now()) {
            self.changed.notify_one();
        }
    }
}

/// Rings for a Kustomization, unless it is suspended or being deleted.
fn answer(controller: &Controller<Kustomization>, Ring { key, objects }: Ring) {
    let Some(object) = controller.store.get(&key) else {
        return;
    };
    if object.spec.suspend || object.metadata.deletion_timestamp.is_some() {
        return;
    }
    let shown: Vec<String> = objects.iter().take(10).map(|(id, _)| id.subject()).collect();
    let managers: BTreeSet<&str> = objects
        .iter()
        .filter_map(|(_, manager)| manager.as_deref())
        .collect();
    info!(
        namespace = key.namespace,
        name = key.name,
        count = objects.len(),
        objects = shown.join(", "),
        managers = managers.into_iter().collect::<Vec<_>>().join(", "),
        "managed objects were changed by others, reconciling"
    );
    controller.queue.add(key, Cause::Drift);
}

/// A reconcile under way, whose own writes must not ring.
pub(crate) struct Reconciling {
    /// `None` where nothing is watched.
    watch: Option<Arc<DriftWatch>>,
    key: ObjectKey,
    settled: bool,
}

impl Reconciling {
    /// Whether objects are watched, so that their state has to be noted.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Everything was applied. Returns the fights that have to be reported.
    pub(crate) fn settle(&mut self, changes: &ChangeSet) -> Vec<Report> {
        let Some(watch) = &self.watch else {
            return Vec::new();
        };
        let left = changes.iter().filter_map(|change| {
            Some(Left {
                id: change.id.clone(),
                version: change.version.clone(),
                mark: change.mark?,
            })
        });
        self.settled = true;
        let mut ledger = watch.ledger();
        ledger.settle(&self.key, left.collect());
        ledger.reports(&self.key)
    }
}

impl Drop for Reconciling {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.ledger().end(&self.key, self.settled);
            watch.changed.notify_one();
        }
    }
}

/// The watch on one kind.
struct Look {
    watch: Arc<DriftWatch>,
    client: Client,
    discovery: Arc<Discovery>,
    metrics: Metrics,
    rules: MarkRules,
    kind: Kind,
    version: String,
}

impl Look {
    async fn run(self) {
        let resource = loop {
            let Kind { group, kind } = &self.kind;
            match self.discovery.find(group, &self.version, kind).await {
                Ok(Some(found)) => break found,
                Ok(None) => debug!(kind, "the cluster does not serve the kind"),
                Err(error) => debug!(kind, %error, "cannot tell how the kind is served"),
            }
            tokio::time::sleep(LOOK).await;
        };
        let resource = ApiResource {
            api_version: resource.api_version(),
            group: resource.group,
            version: resource.version,
            kind: resource.kind,
            plural: resource.plural,
        };
        let scope = Scope {
            namespace: None,
            labels: Some(KUSTOMIZE_NAME.to_owned()),
        };
        let mut listed: HashSet<ObjectId> = HashSet::new();
        let (client, metrics) = (self.client.clone(), self.metrics.clone());
        watch_kind(client, resource, scope, metrics, |notice| match notice {
            Notice::ListingBegins => listed.clear(),
            Notice::Listed(metadata) => {
                listed.insert(self.id(&metadata));
                self.changed(&metadata);
            }
            Notice::ListingEnds => {
                let held = self.watch.ledger().held(&self.kind);
                for id in held.iter().filter(|id| !listed.contains(*id)) {
                    self.watch.observe(id, Seen::Gone(None), None);
                }
                listed = HashSet::new();
            }
            Notice::Changed(metadata) => self.changed(&metadata),
            Notice::Gone(metadata) => {
                let version = metadata.resource_version.as_deref();
                let seen = Seen::Gone(version.and_then(|version| version.parse().ok()));
                let writer = last_writer(&metadata, &self.rules);
                self.watch.observe(&self.id(&metadata), seen, writer.as_deref());
            }
        })
        .await;
    }

    fn changed(&self, metadata: &ObjectMeta) {
        let ignored = metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(WATCH_MANAGED_OBJECTS));
        if ignored.is_some_and(|value| value.eq_ignore_ascii_case(DISABLED)) {
            return;
        }
        if let Some(mark) = Mark::of_metadata(metadata, &self.rules) {
            let writer = last_writer(metadata, &self.rules);
            self.watch
                .observe(&self.id(metadata), Seen::Changed(mark), writer.as_deref());
        }
    }

    fn id(&self, metadata: &ObjectMeta) -> ObjectId {
        ObjectId {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            group: self.kind.group.clone(),
            kind: self.kind.kind.clone(),
        }
    }
}
