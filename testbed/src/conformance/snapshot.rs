//! Taking pictures of a scenario's namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt as _};

use super::compare;
use super::normalise::Normaliser;
use super::objects::{Kinds, json};
use super::recording::Snapshot;
use super::scenario::Scenario;
use crate::{Error, Result};

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(150);
/// How long nothing may move before it counts as settled.
const QUIET: Duration = Duration::from_millis(1500);
/// How long it may take until everything is as recorded, events among it, which are sent aside.
const PATIENCE: Duration = Duration::from_secs(6);
/// The longest wait for something that never settles.
const LIMIT: Duration = Duration::from_secs(20);

/// The owner label of the kustomize-controller.
const OWNER_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";

/// What looks.
pub(super) struct Camera<'a> {
    pub(super) client: &'a Client,
    pub(super) kinds: &'a Kinds,
    pub(super) scenario: &'a Scenario,
    pub(super) normaliser: &'a Normaliser,
    /// Events that earlier pictures hold.
    pub(super) seen: &'a BTreeSet<String>,
}

impl Camera<'_> {
    /// Waits until everything has settled, or is as expected, and takes a picture without requests.
    pub(super) async fn take(&self, name: &str, expected: Option<&Snapshot>) -> Result<Snapshot> {
        let began = Instant::now();
        let mut last = self.toolkit(name).await?;
        let mut since = Instant::now();
        loop {
            let quiet = since.elapsed() >= QUIET;
            let elapsed = began.elapsed();
            let due = match expected {
                // The cheap part first: the rest is looked at only when it can make a difference.
                Some(expected) => {
                    let part = Snapshot {
                        objects: expected.objects.clone(),
                        ..last.clone()
                    };
                    compare::matches(self.scenario, expected, &part) || (quiet && elapsed >= PATIENCE)
                }
                None => quiet,
            };
            if due || elapsed >= LIMIT {
                let whole = Snapshot {
                    objects: self.objects().await?,
                    ..last.clone()
                };
                let settled = expected.is_none_or(|expected| {
                    compare::matches(self.scenario, expected, &whole) || elapsed >= PATIENCE
                });
                if settled || elapsed >= LIMIT {
                    return Ok(whole);
                }
            }
            tokio::time::sleep(PAUSE).await;
            let now = self.toolkit(name).await?;
            if now != last {
                since = Instant::now();
                last = now;
            }
        }
    }

    /// Custom resources and events.
    async fn toolkit(&self, name: &str) -> Result<Snapshot> {
        let mut toolkit = BTreeMap::new();
        for kind in ["GitRepository", "Kustomization"] {
            for namespace in self.namespaces().await? {
                let api = self.kinds.api(self.client, kind, &namespace)?;
                for object in list(&api, &ListParams::default()).await? {
                    let id = self.id(kind, &object);
                    toolkit.insert(id, self.normaliser.toolkit(&json(&object)?));
                }
            }
        }
        let mut events = BTreeSet::new();
        let api = self.kinds.api(self.client, "Event", &self.scenario.name)?;
        for object in list(&api, &ListParams::default()).await? {
            let event = json(&object)?;
            let api_version = event.pointer("/involvedObject/apiVersion").cloned();
            if api_version
                .is_some_and(|version| version.as_str().is_some_and(|text| text.contains(".fluxcd.io/")))
            {
                events.insert(self.normaliser.event(&event));
            }
        }
        Ok(Snapshot {
            name: name.to_owned(),
            toolkit,
            events: events.difference(self.seen).cloned().collect(),
            ..Snapshot::default()
        })
    }

    /// Everything else.
    async fn objects(&self) -> Result<BTreeMap<String, serde_json::Value>> {
        let mut objects = BTreeMap::new();
        let owned = ListParams::default().labels(&format!("{OWNER_NAMESPACE}={}", self.scenario.name));
        let namespaces = self.namespaces().await?;
        for (kind, cluster) in self.kinds.managed() {
            if cluster {
                let api = self.kinds.api(self.client, kind, "")?;
                for object in list(&api, &owned).await? {
                    objects.insert(
                        self.id(kind, &object),
                        self.normaliser.managed(kind, &json(&object)?),
                    );
                }
                continue;
            }
            for namespace in &namespaces {
                let api = self.kinds.api(self.client, kind, namespace)?;
                for object in list(&api, &ListParams::default()).await? {
                    if !is_control_planes(kind, &object) {
                        objects.insert(
                            self.id(kind, &object),
                            self.normaliser.managed(kind, &json(&object)?),
                        );
                    }
                }
            }
        }
        Ok(objects)
    }

    /// The scenario's namespace, and those whose name begins with it and two dashes.
    async fn namespaces(&self) -> Result<Vec<String>> {
        let own = &self.scenario.name;
        let api = self.kinds.api(self.client, "Namespace", "")?;
        let prefix = format!("{own}--");
        let mut names = vec![own.clone()];
        for object in list(&api, &ListParams::default()).await? {
            if object.name_any().starts_with(&prefix) {
                names.push(object.name_any());
            }
        }
        Ok(names)
    }

    fn id(&self, kind: &str, object: &DynamicObject) -> String {
        match object.namespace() {
            Some(namespace) if namespace != self.scenario.name => {
                format!("{kind}/{namespace}/{}", object.name_any())
            }
            _ => format!("{kind}/{}", object.name_any()),
        }
    }
}

/// True for what the control plane puts into every namespace, and for what its controllers made.
fn is_control_planes(kind: &str, object: &DynamicObject) -> bool {
    let name = object.name_any();
    (kind == "ConfigMap" && name == "kube-root-ca.crt")
        || (kind == "ServiceAccount" && name == "default")
        || object
            .owner_references()
            .iter()
            .any(|owner| owner.controller == Some(true))
}

async fn list(api: &Api<DynamicObject>, parameters: &ListParams) -> Result<Vec<DynamicObject>> {
    match api.list(parameters).await {
        Ok(list) => Ok(list.items),
        // Of a kind that is not defined yet, or not any more, there is nothing.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(Error::kubernetes(format!("list {}", api.resource_url()))(error)),
    }
}
