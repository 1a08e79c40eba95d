//! The apply itself: read, dry run, compare, and only then write.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _, ready};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use sluice_health::{CustomRules, Status, Verdict, WaitSet};
use tokio::time::Instant;

use crate::error::{ApplyError, ApplyFailure, Failure};
use crate::ignore::Resolution;
use crate::managers::{self, ManagerPattern};
use crate::requests::Requests;
use crate::{
    Action, Change, ChangeSet, Discovery, IgnoreRules, Mark, MarkRules, MetadataSelector, Object, Resource,
    Stages, Target, has_drifted, order, sort, take_over,
};

/// What to remove from live objects before they are applied.
#[derive(Debug, Clone, Default)]
pub struct Cleanup {
    /// Keys of annotations.
    pub annotations: Vec<String>,
    /// Keys of labels.
    pub labels: Vec<String>,
    /// Managers whose fields are taken over.
    pub managers: Vec<ManagerPattern>,
    /// Switches, on the desired or live object, that leave it as it is.
    pub exclusions: MetadataSelector,
}

/// How objects are applied.
#[derive(Debug, Clone)]
pub struct ApplyOptions {
    /// The field manager.
    pub manager: String,
    /// How many objects are read and dry-run at a time (`--concurrent-ssa`).
    pub concurrency: usize,
    /// Recreate every object in which an immutable field changes.
    pub force: bool,
    /// Switches, on the desired or live object, that force that one.
    pub force_selector: MetadataSelector,
    /// Switches, on the desired or live object, that skip it.
    pub exclusions: MetadataSelector,
    /// Switches, on the desired object, that skip it once it exists.
    pub if_not_present: MetadataSelector,
    /// What to remove from live objects.
    pub cleanup: Cleanup,
    /// Group and kind of the objects that form a stage of their own.
    pub custom_stage_kinds: HashSet<(String, String)>,
    /// Fields in which drift does not count.
    pub ignore: IgnoreRules,
    /// Rewrite the API version of managed fields that differs from the desired one.
    pub migrate_api_version: bool,
    /// Note which unchanged objects are current, for a wait that follows.
    pub assess: bool,
    /// Note the state of each object, for whoever watches what others do to it.
    pub marks: Option<MarkRules>,
    /// How long definitions and classes may take to become ready.
    pub stage_timeout: Duration,
}

impl ApplyOptions {
    /// The defaults for a field manager: four at a time, no switches, 60 seconds for a stage.
    pub fn new(manager: impl Into<String>) -> Self {
        Self {
            manager: manager.into(),
            concurrency: 4,
            force: false,
            force_selector: MetadataSelector::default(),
            exclusions: MetadataSelector::default(),
            if_not_present: MetadataSelector::default(),
            cleanup: Cleanup::default(),
            custom_stage_kinds: HashSet::new(),
            ignore: IgnoreRules::default(),
            migrate_api_version: false,
            assess: false,
            marks: None,
            stage_timeout: Duration::from_secs(60),
        }
    }
}

impl ApplyOptions {
    fn mark(&self, live: &Object) -> Option<Mark> {
        self.marks.as_ref().and_then(|rules| Mark::of_object(live, rules))
    }
}

/// Applies, prunes and assesses objects in one cluster under one identity.
#[derive(Clone)]
pub struct Applier {
    requests: Requests,
    discovery: Arc<Discovery>,
    health_rules: Arc<CustomRules>,
}

/// Told of what is about to be written, so that it can be recorded before it exists.
pub trait Announcer: Send {
    /// Records the changes that a stage is about to make, as its dry runs have foretold them; objects that
    /// stay as they are are not among them. Called once for each stage that is not empty, before its first
    /// write, whether or not it will write.
    ///
    /// # Errors
    /// [`Unannounced`]: then nothing of the stage is written.
    fn announce<'a>(&'a mut self, changes: &'a [Change]) -> BoxFuture<'a, Result<(), Unannounced>>;
}

/// The changes of a stage could not be recorded, so they are not made. The [`Announcer`] knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the changes could not be recorded, so they were not made")]
pub struct Unannounced;

/// For those who keep no record.
struct Silent;

impl Announcer for Silent {
    fn announce<'a>(&'a mut self, _: &'a [Change]) -> BoxFuture<'a, Result<(), Unannounced>> {
        ready(Ok(())).boxed()
    }
}

/// An object that has passed its dry run.
struct Prepared {
    change: Change,
    /// What to send, for a new or drifted object.
    pending: Option<(Resource, Object)>,
}

impl Applier {
    /// An applier that acts as `client` does; `discovery` may be shared among identities.
    pub fn new(client: Client, discovery: Arc<Discovery>) -> Self {
        Self {
            requests: Requests::new(client),
            discovery,
            health_rules: Arc::default(),
        }
    }

    /// Judges objects by these rules first, wherever their health is looked at.
    #[must_use]
    pub fn with_health_rules(mut self, rules: Arc<CustomRules>) -> Self {
        self.health_rules = rules;
        self
    }

    pub(crate) fn health_rules(&self) -> &Arc<CustomRules> {
        &self.health_rules
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    /// The kinds of the cluster.
    pub fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// Applies objects in Flux's stages. Definitions, then classes, have to become ready before the next
    /// stage begins. The objects have to be normalised.
    ///
    /// # Errors
    /// [`ApplyFailure`] at the first object or stage that fails, with what was done before.
    pub async fn apply_staged(
        &self,
        objects: Vec<Object>,
        options: &ApplyOptions,
    ) -> Result<ChangeSet, Box<ApplyFailure>> {
        self.apply_announced(objects, options, &mut Silent).await
    }

    /// As [`Applier::apply_staged`]; the announcer hears of each stage's changes before they are made.
    ///
    /// # Errors
    /// As for [`Applier::apply_staged`], and [`ApplyError::Unannounced`].
    pub async fn apply_announced(
        &self,
        objects: Vec<Object>,
        options: &ApplyOptions,
        announcer: &mut dyn Announcer,
    ) -> Result<ChangeSet, Box<ApplyFailure>> {
        let Stages {
            definitions,
            classes,
            custom,
            resources,
        } = Stages::split(objects, &options.custom_stage_kinds);
        let mut changes = ChangeSet::new();
        for (stage, must_be_ready) in [
            (definitions, true),
            (classes, true),
            (custom, false),
            (resources, false),
        ] {
            if stage.is_empty() {
                continue;
            }
            let served = if must_be_ready {
                served_kinds(&stage)
            } else {
                Vec::new()
            };
            let done = match self.apply_stage(stage, options, announcer).await {
                Ok(done) => done,
                Err(mut failure) => {
                    failure.completed = changes;
                    return Err(failure);
                }
            };
            let targets: Vec<Target> = done.iter().map(target_of).collect();
            changes.append(done);
            if must_be_ready
                && let Err(error) = self.await_stage(targets, served, options.stage_timeout).await
            {
                return Err(Box::new(ApplyFailure {
                    error,
                    completed: changes,
                    touched: Vec::new(),
                }));
            }
        }
        Ok(changes)
    }

    /// Applies the objects of one stage: all are dry-run before the first is written.
    async fn apply_stage(
        &self,
        mut objects: Vec<Object>,
        options: &ApplyOptions,
        announcer: &mut dyn Announcer,
    ) -> Result<ChangeSet, Box<ApplyFailure>> {
        sort(&mut objects);
        let fail = |error, touched| {
            Box::new(ApplyFailure {
                error,
                completed: ChangeSet::new(),
                touched,
            })
        };
        let prepared: Vec<Prepared> = stream::iter(objects)
            .map(|object| self.prepare(object, options))
            .buffered(options.concurrency.max(1))
            .try_collect()
            .await
            .map_err(|error| fail(error, Vec::new()))?;
        let planned: Vec<Change> = prepared
            .iter()
            .filter(|prepared| prepared.pending.is_some())
            .map(|prepared| prepared.change.clone())
            .collect();
        announcer
            .announce(&planned)
            .await
            .map_err(|refused| fail(refused.into(), Vec::new()))?;
        let mut changes = ChangeSet::new();
        for Prepared { mut change, pending } in prepared {
            if let Some((resource, object)) = pending {
                let applied = self
                    .requests
                    .apply(&resource, &object, &options.manager, false)
                    .await;
                match applied {
                    Ok(applied) => change.mark = options.mark(&applied),
                    Err(failure) => {
                        let perhaps = failure.may_have_been_carried_out().then_some(change);
                        let error = ApplyError::Step {
                            object: object.id(),
                            step: "apply failed",
                            failure,
                        };
                        return Err(fail(error, changes.into_iter().chain(perhaps).collect()));
                    }
                }
            }
            changes.push(change);
        }
        Ok(changes)
    }

    /// Reads and dry-runs one object.
    async fn prepare(&self, object: Object, options: &ApplyOptions) -> Result<Prepared, ApplyError> {
        let id = object.id();
        let dry_run_failed = |failure| ApplyError::DryRun {
            object: id.clone(),
            failure,
        };
        let step = |step: &'static str| {
            let object = id.clone();
            move |failure| ApplyError::Step {
                object,
                step,
                failure,
            }
        };
        let resource = self
            .discovery
            .resolve(object.group(), object.version(), object.kind())
            .await
            .map_err(dry_run_failed)?;
        // A live object that cannot be read is treated as absent: the dry run will tell.
        let read = self
            .requests
            .get(&resource, object.namespace(), object.name())
            .await;
        let known_absent = matches!(read, Ok(None));
        let mut live = read.ok().flatten();
        if let Some(change) = skip(&object, live.as_ref(), options) {
            return Ok(Prepared {
                change,
                pending: None,
            });
        }
        let mut patched = false;
        if options.migrate_api_version
            && let Some(current) = &live
            && let Some(fields) = managers::migrate(current, object.api_version())
        {
            let operations = vec![replace_managed_fields(&fields)];
            let answer = self
                .requests
                .patch(&resource, current, &options.manager, operations)
                .await;
            live = Some(answer.map_err(step("failed to migrate API version"))?);
            patched = true;
        }
        let dry_run = match self
            .requests
            .apply(&resource, &object, &options.manager, true)
            .await
        {
            Ok(dry_run) => dry_run,
            Err(failure) if !known_absent && must_force(&object, live.as_ref(), options, &failure) => {
                let failed = step("immutable field detected, failed to delete object");
                self.requests.delete(&resource, &object).await.map_err(failed)?;
                let failed = step("immutable field detected, failed to wait for object to be deleted");
                self.await_absence(&resource, &object, options.stage_timeout)
                    .await
                    .map_err(failed)?;
                live = None;
                self.requests
                    .apply(&resource, &object, &options.manager, true)
                    .await
                    .map_err(dry_run_failed)?
            }
            Err(failure) => return Err(dry_run_failed(failure)),
        };
        if let Some(current) = &live {
            let operations = cleanup_operations(&object, current, options);
            if !operations.is_empty() {
                let answer = self
                    .requests
                    .patch(&resource, current, &options.manager, operations)
                    .await;
                live = Some(answer.map_err(step("metadata.managedFields cleanup failed"))?);
                patched = true;
            }
        }
        let mut prepared = conclude(resource, object, live.as_ref(), &dry_run, patched, options);
        // What expressions judge, the wait looks at.
        prepared.change.current &= !self.health_rules.judges(&dry_run.to_value());
        Ok(prepared)
    }

    /// Waits until an object is gone.
    async fn await_absence(
        &self,
        resource: &Resource,
        object: &Object,
        limit: Duration,
    ) -> Result<(), Failure> {
        let mut poll = Poll::new(limit);
        while self
            .requests
            .get(resource, object.namespace(), object.name())
            .await?
            .is_some()
        {
            if !poll.pause().await {
                return Err(Failure::Transport(
                    "timed out waiting for the condition".to_owned(),
                ));
            }
        }
        Ok(())
    }

    /// Waits until the objects of a stage are ready and the kinds they define are served.
    async fn await_stage(
        &self,
        targets: Vec<Target>,
        served: Vec<(String, String, String)>,
        limit: Duration,
    ) -> Result<(), ApplyError> {
        let mut wait = WaitSet::new();
        for target in &targets {
            wait.insert(target.id.to_string(), target.id.subject(), false);
        }
        let mut poll = Poll::new(limit);
        loop {
            self.refresh(&mut wait, &targets).await;
            match wait.verdict(false) {
                Verdict::Healthy => break,
                Verdict::Failed(text) => return Err(ApplyError::NotReady(text)),
                Verdict::Waiting => {}
            }
            if !poll.pause().await {
                let text = wait.timeout_message().unwrap_or_default();
                return Err(ApplyError::NotReady(text));
            }
        }
        for (group, version, kind) in served {
            // A definition can be established a moment before its path is served. Whatever uses the kind
            // will report it if it stays away.
            let _ = self
                .discovery
                .wait_for(&group, &version, &kind, Duration::from_secs(10))
                .await;
        }
        Ok(())
    }
}

/// Pauses that grow from 50 milliseconds to Flux's 2 seconds, until a limit.
struct Poll {
    deadline: Instant,
    pause: Duration,
}

impl Poll {
    fn new(limit: Duration) -> Self {
        Self {
            deadline: Instant::now() + limit,
            pause: Duration::from_millis(50),
        }
    }

    /// Pauses; `false` once the limit is reached.
    async fn pause(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.deadline {
            return false;
        }
        tokio::time::sleep(self.pause.min(self.deadline - now)).await;
        self.pause = (self.pause * 2).min(Duration::from_secs(2));
        true
    }
}

/// The kinds that the custom resource definitions among the objects bring: group, version, kind.
fn served_kinds(objects: &[Object]) -> Vec<(String, String, String)> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    objects
        .iter()
        .filter(|object| order::is_custom_resource_definition(object))
        .flat_map(|definition| {
            let group = text(definition.field(&["spec", "group"]));
            let kind = text(definition.field(&["spec", "names", "kind"]));
            let versions = definition.field(&["spec", "versions"]).and_then(Value::as_array);
            versions
                .into_iter()
                .flatten()
                .filter(|version| version.get("served") == Some(&Value::Bool(true)))
                .map(move |version| (group.clone(), text(version.get("name")), kind.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn target_of(change: &Change) -> Target {
    Target {
        id: change.id.clone(),
        version: change.version.clone(),
    }
}

/// The entry of an object that a switch keeps us away from. It is that of the live object where there is
/// one: a cluster-scoped object may be desired with a stray namespace.
pub(crate) fn skip(object: &Object, live: Option<&Object>, options: &ApplyOptions) -> Option<Change> {
    let excluded =
        options.exclusions.matches(object) || live.is_some_and(|live| options.exclusions.matches(live));
    let present = live.is_some() && options.if_not_present.matches(object);
    (excluded || present).then(|| Change {
        mark: live
            .and_then(|live| options.mark(live))
            .map(Mark::without_content),
        ..Change::new(live.unwrap_or(object), Action::Skipped)
    })
}

pub(crate) fn must_force(
    object: &Object,
    live: Option<&Object>,
    options: &ApplyOptions,
    failure: &Failure,
) -> bool {
    failure.may_be_immutable_change()
        && (options.force
            || options.force_selector.matches(object)
            || live.is_some_and(|live| options.force_selector.matches(live)))
}

/// The JSON patch that frees a live object of what is not to be there, empty if there is nothing to do.
fn cleanup_operations(object: &Object, live: &Object, options: &ApplyOptions) -> Vec<Value> {
    let cleanup = &options.cleanup;
    if cleanup.exclusions.matches(object) || cleanup.exclusions.matches(live) {
        return Vec::new();
    }
    let removal = |field: &str, key: &String| {
        live.field(&["metadata", field, key])?;
        let key = key.replace('~', "~0").replace('/', "~1");
        Some(json!({"op": "remove", "path": format!("/metadata/{field}/{key}")}))
    };
    let mut operations: Vec<Value> = cleanup
        .annotations
        .iter()
        .filter_map(|key| removal("annotations", key))
        .collect();
    operations.extend(cleanup.labels.iter().filter_map(|key| removal("labels", key)));
    operations.extend(
        take_over(live, &cleanup.managers, &options.manager).map(|fields| replace_managed_fields(&fields)),
    );
    operations
}

fn replace_managed_fields(fields: &[Value]) -> Value {
    json!({"op": "replace", "path": "/metadata/managedFields", "value": fields})
}

fn is_current(live: &Object) -> bool {
    sluice_health::assess(&live.to_value(), Timestamp::now()).status == Status::Current
}

/// Compares the dry run with the live object and decides what is to be sent.
fn conclude(
    resource: Resource,
    mut object: Object,
    live: Option<&Object>,
    dry_run: &Object,
    patched: bool,
    options: &ApplyOptions,
) -> Prepared {
    let drifted = match live {
        None => true,
        Some(live) if options.ignore.is_empty() => has_drifted(live, dry_run),
        Some(live) => {
            let (live, dry_run) = options.ignore.strip(live, dry_run);
            has_drifted(&live, &dry_run)
        }
    };
    if !patched && !drifted {
        let mut change = Change::new(dry_run, Action::Unchanged);
        change.current = options.assess && live.is_some_and(is_current);
        change.mark = live.and_then(|live| options.mark(live));
        return Prepared {
            change,
            pending: None,
        };
    }
    let created = dry_run.resource_version().is_empty();
    if let Some(live) = live.filter(|_| !created) {
        let resolutions = options.ignore.resolve(live, dry_run, &options.manager);
        resolutions
            .into_iter()
            .for_each(|resolution: Resolution| resolution.carry_out(&mut object));
    }
    let action = if created {
        Action::Created
    } else {
        Action::Configured
    };
    Prepared {
        change: Change::new(dry_run, action),
        pending: Some((resource, object)),
    }
}
