//! What an assessment says.

use std::fmt;

/// The states of kstatus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// The actual state matches the desired one.
    Current,
    /// A controller is still working towards the desired state.
    InProgress,
    /// The object will not get there without a change.
    Failed,
    /// The object is being deleted.
    Terminating,
    /// The object does not exist.
    NotFound,
    /// The state could not be determined.
    Unknown,
}

impl Status {
    /// The name as kstatus and Flux's messages print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Current => "Current",
            Self::InProgress => "InProgress",
            Self::Failed => "Failed",
            Self::Terminating => "Terminating",
            Self::NotFound => "NotFound",
            Self::Unknown => "Unknown",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The health of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assessment {
    /// The state.
    pub status: Status,
    /// A sentence for people; for [`Status::Unknown`] the error met while reading the object.
    pub message: String,
    /// One word in CamelCase that tells why, or empty where the rule gives none (as for a current object).
    pub reason: String,
}

impl Assessment {
    /// An object that has reached its desired state.
    pub fn current(message: impl Into<String>) -> Self {
        Self {
            status: Status::Current,
            message: message.into(),
            reason: String::new(),
        }
    }

    /// An object on its way.
    pub fn in_progress(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: Status::InProgress,
            message: message.into(),
            reason: reason.into(),
        }
    }

    /// An object that is stuck.
    pub fn failed(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: Status::Failed,
            message: message.into(),
            reason: reason.into(),
        }
    }

    /// An object that is being deleted.
    pub fn terminating() -> Self {
        Self {
            status: Status::Terminating,
            message: "Resource scheduled for deletion".to_owned(),
            reason: String::new(),
        }
    }

    /// An object that does not exist.
    pub fn not_found() -> Self {
        Self {
            status: Status::NotFound,
            message: "Resource not found".to_owned(),
            reason: String::new(),
        }
    }

    /// An object whose state could not be read, with the error's text.
    pub fn unknown(error: impl Into<String>) -> Self {
        Self {
            status: Status::Unknown,
            message: error.into(),
            reason: String::new(),
        }
    }
}
