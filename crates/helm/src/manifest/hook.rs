//! Hooks: documents that run around an action instead of belonging to the release.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Head;

/// The annotation that makes a document a hook.
const HOOK: &str = "helm.sh/hook";
const WEIGHT: &str = "helm.sh/hook-weight";
const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
const LOG_POLICY: &str = "helm.sh/hook-output-log-policy";

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// Before the objects are installed.
    PreInstall,
    /// After they are.
    PostInstall,
    /// Before a release is deleted.
    PreDelete,
    /// After it is.
    PostDelete,
    /// Before the objects are upgraded.
    PreUpgrade,
    /// After they are.
    PostUpgrade,
    /// Before a rollback.
    PreRollback,
    /// After it.
    PostRollback,
    /// When the release is tested.
    Test,
}

impl HookEvent {
    /// The word that annotations and records use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreInstall => "pre-install",
            Self::PostInstall => "post-install",
            Self::PreDelete => "pre-delete",
            Self::PostDelete => "post-delete",
            Self::PreUpgrade => "pre-upgrade",
            Self::PostUpgrade => "post-upgrade",
            Self::PreRollback => "pre-rollback",
            Self::PostRollback => "post-rollback",
            Self::Test => "test",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "pre-install" => Self::PreInstall,
            "post-install" => Self::PostInstall,
            "pre-delete" => Self::PreDelete,
            "post-delete" => Self::PostDelete,
            "pre-upgrade" => Self::PreUpgrade,
            "post-upgrade" => Self::PostUpgrade,
            "pre-rollback" => Self::PreRollback,
            "post-rollback" => Self::PostRollback,
            "test" | "test-success" => Self::Test,
            _ => return None,
        })
    }
}

/// When a hook's object is deleted; Helm keeps texts that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeletePolicy(pub String);

/// When the log of a hook's pods is shown; Helm keeps texts that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogPolicy(pub String);

/// A document that runs around an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// The object's name.
    pub name: String,
    /// The object's kind.
    pub kind: String,
    /// The path of the file from the root chart.
    pub path: String,
    /// The text of the document.
    pub manifest: String,
    /// When it runs.
    pub events: Vec<HookEvent>,
    /// Hooks of less weight run first.
    pub weight: i64,
    /// When the object is deleted: `before-hook-creation`, `hook-succeeded`, `hook-failed`.
    pub delete_policies: Vec<DeletePolicy>,
    /// When the log is shown: `hook-succeeded`, `hook-failed`.
    pub log_policies: Vec<LogPolicy>,
}

/// The events that a document's annotations name: None if it is no hook, an empty list if one of them is
/// unknown, which makes Helm drop the document.
pub(super) fn events(annotations: &BTreeMap<String, String>) -> Option<Vec<HookEvent>> {
    let named = annotations.get(HOOK)?;
    let events = named.split(',').map(|name| HookEvent::parse(&normal(name)));
    Some(events.collect::<Option<_>>().unwrap_or_default())
}

fn normal(name: &str) -> String {
    name.trim_matches(crate::text::is_space).to_lowercase()
}

impl Hook {
    pub(super) fn new(path: &str, manifest: String, head: Head, events: Vec<HookEvent>) -> Option<Self> {
        if events.is_empty() {
            return None;
        }
        let policies = |annotation: &str| {
            let named = head.annotations.get(annotation);
            named.map(|named| named.split(',').map(normal).collect::<Vec<_>>())
        };
        let delete = policies(DELETE_POLICY).unwrap_or_default();
        let log = policies(LOG_POLICY).unwrap_or_default();
        let weight = head
            .annotations
            .get(WEIGHT)
            .and_then(|weight| weight.parse().ok());
        Some(Self {
            name: head.name,
            kind: head.kind,
            path: path.to_owned(),
            manifest,
            events,
            weight: weight.unwrap_or(0),
            delete_policies: delete.into_iter().map(DeletePolicy).collect(),
            log_policies: log.into_iter().map(LogPolicy).collect(),
        })
    }

    /// Whether it runs when the release is tested.
    pub fn is_test(&self) -> bool {
        self.events.contains(&HookEvent::Test)
    }
}
