//! Reading how live objects fare.

use std::collections::HashSet;
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use jiff::Timestamp;
use serde_json::Value;
use sluice_health::{Assessment, Status, WaitSet};

use crate::applier::Applier;
use crate::error::Failure;
use crate::{Object, ObjectId};

/// How many objects a wait reads at a time.
const CONCURRENT_READS: usize = 8;

/// An object whose health is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    /// The object.
    pub id: ObjectId,
    /// The API version in which to read it, without the group.
    pub version: String,
}

impl Applier {
    /// Reads an object and assesses it: one request, and a second one for the pods of a StatefulSet or
    /// ReplicaSet that is in progress.
    pub async fn assess(&self, target: &Target) -> Assessment {
        match self.try_assess(target).await {
            Ok(assessment) => assessment,
            Err(failure) => Assessment::unknown(failure.to_string()),
        }
    }

    /// Reads all objects of a wait, eight at a time, and records how they fare.
    pub async fn refresh(&self, wait: &mut WaitSet, targets: &[Target]) {
        self.record(wait, targets.to_vec()).await;
    }

    /// Reads only the objects of a wait that were not done when last looked at. One that was done may have
    /// failed meanwhile, so [`Applier::refresh`] has to follow now and then.
    pub async fn refresh_unfinished(&self, wait: &mut WaitSet, targets: &[Target]) {
        let open: HashSet<String> = wait.unfinished().map(str::to_owned).collect();
        let is_open = |target: &&Target| open.contains(&target.id.to_string());
        self.record(wait, targets.iter().filter(is_open).cloned().collect())
            .await;
    }

    async fn record(&self, wait: &mut WaitSet, targets: Vec<Target>) {
        let assessed: Vec<(String, Assessment)> = stream::iter(targets)
            .map(|target| async move { (target.id.to_string(), self.assess(&target).await) })
            .buffered(CONCURRENT_READS)
            .collect()
            .await;
        for (key, assessment) in assessed {
            let error = (assessment.status == Status::Unknown).then_some(assessment.message);
            wait.record(&key, assessment.status, error);
        }
    }

    /// The error text of the first target that lives in a namespace and names none, which no wait can heal.
    pub async fn find_missing_namespace(&self, targets: &[Target]) -> Option<String> {
        for Target { id, version } in targets.iter().filter(|target| target.id.namespace.is_empty()) {
            let resource = self
                .discovery()
                .resolve(&id.group, version, &id.kind)
                .await
                .ok()?;
            if resource.namespaced {
                let kind = if id.group.is_empty() {
                    id.kind.clone()
                } else {
                    format!("{}.{}", id.kind, id.group)
                };
                let name = &id.name;
                return Some(format!(
                    "resource {kind} {name} is namespace scoped, but namespace is not set"
                ));
            }
        }
        None
    }

    async fn try_assess(&self, target: &Target) -> Result<Assessment, Failure> {
        let Target { id, version } = target;
        let resource = self.discovery().resolve(&id.group, version, &id.kind).await?;
        let Some(live) = self.requests().get(&resource, &id.namespace, &id.name).await? else {
            return Ok(Assessment::not_found());
        };
        let now = Timestamp::now();
        let value = live.to_value();
        if self.health_rules().judges(&value) {
            return Ok(self.assess_by_rules(value).await);
        }
        let assessment = sluice_health::assess(&value, now);
        if assessment.status != Status::InProgress || !sluice_health::controls_pods(&value) {
            return Ok(assessment);
        }
        let pods = self.discovery().resolve("", "v1", "Pod").await?;
        let pods = self
            .requests()
            .list(&pods, &id.namespace, &selector_text(&live))
            .await?;
        Ok(sluice_health::assess_with_pods(&value, &pods, now))
    }
}

impl Applier {
    /// Evaluates the expressions for an object on a thread that may take its time.
    async fn assess_by_rules(&self, object: Value) -> Assessment {
        let rules = Arc::clone(self.health_rules());
        let assessed = tokio::task::spawn_blocking(move || rules.assess(&object)).await;
        match assessed {
            Ok(Some(assessment)) => assessment,
            Ok(None) => Assessment::unknown("no rule judges the object"),
            Err(error) => Assessment::unknown(format!("the evaluation was aborted: {error}")),
        }
    }
}

/// The object's `spec.selector` as the text of a label selector.
pub(crate) fn selector_text(object: &Object) -> String {
    let mut parts = Vec::new();
    if let Some(Value::Object(labels)) = object.field(&["spec", "selector", "matchLabels"]) {
        parts.extend(
            labels
                .iter()
                .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())),
        );
    }
    if let Some(Value::Array(expressions)) = object.field(&["spec", "selector", "matchExpressions"]) {
        parts.extend(expressions.iter().filter_map(expression_text));
    }
    parts.join(",")
}

fn expression_text(expression: &Value) -> Option<String> {
    let key = expression.get("key")?.as_str()?;
    let values: Vec<&str> = expression
        .get("values")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let values = values.join(",");
    Some(match expression.get("operator")?.as_str()? {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        _ => return None,
    })
}
