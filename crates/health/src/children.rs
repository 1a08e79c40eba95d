//! The rule that looks at an object's pods.

use jiff::Timestamp;
use serde_json::Value;

use crate::{Assessment, Status, conditions, fields, kstatus};

/// Whether the rule of [`assess_with_pods`] applies to `object`: a StatefulSet or ReplicaSet of `apps`.
pub fn controls_pods(object: &Value) -> bool {
    fields::group(object) == "apps" && matches!(fields::kind(object), "StatefulSet" | "ReplicaSet")
}

/// Assesses an object that controls `pods` (those its selector matches): one that is in progress has failed
/// if a pod has, unless that pod is being deleted or merely waits to be scheduled.
pub fn assess_with_pods(object: &Value, pods: &[Value], now: Timestamp) -> Assessment {
    let own = kstatus(object, now);
    if own.status != Status::InProgress {
        return own;
    }
    let failed = pods.iter().filter(|pod| has_failed_for_good(pod, now)).count();
    if failed == 0 {
        return own;
    }
    Assessment::failed("PodsFailed", format!("{failed} pods have failed"))
}

fn has_failed_for_good(pod: &Value, now: Timestamp) -> bool {
    if kstatus(pod, now).status != Status::Failed {
        return false;
    }
    let unschedulable = conditions::read(pod).is_ok_and(|conditions| {
        conditions::find(&conditions, "PodScheduled", "False")
            .is_some_and(|condition| condition.reason == "Unschedulable")
    });
    !unschedulable
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn moving(kind: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": {"replicas": 2}})
    }

    fn crashing() -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {
            "phase": "Running",
            "containerStatuses": [{"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}})
    }

    #[test]
    fn a_failed_pod_fails_a_controller_that_is_in_progress() {
        let assessment = assess_with_pods(&moving("StatefulSet"), &[crashing()], Timestamp::UNIX_EPOCH);
        assert_eq!(assessment, Assessment::failed("PodsFailed", "1 pods have failed"));
    }

    #[test]
    fn a_failed_pod_does_not_fail_a_controller_that_is_current() {
        let done =
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {}, "spec": {"replicas": 0}});
        assert_eq!(
            assess_with_pods(&done, &[crashing()], Timestamp::UNIX_EPOCH).status,
            Status::Current
        );
    }

    #[test]
    fn pods_that_are_going_or_cannot_be_scheduled_do_not_count_as_failed() {
        let mut going = crashing();
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let waiting = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "1960-01-01T00:00:00Z"},
            "status": {"phase": "Pending",
                       "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}});
        assert_eq!(kstatus(&waiting, Timestamp::UNIX_EPOCH).status, Status::Failed);
        let assessment = assess_with_pods(&moving("ReplicaSet"), &[going, waiting], Timestamp::UNIX_EPOCH);
        assert_eq!(assessment.status, Status::InProgress);
    }

    #[test]
    fn only_stateful_sets_and_replica_sets_are_judged_by_their_pods() {
        assert!(controls_pods(&moving("StatefulSet")) && controls_pods(&moving("ReplicaSet")));
        assert!(!controls_pods(&moving("Deployment")) && !controls_pods(&moving("DaemonSet")));
    }
}
