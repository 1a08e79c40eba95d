//! Controllers are killed at every step of their work, and the outcome is that of an undisturbed run: SRC-014,
//! SRC-017, SRC-019, KUS-002, KUS-011, KUS-014, KUS-051.
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `SLUICE_KILLS` | kills of each controller | as many as it has steps |
//! | `SLUICE_KILLS_KUSTOMIZATIONS` | Kustomizations at work | 24 |
//! | `SLUICE_KILLS_SEED` | repeats a run | from the clock |

mod fleet;
mod item;
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
use fleet::{Fleet, Focus};
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
        self.fleet.commit_changes(&mut self.random, Focus::OneStage);
        request(&self.sources(), SOURCE).await;
    }

    /// Waits until all is Ready at the last commit.
    async fn settle(&self) {
        let revision = self.fleet.revision();
        let settled = |object: &Object| has_applied(object, revision);
        wait::until_each(
            &self.kustomizations(),
            self.fleet.len(),
            3 * LIMIT,
            revision,
            settled,
        )
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
        let chosen = self.fleet.commit_changes(&mut self.random, moment.focus());
        moment.arm(self, chosen);
        request(&self.sources(), SOURCE).await;
        moment.wait(self);
        self.kustomize.kill();
        outcome::assert_nothing_is_lost(self, &format!("killed at {moment:?} of {chosen}")).await;
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
    let count = number("SLUICE_KILLS_KUSTOMIZATIONS", 24);
    let fleet = Fleet::new(repository, &here, count, &mut random);
    let audit = plane.audit_log().await.unwrap();
    let start = audit.mark().await.unwrap();

    let proxy = FaultProxy::start(plane).unwrap();
    let settings = Settings::within(proxy.kubeconfig(), &here);
    let storage = tempfile::tempdir().unwrap();
    // Garbage is collected at each reconcile, so that what is left over at the end is a leak.
    let source = Controller::source(&settings, storage.path(), &["--artifact-retention-ttl=1s"]);
    let flags = ["--concurrent=10", "--requeue-dependency=5s"];
    let kustomize = Controller::kustomize(&settings, &flags);
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
    for object in scene.fleet.kustomizations(SOURCE) {
        apply(&scene.kustomizations(), &object).await;
    }
    scene.settle().await;
    let at_first = item::owned(&scene.client, &scene.namespace).await;
    kill_in_turn(&mut scene).await;
    request(&scene.sources(), SOURCE).await;
    scene.settle().await;
    let requests = audit.since(start).await.unwrap();
    outcome::assert_cluster_is_as_committed(&scene, &at_first, &requests).await;
    outcome::assert_store_is_whole(&scene).await;
    outcome::clean_up(&scene).await;
}

/// Kills both controllers at all their moments, as often as the environment says.
async fn kill_in_turn(scene: &mut Scene) {
    let began = Instant::now();
    let source_kills = number("SLUICE_KILLS", SOURCE_MOMENTS.len());
    let kustomize_kills = number("SLUICE_KILLS", KUSTOMIZE_MOMENTS.len());
    for round in 0..source_kills.max(kustomize_kills) {
        if round < source_kills {
            let moment = SOURCE_MOMENTS[round % SOURCE_MOMENTS.len()];
            eprintln!(
                "{:.1?}: kill {round} of source-controller: {moment:?}",
                began.elapsed()
            );
            scene.kill_source(moment).await;
            if scene.random.once_in(2) {
                scene.settle().await;
            }
        }
        if round < kustomize_kills {
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
    }
    eprintln!(
        "{source_kills} kills of source-controller, {kustomize_kills} of kustomize-controller, {} Kustomizations, {} commits, in {:.1?}",
        scene.fleet.len(),
        scene.fleet.commits(),
        began.elapsed()
    );
}
