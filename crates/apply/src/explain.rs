//! Why an object is not ready: the one below it that is at fault, and what was said of that.

use std::fmt;

use serde_json::Value;
use sluice_health::{Status, assess};

use crate::applier::Applier;
use crate::error::Failure;
use crate::health::selector_text;
use crate::{Object, ObjectId, Target};

/// The most pods, replica sets or events that are read of one object.
const MOST: u32 = 50;

/// The longest text that is quoted, in characters.
const LONGEST: usize = 300;

/// Why an object is not ready, as far as the cluster tells. Its text begins with the culprit:
/// `Pod/apps/web-1: ImagePullBackOff: … (of Deployment/apps/web, ReplicaSet/apps/web-5); event Failed: …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The objects from the one that was asked for down to the culprit, which is last.
    pub chain: Vec<String>,
    /// What is wrong with the culprit: a word, a sentence, or both.
    pub problem: String,
    /// The newest warning about the culprit, or about one above it: its reason and message.
    pub event: Option<String>,
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (culprit, above) = self
            .chain
            .split_last()
            .map_or(("", [].as_slice()), |(culprit, above)| (culprit.as_str(), above));
        write!(formatter, "{culprit}: {}", self.problem)?;
        if !above.is_empty() {
            write!(formatter, " (of {})", above.join(", "))?;
        }
        match &self.event {
            Some(event) => write!(formatter, "; event {event}"),
            None => Ok(()),
        }
    }
}

/// What is known of one object of the chain.
struct Link {
    subject: String,
    namespace: String,
    uid: String,
}

impl Applier {
    /// Finds out why an object is not ready, in at most five requests under the applier's identity: what that may
    /// not read is left out.
    pub async fn explain(&self, target: &Target) -> Explanation {
        let subject = target.id.subject();
        let alone = |problem: String| Explanation {
            chain: vec![subject.clone()],
            problem,
            event: None,
        };
        let live = match self.read_target(target).await {
            Ok(Some(live)) => live,
            Ok(None) => return alone("does not exist".to_owned()),
            Err(failure) => return alone(shorten(&failure.to_string())),
        };
        let value = live.to_value();
        let assessment = assess(&value, jiff::Timestamp::now());
        let mut problem = join(&assessment.reason, &assessment.message);
        if assessment.status == Status::InProgress
            && let Some(condition) = find_condition(&value)
        {
            problem = condition;
        }
        let mut chain = vec![link(&value)];
        if let Some((below, found)) = self.find_below(&live).await {
            chain.extend(below);
            problem = found.unwrap_or(problem);
        }
        let mut event = None;
        // The newest warning stands with the culprit, or with whoever could not make one.
        for link in chain.iter().rev().take(2) {
            event = self.newest_warning(link).await;
            if event.is_some() {
                break;
            }
        }
        Explanation {
            chain: chain.into_iter().map(|link| link.subject).collect(),
            problem: shorten(&problem),
            event,
        }
    }

    async fn read_target(&self, target: &Target) -> Result<Option<Object>, Failure> {
        let Target { id, version } = target;
        let resource = self.discovery().resolve(&id.group, version, &id.kind).await?;
        self.requests().get(&resource, &id.namespace, &id.name).await
    }

    /// What a controller of pods has below it that is not ready, and what is wrong with that.
    async fn find_below(&self, live: &Object) -> Option<(Vec<Link>, Option<String>)> {
        let controls = matches!(
            (live.group(), live.kind()),
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job")
        );
        let selector = selector_text(live);
        if !controls || selector.is_empty() {
            return None;
        }
        let pods = self.list_below(live, "", "Pod", &selector).await;
        if let Some((problem, pod)) = find_worst_pod(&pods) {
            let mut below: Vec<Link> = controller_of(pod)
                .filter(|owner| owner.uid != live.uid())
                .into_iter()
                .collect();
            below.push(link(pod));
            return Some((below, Some(problem)));
        }
        if live.kind() != "Deployment" {
            return None;
        }
        let sets = self.list_below(live, "apps", "ReplicaSet", &selector).await;
        let newest = sets
            .iter()
            .max_by_key(|set| text(set, "/metadata/creationTimestamp").to_owned())?;
        Some((vec![link(newest)], find_condition(newest)))
    }

    async fn list_below(&self, live: &Object, group: &str, kind: &str, selector: &str) -> Vec<Value> {
        let Ok(resource) = self.discovery().resolve(group, "v1", kind).await else {
            return Vec::new();
        };
        self.requests()
            .list_some(&resource, live.namespace(), selector, "", MOST)
            .await
            .unwrap_or_default()
    }

    async fn newest_warning(&self, link: &Link) -> Option<String> {
        if link.uid.is_empty() {
            return None;
        }
        let resource = self.discovery().resolve("", "v1", "Event").await.ok()?;
        let namespace = if link.namespace.is_empty() {
            "default"
        } else {
            &link.namespace
        };
        let fields = format!("involvedObject.uid={},type=Warning", link.uid);
        let events = self
            .requests()
            .list_some(&resource, namespace, "", &fields, MOST)
            .await
            .ok()?;
        let newest = events.iter().max_by_key(|event| time_of(event))?;
        Some(shorten(&join(text(newest, "/reason"), text(newest, "/message"))))
    }
}

/// When an event was last seen, as a text that sorts by time.
fn time_of(event: &Value) -> String {
    [
        "/series/lastObservedTime",
        "/lastTimestamp",
        "/eventTime",
        "/metadata/creationTimestamp",
    ]
    .iter()
    .map(|path| text(event, path))
    .find(|time| !time.is_empty())
    .unwrap_or_default()
    .to_owned()
}

/// The pod that is furthest from ready, and what is wrong with it.
fn find_worst_pod(pods: &[Value]) -> Option<(String, &Value)> {
    pods.iter()
        .filter(|pod| text(pod, "/metadata/deletionTimestamp").is_empty())
        .filter_map(|pod| {
            let (weight, problem) = assess_pod(pod)?;
            Some((weight, problem, pod))
        })
        .max_by_key(|(weight, _, _)| *weight)
        .map(|(_, problem, pod)| (problem, pod))
}

/// How bad a pod fares and why; `None` for one that is ready or done.
fn assess_pod(pod: &Value) -> Option<(u8, String)> {
    let conditions = || list(pod, "/status/conditions");
    let ready = conditions()
        .any(|condition| text(condition, "/type") == "Ready" && text(condition, "/status") == "True");
    if ready || text(pod, "/status/phase") == "Succeeded" {
        return None;
    }
    let containers = list(pod, "/status/initContainerStatuses").chain(list(pod, "/status/containerStatuses"));
    for container in containers {
        let named = |state: &str| {
            let reason = text(container, &format!("{state}/reason"));
            let problem = join(reason, text(container, &format!("{state}/message")));
            format!("container {}: {problem}", text(container, "/name"))
        };
        let waiting = text(container, "/state/waiting/reason");
        if !matches!(waiting, "" | "PodInitializing" | "ContainerCreating") {
            return Some((4, named("/state/waiting")));
        }
        let code = container
            .pointer("/state/terminated/exitCode")
            .and_then(Value::as_i64);
        if let Some(code) = code.filter(|code| *code != 0) {
            return Some((4, format!("{} (exit code {code})", named("/state/terminated"))));
        }
    }
    if text(pod, "/status/phase") == "Failed" {
        return Some((3, join(text(pod, "/status/reason"), text(pod, "/status/message"))));
    }
    let failed = |kind: &str| {
        conditions()
            .find(|condition| text(condition, "/type") == kind && text(condition, "/status") == "False")
            .map(|condition| join(text(condition, "/reason"), text(condition, "/message")))
    };
    if let Some(problem) = failed("PodScheduled") {
        return Some((2, problem));
    }
    let problem = failed("ContainersReady").or_else(|| failed("Ready"));
    Some((
        1,
        problem.unwrap_or_else(|| format!("is {}", text(pod, "/status/phase"))),
    ))
}

/// The condition that says best why an object is not there yet.
fn find_condition(object: &Value) -> Option<String> {
    let is = |condition: &&Value, kind: &str, status: &str| {
        text(condition, "/type") == kind && text(condition, "/status") == status
    };
    let find = |kind: &str, status: &str| {
        list(object, "/status/conditions").find(|condition| is(condition, kind, status))
    };
    let condition = find("ReplicaFailure", "True")
        .or_else(|| find("Stalled", "True"))
        .or_else(|| find("Progressing", "False"))
        .or_else(|| find("Ready", "False"))
        .or_else(|| find("Ready", "Unknown"))?;
    let problem = join(text(condition, "/reason"), text(condition, "/message"));
    (!problem.is_empty()).then_some(problem)
}

fn link(object: &Value) -> Link {
    let api_version = text(object, "/apiVersion");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let id = ObjectId {
        namespace: text(object, "/metadata/namespace").to_owned(),
        name: text(object, "/metadata/name").to_owned(),
        group: group.to_owned(),
        kind: text(object, "/kind").to_owned(),
    };
    Link {
        subject: id.subject(),
        namespace: id.namespace,
        uid: text(object, "/metadata/uid").to_owned(),
    }
}

/// The object that controls a pod.
fn controller_of(pod: &Value) -> Option<Link> {
    let owner = list(pod, "/metadata/ownerReferences").find(|owner| owner["controller"] == true)?;
    let namespace = text(pod, "/metadata/namespace");
    Some(Link {
        subject: format!("{}/{namespace}/{}", text(owner, "/kind"), text(owner, "/name")),
        namespace: namespace.to_owned(),
        uid: text(owner, "/uid").to_owned(),
    })
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value
        .pointer(path)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// A reason and a message, either of which may be missing.
fn join(reason: &str, message: &str) -> String {
    match (reason.is_empty(), message.is_empty()) {
        (false, false) => format!("{reason}: {message}"),
        (false, true) => reason.to_owned(),
        _ => message.to_owned(),
    }
}

/// One line of at most [`LONGEST`] characters.
fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    line.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_culprit_comes_first() {
        let explanation = Explanation {
            chain: vec![
                "Deployment/n/web".into(),
                "ReplicaSet/n/web-1".into(),
                "Pod/n/web-1-a".into(),
            ],
            problem: "container app: ImagePullBackOff".into(),
            event: Some("Failed: no such image".into()),
        };
        assert_eq!(
            explanation.to_string(),
            "Pod/n/web-1-a: container app: ImagePullBackOff (of Deployment/n/web, ReplicaSet/n/web-1); event Failed: no such image"
        );
    }

    #[test]
    fn the_pod_that_fares_worst_is_named() {
        let pod = |name: &str, status: Value| json!({"metadata": {"name": name}, "status": status});
        let pods = [
            pod(
                "ready",
                json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
            ),
            pod(
                "pending",
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}]}),
            ),
            pod(
                "crash",
                json!({"phase": "Running", "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}]}),
            ),
            pod(
                "starting",
                json!({"phase": "Pending", "containerStatuses": [{"name": "app", "state": {"waiting": {"reason": "ContainerCreating"}}}]}),
            ),
        ];
        let (problem, worst) = find_worst_pod(&pods).unwrap();
        assert_eq!(worst["metadata"]["name"], "crash");
        assert_eq!(problem, "container app: CrashLoopBackOff: back-off");
        assert_eq!(find_worst_pod(&pods[..2]).unwrap().0, "Unschedulable: no node");
        assert!(find_worst_pod(&pods[..1]).is_none());
        let ended = pod(
            "ended",
            json!({"phase": "Running", "initContainerStatuses": [{"name": "set-up", "state": {"terminated": {"reason": "Error", "exitCode": 3}}}]}),
        );
        assert_eq!(
            assess_pod(&ended).unwrap().1,
            "container set-up: Error (exit code 3)"
        );
        assert_eq!(assess_pod(&pods[3]).unwrap().1, "is Pending");
    }

    #[test]
    fn texts_are_bounded_and_stand_on_one_line() {
        assert_eq!(shorten("a\n  b\tc"), "a b c");
        let long = shorten(&"ü".repeat(1000));
        assert_eq!(long.chars().count(), LONGEST);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn the_condition_that_says_most_is_quoted() {
        let object = json!({"status": {"conditions": [
            {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "progressing"},
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"},
        ]}});
        assert_eq!(
            find_condition(&object).as_deref(),
            Some("FailedCreate: exceeded quota")
        );
        assert_eq!(find_condition(&json!({"status": {}})), None);
    }
}
