//! What Flux makes of an object before it sends it.
//!
//! Built-in kinds pass through their Go types and back. That drops unknown fields and nulls, writes
//! quantities in canonical form and fields that Go never leaves out, and gives ports their protocol; all of
//! it shows in the field ownership that the API server records, so it has to be the same here. The Go types
//! stand in `types.txt`, written by `oracle ssa-types` and compared with it by a test.

mod convert;
mod quantity;
mod types;

use serde_json::{Map, Value};

use crate::{Object, certificate, order};

/// Normalises every object as Flux does before an apply.
pub fn normalise_all(objects: &mut [Object]) {
    objects.iter_mut().for_each(normalise);
}

/// Normalises one object: the round trip through its Go type, default protocols, `stringData` of Secrets
/// moved to `data`, no status except on custom resource definitions, and no invalid conversion `caBundle`.
///
/// Roles and ClusterRoles stay as they are. An object that does not fit its type (or has none) only loses
/// its status.
pub fn normalise(object: &mut Object) {
    if object.api_version() == "rbac.authorization.k8s.io/v1"
        && matches!(object.kind(), "Role" | "ClusterRole")
    {
        return;
    }
    if let Some(content) = round_trip(object) {
        *object.content_mut() = content;
        complete(object);
    }
    if let Some(metadata) = object.metadata_mut() {
        metadata.insert("creationTimestamp".to_owned(), Value::Null);
    }
    if !order::is_custom_resource_definition(object) {
        object.content_mut().remove("status");
    }
    certificate::remove_invalid_bundle(object);
}

/// Prepares the content of a live or dry-run object for comparison: metadata and status do not count, and
/// the metrics of a HorizontalPodAutoscaler are freed of the duplicates that old API servers return.
pub(crate) fn comparable(object: &Object) -> Map<String, Value> {
    let mut content = object.content().clone();
    content.remove("metadata");
    content.remove("status");
    if object.kind() != "HorizontalPodAutoscaler" {
        return content;
    }
    match types::find(object.api_version(), object.kind())
        .and_then(|number| convert::convert_object(number, content.clone()).ok())
    {
        Some(mut typed) => {
            if object.api_version() == "autoscaling/v2" {
                remove_duplicate_metrics(&mut typed);
            }
            typed
        }
        None => content,
    }
}

fn round_trip(object: &Object) -> Option<Map<String, Value>> {
    let number = types::find(object.api_version(), object.kind())?;
    convert::convert_object(number, object.content().clone()).ok()
}

fn remove_duplicate_metrics(content: &mut Map<String, Value>) {
    let metrics = content.get_mut("spec").and_then(|spec| spec.get_mut("metrics"));
    let Some(Value::Array(metrics)) = metrics else {
        return;
    };
    let mut kept: Vec<Value> = Vec::new();
    for metric in metrics.drain(..) {
        let typed = metric
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty());
        if typed && !kept.contains(&metric) {
            kept.push(metric);
        }
    }
    *metrics = kept;
}

/// Fills what the API server's schema would need to merge lists and secrets rightly.
fn complete(object: &mut Object) {
    let pod_spec: &[&str] = match (object.api_version(), object.kind()) {
        ("v1", "Pod") => &["spec"],
        ("apps/v1", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch/v1", "Job") => {
            &["spec", "template", "spec"]
        }
        ("batch/v1", "CronJob") => &["spec", "jobTemplate", "spec", "template", "spec"],
        ("v1", "Service") => {
            if let Some(spec) = object.content_mut().get_mut("spec") {
                default_protocols(spec);
            }
            return;
        }
        ("v1", "Secret") => {
            convert::move_string_data(object.content_mut());
            return;
        }
        _ => return,
    };
    let mut value = object.content_mut().get_mut(pod_spec[0]);
    for part in &pod_spec[1..] {
        value = value.and_then(|value| value.get_mut(*part));
    }
    let containers = value.and_then(|spec| spec.get_mut("containers"));
    if let Some(Value::Array(containers)) = containers {
        containers.iter_mut().for_each(default_protocols);
    }
}

/// Gives every entry of `ports` that has none the protocol TCP.
fn default_protocols(holder: &mut Value) {
    let Some(Value::Array(ports)) = holder.get_mut("ports") else {
        return;
    };
    for port in ports.iter_mut().filter_map(Value::as_object_mut) {
        let missing = port
            .get("protocol")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty);
        if missing {
            port.insert("protocol".to_owned(), "TCP".into());
        }
    }
}
