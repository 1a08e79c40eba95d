//! What the controller counts beside what all controllers count.

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts};
use sluice_runtime::RuntimeError;
use sluice_runtime::telemetry::Metrics;

/// The controller's own families.
#[derive(Clone, Debug)]
pub(crate) struct OwnMetrics {
    /// Builds that were made.
    pub(crate) built: IntCounter,
    /// Builds that were not needed because nothing that they depend on had changed.
    pub(crate) skipped: IntCounter,
    /// Bytes that results of builds take.
    pub(crate) cached_bytes: IntGauge,
    /// Kinds that are watched because objects of them are managed.
    pub(crate) watched_kinds: IntGauge,
    /// Managed objects that are watched.
    pub(crate) watched_objects: IntGauge,
}

impl OwnMetrics {
    /// Registers the families.
    ///
    /// # Errors
    /// If one of them is registered already.
    pub(crate) fn register(metrics: &Metrics) -> Result<Self, RuntimeError> {
        let registry = metrics.registry();
        let builds = IntCounterVec::new(
            Opts::new(
                "sluice_builds_total",
                "Number of builds, by whether they were made or skipped because nothing they depend on had changed.",
            ),
            &["result"],
        )?;
        let cached_bytes = IntGauge::new(
            "sluice_build_cache_bytes",
            "Bytes of memory that results of builds take.",
        )?;
        let watched_kinds = IntGauge::new(
            "sluice_watched_kinds",
            "Kinds that are watched because objects of them are managed.",
        )?;
        let watched_objects = IntGauge::new("sluice_watched_objects", "Managed objects that are watched.")?;
        registry.register(Box::new(watched_kinds.clone()))?;
        registry.register(Box::new(watched_objects.clone()))?;
        registry.register(Box::new(builds.clone()))?;
        registry.register(Box::new(cached_bytes.clone()))?;
        Ok(Self {
            built: builds.with_label_values(&["built"]),
            skipped: builds.with_label_values(&["skipped"]),
            cached_bytes,
            watched_kinds,
            watched_objects,
        })
    }
}

/// A count as gauges take it.
pub(crate) fn gauge(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
