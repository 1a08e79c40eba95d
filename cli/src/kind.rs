//! The kinds of the toolkit as the command line names and shows them.

use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;

use crate::error::{CommandError, Result};

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
    /// Ready, Message without a status of its own: always initialised.
    Static,
}

/// One kind of the toolkit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The kind, as in a manifest.
    pub(crate) kind: &'static str,
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
    /// Whether a controller reconciles it (and `reconcile`, `suspend`, `resume` make sense).
    pub(crate) reconciled: bool,
}

const SOURCE: &str = "source.toolkit.fluxcd.io";
const IMAGE: &str = "image.toolkit.fluxcd.io";
const NOTIFICATION: &str = "notification.toolkit.fluxcd.io";

macro_rules! kind {
    ($kind:literal, $plural:literal, $group:expr, $version:literal, $family:literal, $words:expr, $columns:ident, $reconciled:literal) => {
        Kind {
            kind: $kind,
            plural: $plural,
            group: $group,
            version: $version,
            words: &$words,
            family: $family,
            columns: Columns::$columns,
            reconciled: $reconciled,
        }
    };
}

/// All kinds, in the order in which `get all` prints them.
pub(crate) const KINDS: [Kind; 14] = [
    kind!(
        "GitRepository",
        "gitrepositories",
        SOURCE,
        "v1",
        "sources",
        ["git", "gitrepository"],
        Revision,
        true
    ),
    kind!(
        "OCIRepository",
        "ocirepositories",
        SOURCE,
        "v1",
        "sources",
        ["oci", "ocirepository"],
        Revision,
        true
    ),
    kind!(
        "HelmRepository",
        "helmrepositories",
        SOURCE,
        "v1",
        "sources",
        ["helm", "helmrepository"],
        Revision,
        true
    ),
    kind!(
        "HelmChart",
        "helmcharts",
        SOURCE,
        "v1",
        "sources",
        ["chart", "helmchart"],
        Revision,
        true
    ),
    kind!(
        "Bucket",
        "buckets",
        SOURCE,
        "v1",
        "sources",
        ["bucket"],
        Revision,
        true
    ),
    kind!(
        "ExternalArtifact",
        "externalartifacts",
        SOURCE,
        "v1",
        "sources",
        ["external", "externalartifact"],
        External,
        false
    ),
    kind!(
        "Kustomization",
        "kustomizations",
        "kustomize.toolkit.fluxcd.io",
        "v1",
        "",
        ["kustomizations", "kustomization", "ks"],
        Revision,
        true
    ),
    kind!(
        "HelmRelease",
        "helmreleases",
        "helm.toolkit.fluxcd.io",
        "v2",
        "",
        ["helmreleases", "helmrelease", "hr"],
        Revision,
        true
    ),
    kind!(
        "Receiver",
        "receivers",
        NOTIFICATION,
        "v1",
        "",
        ["receivers", "receiver"],
        Status,
        true
    ),
    kind!(
        "Alert",
        "alerts",
        NOTIFICATION,
        "v1beta3",
        "",
        ["alerts", "alert"],
        Static,
        false
    ),
    kind!(
        "Provider",
        "providers",
        NOTIFICATION,
        "v1beta3",
        "",
        ["alert-providers", "alert-provider"],
        Static,
        false
    ),
    kind!(
        "ImageRepository",
        "imagerepositories",
        IMAGE,
        "v1",
        "images",
        ["repository"],
        Scan,
        true
    ),
    kind!(
        "ImagePolicy",
        "imagepolicies",
        IMAGE,
        "v1",
        "images",
        ["policy"],
        Policy,
        true
    ),
    kind!(
        "ImageUpdateAutomation",
        "imageupdateautomations",
        IMAGE,
        "v1",
        "images",
        ["update"],
        Update,
        true
    ),
];

impl Kind {
    /// Deployments, which the command line waits for.
    pub(crate) const DEPLOYMENT: Kind = kind!(
        "Deployment",
        "deployments",
        "apps",
        "v1",
        "",
        ["deployment"],
        Static,
        false
    );

    /// The resource for the API server.
    pub(crate) fn resource(&self) -> ApiResource {
        ApiResource::from_gvk_with_plural(
            &GroupVersionKind::gvk(self.group, self.version, self.kind),
            self.plural,
        )
    }

    /// Finds the kinds that the words after a command name: `kustomization`, `source git`, `sources all`.
    ///
    /// # Errors
    /// Words that name nothing, with the ones that do.
    pub(crate) fn find(words: &[String]) -> Result<Vec<&'static Kind>> {
        let folded: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let (family, word) = match folded.as_slice() {
            [word] if word == "all" => return Ok(KINDS.iter().collect()),
            [word] => ("", word.as_str()),
            [family, word] => (family.as_str(), word.as_str()),
            _ => return Err(unknown(words)),
        };
        let family_fits = |kind: &Kind| {
            kind.family == family || (!family.is_empty() && kind.family == format!("{family}s"))
        };
        let found: Vec<&Kind> = KINDS
            .iter()
            .filter(|kind| {
                family_fits(kind) && (word == "all" || kind.words.contains(&word) || kind.plural == word)
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

    /// The rows' cells for one object, beside namespace and name.
    pub(crate) fn cells(&self, object: &Value) -> Vec<String> {
        let (ready, message) = readiness(object);
        let suspended = if object["spec"]["suspend"].as_bool().unwrap_or(false) {
            "True"
        } else {
            "False"
        };
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        match self.columns {
            Columns::Revision => {
                let revision = self.revision(object);
                vec![
                    shorten_digests(&revision),
                    suspended.to_owned(),
                    ready,
                    shorten_digests(&message),
                ]
            }
            Columns::External => {
                let source = format!(
                    "{}/{}",
                    text("/spec/sourceRef/kind"),
                    text("/spec/sourceRef/name")
                );
                vec![
                    shorten_digests(&text("/status/artifact/revision")),
                    source,
                    ready,
                    shorten_digests(&message),
                ]
            }
            Columns::Status => vec![suspended.to_owned(), ready, message],
            Columns::Scan => vec![
                text("/status/lastScanResult/scanTime"),
                suspended.to_owned(),
                ready,
                message,
            ],
            Columns::Policy => {
                vec![
                    text("/status/latestRef/name"),
                    text("/status/latestRef/tag"),
                    ready,
                    message,
                ]
            }
            Columns::Update => {
                vec![
                    text("/status/lastAutomationRunTime"),
                    suspended.to_owned(),
                    ready,
                    message,
                ]
            }
            Columns::Static => vec![
                suspended.to_owned(),
                "True".to_owned(),
                format!("{} is Ready", self.kind),
            ],
        }
    }

    /// The headers of [`Kind::cells`].
    pub(crate) fn headers(&self) -> &'static [&'static str] {
        match self.columns {
            Columns::Revision => &["revision", "suspended", "ready", "message"],
            Columns::External => &["revision", "source", "ready", "message"],
            Columns::Status | Columns::Static => &["suspended", "ready", "message"],
            Columns::Scan => &["last scan", "suspended", "ready", "message"],
            Columns::Policy => &["image", "tag", "ready", "message"],
            Columns::Update => &["last run", "suspended", "ready", "message"],
        }
    }

    /// The revision that the object stands at.
    pub(crate) fn revision(&self, object: &Value) -> String {
        let pointer = match self.kind {
            "Kustomization" => "/status/lastAppliedRevision",
            "HelmRelease" => "/status/history/0/chartVersion",
            _ => "/status/artifact/revision",
        };
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    }
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

/// The condition of type `name`, if the object has it.
pub(crate) fn condition<'object>(object: &'object Value, name: &str) -> Option<&'object Value> {
    object["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == name)
}

fn unknown(words: &[String]) -> CommandError {
    let known: Vec<String> = KINDS
        .iter()
        .map(|kind| match kind.family {
            "" => kind.words[0].to_owned(),
            family => format!("{} {}", family.trim_end_matches('s'), kind.words[0]),
        })
        .collect();
    CommandError::new(format!("'{}' is no kind of the toolkit", words.join(" "))).with_hint(format!(
        "known kinds: {}, all, source all, image all",
        known.join(", ")
    ))
}

/// Cuts each SHA-1 and SHA-256 in `text` to eight digits, as a table shows them.
pub(crate) fn shorten_digests(text: &str) -> String {
    let mut shortened = String::with_capacity(text.len());
    let mut run = String::new();
    for character in text.chars().chain(std::iter::once('\0')) {
        if character.is_ascii_digit() || ('a'..='f').contains(&character) {
            run.push(character);
            continue;
        }
        let whole = run.len();
        shortened.push_str(if whole == 40 || whole == 64 {
            &run[..8]
        } else {
            &run
        });
        run.clear();
        if character != '\0' {
            shortened.push(character);
        }
    }
    shortened
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
        ] {
            assert_eq!(Kind::find(&words(text)).unwrap()[0].kind, kind, "{text}");
        }
        assert_eq!(Kind::find(&words("sources all")).unwrap().len(), 6);
        assert_eq!(Kind::find(&words("all")).unwrap().len(), KINDS.len());
        assert!(
            Kind::find(&words("pods"))
                .unwrap_err()
                .hint()
                .unwrap()
                .contains("source git")
        );
    }

    #[test]
    fn digests_are_shortened_and_nothing_else() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(shorten_digests(&format!("main@sha1:{sha}")), "main@sha1:01234567");
        assert_eq!(
            shorten_digests("Applied revision: cafe"),
            "Applied revision: cafe"
        );
    }

    #[test]
    fn cells_follow_the_headers() {
        let object = json!({
            "spec": {"suspend": true},
            "status": {"lastAppliedRevision": "main@sha1:1", "conditions": [
                {"type": "Ready", "status": "False", "message": "no"}]}
        });
        for kind in KINDS {
            assert_eq!(kind.cells(&object).len(), kind.headers().len(), "{}", kind.kind);
        }
        let kustomization = Kind::by_name("kustomization").unwrap();
        assert_eq!(
            kustomization.cells(&object),
            ["main@sha1:1", "True", "False", "no"]
        );
    }
}
