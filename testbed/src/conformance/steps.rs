//! Taking the steps of one scenario.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::{Api, Client};
use serde_json::{Map, Value, json};

use super::normalise::Normaliser;
use super::objects::Kinds;
use super::recording::{Recording, Snapshot};
use super::requests;
use super::scenario::{Await, Commit, Edit, Restart, Scenario, Step, yaml};
use super::snapshot::Camera;
use super::stage::Stage;
use crate::audit::{AuditLog, Mark};
use crate::git::Repository;
use crate::{Error, Result, wait};

/// How long one step may take.
const STEP_LIMIT: Duration = Duration::from_secs(60);
/// The field manager of what a user applies.
const USER: &str = "test-user";
const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// One scenario while it is played.
pub(super) struct Player<'a> {
    stage: &'a Stage,
    scenario: &'a Scenario,
    expected: Option<&'a Recording>,
    client: Client,
    kinds: Kinds,
    normaliser: Normaliser,
    repositories: BTreeMap<String, Repository>,
    /// The last commit by repository.
    commits: BTreeMap<String, String>,
    requests: u32,
    audit: AuditLog,
    mark: Mark,
    seen: BTreeSet<String>,
    snapshots: Vec<Snapshot>,
}

impl<'a> Player<'a> {
    /// Makes the scenario's namespace.
    pub(super) async fn start(
        stage: &'a Stage,
        scenario: &'a Scenario,
        expected: Option<&'a Recording>,
    ) -> Result<Self> {
        let client = stage.client().await?;
        let namespace = Namespace {
            metadata: ObjectMeta {
                name: Some(scenario.name.clone()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        Api::<Namespace>::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .map_err(Error::kubernetes(format!("create namespace {}", scenario.name)))?;
        let audit = stage.plane().audit_log().await?;
        let git = format!("{}/{}", stage.git().url(), scenario.name);
        let normaliser = Normaliser::new(&[
            (&git, "<git>"),
            (&stage.home(), "<home>"),
            (stage.artifacts(), "<artifacts>"),
            (&stage.plane().state().server, "<server>"),
        ])
        .map_err(|error| Error::Failed {
            what: "make the normaliser".to_owned(),
            output: error.to_string(),
        })?;
        Ok(Self {
            kinds: Kinds::of(scenario)?,
            mark: audit.mark().await?,
            audit,
            stage,
            scenario,
            expected,
            client,
            normaliser,
            repositories: BTreeMap::new(),
            commits: BTreeMap::new(),
            requests: 0,
            seen: BTreeSet::new(),
            snapshots: Vec::new(),
        })
    }

    /// Takes all steps. Whatever comes of it, the objects are suspended and the rules removed afterwards, so
    /// that nothing disturbs the scenarios that follow.
    pub(super) async fn play(mut self) -> Result<Recording> {
        let outcome = self.take_all(&self.scenario.steps).await;
        let tidied = self.tidy().await;
        outcome?;
        tidied?;
        Ok(Recording {
            snapshots: self.snapshots,
        })
    }

    fn take_all<'s>(
        &'s mut self,
        steps: &'s [Step],
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 's>> {
        Box::pin(async move {
            for (index, step) in steps.iter().enumerate() {
                self.take(step).await.map_err(|error| Error::Failed {
                    what: format!("scenario {}, step {} ({step:?})", self.scenario.name, index + 1),
                    output: error.to_string(),
                })?;
            }
            Ok(())
        })
    }

    async fn take(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Commit(commit) => self.commit(commit).map(drop),
            Step::Push(commit) => {
                let repository = self.commit(commit)?;
                self.reconcile(&format!("GitRepository/{repository}")).await
            }
            Step::Repository(fields) => self.repository(fields).await,
            Step::Kustomization(fields) => self.kustomization(fields).await,
            Step::Apply(documents) => self.apply(documents).await,
            Step::Edit(edit) => self.edit(edit).await,
            Step::Delete(reference) => {
                self.release(reference).await?;
                let (api, name) = self.resolve(reference)?;
                wait::until_gone(&api, &name, STEP_LIMIT).await
            }
            Step::Release(reference) => self.release(reference).await,
            Step::Reconcile(reference) => self.reconcile(reference).await,
            Step::Ready(reference) => self.ready(reference).await,
            Step::Await(awaited) => self.wait_for(awaited).await,
            Step::Snapshot(name) => self.snapshot(name).await,
            Step::Restart(restart) => self.restart(restart).await,
            Step::Fault(fault) => self.stage.proxy().set(&self.rule(&fault.name), &fault.rule),
            Step::Harmed(name) => {
                let rule = self.rule(name);
                tokio::task::block_in_place(|| self.stage.proxy().wait_for_hits(&rule, 1, STEP_LIMIT))
            }
            Step::Clear(name) => self.stage.proxy().remove(&self.rule(name)),
            Step::EmptyStorage(_) => self.stage.empty_storage(),
        }
    }

    fn rule(&self, name: &str) -> String {
        format!("{}-{name}", self.scenario.name)
    }

    fn resolve(&self, reference: &str) -> Result<(Api<DynamicObject>, String)> {
        self.kinds.resolve(&self.client, reference, &self.scenario.name)
    }

    fn commit(&mut self, commit: &Commit) -> Result<String> {
        let name = commit.repository.clone().unwrap_or_else(|| "app".to_owned());
        if !self.repositories.contains_key(&name) {
            let path = format!("{}/{name}", self.scenario.name);
            let repository = self.stage.git().create_repository(&path)?;
            self.repositories.insert(name.clone(), repository);
        }
        let repository = self.repositories.get_mut(&name).ok_or_else(|| Error::Failed {
            what: format!("find repository {name}"),
            output: "it was not created".to_owned(),
        })?;
        let id = tokio::task::block_in_place(|| change(repository, commit))?;
        self.normaliser.add_commit(&id);
        self.commits.insert(name.clone(), id);
        Ok(name)
    }

    async fn repository(&mut self, fields: &BTreeMap<String, Value>) -> Result<()> {
        let name = name_of(fields);
        let defaults = json!({
            "interval": "10m",
            "url": format!("${{git}}/{name}.git"),
            "ref": {"branch": "main"},
        });
        let object = self.object("source.toolkit.fluxcd.io/v1", "GitRepository", &defaults, fields);
        self.apply_object(&object).await?;
        self.ready(&format!("GitRepository/{name}")).await
    }

    async fn kustomization(&mut self, fields: &BTreeMap<String, Value>) -> Result<()> {
        let defaults = json!({
            "interval": "10m",
            "retryInterval": "10m",
            "timeout": "30s",
            "prune": true,
            "path": "./",
            "sourceRef": {"kind": "GitRepository", "name": "app"},
            "targetNamespace": self.scenario.name,
        });
        let object = self.object(
            "kustomize.toolkit.fluxcd.io/v1",
            "Kustomization",
            &defaults,
            fields,
        );
        self.apply_object(&object).await
    }

    /// An object of the toolkit: `fields` over the defaults of its spec, null for a default that is left out.
    fn object(&self, version: &str, kind: &str, defaults: &Value, fields: &BTreeMap<String, Value>) -> Value {
        let mut metadata = json!({"name": name_of(fields)});
        let mut spec: Map<String, Value> = defaults.as_object().cloned().unwrap_or_default();
        for (key, value) in fields {
            match key.as_str() {
                "name" => {}
                "metadata" => {
                    for (key, value) in value.as_object().into_iter().flatten() {
                        metadata[key] = value.clone();
                    }
                }
                _ if value.is_null() => {
                    spec.remove(key);
                }
                _ => {
                    spec.insert(key.clone(), value.clone());
                }
            }
        }
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    }

    async fn apply(&mut self, documents: &str) -> Result<()> {
        // Scenarios hold no `---` inside of texts.
        for document in documents.split("\n---") {
            let object = yaml("an applied object", document)?;
            if !object.is_null() {
                self.apply_object(&object).await?;
            }
        }
        Ok(())
    }

    async fn apply_object(&self, object: &Value) -> Result<()> {
        let object = self.filled_in(object)?;
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        let reference = match text("/metadata/namespace") {
            "" => format!("{kind}/{name}"),
            namespace => format!("{kind}/{namespace}/{name}"),
        };
        let (api, name) = self.resolve(&reference)?;
        api.patch(&name, &PatchParams::apply(USER).force(), &Patch::Apply(&object))
            .await
            .map_err(Error::kubernetes(format!("apply {reference}")))
            .map(drop)
    }

    /// The value with `${git}` and `${commit-N}` filled in.
    fn filled_in(&self, value: &Value) -> Result<Value> {
        let git = format!("{}/{}", self.stage.git().url(), self.scenario.name);
        let mut text = value.to_string().replace("${git}", &git);
        for (index, commit) in self.normaliser.commits().iter().enumerate() {
            text = text.replace(&format!("${{commit-{}}}", index + 1), commit);
        }
        serde_json::from_str(&text).map_err(Error::json("a value with places filled in"))
    }

    async fn edit(&self, edit: &Edit) -> Result<()> {
        let (api, name) = self.resolve(&edit.object)?;
        let parameters = PatchParams {
            field_manager: Some(edit.manager.clone().unwrap_or_else(|| USER.to_owned())),
            ..PatchParams::default()
        };
        let patch = self.filled_in(&edit.patch)?;
        let patch = Patch::Merge(&patch);
        let what = Error::kubernetes(format!("edit {}", edit.object));
        match edit.subresource.as_deref() {
            Some(subresource) => api
                .patch_subresource(subresource, &name, &parameters, &patch)
                .await
                .map_err(what)
                .map(drop),
            None => api
                .patch(&name, &parameters, &patch)
                .await
                .map_err(what)
                .map(drop),
        }
    }

    async fn release(&self, reference: &str) -> Result<()> {
        let (api, name) = self.resolve(reference)?;
        api.delete(&name, &DeleteParams::background())
            .await
            .map_err(Error::kubernetes(format!("delete {reference}")))
            .map(drop)
    }

    async fn reconcile(&mut self, reference: &str) -> Result<()> {
        self.requests += 1;
        let token = format!("request-{}", self.requests);
        let (api, name) = self.resolve(reference)?;
        let patch = json!({"metadata": {"annotations": {REQUESTED_AT: token}}});
        let parameters = PatchParams {
            field_manager: Some(USER.to_owned()),
            ..PatchParams::default()
        };
        api.patch(&name, &parameters, &Patch::Merge(&patch))
            .await
            .map_err(Error::kubernetes(format!("request a reconcile of {reference}")))?;
        let handled =
            |object: &DynamicObject| object.data["status"]["lastHandledReconcileAt"] == token.as_str();
        wait::until(&api, &name, STEP_LIMIT, "the request handled", handled)
            .await
            .map(drop)
    }

    async fn ready(&self, reference: &str) -> Result<()> {
        let (api, name) = self.resolve(reference)?;
        let ready = |object: &DynamicObject| {
            let status = &object.data["status"];
            let (revision, repository) = if reference.starts_with("GitRepository/") {
                (&status["artifact"]["revision"], Some(name.as_str()))
            } else {
                let source = object.data["spec"]["sourceRef"]["name"].as_str();
                (&status["lastAppliedRevision"], source)
            };
            let commit = repository.and_then(|repository| self.commits.get(repository));
            let current = commit.is_none_or(|commit| {
                let revision = revision.as_str();
                revision.is_some_and(|revision| revision.ends_with(commit.as_str()))
            });
            current
                && wait::is_ready(object)
                && wait::condition(object, "Reconciling").is_none()
                && status["observedGeneration"] == json!(object.metadata.generation)
        };
        wait::until(&api, &name, STEP_LIMIT, "ready with the last commit", ready)
            .await
            .map(drop)
    }

    async fn wait_for(&self, awaited: &Await) -> Result<()> {
        let (api, name) = self.resolve(&awaited.object)?;
        if awaited.gone {
            return wait::until_gone(&api, &name, STEP_LIMIT).await;
        }
        let mut awaited = awaited.clone();
        for value in awaited.fields.values_mut() {
            *value = self.filled_in(value)?;
        }
        let what = format!("{awaited:?}");
        wait::until(&api, &name, STEP_LIMIT, &what, |object| {
            is_as_awaited(object, &awaited)
        })
        .await
        .map(drop)
    }

    async fn snapshot(&mut self, name: &str) -> Result<()> {
        let index = self.snapshots.len();
        let expected = self.expected.and_then(|recording| recording.snapshots.get(index));
        let camera = Camera {
            client: &self.client,
            kinds: &self.kinds,
            scenario: self.scenario,
            normaliser: &self.normaliser,
            seen: &self.seen,
        };
        let mut snapshot = camera.take(name, expected).await?;
        self.seen.extend(snapshot.events.iter().cloned());
        let since = self.audit.since(self.mark).await?;
        self.mark = self.audit.mark().await?;
        snapshot.requests = requests::tables(&since, &self.scenario.name);
        self.snapshots.push(snapshot);
        Ok(())
    }

    async fn restart(&mut self, restart: &Restart) -> Result<()> {
        tokio::task::block_in_place(|| self.stage.end(&restart.controller, restart.kill))?;
        let outcome = self.take_all(&restart.meanwhile).await;
        tokio::task::block_in_place(|| self.stage.start_again(&restart.controller))?;
        outcome
    }

    async fn tidy(&self) -> Result<()> {
        for step in &self.scenario.steps {
            if let Step::Fault(fault) = step {
                self.stage.proxy().remove(&self.rule(&fault.name))?;
            }
        }
        for kind in ["GitRepository", "Kustomization"] {
            let api = self.kinds.api(&self.client, kind, &self.scenario.name)?;
            let list = api.list(&kube::api::ListParams::default()).await;
            for object in list.map_err(Error::kubernetes(format!("list {kind}")))?.items {
                let name = object.metadata.name.unwrap_or_default();
                let patch = json!({"spec": {"suspend": true}});
                // One that is being deleted may be gone by now.
                let _ = api
                    .patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
                    .await;
            }
        }
        Ok(())
    }
}

fn name_of(fields: &BTreeMap<String, Value>) -> &str {
    fields.get("name").and_then(Value::as_str).unwrap_or("app")
}

fn is_as_awaited(object: &DynamicObject, awaited: &Await) -> bool {
    let fields = awaited.fields.iter().all(|(pointer, expected)| {
        serde_json::to_value(object)
            .is_ok_and(|object| object.pointer(pointer).unwrap_or(&Value::Null) == expected)
    });
    let wants_condition = awaited.condition.is_some()
        || awaited.status.is_some()
        || awaited.reason.is_some()
        || awaited.message.is_some();
    if !wants_condition {
        return fields;
    }
    let condition = wait::condition(object, awaited.condition.as_deref().unwrap_or("Ready"));
    let Some(condition) = condition else { return false };
    let is =
        |key: &str, wanted: Option<&String>| wanted.is_none_or(|wanted| condition[key] == wanted.as_str());
    let message = condition["message"].as_str().unwrap_or_default();
    fields
        && is("status", awaited.status.as_ref())
        && is("reason", awaited.reason.as_ref())
        && awaited.message.as_ref().is_none_or(|part| message.contains(part))
        && (condition["observedGeneration"].is_null()
            || condition["observedGeneration"] == json!(object.metadata.generation))
}

fn change(repository: &mut Repository, commit: &Commit) -> Result<String> {
    if let Some(branch) = &commit.branch {
        repository.switch(branch)?;
    }
    for (path, content) in &commit.files {
        match content {
            Some(content) => repository.write(path, content)?,
            None => repository.remove(path)?,
        }
    }
    for (path, target) in &commit.links {
        let link = repository.work_tree().join(path);
        if let Some(folder) = link.parent() {
            std::fs::create_dir_all(folder).map_err(Error::io(format!("create {}", folder.display())))?;
        }
        std::os::unix::fs::symlink(target, &link)
            .map_err(Error::io(format!("create the link {}", link.display())))?;
    }
    let id = repository.commit("Change")?;
    if let Some(tag) = &commit.tag {
        repository.tag(tag, None)?;
    }
    if let Some(tag) = &commit.annotated_tag {
        repository.tag(tag, Some("A version"))?;
    }
    if let Some(reference) = &commit.reference {
        let directory = repository.directory().to_string_lossy().into_owned();
        repository.git([
            "push",
            "--quiet",
            "--force",
            &directory,
            &format!("HEAD:{reference}"),
        ])?;
    }
    Ok(id)
}
