//! The moments at which controllers are killed. All but one are exact: the request, the pack or the file by
//! which a step can be told is held, delayed or watched.

use std::time::{Duration, Instant};

use sluice_testbed::proxy::{Moment, Rule};
use sluice_testbed::wait;

use super::fleet::Focus;
use super::{SOURCE, Scene};
use crate::support::*;

/// How long a controller may take to come to the moment at which it is to be killed.
const ARMED: Duration = LIMIT;

/// How long a step is drawn out, so that the kill comes in the middle of it.
const DRAWN_OUT: Duration = Duration::from_secs(2);

/// The name of the proxy's rule.
const RULE: &str = "kill";

/// A step of source-controller's work on a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceMoment {
    /// In the middle of receiving a pack.
    Fetch,
    /// While the artifact is being written.
    Pack,
    /// The artifact is there, the status does not say so yet.
    BeforeStatus,
    /// The status has been written, which the controller does not know.
    AfterStatus,
    /// While kustomize-controller works on what it has fetched, or still fetches it.
    Serving,
    /// At any time.
    Random,
}

/// All of them, in the order of the kills.
pub(super) const SOURCE_MOMENTS: [SourceMoment; 6] = [
    SourceMoment::Fetch,
    SourceMoment::Pack,
    SourceMoment::BeforeStatus,
    SourceMoment::AfterStatus,
    SourceMoment::Serving,
    SourceMoment::Random,
];

impl SourceMoment {
    /// Prepares what draws the step out.
    pub(super) fn arm(self, scene: &Scene) {
        let own = format!("/namespaces/{}/gitrepositories/[^/]+/status$", scene.namespace);
        let others = format!("/namespaces/{}/kustomizations/[^/]+/status$", scene.namespace);
        let rule = match self {
            Self::Fetch => return scene.gate.close(),
            Self::Pack | Self::Random => return,
            Self::BeforeStatus => Rule::delay(DRAWN_OUT).path(&own),
            Self::AfterStatus => Rule::delay_answer(DRAWN_OUT).path(&own),
            Self::Serving => Rule::delay(Duration::from_millis(1)).path(&others),
        };
        scene.proxy.set(RULE, &rule.method("PATCH")).unwrap();
    }

    /// Waits until the controller has come to that moment; false if the moment was missed.
    pub(super) async fn reached(self, scene: &mut Scene) -> bool {
        match self {
            Self::Fetch => scene.gate.wait_for_hold(ARMED).await,
            Self::Pack => return sees_artifact_in_the_making(scene).await,
            Self::BeforeStatus => {
                let scene = &*scene;
                let stored = || std::future::ready(is_stored(scene).then_some(()));
                wait::until_some(ARMED, "an artifact of the last commit", stored)
                    .await
                    .unwrap();
            }
            Self::AfterStatus => {
                let revision = scene.fleet.revision();
                let told = |object: &Object| object.data["status"]["artifact"]["revision"] == revision;
                wait::until(&scene.sources(), SOURCE, ARMED, revision, told)
                    .await
                    .unwrap();
            }
            Self::Serving => scene.proxy.wait_for_hits(RULE, 1, ARMED).unwrap(),
            Self::Random => tokio::time::sleep(Duration::from_millis(scene.random.below(1000))).await,
        }
        true
    }
}

fn is_stored(scene: &Scene) -> bool {
    let commit = scene.fleet.revision().rsplit(':').next().unwrap_or_default();
    let name = format!("{commit}.tar.gz");
    files_below(scene.storage.path())
        .iter()
        .any(|file| file.ends_with(&name))
}

/// Waits for a file in the making; false if it was finished before it was seen.
async fn sees_artifact_in_the_making(scene: &Scene) -> bool {
    let began = Instant::now();
    let unfinished = |file: &std::path::PathBuf| file.extension().is_some_and(|end| end == "tmp");
    loop {
        let files = files_below(scene.storage.path());
        if files.iter().any(unfinished) {
            return true;
        }
        if is_stored(scene) {
            return false;
        }
        assert!(began.elapsed() < ARMED, "no artifact was written");
        tokio::task::yield_now().await;
    }
}

/// A step of kustomize-controller's work on a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KustomizeMoment {
    /// Objects are compared; nothing of a stage is written yet.
    DryRun,
    /// Some objects of a stage are written, others not.
    MidStage,
    /// An object has been written, which the controller does not know.
    Applied,
    /// An object has been deleted, which the controller does not know.
    Prune,
    /// Everything is written but the status that tells of it.
    BeforeStatus,
    /// The status has been written, which the controller does not know.
    AfterStatus,
    /// The status that announces new objects is not written yet.
    BeforeAnnouncement,
    /// Nothing is deleted yet.
    BeforePrune,
    /// A definition or namespace has been written, which the controller does not know.
    DefinitionApplied,
    /// The first stage is written and ready, nothing of the second is.
    BetweenStages,
    /// The status that announces the new objects of the second stage is not written yet.
    BeforeSecondAnnouncement,
    /// A definition or namespace has been deleted, which the controller does not know.
    DefinitionPruned,
}

/// All of them, in the order of the kills.
pub(super) const KUSTOMIZE_MOMENTS: [KustomizeMoment; 12] = [
    KustomizeMoment::DryRun,
    KustomizeMoment::MidStage,
    KustomizeMoment::Applied,
    KustomizeMoment::Prune,
    KustomizeMoment::BeforeStatus,
    KustomizeMoment::AfterStatus,
    KustomizeMoment::BeforeAnnouncement,
    KustomizeMoment::BeforePrune,
    KustomizeMoment::DefinitionApplied,
    KustomizeMoment::BetweenStages,
    KustomizeMoment::BeforeSecondAnnouncement,
    KustomizeMoment::DefinitionPruned,
];

impl KustomizeMoment {
    /// The changes in which this moment comes.
    pub(super) fn focus(self) -> Focus {
        match self {
            Self::DefinitionApplied
            | Self::BetweenStages
            | Self::BeforeSecondAnnouncement
            | Self::DefinitionPruned => Focus::TwoStages,
            _ => Focus::OneStage,
        }
    }

    /// Prepares to hold the request by which the step can be told. It is one of an application that the last
    /// commit changed, in two files at least. Its first status patch announces; with one stage the second
    /// concludes, with two it announces once more.
    pub(super) fn arm(self, scene: &Scene, application: usize) {
        let namespace = &scene.namespace;
        let objects = format!("/app-{application:03}-[^/]+$");
        let definitions = format!(
            "/(namespaces/{namespace}-|customresourcedefinitions/widgets[.])app-{application:03}-[^/]+$"
        );
        let status = format!("/namespaces/{namespace}/kustomizations/application-{application:03}/status$");
        // What is no dry run says so by beginning otherwise.
        let written = "^&?force=true";
        let rule = match self {
            Self::DryRun => Rule::hold(Moment::Answer)
                .method("PATCH")
                .path(&objects)
                .query("dryRun=All")
                .skip(1),
            Self::MidStage => Rule::hold(Moment::Request)
                .method("PATCH")
                .path(&objects)
                .query(written)
                .skip(1),
            Self::Applied => Rule::hold(Moment::Answer)
                .method("PATCH")
                .path(&objects)
                .query(written),
            Self::Prune => Rule::hold(Moment::Answer).method("DELETE").path(&objects),
            Self::BeforePrune => Rule::hold(Moment::Request).method("DELETE").path(&objects),
            Self::BeforeAnnouncement => Rule::hold(Moment::Request).method("PATCH").path(&status),
            Self::BeforeStatus | Self::BeforeSecondAnnouncement => {
                Rule::hold(Moment::Request).method("PATCH").path(&status).skip(1)
            }
            Self::AfterStatus => Rule::hold(Moment::Answer).method("PATCH").path(&status).skip(1),
            Self::DefinitionApplied => Rule::hold(Moment::Answer)
                .method("PATCH")
                .path(&definitions)
                .query(written),
            Self::BetweenStages => Rule::hold(Moment::Request)
                .method("PATCH")
                .path(&objects)
                .query("dryRun=All"),
            Self::DefinitionPruned => Rule::hold(Moment::Answer).method("DELETE").path(&definitions),
        };
        scene
            .proxy
            .set(RULE, &rule.user_agent("^kustomize-controller/"))
            .unwrap();
    }

    /// Waits until the controller has come to that moment.
    pub(super) fn wait(self, scene: &Scene) {
        scene
            .proxy
            .wait_for_hits(RULE, 1, ARMED)
            .unwrap_or_else(|error| panic!("{self:?}: {error}"));
    }
}
