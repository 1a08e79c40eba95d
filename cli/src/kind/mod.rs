//! The kinds of the toolkit as the command line names and shows them.

mod catalogue;
mod columns;

use kube::core::{ApiResource, DynamicObject, GroupVersionKind, TypeMeta};
use serde_json::Value;

use crate::error::{CommandError, Result};

pub(crate) use catalogue::KINDS;
pub(crate) use columns::Columns;

/// What can be asked of the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Actions {
    /// Nothing: somebody else writes their status.
    None,
    /// They have no status but can be suspended and resumed.
    Suspend,
    /// A controller reconciles them.
    Reconcile,
}

/// One kind of the toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The kind, as in a manifest.
    pub(crate) kind: &'static str,
    /// What a person calls it, as the messages of `suspend` and `resume` do.
    pub(crate) human: &'static str,
    /// The plural that the API server uses.
    pub(crate) plural: &'static str,
    group: &'static str,
    version: &'static str,
    /// The command line's words for it below `get`, the first one canonical.
    words: &'static [&'static str],
    /// The family in `get FAMILY WORD`, empty for kinds that stand alone.
    family: &'static str,
    /// Its table.
    pub(crate) columns: Columns,
    /// What can be asked of it.
    pub(crate) actions: Actions,
}

impl Kind {
    /// Deployments, which the command line waits for.
    pub(crate) const DEPLOYMENT: Kind = catalogue::DEPLOYMENT;

    /// The resource for the API server.
    pub(crate) fn resource(&self) -> ApiResource {
        ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(self.group, self.version, self.kind),
            self.plural,
        )
    }

    /// The object as it stands in a manifest, without the lists of field managers. Lists and watches leave out
    /// what kind their objects are, on which every judgement of them depends.
    pub(crate) fn value(&self, mut object: DynamicObject) -> Value {
        let resource = self.resource();
        object.metadata.managed_fields = None;
        object.types = Some(TypeMeta {
            api_version: resource.api_version,
            kind: resource.kind,
        });
        serde_json::to_value(object).unwrap_or_default()
    }

    /// The words that name the kind after a command, such as `source git`.
    pub(crate) fn command_words(&self) -> String {
        match self.family {
            "" => self.words[0].to_owned(),
            family => format!("{} {}", family.trim_end_matches('s'), self.words[0]),
        }
    }

    /// Splits the words after a command into those that name kinds and the names of objects, and finds the kinds:
    /// `kustomization apps`, `source git flux-system`, `sources all`.
    ///
    /// # Errors
    /// Words that name no kind, with the ones that do.
    pub(crate) fn split(words: &[String]) -> Result<(Vec<&'static Kind>, &[String])> {
        let first = words.first().map(|word| word.to_lowercase()).unwrap_or_default();
        let is_family = matches!(first.trim_end_matches('s'), "source" | "image" | "artifact");
        let take = if is_family { 2 } else { 1 };
        if words.len() < take {
            let family = first.trim_end_matches('s');
            let known: Vec<String> = KINDS
                .iter()
                .filter(|kind| kind.family.trim_end_matches('s') == family)
                .map(Self::command_words)
                .collect();
            return Err(CommandError::new(format!("'{first}' needs a kind behind it"))
                .with_hint(format!("one of: {}", known.join(", "))));
        }
        let (kind, names) = words.split_at(take);
        Ok((Self::find(kind)?, names))
    }

    /// The words that may follow these after a command until a kind is named.
    pub(crate) fn words_after(words: &[String]) -> Vec<String> {
        let folded = words.first().map(|word| word.to_lowercase());
        let family = folded.as_deref().map(|word| word.trim_end_matches('s'));
        let offered = KINDS.iter().filter_map(|kind| match family {
            None if kind.family.is_empty() => Some(kind.words[0]),
            None => Some(kind.family.trim_end_matches('s')),
            Some(family) => (kind.family.trim_end_matches('s') == family).then_some(kind.words[0]),
        });
        let mut offered: Vec<String> = offered.chain(["all"]).map(str::to_owned).collect();
        if offered.len() == 1 && family.is_some() {
            offered.clear();
        }
        offered.sort_unstable();
        offered.dedup();
        offered
    }

    fn find(words: &[String]) -> Result<Vec<&'static Kind>> {
        let folded: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let (family, word) = match folded.as_slice() {
            [word] if word == "all" => {
                return Ok(KINDS.iter().filter(|kind| kind.family != "artifacts").collect());
            }
            [word] => ("", word.as_str()),
            [family, word] => (family.trim_end_matches('s'), word.as_str()),
            _ => return Err(unknown(words)),
        };
        let found: Vec<&Kind> = KINDS
            .iter()
            .filter(|kind| {
                kind.family.trim_end_matches('s') == family
                    && (word == "all" || kind.words.contains(&word) || kind.plural == word)
            })
            .collect();
        if found.is_empty() {
            Err(unknown(words))
        } else {
            Ok(found)
        }
    }

    /// Finds a kind by its own name, in any case.
    pub(crate) fn by_name(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.kind.eq_ignore_ascii_case(name))
    }

    /// Whether it is a kind of sources.
    pub(crate) fn is_source(&self) -> bool {
        self.family == "sources"
    }

    /// Whether nothing reconciles this object, so that it is ready as it stands: alerts, their providers, and
    /// Helm repositories in OCI registries.
    pub(crate) fn is_static(&self, object: &Value) -> bool {
        self.actions == Actions::Suspend || is_static_repository(self, object)
    }

    /// The revision that the object stands at.
    pub(crate) fn revision(&self, object: &Value) -> String {
        let texts: &[&str] = match self.kind {
            "Kustomization" => &["/status/lastAppliedRevision"],
            "HelmRelease" => &["/status/history/0/chartVersion", "/status/lastAttemptedRevision"],
            _ => &["/status/artifact/revision"],
        };
        let found = texts.iter().find_map(|pointer| object.pointer(pointer)?.as_str());
        found.unwrap_or_default().to_owned()
    }

    /// What a successful reconcile achieved, in the words of `flux`.
    pub(crate) fn achievement(&self, object: &Value) -> String {
        let status = &object["status"];
        match self.kind {
            "Kustomization" | "HelmRelease" => format!("applied revision {}", self.revision(object)),
            "ImageRepository" => format!("scan fetched {} tags", status["lastScanResult"]["tagCount"]),
            "ImagePolicy" => format!("selected ref {}", image_reference(&status["latestRef"])),
            "ImageUpdateAutomation" => readiness(object).1,
            _ if self.family == "sources" && !self.is_static(object) => {
                format!("fetched revision {}", self.revision(object))
            }
            _ => format!("{} reconciliation completed", self.kind),
        }
    }
}

fn is_static_repository(kind: &Kind, object: &Value) -> bool {
    kind.kind == "HelmRepository" && object["spec"]["type"] == "oci"
}

fn image_reference(reference: &Value) -> String {
    let text = |key: &str| reference[key].as_str().unwrap_or_default();
    let mut name = format!("{}:{}", text("name"), text("tag"));
    if !text("digest").is_empty() {
        name = format!("{name}@{}", text("digest"));
    }
    name
}

/// Status and message of the Ready condition; `Unknown` where there is none.
pub(crate) fn readiness(object: &Value) -> (String, String) {
    condition(object, "Ready").map_or_else(
        || ("Unknown".to_owned(), "waiting to be reconciled".to_owned()),
        |condition| {
            let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
            (text("status"), text("message"))
        },
    )
}

/// The condition of type `name`, in any case, if the object has it.
pub(crate) fn condition<'object>(object: &'object Value, name: &str) -> Option<&'object Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| {
            condition["type"]
                .as_str()
                .is_some_and(|text| text.eq_ignore_ascii_case(name))
        })
}

fn unknown(words: &[String]) -> CommandError {
    let known: Vec<String> = KINDS.iter().map(Kind::command_words).collect();
    CommandError::new(format!("'{}' is no kind of the toolkit", words.join(" "))).with_hint(format!(
        "known kinds: {}, all, source all, image all",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn kinds_are_found_by_every_word_that_flux_accepts() {
        for (text, kind) in [
            ("sources git", "GitRepository"),
            ("source git", "GitRepository"),
            ("ks", "Kustomization"),
            ("kustomization", "Kustomization"),
            ("hr", "HelmRelease"),
            ("image policy", "ImagePolicy"),
            ("alert-provider", "Provider"),
            ("artifacts generators", "ArtifactGenerator"),
        ] {
            assert_eq!(Kind::split(&words(text)).unwrap().0[0].kind, kind, "{text}");
        }
        assert_eq!(Kind::split(&words("sources all")).unwrap().0.len(), 6);
        assert_eq!(Kind::split(&words("all")).unwrap().0.len(), 14);
        let unknown = Kind::split(&words("pods")).unwrap_err();
        assert!(unknown.hint().unwrap().contains("source git"));
        let alone = Kind::split(&words("sources")).unwrap_err();
        assert!(alone.hint().unwrap().contains("source oci"));
        assert!(!alone.hint().unwrap().contains("image"));
    }

    #[test]
    fn names_stand_behind_the_kind() {
        let list = words("source git a b");
        let (kinds, names) = Kind::split(&list).unwrap();
        assert_eq!((kinds.len(), names), (1, words("a b").as_slice()));
    }

    #[test]
    fn achievements_are_told_as_flux_tells_them() {
        let by_name = |name: &str| Kind::by_name(name).unwrap();
        let policy =
            json!({"status": {"latestRef": {"name": "ghcr.io/a/b", "tag": "1.2.3", "digest": "sha256:0"}}});
        assert_eq!(
            by_name("ImagePolicy").achievement(&policy),
            "selected ref ghcr.io/a/b:1.2.3@sha256:0"
        );
        let repository = json!({"status": {"lastScanResult": {"tagCount": 7}}});
        assert_eq!(
            by_name("ImageRepository").achievement(&repository),
            "scan fetched 7 tags"
        );
        let release = json!({"status": {"lastAttemptedRevision": "1.0.0"}});
        assert_eq!(
            by_name("HelmRelease").achievement(&release),
            "applied revision 1.0.0"
        );
        assert_eq!(
            by_name("Receiver").achievement(&json!({})),
            "Receiver reconciliation completed"
        );
    }
}
