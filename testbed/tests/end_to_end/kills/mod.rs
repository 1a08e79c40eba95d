//! Controllers are killed at every step of their work, and the outcome is that of an undisturbed run: SRC-014,
//! SRC-017, SRC-019, KUS-002, KUS-011, KUS-051.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `SLUICE_KILLS` | kills of each controller | 6, which covers each step once |
//! | `SLUICE_KILLS_KUSTOMIZATIONS` | Kustomizations at work | 30 |
//! | `SLUICE_KILLS_SEED` | repeats a run | from the clock |

mod fleet;
mod moment;
mod outcome;

use std::time::Instant;

use kube::{Api, Client};
use sluice_testbed::control_plane::ControlPlane;
use sluice_testbed::git::GitServer;
use sluice_testbed::proxy::FaultProxy;
use sluice_testbed::tools::require_or_skip;
use sluice_testbed::wait;

use crate::support::*;
use fleet::Fleet;
use moment::{KUSTOMIZE_MOMENTS, KustomizeMoment, SOURCE_MOMENTS, SourceMoment};

/// The name of the GitRepository.
const SOURCE: &str = "fleet";

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

/// Everything that runs.
struct Scene {
    client: Client,
    namespace: String,
    proxy: FaultProxy,
    gate: Gate,
    storage: tempfile::TempDir,
    source: Controller,
    kustomize: Controller,
    fleet: Fleet,
    random: Random,
}

impl Scene {
    fn sources(&self) -> Api<Object> {
        git_repositories(&self.client, &self.namespace)
    }

    fn kustomizations(&self) -> Api<Object> {
        kustomizations(&self.client, &self.namespace)
    }

    /// Pushes a commit that adds, changes and deletes files, and tells source-controller.
    async fn push(&mut self) {
        self.fleet.commit_changes(&mut self.random);
        request(&self.sources(), SOURCE).await;
    }

    /// Waits until all is Ready at the last commit.
    async fn settle(&self) {
        let (revision, count) = (self.fleet.revision().to_owned(), self.fleet.len());
        let all = |objects: &[Object]| {
            objects.len() == count && objects.iter().all(|object| has_applied(object, &revision))
        };
        wait::until_all(&self.kustomizations(), 2 * LIMIT, &revision, all)
            .await
            .unwrap();
    }

    /// Pushes a commit and kills source-controller at that moment of its work on it.
    async fn kill_source(&mut self, moment: SourceMoment) {
        moment.arm(self);
        let mut missed = 0;
        self.push().await;
        while !moment.reached(self).await {
            missed += 1;
            assert!(missed < 10, "{moment:?} is always missed");
            self.push().await;
        }
        self.source.kill();
        self.gate.open();
        self.proxy.clear().unwrap();
        self.source.restart();
    }

    /// Pushes a commit and kills kustomize-controller at that moment of its work on it.
    async fn kill_kustomize(&mut self, moment: KustomizeMoment) {
        let changed = self.fleet.commit_changes(&mut self.random);
        let chosen = usize::try_from(self.random.below(changed.len() as u64)).unwrap();
        moment.arm(self, changed[chosen]);
        request(&self.sources(), SOURCE).await;
        moment.wait(self);
        self.kustomize.kill();
        self.proxy.clear().unwrap();
        self.kustomize.restart();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_controllers_leave_the_cluster_as_if_nothing_had_happened() {
    let Some(plane) = require_or_skip(ControlPlane::shared()) else {
        return;
    };
    install_definitions(plane).await;
    let namespace = plane.namespace("kills").await.unwrap();
    let here = namespace.name().to_owned();
    let client = plane.client().await.unwrap();
    let git = GitServer::start().unwrap();
    let gate = Gate::before(git.url()).await;
    let mut random = Random::from_environment("SLUICE_KILLS_SEED");
    let repository = git.create_repository("fleet").unwrap();
    let url = repository.url().replace(git.url(), gate.url());
    let fleet = Fleet::new(repository, number("SLUICE_KILLS_KUSTOMIZATIONS", 30), &mut random);

    let proxy = FaultProxy::start(plane).unwrap();
    let settings = Settings::within(proxy.kubeconfig(), &here);
    let storage = tempfile::tempdir().unwrap();
    // Garbage is collected at each reconcile, so that what is left over at the end is a leak.
    let source = Controller::source(&settings, storage.path(), &["--artifact-retention-ttl=1s"]);
    let kustomize = Controller::kustomize(&settings, &[]);
    let mut scene = Scene {
        client,
        namespace: here,
        proxy,
        gate,
        storage,
        source,
        kustomize,
        fleet,
        random,
    };
    apply(&scene.sources(), &git_repository(SOURCE, &url)).await;
    for object in scene.fleet.kustomizations(SOURCE, &scene.namespace) {
        apply(&scene.kustomizations(), &object).await;
    }
    scene.settle().await;
    let at_first = outcome::uids(&scene.client, &scene.namespace).await;

    let began = Instant::now();
    let kills = number("SLUICE_KILLS", SOURCE_MOMENTS.len());
    for round in 0..kills {
        let moment = SOURCE_MOMENTS[round % SOURCE_MOMENTS.len()];
        eprintln!(
            "{:.1?}: kill {round} of source-controller: {moment:?}",
            began.elapsed()
        );
        scene.kill_source(moment).await;
        if scene.random.once_in(2) {
            scene.settle().await;
        }
        let moment = KUSTOMIZE_MOMENTS[round % KUSTOMIZE_MOMENTS.len()];
        eprintln!(
            "{:.1?}: kill {round} of kustomize-controller: {moment:?}",
            began.elapsed()
        );
        scene.kill_kustomize(moment).await;
        if scene.random.once_in(2) {
            scene.settle().await;
        }
    }
    request(&scene.sources(), SOURCE).await;
    scene.settle().await;
    eprintln!(
        "{kills} kills of each controller, {} commits, in {:.1?}",
        scene.fleet.commits(),
        began.elapsed()
    );

    outcome::assert_cluster_is_as_committed(&scene, &at_first).await;
    outcome::assert_store_is_whole(&scene).await;
}
