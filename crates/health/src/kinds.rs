//! The rules of kstatus for the built-in kinds.

use jiff::{Timestamp, ToSpan};
use serde_json::Value;

use crate::job::{self, Counts};
use crate::{Assessment, conditions, fields, generic};

/// What a rule answers: an error is the text of a malformed object.
type Answer = Result<Assessment, String>;

/// How long a pod may be unschedulable before it counts as failed, in seconds.
const SCHEDULE_WINDOW_SECONDS: i64 = 15;

/// The answer of the rule for the object's group and kind, or `None` if there is no such rule.
pub(crate) fn assess(object: &Value, now: Timestamp) -> Option<Answer> {
    Some(match (fields::group(object), fields::kind(object)) {
        ("", "Service") => Ok(assess_service(object)),
        ("", "Pod") => assess_pod(object, now),
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => {
            Ok(Assessment::current("Resource is always ready"))
        }
        ("", "PersistentVolumeClaim") => Ok(assess_claim(object)),
        ("apps", "StatefulSet") => Ok(assess_stateful_set(object)),
        ("apps" | "extensions", "DaemonSet") => assess_daemon_set(object),
        ("apps" | "extensions", "Deployment") => assess_deployment(object),
        ("apps" | "extensions", "ReplicaSet") => assess_replica_set(object),
        ("policy", "PodDisruptionBudget") => Ok(Assessment::current("AllowedDisruptions has been computed.")),
        ("batch", "Job") => assess_job(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => assess_definition(object),
        _ => return None,
    })
}

fn spec(object: &Value, field: &str, default: i64) -> i64 {
    fields::integer(object, &["spec", field], default)
}

fn status(object: &Value, field: &str) -> i64 {
    fields::integer(object, &["status", field], 0)
}

/// In progress while `actual` is below `wanted`, with the message "Label: actual/wanted".
fn lacking(reason: &str, label: &str, actual: i64, wanted: i64) -> Option<Assessment> {
    (wanted > actual).then(|| Assessment::in_progress(reason, format!("{label}: {actual}/{wanted}")))
}

/// In progress while more replicas exist than are wanted.
fn surplus(actual: i64, wanted: i64) -> Option<Assessment> {
    (actual > wanted)
        .then(|| Assessment::in_progress("ExtraPods", format!("Pending termination: {}", actual - wanted)))
}

fn assess_service(object: &Value) -> Assessment {
    let load_balancer = fields::text(object, &["spec", "type"], "ClusterIP") == "LoadBalancer";
    if load_balancer && fields::text(object, &["spec", "clusterIP"], "").is_empty() {
        return Assessment::in_progress("NoIPAssigned", "ClusterIP not set. Service type: LoadBalancer");
    }
    Assessment::current("Service is ready")
}

fn assess_claim(object: &Value) -> Assessment {
    match fields::text(object, &["status", "phase"], "unknown") {
        "Bound" => Assessment::current("PVC is Bound"),
        phase => Assessment::in_progress("NotBound", format!("PVC is not Bound. phase: {phase}")),
    }
}

fn assess_stateful_set(object: &Value) -> Assessment {
    if fields::text(object, &["spec", "updateStrategy", "type"], "") == "OnDelete" {
        return Assessment::current("StatefulSet is using the ondelete update strategy");
    }
    let wanted = spec(object, "replicas", 1);
    let replicas = status(object, "replicas");
    let updated = status(object, "updatedReplicas");
    let short = lacking("LessReplicas", "Replicas", replicas, wanted)
        .or_else(|| lacking("LessReady", "Ready", status(object, "readyReplicas"), wanted))
        .or_else(|| surplus(replicas, wanted));
    if let Some(assessment) = short {
        return assessment;
    }
    let partition = fields::integer(
        object,
        &["spec", "updateStrategy", "rollingUpdate", "partition"],
        -1,
    );
    if partition != -1 {
        return lacking("PartitionRollout", "updated", updated, wanted - partition).unwrap_or_else(|| {
            Assessment::current(format!("Partition rollout complete. updated: {updated}"))
        });
    }
    if let Some(assessment) = lacking(
        "LessCurrent",
        "current",
        status(object, "currentReplicas"),
        wanted,
    ) {
        return assessment;
    }
    let current = fields::text(object, &["status", "currentRevision"], "");
    if current != fields::text(object, &["status", "updateRevision"], "") {
        return Assessment::in_progress(
            "RevisionMismatch",
            "Waiting for updated revision to match current",
        );
    }
    Assessment::current(format!(
        "All replicas scheduled as expected. Replicas: {replicas}"
    ))
}

fn assess_deployment(object: &Value) -> Answer {
    // Without a deadline the deployment controller never sets the Progressing condition.
    let unlimited = i64::from(i32::MAX);
    let mut progressing = spec(object, "progressDeadlineSeconds", unlimited) == unlimited;
    let mut available = false;
    for condition in conditions::read(object)? {
        match condition.kind.as_str() {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                return Ok(Assessment::failed(condition.reason, "Progress deadline exceeded"));
            }
            "Progressing" if condition.status == "True" && condition.reason == "NewReplicaSetAvailable" => {
                progressing = true;
            }
            "Available" if condition.status == "True" => available = true,
            _ => {}
        }
    }
    let wanted = spec(object, "replicas", 1);
    let replicas = status(object, "replicas");
    let updated = status(object, "updatedReplicas");
    let short = lacking("LessReplicas", "Replicas", replicas, wanted)
        .or_else(|| lacking("LessUpdated", "Updated", updated, wanted))
        .or_else(|| surplus(replicas, wanted))
        .or_else(|| {
            lacking(
                "LessAvailable",
                "Available",
                status(object, "availableReplicas"),
                updated,
            )
        })
        .or_else(|| lacking("LessReady", "Ready", status(object, "readyReplicas"), wanted));
    Ok(match short {
        Some(assessment) => assessment,
        None if !progressing => Assessment::in_progress("ReplicaSetNotAvailable", "ReplicaSet not Available"),
        None if !available => Assessment::in_progress("DeploymentNotAvailable", "Deployment not Available"),
        None => Assessment::current(format!("Deployment is available. Replicas: {replicas}")),
    })
}

fn assess_replica_set(object: &Value) -> Answer {
    if conditions::has(&conditions::read(object)?, "ReplicaFailure", "True") {
        return Ok(Assessment::in_progress(
            "ReplicaFailure",
            "Replica Failure condition. Check Pods",
        ));
    }
    let wanted = spec(object, "replicas", 1);
    let replicas = status(object, "replicas");
    Ok(lacking(
        "LessLabelled",
        "Labelled",
        status(object, "fullyLabeledReplicas"),
        wanted,
    )
    .or_else(|| {
        lacking(
            "LessAvailable",
            "Available",
            status(object, "availableReplicas"),
            wanted,
        )
    })
    .or_else(|| lacking("LessReady", "Ready", status(object, "readyReplicas"), wanted))
    .or_else(|| surplus(replicas, wanted))
    .unwrap_or_else(|| Assessment::current(format!("ReplicaSet is available. Replicas: {replicas}"))))
}

fn assess_daemon_set(object: &Value) -> Answer {
    let kind = fields::kind(object);
    match generic::generations(object)? {
        (None, _) => {
            return Ok(Assessment::in_progress(
                "NoGeneration",
                format!("{kind} metadata.generation not found"),
            ));
        }
        (Some(_), None) => {
            return Ok(Assessment::in_progress(
                "NoObservedGeneration",
                format!("{kind} status.observedGeneration not found"),
            ));
        }
        _ => {}
    }
    let wanted = fields::integer(object, &["status", "desiredNumberScheduled"], -1);
    if wanted == -1 {
        return Ok(Assessment::in_progress(
            "NoDesiredNumber",
            "Missing .status.desiredNumberScheduled",
        ));
    }
    Ok(lacking(
        "LessCurrent",
        "Current",
        status(object, "currentNumberScheduled"),
        wanted,
    )
    .or_else(|| {
        lacking(
            "LessUpdated",
            "Updated",
            status(object, "updatedNumberScheduled"),
            wanted,
        )
    })
    .or_else(|| {
        lacking(
            "LessAvailable",
            "Available",
            status(object, "numberAvailable"),
            wanted,
        )
    })
    .or_else(|| lacking("LessReady", "Ready", status(object, "numberReady"), wanted))
    .unwrap_or_else(|| {
        Assessment::current(format!("All replicas scheduled as expected. Replicas: {wanted}"))
    }))
}

fn assess_pod(object: &Value, now: Timestamp) -> Answer {
    let conditions = conditions::read(object)?;
    Ok(match fields::text(object, &["status", "phase"], "") {
        "Succeeded" => Assessment::current("Pod has completed successfully"),
        "Failed" => Assessment::current("Pod has completed, but not successfully"),
        "Running" if conditions::has(&conditions, "Ready", "True") => Assessment::current("Pod is Ready"),
        "Running" => {
            let crashing = crash_looping(object)?;
            if crashing.is_empty() {
                Assessment::in_progress("PodRunningNotReady", "Pod is running but is not Ready")
            } else {
                let message = format!("Containers in CrashLoop state: {}", crashing.join(","));
                Assessment::failed("ContainerCrashLooping", message)
            }
        }
        "Pending" => match conditions::find(&conditions, "PodScheduled", "False") {
            Some(condition) if condition.reason == "Unschedulable" && within_schedule_window(object, now) => {
                Assessment::in_progress("PodNotScheduled", "Pod has not been scheduled")
            }
            Some(condition) if condition.reason == "Unschedulable" => {
                Assessment::failed("PodUnschedulable", "Pod could not be scheduled")
            }
            _ => Assessment::in_progress("PodPending", "Pod is in the Pending phase"),
        },
        "" => Assessment::in_progress("PodNotObserved", "Pod phase not available"),
        phase => return Err(format!("unknown phase {phase}")),
    })
}

fn within_schedule_window(object: &Value, now: Timestamp) -> bool {
    let created = fields::text(object, &["metadata", "creationTimestamp"], "");
    let Ok(created) = created.parse::<Timestamp>() else {
        return false;
    };
    now.checked_sub(SCHEDULE_WINDOW_SECONDS.seconds())
        .is_ok_and(|threshold| threshold < created)
}

/// The names of the containers that wait in CrashLoopBackOff.
fn crash_looping(object: &Value) -> Result<Vec<&str>, String> {
    let statuses = fields::strict_list(object, &["status", "containerStatuses"])?.unwrap_or_default();
    Ok(statuses
        .iter()
        .filter(|status| fields::text(status, &["state", "waiting", "reason"], "") == "CrashLoopBackOff")
        .filter_map(|status| status.get("name").and_then(Value::as_str))
        .collect())
}

fn assess_job(object: &Value) -> Answer {
    let counts = Counts::read(object);
    if let Some(finished) = job::assess_finished(object, &counts)? {
        return Ok(finished);
    }
    if fields::text(object, &["status", "startTime"], "").is_empty() {
        return Ok(Assessment::in_progress("JobNotStarted", "Job not started"));
    }
    Ok(Assessment::current(counts.progress()))
}

fn assess_definition(object: &Value) -> Answer {
    for condition in conditions::read(object)? {
        match (condition.kind.as_str(), condition.status.as_str()) {
            ("NamesAccepted", "False") => return Ok(Assessment::failed(condition.reason, condition.message)),
            ("Established", "False") if condition.reason != "Installing" => {
                return Ok(Assessment::failed(condition.reason, condition.message));
            }
            ("Established", "True") => return Ok(Assessment::current("CRD is established")),
            _ => {}
        }
    }
    Ok(Assessment::in_progress("Installing", "Install in progress"))
}
