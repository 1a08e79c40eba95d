//! Metrics under the names that dashboards made for Flux look for.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{
    CounterVec, Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts,
    Registry, TextEncoder, exponential_buckets,
};

use super::process::Process;
use crate::object::ObjectKey;
use crate::queue::QueueObserver;

/// The process's metrics. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    inner: Arc<Families>,
}

#[derive(Debug)]
struct Families {
    registry: Registry,
    duration: HistogramVec,
    reconciles: IntCounterVec,
    errors: IntCounterVec,
    panics: IntCounterVec,
    seconds: HistogramVec,
    active: GaugeVec,
    concurrency: GaugeVec,
    depth: GaugeVec,
    adds: IntCounterVec,
    retries: IntCounterVec,
    queued: HistogramVec,
    worked: HistogramVec,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    dropped_events: IntCounterVec,
    watch_errors: CounterVec,
    malformed: IntCounterVec,
    leading: GaugeVec,
    process: Process,
}

macro_rules! register {
    ($registry:expr, $family:ident, $name:literal, $help:literal, $labels:expr) => {{
        let family = $family::new(Opts::new($name, $help), &$labels)?;
        $registry.register(Box::new(family.clone()))?;
        family
    }};
    ($registry:expr, $name:literal, $help:literal, $labels:expr, $buckets:expr) => {{
        let options = HistogramOpts::new($name, $help).buckets($buckets);
        let family = HistogramVec::new(options, &$labels)?;
        $registry.register(Box::new(family.clone()))?;
        family
    }};
}

impl Metrics {
    /// A new registry with all families in it.
    ///
    /// # Errors
    /// If a family cannot be registered.
    pub fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let queue_labels = ["controller", "name"];
        let inner = Families {
            duration: register!(
                registry,
                "gotk_reconcile_duration_seconds",
                "The duration in seconds of a GitOps Toolkit resource reconciliation.",
                ["kind", "name", "namespace"],
                reconcile_buckets()
            ),
            reconciles: register!(
                registry,
                IntCounterVec,
                "controller_runtime_reconcile_total",
                "Total number of reconciliations per controller",
                ["controller", "result"]
            ),
            errors: register!(
                registry,
                IntCounterVec,
                "controller_runtime_reconcile_errors_total",
                "Total number of reconciliation errors per controller",
                ["controller"]
            ),
            panics: register!(
                registry,
                IntCounterVec,
                "controller_runtime_reconcile_panics_total",
                "Total number of reconciliation panics per controller",
                ["controller"]
            ),
            seconds: register!(
                registry,
                "controller_runtime_reconcile_time_seconds",
                "Length of time per reconciliation per controller",
                ["controller"],
                reconcile_time_buckets()
            ),
            active: register!(
                registry,
                GaugeVec,
                "controller_runtime_active_workers",
                "Number of currently used workers per controller",
                ["controller"]
            ),
            concurrency: register!(
                registry,
                GaugeVec,
                "controller_runtime_max_concurrent_reconciles",
                "Maximum number of concurrent reconciles per controller",
                ["controller"]
            ),
            depth: register!(
                registry,
                GaugeVec,
                "workqueue_depth",
                "Current depth of workqueue by workqueue",
                queue_labels
            ),
            adds: register!(
                registry,
                IntCounterVec,
                "workqueue_adds_total",
                "Total number of adds handled by workqueue",
                queue_labels
            ),
            retries: register!(
                registry,
                IntCounterVec,
                "workqueue_retries_total",
                "Total number of retries handled by workqueue",
                queue_labels
            ),
            queued: register!(
                registry,
                "workqueue_queue_duration_seconds",
                "How long in seconds an item stays in workqueue before being requested",
                queue_labels,
                exponential_buckets(1e-8, 10.0, 12)?
            ),
            worked: register!(
                registry,
                "workqueue_work_duration_seconds",
                "How long in seconds processing an item from workqueue takes.",
                queue_labels,
                exponential_buckets(1e-8, 10.0, 12)?
            ),
            requests: register!(
                registry,
                IntCounterVec,
                "rest_client_requests_total",
                "Number of HTTP requests, partitioned by status code, method, and host.",
                ["code", "host", "method"]
            ),
            request_seconds: register!(
                registry,
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb, and host.",
                ["host", "verb"],
                vec![0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0]
            ),
            dropped_events: register!(
                registry,
                IntCounterVec,
                "sluice_events_dropped_total",
                "Number of events that were not delivered, by way of delivery.",
                ["sink"]
            ),
            watch_errors: register!(
                registry,
                CounterVec,
                "sluice_watch_errors_total",
                "Number of failures of watches, which are then resumed, by kind.",
                ["kind"]
            ),
            malformed: register!(
                registry,
                IntCounterVec,
                "sluice_malformed_objects_total",
                "Number of deliveries of objects that could not be decoded, by kind.",
                ["kind"]
            ),
            leading: register!(
                registry,
                GaugeVec,
                "leader_election_master_status",
                "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease.",
                ["name"]
            ),
            process: Process::register(&registry)?,
            registry,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The registry, for a controller's own families.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// All metrics in the text format.
    ///
    /// # Errors
    /// If a family cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>, prometheus::Error> {
        self.inner.process.refresh();
        let mut buffer = Vec::new();
        TextEncoder::new().encode(&self.inner.registry.gather(), &mut buffer)?;
        Ok(buffer)
    }

    /// Records how long a whole reconcile of an object took, waits included.
    pub fn reconciled(&self, kind: &str, key: &ObjectKey, took: Duration) {
        let labels = [kind, key.name.as_str(), key.namespace.as_str()];
        self.inner
            .duration
            .with_label_values(&labels)
            .observe(took.as_secs_f64());
    }

    /// Drops the series of an object that is gone.
    pub fn forget(&self, kind: &str, key: &ObjectKey) {
        // An object that was never reconciled has no series.
        let _ = self
            .inner
            .duration
            .remove_label_values(&[kind, key.name.as_str(), key.namespace.as_str()]);
    }

    /// Records one run of the outer reconcile: its result is `success`, `requeue`, `requeue_after` or `error`.
    pub fn ran(&self, controller: &str, result: &str, took: Duration) {
        self.inner
            .reconciles
            .with_label_values(&[controller, result])
            .inc();
        if result == "error" {
            self.inner.errors.with_label_values(&[controller]).inc();
        }
        self.inner
            .seconds
            .with_label_values(&[controller])
            .observe(took.as_secs_f64());
    }

    /// Records a panic that was caught in a reconcile.
    pub fn panicked(&self, controller: &str) {
        self.inner.panics.with_label_values(&[controller]).inc();
    }

    /// Records an API request.
    pub fn requested(&self, method: &str, host: &str, code: &str, took: Duration) {
        self.inner.requests.with_label_values(&[code, host, method]).inc();
        self.inner
            .request_seconds
            .with_label_values(&[host, method])
            .observe(took.as_secs_f64());
    }

    /// Records an event that was not delivered.
    pub fn event_dropped(&self, sink: &str) {
        self.inner.dropped_events.with_label_values(&[sink]).inc();
    }

    /// Records a failure of a watch.
    pub fn watch_failed(&self, kind: &str) {
        self.inner.watch_errors.with_label_values(&[kind]).inc();
    }

    /// Records an object that could not be decoded.
    pub fn malformed(&self, kind: &str) {
        self.inner.malformed.with_label_values(&[kind]).inc();
    }

    /// Records whether this process holds a lease.
    pub fn leads(&self, lease: &str, leading: bool) {
        self.inner
            .leading
            .with_label_values(&[lease])
            .set(f64::from(u8::from(leading)));
    }

    /// An observer for the queue of one controller.
    pub fn queue(&self, controller: &str, concurrency: usize) -> QueueMetrics {
        let families = &self.inner;
        let labels = [controller, controller];
        families
            .concurrency
            .with_label_values(&[controller])
            .set(count(concurrency));
        // Touched so that the series exist before the first failure.
        families.errors.with_label_values(&[controller]).inc_by(0);
        QueueMetrics {
            depth: families.depth.with_label_values(&labels),
            active: families.active.with_label_values(&[controller]),
            adds: families.adds.with_label_values(&labels),
            retries: families.retries.with_label_values(&labels),
            queued: families.queued.with_label_values(&labels),
            worked: families.worked.with_label_values(&labels),
        }
    }
}

/// The metrics of one queue.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    depth: Gauge,
    active: Gauge,
    adds: prometheus::IntCounter,
    retries: prometheus::IntCounter,
    queued: Histogram,
    worked: Histogram,
}

impl QueueObserver for QueueMetrics {
    fn added(&self, depth: usize) {
        self.depth.set(count(depth));
    }

    fn started(&self, waited: Duration, depth: usize, running: usize) {
        // Counted here because planned runs and retries are added by the queue itself.
        self.adds.inc();
        self.queued.observe(waited.as_secs_f64());
        self.depth.set(count(depth));
        self.active.set(count(running));
    }

    fn finished(&self, took: Duration, retried: bool, running: usize) {
        self.worked.observe(took.as_secs_f64());
        self.active.set(count(running));
        if retried {
            self.retries.inc();
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no queue holds 2^52 objects")]
fn count(value: usize) -> f64 {
    value as f64
}

/// Ten buckets from 10 ms to 30 min, evenly spaced on a logarithmic scale, as Flux has them.
fn reconcile_buckets() -> Vec<f64> {
    let factor = (1800.0_f64 / 0.01).powf(1.0 / 9.0);
    (0..10).map(|step| 0.01 * factor.powi(step)).collect()
}

/// The buckets of controller-runtime.
fn reconcile_time_buckets() -> Vec<f64> {
    vec![
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
        1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0,
        40.0, 50.0, 60.0,
    ]
}
