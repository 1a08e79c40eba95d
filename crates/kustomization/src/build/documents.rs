//! From manifests to objects.

use serde_json::Value;
use sluice_api::annotations::kustomize::{DECRYPT, DISABLED};
use sluice_apply::Object;

/// Takes the objects of a manifest: itself, or the items of a list. What is no Kubernetes object, and
/// kustomization files, are passed over, as in Flux.
pub(super) fn collect_objects(manifest: Value, objects: &mut Vec<Object>) {
    if let Value::Object(mut content) = manifest {
        if let Some(Value::Array(items)) = content.get_mut("items") {
            objects.extend(items.drain(..).filter_map(|item| Object::from_value(item).ok()));
            return;
        }
        if let Ok(object) = Object::from_value(Value::Object(content))
            && !is_kustomization_file(&object)
        {
            objects.push(object);
        }
    }
}

/// The subject of the first Secret that is still encrypted and is not meant to stay so.
pub(super) fn find_encrypted_secret(objects: &[Object]) -> Option<String> {
    objects
        .iter()
        .find(|object| {
            object.kind() == "Secret"
                && object.api_version() == "v1"
                && object.field(&["sops"]).is_some()
                && !object.annotation(DECRYPT).eq_ignore_ascii_case(DISABLED)
        })
        .map(Object::subject)
}

fn is_kustomization_file(object: &Object) -> bool {
    object.kind().eq_ignore_ascii_case("kustomization") && object.group() == "kustomize.config.k8s.io"
}
