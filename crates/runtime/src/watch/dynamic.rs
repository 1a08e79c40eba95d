//! Watches on kinds that are known only at run time, metadata only and without a store.

use std::pin::pin;

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Event, watcher};
use kube::{Api, Client};
use tracing::{debug, info};

use super::{Scope, give_up_streaming};
use crate::telemetry::Metrics;

/// What a watch on metadata tells.
#[derive(Debug)]
pub enum Notice {
    /// A listing begins: what is not found in it is gone.
    ListingBegins,
    /// An object of the listing.
    Listed(Box<ObjectMeta>),
    /// The listing is complete.
    ListingEnds,
    /// An object was created or changed.
    Changed(Box<ObjectMeta>),
    /// An object was deleted, or has lost the labels.
    Gone(Box<ObjectMeta>),
}

/// Watches the metadata of all objects of a kind that the scope lets through, until the future is dropped, and
/// keeps nothing. Failures are resumed with back-off; only the first in a row is logged.
pub async fn watch_kind(
    client: Client,
    resource: ApiResource,
    scope: Scope,
    metrics: Metrics,
    mut tell: impl FnMut(Notice),
) {
    let kind = resource.kind.clone();
    let mut streaming = true;
    let mut failing = false;
    loop {
        let api: Api<PartialObjectMeta<DynamicObject>> = match &scope.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let mut events = pin!(watcher(api, scope.config(streaming)).default_backoff());
        while let Some(event) = events.next().await {
            let notice = match event {
                Ok(Event::Init) => Notice::ListingBegins,
                Ok(Event::InitApply(object)) => Notice::Listed(Box::new(object.metadata)),
                Ok(Event::InitDone) => Notice::ListingEnds,
                Ok(Event::Apply(object)) => Notice::Changed(Box::new(object.metadata)),
                Ok(Event::Delete(object)) => Notice::Gone(Box::new(object.metadata)),
                Err(failure) => {
                    if give_up_streaming(&failure, &mut streaming) {
                        break;
                    }
                    metrics.watch_failed(&kind);
                    if failing {
                        debug!(kind, error = %failure, "watch failed again");
                    } else {
                        info!(kind, error = %failure, "watch failed and will be resumed");
                    }
                    failing = true;
                    continue;
                }
            };
            failing &= matches!(notice, Notice::ListingBegins);
            tell(notice);
        }
    }
}
