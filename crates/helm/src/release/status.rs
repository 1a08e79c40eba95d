//! The states of a revision.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The state of a revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Status {
    /// Not known.
    #[default]
    Unknown,
    /// The revision is what runs.
    Deployed,
    /// The release was uninstalled and its history kept.
    Uninstalled,
    /// A later revision is what runs.
    Superseded,
    /// The action failed.
    Failed,
    /// An uninstall goes on.
    Uninstalling,
    /// An install goes on.
    PendingInstall,
    /// An upgrade goes on.
    PendingUpgrade,
    /// A rollback goes on.
    PendingRollback,
    /// Another word, or none.
    Other(String),
}

impl Status {
    /// The word that records and labels use.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Unknown => "unknown",
            Self::Deployed => "deployed",
            Self::Uninstalled => "uninstalled",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
            Self::Uninstalling => "uninstalling",
            Self::PendingInstall => "pending-install",
            Self::PendingUpgrade => "pending-upgrade",
            Self::PendingRollback => "pending-rollback",
            Self::Other(word) => word,
        }
    }

    /// Whether an action goes on, or was cut short.
    pub fn is_pending(&self) -> bool {
        matches!(
            self,
            Self::PendingInstall | Self::PendingUpgrade | Self::PendingRollback
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.as_str().is_empty()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl From<String> for Status {
    fn from(word: String) -> Self {
        match word.as_str() {
            "unknown" => Self::Unknown,
            "deployed" => Self::Deployed,
            "uninstalled" => Self::Uninstalled,
            "superseded" => Self::Superseded,
            "failed" => Self::Failed,
            "uninstalling" => Self::Uninstalling,
            "pending-install" => Self::PendingInstall,
            "pending-upgrade" => Self::PendingUpgrade,
            "pending-rollback" => Self::PendingRollback,
            _ => Self::Other(word),
        }
    }
}

impl From<Status> for String {
    fn from(status: Status) -> Self {
        status.as_str().to_owned()
    }
}
