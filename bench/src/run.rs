//! One run, and all runs of a scenario.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};
use sluice_testbed::audit::{AuditLog, Requests};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::GitServer;
use sluice_testbed::{tools, wait};

use crate::arguments::Arguments;
use crate::controllers::{ControllerSet, Running};
use crate::error::{Error, Result};
use crate::figures::{Figures, Metric, OfController, Role, median, medians};
use crate::scenario::{self, Features, NAMESPACE, SOURCE, Scenario};
use crate::{process_status, readiness};

/// How many requests of our own are under way at once.
const PARALLEL: usize = 16;

/// The time that is left to stragglers after the last object was reconciled, before requests are counted.
const STRAGGLERS: Duration = Duration::from_secs(5);

/// How many Kustomizations are created one after the other for one median.
const SAMPLES: usize = 9;

/// What a Kustomization uses in scenarios that leave no choice.
const ALL: Features = Features {
    wait: true,
    prune: true,
    substitution: true,
};

const USER_AGENT: &str = "sluice-bench";
const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// All runs of one set.
#[derive(Debug)]
pub(crate) struct SetRuns {
    /// The set.
    pub(crate) set: ControllerSet,
    /// What each run measured.
    pub(crate) runs: Vec<Figures>,
    /// The medians.
    pub(crate) median: Figures,
}

/// All runs of one scenario.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The scenario.
    pub(crate) scenario: Scenario,
    /// How long the controllers had settled when memory was read.
    pub(crate) settle: Duration,
    /// In the order of the command line.
    pub(crate) sets: Vec<SetRuns>,
}

/// Runs a scenario with all sets by turns.
pub(crate) async fn compare(scenario: &Scenario, arguments: &Arguments) -> Result<Comparison> {
    let mut runs = vec![Vec::new(); arguments.controllers.len()];
    for round in 1..=arguments.repeat {
        for (set, figures) in arguments.controllers.iter().zip(&mut runs) {
            progress(&format!(
                "{}: {}, run {round} of {}",
                set.label,
                scenario.title(),
                arguments.repeat
            ));
            figures.push(measure(set, *scenario, round, arguments).await?);
        }
    }
    let sets = arguments
        .controllers
        .iter()
        .cloned()
        .zip(runs)
        .map(|(set, runs)| {
            let median = medians(&runs);
            SetRuns { set, runs, median }
        });
    Ok(Comparison {
        scenario: *scenario,
        settle: arguments.settle,
        sets: sets.collect(),
    })
}

/// Tells on standard error how far the work is: the report alone goes to standard output.
fn progress(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// One run of one set on servers of its own.
async fn measure(
    set: &ControllerSet,
    scenario: Scenario,
    round: u8,
    arguments: &Arguments,
) -> Result<Figures> {
    let mut figures = Figures::from([(Metric::LoadBefore, process_status::load_average()?)]);
    let directory = tempfile::Builder::new()
        .prefix("sluice-bench-")
        .tempdir()
        .map_err(Error::io("make a temporary directory"))?;
    let plane = ControlPlane::start()?;
    prepare(&plane).await?;
    let git = GitServer::start()?;
    let audit = plane.audit_log().await?;
    let start = audit.mark().await?;

    let run = format!("{}-{round}", scenario.slug());
    let mut controllers = Running::start(set, plane.kubeconfig(), directory.path(), &run, arguments)?;
    let work = Work {
        client: plane.client_with_user_agent(USER_AGENT).await?,
        timeout: arguments.timeout,
    };
    let cpu_before = cpu(&mut controllers)?;
    match scenario {
        // Idling is the work.
        Scenario::Idle => tokio::time::sleep(arguments.settle).await,
        Scenario::Waiting { count } => {
            let mut repository = git.create_repository(SOURCE)?;
            scenario::fill_waiting(&mut repository, 1 + 2 * SAMPLES)?;
            figures.insert(Metric::SourceReady, work.create_source(repository.url()).await?);
            // The first one pays for connections and discovery.
            work.create_one_by_one(0..1).await?;
            figures.insert(Metric::OneAlone, work.create_one_by_one(1..1 + SAMPLES).await?);
            work.create_waiting(count).await?;
            let beside = work.create_one_by_one(1 + SAMPLES..1 + 2 * SAMPLES).await?;
            figures.insert(Metric::OneBeside, beside);
        }
        Scenario::Artifact(shape) => {
            let mut repository = git.create_repository(SOURCE)?;
            scenario::fill_large(&mut repository, shape)?;
            figures.insert(Metric::SourceReady, work.create_source(repository.url()).await?);
            figures.insert(Metric::AllReady, work.create_kustomizations(1, ALL).await?);
        }
        Scenario::Kustomizations { count, features } => {
            let mut repository = git.create_repository(SOURCE)?;
            scenario::fill(&mut repository, count)?;
            figures.insert(Metric::SourceReady, work.create_source(repository.url()).await?);
            figures.insert(
                Metric::AllReady,
                work.create_kustomizations(count, features).await?,
            );
        }
    }
    for ((role, before), (_, after)) in cpu_before.into_iter().zip(cpu(&mut controllers)?) {
        figures.insert(Metric::Of(role, OfController::Cpu), after - before);
    }
    if scenario != Scenario::Idle {
        tokio::time::sleep(arguments.settle).await;
    }
    record_memory(&mut controllers, &mut figures)?;
    record_requests(&audit.since(start).await?, &mut figures);

    if let Scenario::Kustomizations { count, .. } = scenario {
        record_unchanged(&work, &audit, count, &mut figures).await?;
    }
    // Whoever died meanwhile was not measured.
    controllers.pids()?;
    Ok(figures)
}

/// Creates what has to be there before the controllers start.
async fn prepare(plane: &ControlPlane) -> Result<()> {
    // kubectl would take the kustomization file beside the definitions for an object.
    let folder = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
    let definitions = tools::workspace().join("config/crd");
    let read = || Error::io(format!("read {}", definitions.display()));
    for entry in std::fs::read_dir(&definitions).map_err(read())? {
        let path: PathBuf = entry.map_err(read())?.path();
        if let Some(name) = path.file_name().filter(|name| *name != "kustomization.yaml") {
            std::fs::copy(&path, folder.path().join(name)).map_err(read())?;
        }
    }
    plane.apply_crds(folder.path()).await?;
    plane.kubectl(&["create", "namespace", NAMESPACE])?;
    Ok(())
}

fn cpu(controllers: &mut Running) -> Result<[(Role, f64); 2]> {
    let [source, kustomize] = controllers.pids()?;
    let read = |(role, pid)| Ok::<_, Error>((role, process_status::cpu_seconds(pid)?));
    Ok([read(source)?, read(kustomize)?])
}

fn record_memory(controllers: &mut Running, figures: &mut Figures) -> Result<()> {
    for (role, pid) in controllers.pids()? {
        let memory = process_status::memory(pid)?;
        let values = [
            (OfController::Resident, memory.resident),
            (OfController::Anonymous, memory.anonymous),
            (OfController::Peak, memory.peak),
        ];
        for (of, kibibytes) in values {
            // Exact below 2^53.
            figures.insert(Metric::Of(role, of), kibibytes as f64 / 1024.0);
        }
    }
    Ok(())
}

/// Counts the requests of each controller by verb, dry runs apart.
fn record_requests(requests: &Requests, figures: &mut Figures) {
    count(requests, figures, &OfController::AllRequests, |request| {
        let dry_run = if request.is_dry_run() { " (dry run)" } else { "" };
        OfController::Requests(format!("{}{dry_run}", request.verb))
    });
}

/// Has everything reconciled once more with nothing changed, and counts what that takes.
async fn record_unchanged(work: &Work, audit: &AuditLog, total: usize, figures: &mut Figures) -> Result<()> {
    let mark = audit.mark().await?;
    figures.insert(Metric::UnchangedReady, work.reconcile_all(total).await?);
    tokio::time::sleep(STRAGGLERS).await;
    let requests = audit.since(mark).await?;
    count(&requests, figures, &OfController::AllUnchanged, |request| {
        OfController::Unchanged(request.label())
    });
    Ok(())
}

fn count(
    requests: &Requests,
    figures: &mut Figures,
    all: &OfController,
    of: impl Fn(&sluice_testbed::audit::Request) -> OfController,
) {
    for role in Role::ALL {
        let requests = requests.by_user_agent(role.program());
        figures.insert(Metric::Of(role, all.clone()), 0.0);
        for request in requests.iter() {
            *figures.entry(Metric::Of(role, all.clone())).or_default() += 1.0;
            *figures.entry(Metric::Of(role, of(request))).or_default() += 1.0;
        }
    }
}

/// What we do to the cluster.
struct Work {
    client: Client,
    timeout: Duration,
}

impl Work {
    fn api(&self, kind: &str) -> Api<DynamicObject> {
        let group = if kind == "Kustomization" {
            "kustomize"
        } else {
            "source"
        };
        let kind = GroupVersionKind::gvk(&format!("{group}.toolkit.fluxcd.io"), "v1", kind);
        let plural = if kind.kind == "Kustomization" {
            "kustomizations"
        } else {
            "gitrepositories"
        };
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }

    /// Returns the seconds until the source was Ready.
    async fn create_source(&self, url: &str) -> Result<f64> {
        let api = self.api("GitRepository");
        let ready = readiness::until_all(api.clone(), 1, self.timeout, "source Ready", is_ready);
        let began = Instant::now();
        let ((), ready) = tokio::try_join!(create(&api, scenario::source(url)), ready)?;
        Ok(ready.duration_since(began).as_secs_f64())
    }

    /// Returns the seconds until all were Ready.
    async fn create_kustomizations(&self, count: usize, features: Features) -> Result<f64> {
        let api = self.api("Kustomization");
        let began = Instant::now();
        let creations = (0..count).map(|index| create(&api, scenario::kustomization(index, features)));
        let creations = futures::stream::iter(creations)
            .buffer_unordered(PARALLEL)
            .try_collect::<()>();
        let ready = readiness::until_all(api.clone(), count, self.timeout, "Kustomizations Ready", is_ready);
        let ((), ready) = tokio::try_join!(creations, ready)?;
        Ok(ready.duration_since(began).as_secs_f64())
    }

    /// Creates Kustomizations, each when the one before is Ready; returns the median of the seconds that they took.
    async fn create_one_by_one(&self, indices: std::ops::Range<usize>) -> Result<f64> {
        let api = self.api("Kustomization");
        let mut seconds = Vec::new();
        for index in indices {
            let name = scenario::name(index);
            let began = Instant::now();
            let ready = readiness::until_all(
                api.clone(),
                1,
                self.timeout,
                "one Kustomization Ready",
                |object| object.metadata.name.as_deref() == Some(&name) && is_ready(object),
            );
            let creation = create(&api, scenario::kustomization(index, ALL));
            let ((), ready) = tokio::try_join!(creation, ready)?;
            seconds.push(ready.duration_since(began).as_secs_f64());
        }
        Ok(median(seconds))
    }

    /// Creates Kustomizations that wait for health, and returns when all do.
    async fn create_waiting(&self, count: usize) -> Result<()> {
        let api = self.api("Kustomization");
        let creations = (0..count).map(|index| create(&api, scenario::waiting(index)));
        let creations = futures::stream::iter(creations)
            .buffer_unordered(PARALLEL)
            .try_collect::<()>();
        let what = "Kustomizations waiting for health";
        let waiting = readiness::until_all(api.clone(), count, self.timeout, what, |object| {
            wait::has_condition(object, "Healthy", "Unknown")
        });
        tokio::try_join!(creations, waiting).map(drop)
    }

    /// Asks all Kustomizations to reconcile; returns the seconds until all have and are Ready.
    async fn reconcile_all(&self, count: usize) -> Result<f64> {
        let api = self.api("Kustomization");
        let began = Instant::now();
        let requests = (0..count).map(|index| request_reconcile(&api, scenario::name(index)));
        let requests = futures::stream::iter(requests)
            .buffer_unordered(PARALLEL)
            .try_collect::<()>();
        let what = "Kustomizations reconciled unchanged";
        let done = readiness::until_all(api.clone(), count, self.timeout, what, |object| {
            object.data["status"]["lastHandledReconcileAt"] == USER_AGENT && is_ready(object)
        });
        let ((), done) = tokio::try_join!(requests, done)?;
        Ok(done.duration_since(began).as_secs_f64())
    }
}

fn is_ready(object: &DynamicObject) -> bool {
    wait::is_ready(object)
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Result<()> {
    let what = format!("create {} {}", object["kind"], object["metadata"]["name"]);
    let object: DynamicObject = serde_json::from_value(object).map_err(|error| Error::Io {
        what: what.clone(),
        source: error.into(),
    })?;
    let created = api.create(&PostParams::default(), &object).await;
    created.map(drop).map_err(Error::kubernetes(what))
}

/// The request is a word of ours: each object is asked only once.
async fn request_reconcile(api: &Api<DynamicObject>, name: String) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {REQUESTED_AT: USER_AGENT}}});
    let patched = api
        .patch(&name, &PatchParams::default(), &Patch::Merge(&patch))
        .await;
    patched
        .map(drop)
        .map_err(Error::kubernetes(format!("ask {name} to reconcile")))
}
