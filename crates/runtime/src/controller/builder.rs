//! Wires a reconciler to its watches, its queue and the changes that wake its objects.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Resource;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::error;

use super::metadata::MetadataWriter;
use super::worker::{Names, Worker};
use super::{Object, Reconciler};
use crate::client::Returns;
use crate::jitter::Jitter;
use crate::manager::Manager;
use crate::object::{ObjectKey, Reference, Watched};
use crate::queue::{Cause, WorkQueue};
use crate::status::StatusWriter;
use crate::store::{Change, Store};
use crate::watch::{Index, Triggers};

/// The least time between two returns of the API server that count: a connection that comes and goes must not undo every back-off.
const BETWEEN_RETURNS: Duration = Duration::from_secs(5);

/// A controller under construction; made by [`Manager::controller`].
#[must_use = "a controller starts only after register()"]
pub struct ControllerBuilder<'m, R: Reconciler> {
    manager: &'m mut Manager,
    reconciler: Arc<R>,
    concurrency: usize,
    references: Option<References<R::Object>>,
    wakes: Vec<Wake>,
}

type References<K> = Box<dyn Fn(&K) -> Vec<Reference> + Send + Sync>;
type Wake = Box<dyn FnOnce(&WorkQueue<ObjectKey>, &Index)>;

/// A registered controller: what its own code may need beside the reconciler.
#[derive(Debug)]
pub struct Controller<K> {
    /// The overlaid store of the kind.
    pub store: Store<K>,
    /// The queue: [`WorkQueue::add`] rings for an object.
    pub queue: WorkQueue<ObjectKey>,
    /// Who refers to whom.
    pub index: Index,
}

/// A controller that is ready to run.
pub(crate) type Run = Box<dyn FnOnce(CancellationToken) -> BoxFuture<'static, usize> + Send>;

impl<'m, R: Reconciler> ControllerBuilder<'m, R> {
    pub(crate) fn new(manager: &'m mut Manager, reconciler: R) -> Self {
        let concurrency = manager.args().concurrent;
        Self {
            manager,
            reconciler: Arc::new(reconciler),
            concurrency,
            references: None,
            wakes: Vec::new(),
        }
    }

    /// Reconciles this many objects at once, instead of `--concurrent`.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Says what an object refers to: sources, dependencies, ConfigMaps, Secrets. A change of one of them, as far as
    /// [`ControllerBuilder::wakes`] asks for it, wakes the object.
    pub fn references(
        mut self,
        references: impl Fn(&R::Object) -> Vec<Reference> + Send + Sync + 'static,
    ) -> Self {
        self.references = Some(Box::new(references));
        self
    }

    /// Wakes the objects that refer to an object of another kind (or of the same one) when that changes and `notable` says that the
    /// change is of interest. `store` comes from [`Manager::watch`] or [`Manager::watch_metadata`].
    pub fn wakes<K: Watched>(
        mut self,
        store: &Store<K>,
        cause: Cause,
        notable: impl Fn(&Change<K>) -> bool + Send + Sync + 'static,
    ) -> Self {
        let store = store.clone();
        self.wakes.push(Box::new(move |queue, index| {
            let (queue, index, kind) = (queue.clone(), index.clone(), K::kind(&()).into_owned());
            store.subscribe(move |change| {
                if notable(change) {
                    let changed = Reference {
                        kind: kind.clone(),
                        key: change.key.clone(),
                    };
                    for dependant in index.dependants(&changed) {
                        queue.add(dependant, cause);
                    }
                }
            });
        }));
        self
    }

    /// Registers the controller with the manager, which runs it.
    pub fn register(self) -> Controller<R::Object> {
        let Self {
            manager,
            reconciler,
            concurrency,
            references,
            wakes,
        } = self;
        let names = Names::of::<R::Object>();
        let store = manager.watch::<R::Object>();
        let observer = manager.metrics().queue(&names.controller, concurrency);
        let queue = WorkQueue::new(manager.args().backoff(), Some(Box::new(observer)));
        let index = Index::default();
        ring_on_changes(&store, &queue, &index, references);
        for wake in wakes {
            wake(&queue, &index);
        }
        let policy = reconciler.policy();
        let client = manager.client().clone();
        let worker = Arc::new(Worker {
            names,
            store: store.clone(),
            queue: queue.clone(),
            status: StatusWriter::new(
                client.clone(),
                store.clone(),
                policy.field_manager.clone(),
                policy.owned_conditions,
            ),
            metadata: MetadataWriter::new(client, store.clone(), policy.field_manager.clone()),
            recorder: manager.recorder().clone(),
            metrics: manager.metrics().clone(),
            jitter: Jitter::new(manager.args().interval_jitter_percentage),
            shutdown: manager.stop_token().clone(),
            waits: Mutex::new(HashMap::new()),
            reconciler,
        });
        let grace = manager.args().graceful_shutdown_timeout;
        let run_queue = queue.clone();
        let returns = manager.client_options().availability.returns();
        let run: Run = Box::new(move |stop| {
            async move {
                let kind = worker.names.kind.clone();
                let work = run_queue.run(concurrency, stop, grace, move |job| {
                    let worker = Arc::clone(&worker);
                    async move { worker.run(job).await }
                });
                let dropped = tokio::select! {
                    dropped = work => dropped,
                    never = wake_on_return(run_queue.clone(), returns) => match never {},
                };
                if dropped > 0 {
                    error!(
                        kind,
                        dropped, "reconciles had to be cut short because they did not end in time"
                    );
                }
                dropped
            }
            .boxed()
        });
        manager.add_controller(run);
        Controller { store, queue, index }
    }
}

/// Wakes what failed each time that the API server has come back: whatever it failed of, the outage may have been the cause, and a
/// back-off that grew meanwhile would only prolong it.
async fn wake_on_return(queue: WorkQueue<ObjectKey>, mut returns: Returns) -> Infallible {
    loop {
        returns.next().await;
        queue.wake_failed();
        sleep(BETWEEN_RETURNS).await;
    }
}

/// The index is brought up to date before the queue is rung: an object's references are registered before its reconcile reads them.
fn ring_on_changes<K: Object>(
    store: &Store<K>,
    queue: &WorkQueue<ObjectKey>,
    index: &Index,
    references: Option<References<K>>,
) {
    let (queue, index, triggers) = (queue.clone(), index.clone(), Triggers::default());
    store.subscribe(move |change| {
        if let Some(references) = &references {
            match &change.after {
                Some(object) => index.set(&change.key, references(object)),
                None => index.remove(&change.key),
            }
        }
        let causes = triggers.causes(change);
        if !causes.is_empty() {
            queue.add(change.key.clone(), causes);
        }
    });
}

/// The kind of an object type, as references name it.
pub fn kind_of<K: Resource<DynamicType = ()>>() -> String {
    K::kind(&()).into_owned()
}
