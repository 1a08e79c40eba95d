//! Hooks in records.

use serde::{Deserialize, Deserializer, Serialize};

use super::time::{self, Time};
use crate::manifest::{DeletePolicy, Hook, HookEvent, LogPolicy};

/// A hook and how it went.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReleaseHook {
    /// The object's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The object's kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The path of the file from the root chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The text of the document.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub manifest: String,
    /// When it runs; words of other versions of Helm are kept.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "read_list")]
    pub events: Vec<String>,
    /// How the last run went.
    pub last_run: HookExecution,
    /// Hooks of less weight run first.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub weight: i64,
    /// When the object is deleted.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "read_list")]
    pub delete_policies: Vec<DeletePolicy>,
    /// When the log is shown.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "read_list")]
    pub output_log_policies: Vec<LogPolicy>,
}

/// A run of a hook.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookExecution {
    /// When it began.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time::read_optional"
    )]
    pub started_at: Option<Time>,
    /// When it ended.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "time::read_optional"
    )]
    pub completed_at: Option<Time>,
    /// `Running`, `Succeeded`, `Failed`, `Unknown`; empty before the first run.
    pub phase: String,
}

/// A list that may be null.
fn read_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

pub(super) fn are_absent(hooks: &Option<Vec<ReleaseHook>>) -> bool {
    hooks.as_ref().is_none_or(Vec::is_empty)
}

impl ReleaseHook {
    /// Whether it runs on an event.
    pub fn runs_on(&self, event: HookEvent) -> bool {
        self.events
            .iter()
            .any(|name| HookEvent::parse(name) == Some(event))
    }
}

impl From<&Hook> for ReleaseHook {
    fn from(hook: &Hook) -> Self {
        Self {
            name: hook.name.clone(),
            kind: hook.kind.clone(),
            path: hook.path.clone(),
            manifest: hook.manifest.clone(),
            events: hook
                .events
                .iter()
                .map(|event| event.as_str().to_owned())
                .collect(),
            last_run: HookExecution::default(),
            weight: hook.weight,
            delete_policies: hook.delete_policies.clone(),
            output_log_policies: hook.log_policies.clone(),
        }
    }
}

impl std::fmt::Debug for ReleaseHook {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ReleaseHook")
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("events", &self.events)
            .field("last_run", &self.last_run)
            .finish_non_exhaustive()
    }
}
