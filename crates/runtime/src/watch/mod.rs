//! Watches: they fill stores and ring the queue, and never decide anything.
//!
//! A watch survives objects that cannot be decoded, falls back from streaming lists to list and watch where the API server has none, and
//! is resumed with back-off after every failure.

mod dynamic;
mod index;
mod pauses;
mod trigger;

use std::pin::pin;

use futures::StreamExt;
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tracing::{debug, error};

pub use dynamic::{Notice, watch_kind};
pub use index::Index;
use pauses::Pauses;
pub(crate) use trigger::Triggers;

use crate::object::{ObjectKey, Watched};
use crate::store::Store;
use crate::telemetry::Metrics;

/// Which objects of a kind are watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Only this namespace; `None`: all.
    pub namespace: Option<String>,
    /// Only objects with matching labels, in the API's selector syntax; `None`: all.
    pub labels: Option<String>,
}

impl Scope {
    fn config(&self, streaming: bool) -> watcher::Config {
        let config = match &self.labels {
            Some(labels) => watcher::Config::default().labels(labels),
            None => watcher::Config::default(),
        };
        if streaming {
            config.streaming_lists()
        } else {
            config
        }
    }

    fn api<K>(&self, client: Client) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        match &self.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        }
    }
}

/// Watches whole objects of a kind into a store, until the future is dropped.
///
/// An object that cannot be decoded is reported, and keeps the last state that could.
pub async fn watch<K: Watched>(client: Client, scope: Scope, store: Store<K>, metrics: Metrics) {
    let kind = K::kind(&()).into_owned();
    let mut streaming = true;
    loop {
        let api: Api<DeserializeGuard<K>> = scope.api(client.clone());
        let mut events = pin!(watcher(api, scope.config(streaming)).backoff(Pauses::default()));
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => store.begin_listing(),
                Ok(Event::InitDone) => store.end_listing(),
                Ok(Event::InitApply(guard) | Event::Apply(guard)) => match guard.0 {
                    Ok(object) => store.apply(object),
                    Err(invalid) => {
                        let key = ObjectKey::new(
                            invalid.metadata.namespace.unwrap_or_default(),
                            invalid.metadata.name.unwrap_or_default(),
                        );
                        report_malformed(&kind, &key, &invalid.error, &metrics);
                        store.keep(key);
                    }
                },
                Ok(Event::Delete(guard)) => match guard.0 {
                    Ok(object) => store.remove(&object),
                    Err(invalid) => {
                        let key = ObjectKey::new(
                            invalid.metadata.namespace.unwrap_or_default(),
                            invalid.metadata.name.unwrap_or_default(),
                        );
                        store.remove_key(&key, invalid.metadata.resource_version.as_deref());
                    }
                },
                Err(failure) => {
                    if give_up_streaming(&failure, &mut streaming) {
                        break;
                    }
                    report_failure(&kind, &failure, &metrics);
                }
            }
        }
    }
}

/// Watches only the metadata of objects of a kind into a store, until the future is dropped.
pub async fn watch_metadata<K: Watched>(
    client: Client,
    scope: Scope,
    store: Store<PartialObjectMeta<K>>,
    metrics: Metrics,
) {
    let kind = K::kind(&()).into_owned();
    let mut streaming = true;
    loop {
        let api: Api<PartialObjectMeta<K>> = scope.api(client.clone());
        let mut events = pin!(watcher(api, scope.config(streaming)).backoff(Pauses::default()));
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => store.begin_listing(),
                Ok(Event::InitDone) => store.end_listing(),
                Ok(Event::InitApply(object) | Event::Apply(object)) => store.apply(object),
                Ok(Event::Delete(object)) => store.remove(&object),
                Err(failure) => {
                    if give_up_streaming(&failure, &mut streaming) {
                        break;
                    }
                    report_failure(&kind, &failure, &metrics);
                }
            }
        }
    }
}

/// Whether the API server has refused a streaming list for good.
fn give_up_streaming(failure: &watcher::Error, streaming: &mut bool) -> bool {
    let code = match failure {
        watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => status.code,
        watcher::Error::WatchError(status) => status.code,
        _ => return false,
    };
    let refused = *streaming && matches!(code, 400 | 422);
    if refused {
        debug!(error = %failure, "the API server has no streaming lists; listing before watching");
        *streaming = false;
    }
    refused
}

fn report_failure(kind: &str, failure: &watcher::Error, metrics: &Metrics) {
    metrics.watch_failed(kind);
    // A watch that has become too old is resumed with a new listing as a matter of course.
    let expired = matches!(failure, watcher::Error::WatchError(status) if status.code == 410);
    if expired {
        debug!(kind, error = %failure, "watch expired");
    } else {
        error!(kind, error = %failure, "watch failed and will be resumed");
    }
}

fn report_malformed(kind: &str, key: &ObjectKey, cause: &str, metrics: &Metrics) {
    metrics.malformed(kind);
    error!(
        kind,
        namespace = key.namespace,
        name = key.name,
        error = cause,
        "the object cannot be decoded and is left alone: correct it, or check that the custom resource definitions are those of this version"
    );
}

/// Whether two states of a metadata-only object differ in anything at all.
pub fn version_changed<K: kube::Resource>(change: &crate::store::Change<K>) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => before.resource_version() != after.resource_version(),
        _ => true,
    }
}
