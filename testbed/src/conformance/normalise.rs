//! What differs from run to run, and what stands for it in a recording.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::managed_fields;

/// Replaces what depends on chance, on the clock and on the machine. The rules, and nothing else is hidden:
///
/// | what | becomes |
/// |---|---|
/// | the addresses of the Git server, the artifact server and the API server | `<git>`, `<artifacts>`, `<server>` |
/// | paths in a directory in which a controller unpacks an artifact | relative to it |
/// | commits, in full or shortened to 12 or 8 digits, numbered in the order in which they were made | `<commit-1>` |
/// | `digest` and `size` of an artifact, and the digest in events about it: compressors may differ | `<archive>`, `<size>` |
/// | UUIDs | `<uid>` |
/// | points in time | `<time>` |
/// | how long something took, where a message says so | `<duration>` |
/// | random endings of names that the API server or the control plane made | `<random>` |
/// | fields that the API server fills by chance: uid, resourceVersion, creationTimestamp, cluster IPs, node ports | left out |
/// | status of objects that no toolkit controller writes, and what the control plane notes on Deployments and Jobs | left out |
/// | managed fields | a list of paths for each manager, without times and without the control plane's own |
#[derive(Debug)]
pub struct Normaliser {
    replacements: Vec<(String, String)>,
    commits: Vec<String>,
    uuid: Regex,
    time: Regex,
    took: Regex,
    temporary: Regex,
}

impl Normaliser {
    /// With the texts to be replaced, and by what, longest first.
    ///
    /// # Errors
    /// None in practice: the expressions are fixed.
    pub fn new(replacements: &[(&str, &str)]) -> Result<Self, regex::Error> {
        let mut replacements: Vec<_> = replacements
            .iter()
            .map(|(text, sign)| ((*text).to_owned(), (*sign).to_owned()))
            .collect();
        replacements.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Ok(Self {
            replacements,
            commits: Vec::new(),
            uuid: Regex::new(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")?,
            time: Regex::new(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")?,
            temporary: Regex::new(r"<home>/[a-z-]+/[a-z]+(-[a-z0-9-]*)?\d+/")?,
            took: Regex::new(
                r"\b(finished in|passed in|failed after|canceled after|terminated after) (\d+(\.\d+)?(ns|µs|ms|s|m|h))+",
            )?,
        })
    }

    /// Gives a commit its number; one that is known keeps it.
    pub fn add_commit(&mut self, commit: &str) {
        if !self.commits.iter().any(|known| known == commit) {
            self.commits.push(commit.to_owned());
        }
    }

    /// The commits in the order of their numbers.
    pub(super) fn commits(&self) -> &[String] {
        &self.commits
    }

    /// A text without what depends on chance.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (found, sign) in &self.replacements {
            text = text.replace(found, sign);
        }
        for (index, commit) in self.commits.iter().enumerate() {
            text = text.replace(commit, &format!("<commit-{}>", index + 1));
            for length in [12, 8] {
                let short = &commit[..length.min(commit.len())];
                text = text.replace(short, &format!("<commit-{}:{length}>", index + 1));
            }
        }
        let text = self.temporary.replace_all(&text, "");
        let text = self.uuid.replace_all(&text, "<uid>");
        let text = self.time.replace_all(&text, "<time>");
        self.took.replace_all(&text, "$1 <duration>").into_owned()
    }

    /// A custom resource of the toolkit: everything but what the API server fills by chance.
    pub fn toolkit(&self, object: &Value) -> Value {
        let mut object = object.clone();
        tidy_metadata(&mut object);
        for key in ["apiVersion", "kind"] {
            remove(&mut object, key);
        }
        self.value(&mut object, "");
        object
    }

    /// Any other object: without its status.
    pub fn managed(&self, kind: &str, object: &Value) -> Value {
        let mut object = object.clone();
        tidy_metadata(&mut object);
        for key in ["status", "apiVersion", "kind"] {
            remove(&mut object, key);
        }
        // What the control plane adds by itself.
        for annotation in [
            "deployment.kubernetes.io/revision",
            "batch.kubernetes.io/job-tracking",
        ] {
            if let Some(annotations) = object.pointer_mut("/metadata/annotations") {
                remove(annotations, annotation);
            }
        }
        if object
            .pointer("/metadata/annotations")
            .and_then(Value::as_object)
            .is_some_and(Map::is_empty)
        {
            remove(&mut object["metadata"], "annotations");
        }
        if kind == "Service" {
            for key in ["clusterIP", "clusterIPs"] {
                remove(&mut object["spec"], key);
            }
            for port in object["spec"]["ports"].as_array_mut().into_iter().flatten() {
                remove(port, "nodePort");
            }
        }
        if kind == "CustomResourceDefinition" {
            // The schema as such is long, and no controller changes it.
            remove(&mut object, "spec");
        }
        self.value(&mut object, "");
        object
    }

    fn value(&self, value: &mut Value, key: &str) {
        match value {
            Value::String(text) if key == "digest" && text.starts_with("sha256:") && text.len() == 71 => {
                // The digests of archives differ; those of manifests, in a history, must not.
                *text = self.text(text);
            }
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => {
                for item in items {
                    self.value(item, key);
                }
            }
            Value::Object(map) => self.object(map),
            _ => {}
        }
    }

    fn object(&self, map: &mut Map<String, Value>) {
        if map.contains_key("lastUpdateTime") && map.contains_key("digest") && map.contains_key("revision") {
            map.insert("digest".to_owned(), "<archive>".into());
            if map.contains_key("size") {
                map.insert("size".to_owned(), "<size>".into());
            }
        }
        if map.contains_key("lastReconciledDuration") {
            map.insert("lastReconciledDuration".to_owned(), "<duration>".into());
        }
        let renamed = std::mem::take(map);
        for (key, mut value) in renamed {
            self.value(&mut value, &key);
            map.insert(self.text(&key), value);
        }
    }

    /// One line for an event: type, reason, object, component, message and annotations.
    pub fn event(&self, event: &Value) -> String {
        let text = |pointer: &str| {
            event
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut annotations = BTreeMap::new();
        for (key, value) in event
            .pointer("/metadata/annotations")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let value = value.as_str().unwrap_or_default();
            let archive = key.ends_with("/digest");
            annotations.insert(
                key,
                if archive {
                    "<archive>".to_owned()
                } else {
                    self.text(value)
                },
            );
        }
        let notes: Vec<_> = annotations
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let component = match text("/reportingComponent") {
            empty if empty.is_empty() => text("/source/component"),
            reporting => reporting,
        };
        self.text(&format!(
            "{} {} {}/{} by {component}: {}{}",
            text("/type"),
            text("/reason"),
            text("/involvedObject/kind"),
            text("/involvedObject/name"),
            text("/message"),
            if notes.is_empty() {
                String::new()
            } else {
                format!(" [{}]", notes.join(" "))
            },
        ))
    }
}

fn tidy_metadata(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata") else {
        return;
    };
    let fields = managed_fields::readable(&metadata["managedFields"]);
    for key in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "managedFields",
        "deletionGracePeriodSeconds",
    ] {
        remove(metadata, key);
    }
    if let Ok(fields) = serde_json::to_value(fields) {
        metadata["managedFields"] = fields;
    }
}

fn remove(value: &mut Value, key: &str) {
    if let Some(map) = value.as_object_mut() {
        map.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normaliser() -> Normaliser {
        let mut normaliser = Normaliser::new(&[
            ("http://127.0.0.1:4000/x", "<git>"),
            ("http://127.0.0.1:4000", "<server>"),
        ])
        .unwrap();
        normaliser.add_commit("0123456789abcdef0123456789abcdef01234567");
        normaliser.add_commit("fedcba9876543210fedcba9876543210fedcba98");
        normaliser
    }

    #[test]
    fn texts_lose_what_depends_on_chance_and_nothing_else() {
        let normaliser = normaliser();
        for (text, expected) in [
            ("clone http://127.0.0.1:4000/x/app.git", "clone <git>/app.git"),
            (
                "main@sha1:fedcba9876543210fedcba9876543210fedcba98",
                "main@sha1:<commit-2>",
            ),
            (
                "Reconciliation finished in 1m2.5s, next run in 10m0s",
                "Reconciliation finished in <duration>, next run in 10m0s",
            ),
            (
                "Health check passed in 12.345678ms",
                "Health check passed in <duration>",
            ),
            ("with a timeout of 9m30s", "with a timeout of 9m30s"),
            ("at 2026-01-02T03:04:05Z", "at <time>"),
        ] {
            assert_eq!(normaliser.text(text), expected);
        }
    }

    #[test]
    fn digests_of_archives_go_and_digests_of_manifests_stay() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let object = json!({"metadata": {"name": "x", "uid": "u"}, "status": {
            "artifact": {"digest": digest, "revision": "r", "lastUpdateTime": "t", "size": 12},
            "history": [{"digest": digest, "lastReconciledDuration": "1s"}],
        }});
        let expected = json!({"metadata": {"name": "x", "managedFields": {}}, "status": {
            "artifact": {"digest": "<archive>", "revision": "r", "lastUpdateTime": "t", "size": "<size>"},
            "history": [{"digest": digest, "lastReconciledDuration": "<duration>"}],
        }});
        assert_eq!(normaliser().toolkit(&object), expected);
    }

    #[test]
    fn events_become_lines() {
        let event = json!({
            "type": "Normal", "reason": "Progressing", "message": "done", "reportingComponent": "c",
            "involvedObject": {"kind": "Kustomization", "name": "app"},
            "metadata": {"annotations": {"x/digest": "sha256:1", "x/revision": "r"}},
        });
        assert_eq!(
            normaliser().event(&event),
            "Normal Progressing Kustomization/app by c: done [x/digest=<archive> x/revision=r]"
        );
    }
}
