//! Waiting for an object: on a watch, with a deadline, telling what is missing.

use futures::StreamExt as _;
use kube::core::DynamicObject;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::{CommandError, Result};
use crate::kind::{Kind, condition, readiness};
use crate::output::Console;

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
    let objects: Api<DynamicObject> = cluster.objects(kind);
    let progress = console.progress(&format!("waiting for {} {name}", kind.kind));
    let configuration = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut stream = std::pin::pin!(watcher(objects, configuration));
    let deadline = tokio::time::Instant::now() + cluster.timeout;
    let mut missing = "it was not seen yet".to_owned();
    loop {
        let Ok(event) = tokio::time::timeout_at(deadline, stream.next()).await else {
            return Err(
                CommandError::new(format!("timed out waiting for {} {name}: {missing}", kind.kind))
                    .with_hint(format!(
                        "look at it with: kubectl -n {} describe {} {name}",
                        cluster.namespace, kind.plural
                    )),
            );
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
        let value = serde_json::to_value(object).unwrap_or_default();
        match judge(&value) {
            Verdict::Done => return Ok(value),
            Verdict::Failed(reason) => return Err(CommandError::new(reason)),
            Verdict::Wait(reason) => {
                progress.update(&format!("waiting for {} {name}: {reason}", kind.kind));
                missing = reason;
            }
        }
    }
}

/// Judges readiness as kstatus does for a reconciled object: Reconciling means wait, Stalled means failed, and
/// Ready counts only for the current generation.
pub(crate) fn judge_ready(object: &Value) -> Verdict {
    let generation = object["metadata"]["generation"].as_i64();
    let (ready, message) = readiness(object);
    if let Some(stalled) = condition(object, "Stalled").filter(|condition| condition["status"] == "True") {
        return Verdict::Failed(stalled["message"].as_str().unwrap_or_default().to_owned());
    }
    if object["status"]["observedGeneration"].as_i64() != generation {
        return match (ready.as_str(), condition(object, "Reconciling")) {
            ("False", None) => Verdict::Failed(message),
            _ => Verdict::Wait(message),
        };
    }
    if condition(object, "Reconciling").is_some_and(|condition| condition["status"] == "True") {
        return Verdict::Wait(message);
    }
    match ready.as_str() {
        "True" => Verdict::Done,
        "False" => Verdict::Failed(message),
        _ => Verdict::Wait(message),
    }
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
    }

    #[test]
    fn stalled_fails_and_reconciling_waits() {
        let stalled = json!([{"type": "Ready", "status": "False", "message": "bad"},
            {"type": "Stalled", "status": "True", "message": "bad url"}]);
        assert_eq!(
            judge_ready(&object(1, 1, &stalled)),
            Verdict::Failed("bad url".into())
        );
        let retrying = json!([{"type": "Ready", "status": "False", "message": "down"},
            {"type": "Reconciling", "status": "True", "message": "again"}]);
        assert_eq!(
            judge_ready(&object(2, 1, &retrying)),
            Verdict::Wait("down".into())
        );
    }
}
