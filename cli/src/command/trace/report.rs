//! The way of an object, from its source to the cluster.

use std::fmt;

use serde_json::{Map, Value};

use crate::kind::condition;

/// Where a line's value begins.
const WIDTH: usize = 17;

/// One thing on the way: what it is called, and what there is to say of it.
type Section = Vec<(String, String)>;

/// The way of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report(Vec<Section>);

impl Report {
    /// The report on an object, its owner, and what that reads, nearest first.
    pub(super) fn new(object: &Value, owner: Value, sources: Vec<Value>) -> Self {
        let mut head = Section::new();
        let metadata = &object["metadata"];
        let name = format!("{}/{}", text(&object["kind"]), text(&metadata["name"]));
        head.push(("Object".to_owned(), name));
        add(&mut head, "Namespace", text(&metadata["namespace"]));
        add(&mut head, "Status", "Managed by Flux");
        let mut sections = vec![head];
        sections.extend(
            std::iter::once(owner)
                .chain(sources)
                .map(|object| section(&object)),
        );
        Self(sections)
    }

    /// The report as data: the sections by what they speak of.
    pub(super) fn to_value(&self) -> Value {
        let sections = self.0.iter().filter_map(|section| {
            let (kind, name) = section.first()?;
            let mut fields = Map::new();
            fields.insert("name".to_owned(), name.clone().into());
            for (key, value) in &section[1..] {
                fields.insert(key.to_lowercase().replace(' ', ""), value.clone().into());
            }
            Some((kind.clone(), Value::Object(fields)))
        });
        Value::Object(sections.collect())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Flux begins with an empty line.
        writeln!(formatter)?;
        for (number, section) in self.0.iter().enumerate() {
            if number > 0 {
                writeln!(formatter, "---")?;
            }
            for (key, value) in section {
                writeln!(formatter, "{:WIDTH$}{value}", format!("{key}:"))?;
            }
        }
        Ok(())
    }
}

fn section(object: &Value) -> Section {
    let kind = text(&object["kind"]);
    let (metadata, spec, status) = (&object["metadata"], &object["spec"], &object["status"]);
    let artifact = &status["artifact"];
    let mut section = vec![(kind.to_owned(), text(&metadata["name"]).to_owned())];
    section.push(("Namespace".to_owned(), text(&metadata["namespace"]).to_owned()));
    match kind {
        "Kustomization" => {
            add(&mut section, "Target", text(&spec["targetNamespace"]));
            section.push(("Path".to_owned(), text(&spec["path"]).to_owned()));
            section.push((
                "Revision".to_owned(),
                text(&status["lastAppliedRevision"]).to_owned(),
            ));
        }
        "HelmRelease" => {
            add(&mut section, "Target", text(&spec["targetNamespace"]));
            section.push((
                "Revision".to_owned(),
                text(&status["lastAttemptedRevision"]).to_owned(),
            ));
        }
        "HelmChart" => {
            section.push(("Chart".to_owned(), text(&spec["chart"]).to_owned()));
            section.push(("Version".to_owned(), text(&spec["version"]).to_owned()));
        }
        "ExternalArtifact" => {
            let source = &spec["sourceRef"];
            let parts = ["kind", "namespace", "name"].map(|key| text(&source[key]));
            section.push(("Source".to_owned(), parts.join("/")));
        }
        "Bucket" => {
            add(&mut section, "Endpoint", text(&spec["endpoint"]));
            add(&mut section, "Bucket", text(&spec["bucketName"]));
        }
        _ => {
            section.push(("URL".to_owned(), text(&spec["url"]).to_owned()));
            add_reference(&mut section, &spec["ref"]);
        }
    }
    if artifact.is_object() {
        section.push(("Revision".to_owned(), text(&artifact["revision"]).to_owned()));
        let annotation = |key: &str| text(&artifact["metadata"][format!("org.opencontainers.image.{key}")]);
        add(&mut section, "Origin Revision", annotation("revision"));
        add(&mut section, "Origin Source", annotation("source"));
    }
    add_status(&mut section, object);
    section
}

fn add_reference(section: &mut Section, reference: &Value) {
    for (key, name) in [
        ("tag", "Tag"),
        ("semver", "Tag"),
        ("branch", "Branch"),
        ("digest", "Digest"),
    ] {
        let value = text(&reference[key]);
        if !value.is_empty() {
            section.push((name.to_owned(), value.to_owned()));
            return;
        }
    }
}

fn add_status(section: &mut Section, object: &Value) {
    let Some(ready) = condition(object, "Ready") else {
        section.push(("Status".to_owned(), "Unknown".to_owned()));
        return;
    };
    let time = text(&ready["lastTransitionTime"]);
    // As Go prints a time.
    let time = time.parse::<jiff::Timestamp>().map_or_else(
        |_| time.to_owned(),
        |time| format!("{} +0000 UTC", time.strftime("%Y-%m-%d %H:%M:%S")),
    );
    let is_source = !matches!(
        text(&object["kind"]),
        "Kustomization" | "HelmRelease" | "HelmChart" | "HelmRepository"
    );
    let outcome = if is_source && ready["status"] == "False" {
        "Last reconciliation failed at"
    } else {
        "Last reconciled at"
    };
    section.push(("Status".to_owned(), format!("{outcome} {time}")));
    section.push(("Message".to_owned(), text(&ready["message"]).to_owned()));
}

fn add(section: &mut Section, key: &str, value: &str) {
    if !value.is_empty() {
        section.push((key.to_owned(), value.to_owned()));
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_way_of_a_kustomizations_object_is_told_as_flux_tells_it() {
        let ready = |status: &str, message: &str| {
            json!([{"type": "Ready", "status": status, "message": message,
            "lastTransitionTime": "2021-07-20T00:48:16Z"}])
        };
        let object = json!({"kind": "HelmRelease", "metadata": {"name": "app", "namespace": "apps"}});
        let owner = json!({"kind": "Kustomization", "metadata": {"name": "infrastructure", "namespace": "flux-system"},
            "spec": {"path": "./infrastructure"}, "status": {"lastAppliedRevision": "main@sha1:0",
            "conditions": ready("True", "Applied revision: main@sha1:0")}});
        let source = json!({"kind": "GitRepository", "metadata": {"name": "flux-system", "namespace": "flux-system"},
            "spec": {"url": "ssh://git@example.com/fleet", "ref": {"branch": "main"}},
            "status": {"artifact": {"revision": "main@sha1:0"}, "conditions": ready("False", "no route")}});
        insta::assert_snapshot!(Report::new(&object, owner, vec![source]).to_string(), @r"

        Object:          HelmRelease/app
        Namespace:       apps
        Status:          Managed by Flux
        ---
        Kustomization:   infrastructure
        Namespace:       flux-system
        Path:            ./infrastructure
        Revision:        main@sha1:0
        Status:          Last reconciled at 2021-07-20 00:48:16 +0000 UTC
        Message:         Applied revision: main@sha1:0
        ---
        GitRepository:   flux-system
        Namespace:       flux-system
        URL:             ssh://git@example.com/fleet
        Branch:          main
        Revision:        main@sha1:0
        Status:          Last reconciliation failed at 2021-07-20 00:48:16 +0000 UTC
        Message:         no route
        ");
    }
}
