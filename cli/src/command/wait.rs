//! Waiting for an object: on a watch, with a deadline, telling what is missing.

use futures::StreamExt as _;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::Value;
use sluice_api::reasons;

use crate::cluster::Cluster;
use crate::error::{CommandError, Result};
use crate::kind::{Kind, condition, readiness};
use crate::output::{Console, Progress};

/// What a look at an object tells a waiting command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is as wished.
    Done,
    /// Not yet; the text says what is missing.
    Wait(String),
    /// It won't be without somebody's help.
    Failed(String),
}

/// Waits until `judge` is content with the object `name`, and returns it.
///
/// # Errors
/// The verdict `Failed`, the deadline (naming what was missing last), or a vanished object.
pub(crate) async fn wait_for(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    console: &Console,
    judge: impl Fn(&Value) -> Verdict,
) -> Result<Value> {
    let progress = console.progress(&format!("waiting for {} {name}", kind.kind));
    wait_quietly(cluster, kind, name, &progress, judge).await
}

/// As [`wait_for`], under a line of progress that is there already.
///
/// # Errors
/// As [`wait_for`].
pub(crate) async fn wait_quietly(
    cluster: &Cluster,
    kind: &Kind,
    name: &str,
    progress: &Progress,
    judge: impl Fn(&Value) -> Verdict,
) -> Result<Value> {
    let objects: Api<DynamicObject> = cluster.objects(kind);
    let configuration = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut stream = std::pin::pin!(watcher(objects, configuration));
    let deadline = tokio::time::Instant::now() + cluster.timeout;
    let mut missing = "it was not seen yet".to_owned();
    loop {
        let Ok(event) = tokio::time::timeout_at(deadline, stream.next()).await else {
            let text = format!("timed out waiting for {} {name}: {missing}", kind.kind);
            return Err(CommandError::new(text).with_hint(look_at(cluster, kind, name)));
        };
        let object = match event {
            Some(Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object))) => object,
            Some(Ok(watcher::Event::Delete(object))) if object.name_any() == name => {
                return Err(CommandError::new(format!(
                    "{} {name} was deleted meanwhile",
                    kind.kind
                )));
            }
            Some(Err(error)) => {
                missing = error.to_string();
                continue;
            }
            _ => continue,
        };
        let value = kind.value(object);
        match judge(&value) {
            Verdict::Done => return Ok(value),
            Verdict::Failed(reason) => {
                return Err(CommandError::new(reason).with_hint(look_at(cluster, kind, name)));
            }
            Verdict::Wait(reason) => {
                progress.update(&format!("waiting for {} {name}: {reason}", kind.kind));
                missing = reason;
            }
        }
    }
}

fn look_at(cluster: &Cluster, kind: &Kind, name: &str) -> String {
    format!(
        "look at it with: kubectl -n {} describe {} {name}",
        cluster.namespace, kind.plural
    )
}

/// Judges the readiness of an object whose status may be older than its spec: only what was observed on the
/// present generation counts.
pub(crate) fn judge_ready(object: &Value) -> Verdict {
    let generation = object["metadata"]["generation"].as_i64();
    let ready = condition(object, "Ready");
    let observed = ready.and_then(|ready| ready["observedGeneration"].as_i64().filter(|number| *number > 0));
    if ready.is_none() || observed.or(observed_generation(object)) != generation {
        return Verdict::Wait(readiness(object).1);
    }
    judge_settled(object)
}

/// Judges the readiness of an object whose status is known to be of now, as kstatus does, except that a failure is
/// told at once: kstatus would call an object that fails and is retried in progress.
pub(crate) fn judge_settled(object: &Value) -> Verdict {
    let is_true = |name: &str| condition(object, name).filter(|condition| condition["status"] == "True");
    let (ready, message) = readiness(object);
    if let Some(stalled) = is_true("Stalled") {
        return Verdict::Failed(stalled["message"].as_str().unwrap_or_default().to_owned());
    }
    let reason = condition(object, "Ready").and_then(|ready| ready["reason"].as_str());
    match ready.as_str() {
        // A dependency that becomes ready wakes the object.
        "False" if reason == Some(reasons::DEPENDENCY_NOT_READY) => Verdict::Wait(message),
        "False" => Verdict::Failed(message),
        "True" if is_true("Reconciling").is_some() => Verdict::Wait(message),
        "True" if observed_generation(object) == object["metadata"]["generation"].as_i64() => Verdict::Done,
        _ => Verdict::Wait(message),
    }
}

/// Judges a Deployment: whether it has rolled out.
pub(crate) fn judge_deployment(object: &Value) -> Verdict {
    let assessment = sluice_health::assess(object, jiff::Timestamp::now());
    match assessment.status {
        sluice_health::Status::Current => Verdict::Done,
        sluice_health::Status::Failed => Verdict::Failed(assessment.message),
        _ => Verdict::Wait(assessment.message),
    }
}

fn observed_generation(object: &Value) -> Option<i64> {
    object["status"]["observedGeneration"].as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(generation: i64, observed: i64, conditions: &Value) -> Value {
        json!({"metadata": {"generation": generation}, "status": {"observedGeneration": observed, "conditions": conditions}})
    }

    #[test]
    fn readiness_counts_only_for_the_current_generation() {
        let ready = json!([{"type": "Ready", "status": "True", "message": "ok"}]);
        assert_eq!(judge_ready(&object(2, 2, &ready)), Verdict::Done);
        assert_eq!(judge_ready(&object(2, 1, &ready)), Verdict::Wait("ok".into()));
        let failed = json!([{"type": "Ready", "status": "False", "message": "old", "observedGeneration": 1}]);
        assert_eq!(judge_ready(&object(2, 1, &failed)), Verdict::Wait("old".into()));
        let stalled = json!([{"type": "Stalled", "status": "True", "message": "bad"},
            {"type": "Ready", "status": "False", "message": "old", "observedGeneration": 1}]);
        assert_eq!(judge_ready(&object(2, 1, &stalled)), Verdict::Wait("old".into()));
    }

    #[test]
    fn a_failure_is_told_although_it_is_retried() {
        let stalled = json!([{"type": "Ready", "status": "False", "message": "bad"},
            {"type": "Stalled", "status": "True", "message": "bad url"}]);
        assert_eq!(
            judge_ready(&object(1, 1, &stalled)),
            Verdict::Failed("bad url".into())
        );
        // What fails does not observe its generation.
        let retrying = json!([{"type": "Reconciling", "status": "True", "message": "again"},
            {"type": "Ready", "status": "False", "message": "down", "observedGeneration": 2}]);
        assert_eq!(
            judge_ready(&object(2, 1, &retrying)),
            Verdict::Failed("down".into())
        );
    }

    #[test]
    fn dependencies_and_work_in_progress_are_waited_for() {
        let dependent =
            json!([{"type": "Ready", "status": "False", "message": "infra", "reason": "DependencyNotReady"}]);
        assert_eq!(
            judge_settled(&object(1, 1, &dependent)),
            Verdict::Wait("infra".into())
        );
        let working = json!([{"type": "Ready", "status": "Unknown", "message": "building"}]);
        assert_eq!(
            judge_settled(&object(1, 1, &working)),
            Verdict::Wait("building".into())
        );
        let again = json!([{"type": "Ready", "status": "True", "message": "ok"},
            {"type": "Reconciling", "status": "True", "message": "new"}]);
        assert_eq!(judge_settled(&object(1, 1, &again)), Verdict::Wait("ok".into()));
    }
}
