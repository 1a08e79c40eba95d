//! Wires the reconciler to what wakes its objects.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use sluice_api::conditions::READY;
use sluice_api::kustomize::Kustomization;
use sluice_apply::Discovery;
use sluice_artifact::{ArchiveLimits, Fetcher, FetcherOptions};
use sluice_runtime::client::RemoteClusters;
use sluice_runtime::controller::{Controller, kind_of};
use sluice_runtime::object::Watched;
use sluice_runtime::store::Change;
use sluice_runtime::watch::version_changed;
use sluice_runtime::{Cause, Manager, ObjectKey, Reference, RuntimeError, Store, conditions};

use crate::Args;
use crate::drift::{DriftWatch, mark_rules};
use crate::kustomization::{KustomizationReconciler, Shared, source_of, taken_over};
use crate::metrics::OwnMetrics;
use crate::pending::Notes;
use crate::remote_bases::RemoteAccess;
use crate::settings::Settings;
use crate::sources::{SourceObject, Sources};

/// How long a connection to the artifact server may take, and how long it may stay silent.
const SILENCE: Duration = Duration::from_secs(30);

/// Registers the controller with the manager.
///
/// # Errors
/// Flags that cannot be used, an API server that cannot be asked.
pub(crate) async fn register(mut manager: Manager, args: Args) -> Result<Manager, RuntimeError> {
    let settings = Settings::new(&args)?;
    let sources = Sources::watch(
        &mut manager,
        settings.external_artifacts,
        settings.direct_source_reads,
    );
    let notes = Arc::new(Notes::default());
    let fetcher = Fetcher::new(artifact_client()?, fetcher_options(&args));
    let client = manager.client().clone();
    let remote = RemoteClusters::new(
        client.clone(),
        manager.client_options().clone(),
        manager.metrics().clone(),
        settings.remote.clone(),
        |client| Arc::new(Discovery::new(client)),
    );
    let labels = settings.watched_configuration.clone();
    let own_metrics = OwnMetrics::register(manager.metrics())?;
    let drift = Arc::new(DriftWatch::new(
        settings.watch_managed_objects,
        own_metrics.clone(),
    ));
    let marks = mark_rules(crate::NAME, taken_over(&settings));
    let remote_bases = (!args.no_remote_bases).then(|| RemoteAccess::new(manager.stop_token().clone()));
    let shared = Shared {
        remote,
        fetcher,
        remote_bases,
        sources: sources.clone(),
        notes: Arc::clone(&notes),
        metrics: own_metrics,
        drift: Arc::clone(&drift),
        siblings: manager.watch(),
    };
    let reconciler = KustomizationReconciler::new(client, settings, shared);
    let configuration = labels.map(|labels| {
        (
            manager.watch_metadata::<ConfigMap>(&labels),
            manager.watch_metadata::<Secret>(&labels),
        )
    });
    let mut builder = manager.controller(reconciler).references(references);
    if let Some((config_maps, secrets)) = &configuration {
        builder = builder
            .wakes(config_maps, Cause::Configuration, |change| {
                !change.initial && version_changed(change)
            })
            .wakes(secrets, Cause::Configuration, |change| {
                !change.initial && version_changed(change)
            });
    }
    let controller = Arc::new(builder.register());
    wake_on_source(&controller, &sources.git_repositories);
    wake_on_source(&controller, &sources.oci_repositories);
    wake_on_source(&controller, &sources.buckets);
    if let Some(external) = &sources.external_artifacts {
        wake_on_source(&controller, external);
    }
    wake_on_dependency(&controller, notes);
    let (client, metrics) = (manager.client().clone(), manager.metrics().clone());
    manager.service(
        "watches on managed objects",
        drift.run(client, metrics, controller, marks),
    );
    Ok(manager)
}

fn artifact_client() -> Result<reqwest::Client, RuntimeError> {
    reqwest::Client::builder()
        .connect_timeout(SILENCE)
        .read_timeout(SILENCE)
        .build()
        .map_err(|error| RuntimeError::Configuration {
            name: "artifact client".to_owned(),
            message: error.to_string(),
        })
}

fn fetcher_options(args: &Args) -> FetcherOptions {
    FetcherOptions {
        retries: args.http_retry,
        cache_bytes: args.artifact_cache_bytes,
        host: std::env::var("SOURCE_CONTROLLER_LOCALHOST")
            .ok()
            .filter(|host| !host.is_empty()),
        limits: ArchiveLimits {
            bytes: args.artifact_max_size,
            entries: args.artifact_max_files,
            ..ArchiveLimits::default()
        },
        ..FetcherOptions::default()
    }
}

/// What a Kustomization refers to.
fn references(object: &Kustomization) -> Vec<Reference> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let source = source_of(object);
    let mut references = vec![Reference {
        kind: source.kind.to_string(),
        key: source.key,
    }];
    references.extend(object.spec.depends_on.iter().map(|dependency| {
        let namespace = dependency.namespace.clone().unwrap_or_else(|| namespace.clone());
        Reference::new(kind_of::<Kustomization>(), namespace, dependency.name.clone())
    }));
    let substitutes = object
        .spec
        .post_build
        .as_ref()
        .map(|build| build.substitute_from.as_slice());
    references.extend(substitutes.unwrap_or_default().iter().map(|reference| {
        Reference::new(
            reference.kind.to_string(),
            namespace.clone(),
            reference.name.clone(),
        )
    }));
    let kube_config = object.spec.kube_config.as_ref();
    let secret = kube_config.and_then(|reference| reference.secret_ref.as_ref());
    references.extend(
        secret.map(|secret| Reference::new("Secret".to_owned(), namespace.clone(), secret.name.clone())),
    );
    let config_map = kube_config.and_then(|reference| reference.config_map_ref.as_ref());
    references.extend(
        config_map.map(|named| Reference::new("ConfigMap".to_owned(), namespace.clone(), named.name.clone())),
    );
    references
}

/// Wakes those that follow a source when it has a new revision, dependencies before their dependants.
fn wake_on_source<K: SourceObject>(controller: &Arc<Controller<Kustomization>>, store: &Store<K>) {
    let controller = Arc::clone(controller);
    store.subscribe(move |change| {
        let Some(revision) = new_revision(change) else {
            return;
        };
        let changed = Reference {
            kind: kind_of::<K>(),
            key: change.key.clone(),
        };
        let keys = controller.index.dependants(&changed);
        let followers = keys
            .into_iter()
            .filter(|key| !has_attempted(&controller.store, key, &revision))
            .collect();
        for key in in_order_of_dependency(&controller.store, followers) {
            controller.queue.add(key, Cause::Source);
        }
    });
}

/// The revision that a source did not have before.
fn new_revision<K: SourceObject + Watched>(change: &Change<K>) -> Option<String> {
    let revision = |object: &Option<Arc<K>>| Some(object.as_ref()?.artifact()?.revision.clone());
    let after = revision(&change.after)?;
    (revision(&change.before).as_ref() != Some(&after)).then_some(after)
}

/// Whether the object has the revision already, or is at work on it.
fn has_attempted(store: &Store<Kustomization>, key: &ObjectKey, revision: &str) -> bool {
    store.get(key).is_some_and(|object| {
        let attempted = object
            .status
            .as_ref()
            .and_then(|status| status.last_attempted_revision.as_deref());
        let settled = conditions::is_ready(object.as_ref())
            || conditions::is_true(object.as_ref(), sluice_api::conditions::RECONCILING);
        settled && attempted == Some(revision)
    })
}

/// Wakes those that wait for a dependency when what they look at has changed.
fn wake_on_dependency(controller: &Arc<Controller<Kustomization>>, notes: Arc<Notes>) {
    let waked = Arc::clone(controller);
    controller.store.subscribe(move |change| {
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        let moved = readiness(before) != readiness(after);
        if !moved && !differs_for_expressions(before, after) {
            return;
        }
        let changed = Reference {
            kind: kind_of::<Kustomization>(),
            key: change.key.clone(),
        };
        for key in waked.index.dependants(&changed) {
            if notes.awaits_dependencies(&key) && (moved || has_expressions(&waked.store, &key)) {
                waked.queue.add(key, Cause::Dependency);
            }
        }
    });
}

/// Whether an object has dependencies whose readiness expressions tell.
fn has_expressions(store: &Store<Kustomization>, key: &ObjectKey) -> bool {
    store.get(key).is_some_and(|object| {
        let mut dependencies = object.spec.depends_on.iter();
        dependencies.any(|dependency| dependency.ready_expr.is_some())
    })
}

/// Whether an expression may see a change: in the labels, the annotations, or the status.
fn differs_for_expressions(before: Option<&Kustomization>, after: Option<&Kustomization>) -> bool {
    let visible = |object: &Kustomization| {
        let metadata = &object.metadata;
        (
            metadata.labels.clone(),
            metadata.annotations.clone(),
            object.status.clone(),
        )
    };
    before.map(visible) != after.map(visible)
}

/// What dependants look at.
#[derive(PartialEq, Eq)]
struct Readiness {
    ready: bool,
    generation: Option<i64>,
    observed: Option<i64>,
    applied: Option<String>,
}

fn readiness(object: Option<&Kustomization>) -> Option<Readiness> {
    let object = object?;
    let status = object.status.as_ref();
    Some(Readiness {
        ready: conditions::is_true(object, READY),
        generation: object.metadata.generation,
        observed: status.and_then(|status| status.observed_generation),
        applied: status.and_then(|status| status.last_applied_revision.clone()),
    })
}

/// Sorts objects so that none comes before one that it depends on. Circles keep their order.
fn in_order_of_dependency(store: &Store<Kustomization>, keys: Vec<ObjectKey>) -> Vec<ObjectKey> {
    let mut depths: HashMap<ObjectKey, usize> = HashMap::new();
    for key in &keys {
        depth(store, key, &mut depths, 0);
    }
    let mut sorted = keys;
    sorted.sort_by_key(|key| depths.get(key).copied().unwrap_or_default());
    sorted
}

/// How many dependencies lie below an object at most.
fn depth(
    store: &Store<Kustomization>,
    key: &ObjectKey,
    depths: &mut HashMap<ObjectKey, usize>,
    level: usize,
) -> usize {
    if let Some(known) = depths.get(key) {
        return *known;
    }
    // Entered before its dependencies, an object of a circle counts as having none.
    depths.insert(key.clone(), 0);
    if level > 64 {
        return 0;
    }
    let Some(object) = store.get(key) else { return 0 };
    let mut deepest = 0;
    for dependency in &object.spec.depends_on {
        let namespace = dependency
            .namespace
            .clone()
            .unwrap_or_else(|| key.namespace.clone());
        let below = ObjectKey::new(namespace, dependency.name.clone());
        deepest = deepest.max(1 + depth(store, &below, depths, level + 1));
    }
    depths.insert(key.clone(), deepest);
    deepest
}
