//! Managed fields in a form that people can read and compare.

use std::collections::BTreeMap;

use serde_json::Value;

/// Field managers of the control plane itself: what they own is no deed of the controllers under test.
const CONTROL_PLANE: [&str; 5] = [
    "kube-controller-manager",
    "kube-apiserver",
    "kube-scheduler",
    "kubelet",
    "kwok",
];

/// For each manager, as `MANAGER OPERATION API-VERSION [SUBRESOURCE]`, the paths that it owns. Times and the
/// control plane's own managers are left out.
pub(super) fn readable(entries: &Value) -> BTreeMap<String, Vec<String>> {
    let mut readable = BTreeMap::<String, Vec<String>>::new();
    for entry in entries.as_array().into_iter().flatten() {
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        if CONTROL_PLANE.contains(&text("manager")) {
            continue;
        }
        let title = [
            text("manager"),
            text("operation"),
            text("apiVersion"),
            text("subresource"),
        ];
        let title = title.join(" ").trim_end().to_owned();
        let mut paths = Vec::new();
        collect(&entry["fieldsV1"], "", &mut paths);
        paths.sort();
        readable.entry(title).or_default().extend(paths);
    }
    readable
}

fn collect(fields: &Value, above: &str, paths: &mut Vec<String>) {
    let Some(fields) = fields.as_object() else { return };
    if fields.is_empty() {
        paths.push(above.to_owned());
    }
    for (key, below) in fields {
        if key == "." {
            paths.push(format!("{above}/."));
            continue;
        }
        let name = key.strip_prefix("f:").unwrap_or(key);
        let path = if above.is_empty() {
            name.to_owned()
        } else {
            format!("{above}/{name}")
        };
        collect(below, &path, paths);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_become_paths_and_the_control_plane_is_left_out() {
        let entries = json!([
            {"manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "now", "fieldsV1":
                {"f:data": {".": {}, "f:a": {}}, "f:spec": {"k:{\"name\":\"x\"}": {"f:image": {}}}}},
            {"manager": "m", "operation": "Update", "apiVersion": "v1", "subresource": "status",
                "fieldsV1": {"f:status": {}}},
            {"manager": "kube-controller-manager", "operation": "Update", "fieldsV1": {"f:status": {}}},
        ]);
        let expected = json!({
            "m Apply v1": ["data/.", "data/a", "spec/k:{\"name\":\"x\"}/image"],
            "m Update v1 status": ["status"],
        });
        assert_eq!(serde_json::to_value(readable(&entries)).unwrap(), expected);
    }
}
