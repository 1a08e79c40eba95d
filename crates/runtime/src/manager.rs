//! The manager: what a controller's process is made of, put together once.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use kube::core::PartialObjectMeta;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::client::{self, Availability, ClientOptions};
use crate::controller::{ControllerBuilder, Reconciler, Run};
use crate::error::RuntimeError;
use crate::events::{Recorder, RecorderOptions, RecorderTasks};
use crate::flags::CommonArgs;
use crate::lease::{Elector, Fence, LeaseOptions};
use crate::object::Watched;
use crate::server::{self, Health};
use crate::shutdown;
use crate::store::Store;
use crate::telemetry::{self, Metrics};
use crate::watch::{self, Scope};

/// How long the delivery of events may hold up the end of the process.
const FLUSH_TIME: Duration = Duration::from_secs(5);

/// How long blocking work may go on after everything else has ended.
const BLOCKING_TIME: Duration = Duration::from_secs(1);

/// How long a process may take to end beyond `--graceful-shutdown-timeout`: the last events are sent, and blocking
/// work is waited for. Both together must stay below the pod's termination grace period.
pub const ENDING_TIME: Duration = Duration::from_secs(FLUSH_TIME.as_secs() + BLOCKING_TIME.as_secs());

/// Holds what all controllers of a process share, and runs them.
pub struct Manager {
    controller: String,
    args: CommonArgs,
    client: Client,
    client_options: ClientOptions,
    metrics: Metrics,
    recorder: Recorder,
    recorder_tasks: RecorderTasks,
    health: Health,
    stop: CancellationToken,
    scope: Scope,
    stores: HashMap<(TypeId, Scope), Box<dyn Any + Send>>,
    watches: Vec<BoxFuture<'static, ()>>,
    synced: Vec<BoxFuture<'static, ()>>,
    controllers: Vec<Run>,
    services: Vec<Service>,
}

impl Manager {
    /// Connects to the API server and prepares everything that controllers share. Nothing runs yet but the delivery of events.
    ///
    /// # Errors
    /// If flags, client configuration or metrics are not usable.
    pub async fn new(controller: &str, version: &str, args: CommonArgs) -> Result<Self, RuntimeError> {
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let metrics = Metrics::new()?;
        let client_options = ClientOptions {
            user_agent: format!("{controller}/{version}"),
            qps: args.kube_api_qps,
            burst: args.kube_api_burst,
            fence: Fence::default(),
            availability: Availability::default(),
            kubeconfig: args.kubeconfig.clone(),
        };
        let client = client::connect(&client_options, &metrics).await?;
        Self::with_client(controller, args, client, client_options, metrics)
    }

    /// As [`Manager::new`], over a client that exists already.
    ///
    /// # Errors
    /// If flags are not usable.
    pub fn with_client(
        controller: &str,
        args: CommonArgs,
        client: Client,
        client_options: ClientOptions,
        metrics: Metrics,
    ) -> Result<Self, RuntimeError> {
        let options = RecorderOptions {
            controller: controller.to_owned(),
            events_address: args.events_addr.clone(),
        };
        let (recorder, recorder_tasks) = Recorder::start(client.clone(), options, metrics.clone())?;
        let labels = Some(args.watch_label_selector.clone()).filter(|labels| !labels.is_empty());
        let scope = Scope {
            namespace: args.watched_namespace()?,
            labels,
        };
        Ok(Self {
            controller: controller.to_owned(),
            args,
            client,
            client_options,
            metrics,
            recorder,
            recorder_tasks,
            health: Health::default(),
            stop: CancellationToken::new(),
            scope,
            stores: HashMap::new(),
            watches: Vec::new(),
            synced: Vec::new(),
            controllers: Vec::new(),
            services: Vec::new(),
        })
    }

    /// The shared flags.
    pub fn args(&self) -> &CommonArgs {
        &self.args
    }

    /// The client, as the controller itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The client's options, for clients of other clusters.
    pub fn client_options(&self) -> &ClientOptions {
        &self.client_options
    }

    /// The metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The event recorder.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The state behind `/readyz`.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// Cancelled when the process is told to stop. Cancelling it stops the process.
    pub fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// The store of a kind, watched as the flags say (namespace, label selector). The kind is watched once, however often it is asked
    /// for.
    pub fn watch<K: Watched>(&mut self) -> Store<K> {
        let scope = self.scope.clone();
        self.watch_in(scope)
    }

    /// The store of a kind in the watched namespaces, whatever labels its objects have: for kinds that the reconciled ones refer to.
    pub fn watch_referenced<K: Watched>(&mut self) -> Store<K> {
        let scope = Scope {
            labels: None,
            ..self.scope.clone()
        };
        self.watch_in(scope)
    }

    /// The store of a kind in a scope of its own.
    pub fn watch_in<K: Watched>(&mut self, scope: Scope) -> Store<K> {
        let (client, metrics) = (self.client.clone(), self.metrics.clone());
        self.watched(scope, |scope, store| {
            watch::watch::<K>(client, scope, store, metrics).boxed()
        })
    }

    /// The store of the metadata of a kind, of objects with matching labels in the watched namespaces: for ConfigMaps and Secrets that
    /// are labelled to be watched.
    pub fn watch_metadata<K: Watched>(&mut self, labels: &str) -> Store<PartialObjectMeta<K>> {
        let scope = Scope {
            labels: Some(labels.to_owned()),
            ..self.scope.clone()
        };
        let (client, metrics) = (self.client.clone(), self.metrics.clone());
        self.watched(scope, |scope, store| {
            watch::watch_metadata::<K>(client, scope, store, metrics).boxed()
        })
    }

    fn watched<K: Watched>(
        &mut self,
        scope: Scope,
        start: impl FnOnce(Scope, Store<K>) -> BoxFuture<'static, ()>,
    ) -> Store<K> {
        let key = (TypeId::of::<K>(), scope.clone());
        if let Some(store) = self
            .stores
            .get(&key)
            .and_then(|store| store.downcast_ref::<Store<K>>())
        {
            return store.clone();
        }
        let store = Store::<K>::default();
        self.watches.push(start(scope, store.clone()));
        let waiting = store.clone();
        self.synced.push(async move { waiting.synced().await }.boxed());
        self.stores.insert(key, Box::new(store.clone()));
        store
    }

    /// Adds a controller for the kind of this reconciler.
    pub fn controller<R: Reconciler>(&mut self, reconciler: R) -> ControllerBuilder<'_, R> {
        ControllerBuilder::new(self, reconciler)
    }

    pub(crate) fn add_controller(&mut self, run: Run) {
        self.controllers.push(run);
    }

    /// Adds a service that runs beside the controllers while the process leads, such as a file server. The process stops
    /// if it ends.
    pub fn service(
        &mut self,
        name: impl Into<String>,
        service: impl Future<Output = Result<(), RuntimeError>> + Send + 'static,
    ) {
        self.services.push((name.into(), service.boxed()));
    }

    /// Runs everything until SIGTERM, SIGINT, the failure of a service or the loss of leadership.
    ///
    /// # Errors
    /// If an address cannot be listened on, a service failed, or leadership was lost.
    pub async fn run(self) -> Result<(), RuntimeError> {
        let stop = self.stop.clone();
        shutdown::cancel_on_signal(stop.clone()).map_err(|source| RuntimeError::Listen {
            flag: "signals",
            address: "SIGTERM".to_owned(),
            source,
        })?;
        let ended = CancellationToken::new();
        let metrics_listener = server::listen("--metrics-addr", &self.args.metrics_addr).await?;
        let health_listener = server::listen("--health-addr", &self.args.health_addr).await?;
        let mut background = JoinSet::new();
        background.spawn(server::serve_metrics(
            metrics_listener,
            self.metrics.clone(),
            ended.clone(),
        ));
        background.spawn(server::serve_health(
            health_listener,
            self.health.clone(),
            ended.clone(),
        ));
        let availability = self.client_options.availability.clone();
        background.spawn(availability.probe(self.client.clone()));
        for watch in self.watches {
            background.spawn(watch);
        }
        let lease = LeaseOptions::new(&self.controller, &self.args, self.client.default_namespace());
        let mut elector = None;
        if self.args.leader_election.enable_leader_election {
            self.metrics.leads(&lease.name, false);
            // A follower is ready: it stands by.
            self.health.set_ready(true);
            let mut candidate = Elector::new(
                self.client.clone(),
                lease.clone(),
                self.client_options.fence.clone(),
            );
            if stop.run_until_cancelled(candidate.acquire()).await.is_some() {
                self.metrics.leads(&lease.name, true);
                self.health.set_ready(false);
                elector = Some(candidate);
            }
        }
        let mut lead = Lead {
            services: JoinSet::new(),
            controllers: JoinSet::new(),
        };
        if !stop.is_cancelled() {
            lead.start(self.services, self.controllers, self.synced, &self.health, &stop);
        }
        let failure = lead.run(elector.as_mut(), &stop).await;
        self.health.set_ready(false);
        drop(self.recorder);
        self.recorder_tasks.flush(FLUSH_TIME).await;
        if let Some(mut elector) = elector
            && !matches!(failure, Some(RuntimeError::LeadershipLost))
        {
            elector.release().await;
        }
        ended.cancel();
        background.shutdown().await;
        info!("stopped");
        failure.map_or(Ok(()), Err)
    }
}

type Service = (String, BoxFuture<'static, Result<(), RuntimeError>>);

/// What runs only while the process leads.
struct Lead {
    services: JoinSet<(String, Result<(), RuntimeError>)>,
    controllers: JoinSet<()>,
}

impl Lead {
    /// Starts services at once, and controllers when the stores are filled.
    fn start(
        &mut self,
        services: Vec<Service>,
        controllers: Vec<Run>,
        synced: Vec<BoxFuture<'static, ()>>,
        health: &Health,
        stop: &CancellationToken,
    ) {
        for (name, service) in services {
            self.services.spawn(async move { (name, service.await) });
        }
        let (health, stop) = (health.clone(), stop.clone());
        self.controllers.spawn(async move {
            if stop
                .run_until_cancelled(futures::future::join_all(synced))
                .await
                .is_some()
            {
                health.set_ready(true);
                info!("the caches are filled, starting workers");
                futures::future::join_all(controllers.into_iter().map(|run| run(stop.clone()))).await;
            }
        });
    }

    /// Waits for the end, and ends everything. While reconciles end, the lease is still renewed.
    async fn run(mut self, elector: Option<&mut Elector>, stop: &CancellationToken) -> Option<RuntimeError> {
        let lost = async {
            match elector {
                Some(elector) => elector.hold().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(lost);
        let failure = tokio::select! {
            () = stop.cancelled() => None,
            Some(ended) = self.services.join_next() => service_failure(ended),
            () = &mut lost => Some(RuntimeError::LeadershipLost),
        };
        stop.cancel();
        if matches!(failure, Some(RuntimeError::LeadershipLost)) {
            // Another process may lead already: nothing may go on.
            error!("leader election lost");
            self.controllers.shutdown().await;
            self.services.shutdown().await;
            return failure;
        }
        let drained = async { while self.controllers.join_next().await.is_some() {} };
        tokio::select! {
            () = drained => {}
            () = &mut lost => self.controllers.abort_all(),
        }
        self.services.shutdown().await;
        failure
    }
}

fn service_failure(
    ended: Result<(String, Result<(), RuntimeError>), tokio::task::JoinError>,
) -> Option<RuntimeError> {
    match ended {
        Ok((name, Ok(()))) => Some(RuntimeError::TaskEnded(name)),
        Ok((_, Err(error))) => Some(error),
        Err(error) => Some(RuntimeError::TaskEnded(error.to_string())),
    }
}

/// Runs a controller's process: starts logging, connects, lets `setup` register controllers and services, and runs until a signal.
///
/// The process's exit code: 0 after a signal, 1 after a failure.
pub fn launch<F>(
    controller: &'static str,
    version: &'static str,
    args: CommonArgs,
    setup: impl FnOnce(Manager) -> F,
) -> ExitCode
where
    F: Future<Output = Result<Manager, RuntimeError>>,
{
    telemetry::initialize(args.log_options());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            error!(logger = "setup", %error, "unable to start the asynchronous runtime");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        info!(logger = "setup", version, "starting {controller}");
        let manager = Manager::new(controller, version, args).await?;
        setup(manager).await?.run().await
    });
    runtime.shutdown_timeout(BLOCKING_TIME);
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!(logger = "setup", %error, "{controller} cannot go on");
            ExitCode::FAILURE
        }
    }
}
