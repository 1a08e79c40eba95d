//! A controller process in the test: a manager confined to one namespace, and a reconciler that does as the test says.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use clap::Parser;
use futures::future::BoxFuture;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_api::conditions::{READY, RECONCILING, STALLED};
use sluice_api::finalizers::FINALIZER;
use sluice_api::source::GitRepository;
use sluice_runtime::controller::Controller;
use sluice_runtime::{
    Causes, CommonArgs, Conclusion, Context, Finalized, Manager, ObjectKey, Outcome, Policy, ReconcileError,
    Reconciler, RuntimeError, flags,
};
use sluice_testbed::control_plane::{ControlPlane, Namespace};
use sluice_testbed::{process, tools, wait};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The longest that a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The controller's name in these tests.
pub(crate) const NAME: &str = "runtime-test";

/// What a reconcile returns.
pub(crate) type Answer = Result<Outcome<u32>, ReconcileError>;

/// One call of the reconciler.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) step: Step,
    pub(crate) causes: Causes,
    pub(crate) generation: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Reconcile,
    /// With the state of the wait.
    Resume(u32),
    Finalize,
    Forget,
}

type Script =
    Arc<dyn for<'a> Fn(&'a mut Context<GitRepository>, Step) -> BoxFuture<'a, Answer> + Send + Sync>;

/// A reconciler that runs a script and notes its calls.
struct Scripted {
    policy: Policy,
    script: Script,
    calls: watch::Sender<Vec<Call>>,
}

impl Scripted {
    fn note(&self, context: &Context<GitRepository>, step: Step) {
        let call = Call {
            name: context.key().name.clone(),
            step,
            causes: context.causes(),
            generation: context.object.metadata.generation,
        };
        self.calls.send_modify(|calls| calls.push(call));
    }
}

#[async_trait]
impl Reconciler for Scripted {
    type Object = GitRepository;
    type Wait = u32;

    fn policy(&self) -> &Policy {
        &self.policy
    }

    async fn reconcile(&self, context: &mut Context<GitRepository>) -> Answer {
        self.note(context, Step::Reconcile);
        (self.script)(context, Step::Reconcile).await
    }

    async fn resume(&self, context: &mut Context<GitRepository>, wait: u32) -> Answer {
        self.note(context, Step::Resume(wait));
        (self.script)(context, Step::Resume(wait)).await
    }

    async fn finalize(&self, context: &mut Context<GitRepository>) -> Result<Finalized, ReconcileError> {
        self.note(context, Step::Finalize);
        (self.script)(context, Step::Finalize)
            .await
            .map(|_| Finalized::Done)
    }

    fn forget(&self, key: &ObjectKey) {
        let call = Call {
            name: key.name.clone(),
            step: Step::Forget,
            causes: Causes::NONE,
            generation: None,
        };
        self.calls.send_modify(|calls| calls.push(call));
    }
}

/// How the controller of a test is set up.
pub(crate) struct Options {
    /// Further flags.
    pub(crate) flags: Vec<String>,
    /// A kubeconfig other than the administrator's.
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) conclusion: Conclusion,
    /// Adds watches and references.
    #[expect(clippy::type_complexity, reason = "said once")]
    pub(crate) extend: Box<
        dyn Fn(
                &mut Manager,
                Box<dyn Reconciler<Object = GitRepository, Wait = u32>>,
            ) -> Controller<GitRepository>
            + Send,
    >,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            flags: Vec::new(),
            kubeconfig: None,
            conclusion: Conclusion::ReadyDriven,
            extend: Box::new(|manager, reconciler| manager.controller(Boxed(reconciler)).register()),
        }
    }
}

/// A reconciler behind a pointer.
pub(crate) struct Boxed(pub(crate) Box<dyn Reconciler<Object = GitRepository, Wait = u32>>);

#[async_trait]
impl Reconciler for Boxed {
    type Object = GitRepository;
    type Wait = u32;

    fn policy(&self) -> &Policy {
        self.0.policy()
    }

    async fn reconcile(&self, context: &mut Context<GitRepository>) -> Answer {
        self.0.reconcile(context).await
    }

    async fn resume(&self, context: &mut Context<GitRepository>, wait: u32) -> Answer {
        self.0.resume(context, wait).await
    }

    async fn finalize(&self, context: &mut Context<GitRepository>) -> Result<Finalized, ReconcileError> {
        self.0.finalize(context).await
    }

    fn forget(&self, key: &ObjectKey) {
        self.0.forget(key);
    }
}

#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    common: CommonArgs,
}

/// A running controller.
pub(crate) struct Running {
    pub(crate) namespace: Namespace,
    /// A client of the administrator.
    pub(crate) client: Client,
    pub(crate) controller: Controller<GitRepository>,
    pub(crate) stop: CancellationToken,
    pub(crate) metrics: String,
    pub(crate) health: String,
    calls: watch::Receiver<Vec<Call>>,
    task: JoinHandle<Result<(), RuntimeError>>,
}

/// The control plane with our definitions, or `None` where the test has to be skipped.
pub(crate) async fn plane() -> Option<&'static ControlPlane> {
    static APPLIED: tokio::sync::OnceCell<()> = tokio::sync::OnceCell::const_new();
    let plane = tools::require_or_skip(ControlPlane::shared())?;
    APPLIED
        .get_or_init(|| async {
            let definitions =
                tools::workspace().join("config/crd/source.toolkit.fluxcd.io_gitrepositories.yaml");
            plane.apply_crds(&definitions).await.unwrap();
        })
        .await;
    Some(plane)
}

/// Starts a controller in a namespace of its own.
pub(crate) async fn start<S>(plane: &ControlPlane, options: Options, script: S) -> Running
where
    S: for<'a> Fn(&'a mut Context<GitRepository>, Step) -> BoxFuture<'a, Answer> + Send + Sync + 'static,
{
    let namespace = plane.namespace("runtime").await.unwrap();
    start_in(plane, namespace, options, script).await
}

/// Starts a controller in a namespace.
pub(crate) async fn start_in<S>(
    plane: &ControlPlane,
    namespace: Namespace,
    options: Options,
    script: S,
) -> Running
where
    S: for<'a> Fn(&'a mut Context<GitRepository>, Step) -> BoxFuture<'a, Answer> + Send + Sync + 'static,
{
    let (metrics_port, health_port) = (process::free_port().unwrap(), process::free_port().unwrap());
    let kubeconfig = options
        .kubeconfig
        .clone()
        .unwrap_or_else(|| plane.kubeconfig().to_owned());
    let mut arguments = vec![
        NAME.to_owned(),
        "--watch-all-namespaces=false".to_owned(),
        format!("--runtime-namespace={}", namespace.name()),
        format!("--metrics-addr=127.0.0.1:{metrics_port}"),
        format!("--health-addr=127.0.0.1:{health_port}"),
        format!("--kubeconfig={}", kubeconfig.display()),
        "--min-retry-delay=50ms".to_owned(),
    ];
    arguments.extend(options.flags);
    let arguments: Arguments = flags::parse_from(|command| command, arguments).unwrap();
    // The user agent tells the tests' controllers apart in the audit log.
    let agent = format!("{NAME}-{}", namespace.name());
    let mut manager = Manager::new(&agent, "0", arguments.common).await.unwrap();
    let (calls_sender, calls) = watch::channel(Vec::new());
    let policy = Policy {
        field_manager: NAME.to_owned(),
        finalizer: Some(FINALIZER),
        owned_conditions: &[READY, RECONCILING, STALLED],
        conclusion: options.conclusion,
    };
    let reconciler = Scripted {
        policy,
        script: Arc::new(script),
        calls: calls_sender,
    };
    let controller = (options.extend)(&mut manager, Box::new(reconciler));
    let stop = manager.stop_token().clone();
    let task = tokio::spawn(manager.run());
    Running {
        client: plane.client().await.unwrap(),
        namespace,
        controller,
        stop,
        metrics: format!("http://127.0.0.1:{metrics_port}/metrics"),
        health: format!("http://127.0.0.1:{health_port}"),
        calls,
        task,
    }
}

impl Running {
    /// The user agent of the controller's requests, without version.
    pub(crate) fn agent(&self) -> String {
        format!("{NAME}-{}", self.namespace.name())
    }

    pub(crate) fn api(&self) -> Api<GitRepository> {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    pub(crate) fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.namespace.name(), name)
    }

    pub(crate) async fn create(&self, name: &str) -> GitRepository {
        self.create_with(name, json!({})).await
    }

    /// Creates an object, with further fields of its spec.
    pub(crate) async fn create_with(&self, name: &str, spec: Value) -> GitRepository {
        let mut object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "GitRepository",
            "metadata": { "name": name },
            "spec": { "interval": "1h", "url": "https://example.com/repository" },
        });
        object["spec"]
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        let object = serde_json::from_value(object).unwrap();
        self.api().create(&PostParams::default(), &object).await.unwrap()
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) -> GitRepository {
        self.api()
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await
            .unwrap()
    }

    pub(crate) async fn request(&self, name: &str, value: &str) -> GitRepository {
        self.patch(
            name,
            json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": value}}}),
        )
        .await
    }

    /// Waits until the object is as wanted.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        condition: impl FnMut(&GitRepository) -> bool,
    ) -> GitRepository {
        wait::until(&self.api(), name, PATIENCE, what, condition)
            .await
            .unwrap()
    }

    pub(crate) async fn until_ready(&self, name: &str) -> GitRepository {
        wait::until_ready(&self.api(), name, PATIENCE).await.unwrap()
    }

    /// All calls so far that concern the object.
    pub(crate) fn calls(&self, name: &str) -> Vec<Call> {
        self.calls
            .borrow()
            .iter()
            .filter(|call| call.name == name)
            .cloned()
            .collect()
    }

    /// How often the object was reconciled anew.
    pub(crate) fn reconciles(&self, name: &str) -> usize {
        self.calls(name)
            .iter()
            .filter(|call| call.step == Step::Reconcile)
            .count()
    }

    /// Waits until the calls so far are as wanted, and returns them.
    pub(crate) async fn until_called(
        &self,
        what: &str,
        mut condition: impl FnMut(&[Call]) -> bool,
    ) -> Vec<Call> {
        let mut calls = self.calls.clone();
        let seen = tokio::time::timeout(PATIENCE, calls.wait_for(|calls| condition(calls))).await;
        let seen = seen
            .unwrap_or_else(|_| panic!("{what} did not happen: {:#?}", self.calls.borrow()))
            .unwrap();
        seen.clone()
    }

    /// Waits until the store has seen this version of the object: whatever it was to cause has been queued.
    pub(crate) async fn until_seen(&self, object: &GitRepository) {
        let version: u64 = object
            .metadata
            .resource_version
            .as_deref()
            .unwrap()
            .parse()
            .unwrap();
        let key = self.key(object.metadata.name.as_deref().unwrap());
        wait::until_some(PATIENCE, "the watch to deliver the object", || async {
            let stored = self.controller.store.get(&key)?;
            let stored: u64 = stored.metadata.resource_version.as_deref()?.parse().ok()?;
            (stored >= version).then_some(())
        })
        .await
        .unwrap();
    }

    /// Waits until nothing is queued and nothing runs.
    pub(crate) async fn until_idle(&self) {
        wait::until_some(PATIENCE, "an idle queue", || async {
            (self.controller.queue.load() == (0, 0)).then_some(())
        })
        .await
        .unwrap();
    }

    pub(crate) async fn metrics(&self) -> String {
        reqwest::get(&self.metrics).await.unwrap().text().await.unwrap()
    }

    /// Waits until the controller ends by itself, and returns with what.
    pub(crate) async fn ended(self) -> Result<(), RuntimeError> {
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap()
    }

    /// Stops the controller as a signal would.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(PATIENCE, self.task)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
}

/// Success with an hour to the next run.
pub(crate) fn done(context: &mut Context<GitRepository>) -> Answer {
    sluice_runtime::conditions::mark_true(&mut context.object, READY, "Succeeded", "done");
    Ok(Outcome::done(Duration::from_secs(3600)))
}

/// A script that only succeeds.
pub(crate) fn succeed(context: &mut Context<GitRepository>, _: Step) -> BoxFuture<'_, Answer> {
    Box::pin(async move { done(context) })
}
