//! The tables of the kinds: headers and cells as `flux get` prints them.

use serde_json::Value;
use sluice_api::annotations::extensions;

use super::{Actions, Kind, condition, is_static_repository, readiness};

/// Which columns a kind's table has beside name and readiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    /// Revision, Suspended, Ready, Message: sources and appliers.
    Revision,
    /// Revision, Source, Ready, Message: external artifacts.
    External,
    /// Suspended, Ready, Message.
    Status,
    /// Last scan, Suspended, Ready, Message.
    Scan,
    /// Image, Tag, Ready, Message.
    Policy,
    /// Last run, Suspended, Ready, Message.
    Update,
    /// Ready, Message.
    Provider,
}

impl Kind {
    /// The headers of [`Kind::cells`].
    pub(crate) fn headers(&self, with_source: bool) -> Vec<&'static str> {
        let first: &[&str] = match self.columns {
            Columns::Revision if with_source && self.names_source() => &["source", "revision", "suspended"],
            Columns::Revision => &["revision", "suspended"],
            Columns::External => &["revision", "source"],
            Columns::Status => &["suspended"],
            Columns::Scan => &["last scan", "suspended"],
            Columns::Policy => &["image", "tag"],
            Columns::Update => &["last run", "suspended"],
            Columns::Provider => &[],
        };
        [first, &["ready", "message"]].concat()
    }

    /// The row's cells for one object, beside namespace and name.
    pub(crate) fn cells(&self, object: &Value, with_source: bool) -> Vec<String> {
        let text = |pointer: &str| {
            let found = object.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default().to_owned()
        };
        let mut cells = match self.columns {
            Columns::Revision => {
                let mut cells = vec![self.shown_revision(object), suspended(object)];
                if with_source && self.names_source() {
                    cells.insert(0, source_reference(object));
                }
                cells
            }
            Columns::External => vec![self.shown_revision(object), origin(object)],
            Columns::Status => vec![suspended(object)],
            Columns::Scan => vec![text("/status/lastScanResult/scanTime"), suspended(object)],
            Columns::Policy => vec![text("/status/latestRef/name"), text("/status/latestRef/tag")],
            Columns::Update => vec![text("/status/lastAutomationRunTime"), suspended(object)],
            Columns::Provider => Vec::new(),
        };
        let (ready, message) = self.shown_readiness(object);
        cells.extend([ready, message]);
        cells
    }

    /// Whether the object has the condition `kind` with `status`, both in any case. Objects without a status of
    /// their own count as ready.
    pub(crate) fn has_condition(&self, object: &Value, kind: &str, status: &str) -> bool {
        if self.actions == Actions::Suspend {
            return kind.eq_ignore_ascii_case("Ready") && status.eq_ignore_ascii_case("True");
        }
        condition(object, kind)
            .and_then(|condition| condition["status"].as_str())
            .is_some_and(|text| text.eq_ignore_ascii_case(status))
    }

    fn names_source(&self) -> bool {
        matches!(self.kind, "Kustomization" | "HelmRelease")
    }

    /// Versions of charts stay as they are, whatever they look like.
    fn shown_revision(&self, object: &Value) -> String {
        let revision = self.revision(object);
        if matches!(self.kind, "HelmChart" | "HelmRelease") {
            revision
        } else {
            shorten_digests(&revision)
        }
    }

    fn shown_readiness(&self, object: &Value) -> (String, String) {
        if is_static_repository(self, object) {
            return ("True".to_owned(), "Helm repository is Ready".to_owned());
        }
        if self.actions == Actions::Suspend {
            return ("True".to_owned(), format!("{} is Ready", self.kind));
        }
        let (ready, message) = readiness(object);
        match condition(object, "Ready") {
            None => ("False".to_owned(), message),
            // The columns of these hold no digests, and their messages are whole.
            Some(_) if self.columns != Columns::Revision && self.columns != Columns::External => {
                (ready, message)
            }
            Some(_) if self.kind == "HelmRelease" => (ready, message),
            Some(_) => (ready, shorten_digests(&message)),
        }
    }
}

fn suspended(object: &Value) -> String {
    // Artifact generators have no field for it.
    let disabled = object["metadata"]["annotations"][extensions::RECONCILE]
        .as_str()
        .is_some_and(|value| value.eq_ignore_ascii_case(extensions::DISABLED));
    let suspended = object["spec"]["suspend"].as_bool().unwrap_or(false) || disabled;
    if suspended { "True" } else { "False" }.to_owned()
}

/// Kind, namespace and name of the source that an applier reads.
fn source_reference(object: &Value) -> String {
    let spec = &object["spec"];
    let references = [
        &spec["sourceRef"],
        &spec["chartRef"],
        &spec["chart"]["spec"]["sourceRef"],
    ];
    let reference = references.into_iter().find(|reference| reference.is_object());
    reference.map_or_else(String::new, |reference| {
        let namespace = reference["namespace"].as_str().filter(|text| !text.is_empty());
        let own = object["metadata"]["namespace"].as_str();
        path(reference, namespace.or(own).unwrap_or_default())
    })
}

/// Kind, namespace and name of what an external artifact was made from.
fn origin(object: &Value) -> String {
    let reference = &object["spec"]["sourceRef"];
    if reference.is_object() {
        path(reference, reference["namespace"].as_str().unwrap_or_default())
    } else {
        String::new()
    }
}

fn path(reference: &Value, namespace: &str) -> String {
    let text = |key: &str| reference[key].as_str().unwrap_or_default();
    format!("{}/{namespace}/{}", text("kind"), text("name"))
}

/// Cuts each digest in `text`, a word of 40 to 128 hexadecimal digits, to eight digits.
pub(crate) fn shorten_digests(text: &str) -> String {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut shortened = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let is_digest = (40..=128).contains(&word.len())
            && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        shortened.push_str(if is_digest { &word[..8] } else { word });
        let end = behind.find(is_word).unwrap_or(behind.len());
        shortened.push_str(&behind[..end]);
        rest = &behind[end..];
    }
    shortened
}

#[cfg(test)]
mod tests {
    use super::super::KINDS;
    use super::*;
    use serde_json::json;

    #[test]
    fn digests_are_shortened_and_nothing_else() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(shorten_digests(&format!("main@sha1:{sha}")), "main@sha1:01234567");
        assert_eq!(
            shorten_digests(&format!("({sha}{sha}), é {sha}")),
            "(01234567), é 01234567"
        );
        for kept in [
            "Applied revision: cafe",
            &sha[1..],
            &format!("x{sha}"),
            &format!("{sha}_x"),
            &sha.to_uppercase(),
            &sha.repeat(4),
        ] {
            assert_eq!(shorten_digests(kept), kept);
        }
    }

    #[test]
    fn cells_follow_the_headers() {
        let object = json!({
            "metadata": {"namespace": "here"},
            "spec": {"suspend": true, "sourceRef": {"kind": "GitRepository", "name": "fleet"}},
            "status": {"lastAppliedRevision": "main@sha1:1", "conditions": [
                {"type": "Ready", "status": "False", "message": "no"}]}
        });
        for kind in KINDS {
            for with_source in [false, true] {
                assert_eq!(
                    kind.cells(&object, with_source).len(),
                    kind.headers(with_source).len(),
                    "{}",
                    kind.kind
                );
            }
        }
        let kustomization = Kind::by_name("kustomization").unwrap();
        assert_eq!(
            kustomization.cells(&object, true),
            ["GitRepository/here/fleet", "main@sha1:1", "True", "False", "no"]
        );
    }

    #[test]
    fn objects_without_a_status_of_their_own_are_ready() {
        let alert = Kind::by_name("Alert").unwrap();
        assert_eq!(
            alert.cells(&json!({}), false),
            ["False", "True", "Alert is Ready"]
        );
        assert!(alert.has_condition(&json!({}), "ready", "true"));
        let repository = Kind::by_name("HelmRepository").unwrap();
        let object = json!({"spec": {"type": "oci"}});
        assert_eq!(
            repository.cells(&object, false)[2..],
            ["True", "Helm repository is Ready"]
        );
        let unseen = Kind::by_name("Bucket").unwrap().cells(&json!({}), false);
        assert_eq!(unseen[2..], ["False", "waiting to be reconciled"]);
    }
}
