//! What can go wrong, in Flux's words, with the object named.

use crate::{Change, ChangeSet, ObjectId, Unannounced};

/// The text client-go makes of a 404 that names no object.
pub(crate) const UNKNOWN_PATH: &str = "the server could not find the requested resource";

/// A request that failed, or a kind that the cluster does not know.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The API server refused.
    #[error("{message}")]
    Refused {
        /// The server's message.
        message: String,
        /// The reason (`NotFound`, `Invalid`, `Forbidden`, …), empty if the server gave none.
        reason: String,
        /// The HTTP status code.
        code: u16,
        /// Whether the cause is a conflict with another field manager.
        field_conflict: bool,
    },
    /// The cluster knows no such kind.
    #[error("no matches for kind \"{kind}\" in version \"{api_version}\"")]
    UnknownKind {
        /// The kind.
        kind: String,
        /// The group and version in which it was looked for.
        api_version: String,
    },
    /// The request did not get through or its answer could not be read.
    #[error("{0}")]
    Transport(String),
}

impl Failure {
    /// Whether the object (or, for a write, the namespace) does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Whether the object is not (any more) as the request says.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { code: 409, .. })
    }

    /// Whether the API server knows nothing by that path: the kind is not served, or not in that version.
    pub(crate) fn is_unknown_path(&self) -> bool {
        matches!(self, Self::Refused { code: 404, message, .. } if message.starts_with(UNKNOWN_PATH))
    }

    /// Whether the server may have done what was asked of it nevertheless: its answer did not come through,
    /// or says that it lost track itself.
    pub fn may_have_been_carried_out(&self) -> bool {
        match self {
            Self::Refused { code, .. } => *code >= 500,
            Self::UnknownKind { .. } => false,
            Self::Transport(_) => true,
        }
    }

    /// The reason as Flux puts it into the text, for example `Invalid`.
    pub fn reason(&self) -> &str {
        match self {
            Self::Refused {
                field_conflict: true, ..
            } => "FieldManagerConflict",
            Self::Refused { reason, .. } => reason,
            _ => "",
        }
    }

    /// Whether a change of an immutable field may be the cause, by the rule of kubectl and Flux: a conflict,
    /// an invalid object, or a message that says so.
    pub fn may_be_immutable_change(&self) -> bool {
        if let Self::Refused { reason, .. } = self
            && matches!(reason.as_str(), "Conflict" | "Invalid")
        {
            return true;
        }
        let text = self.to_string();
        text.contains("is immutable") || text.contains("immutable field")
    }
}

/// Why an object could not be applied.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The server refused the dry run: nothing of the stage has been written.
    #[error("{}", dry_run_text(object, failure))]
    DryRun {
        /// The object.
        object: ObjectId,
        /// Why.
        failure: Failure,
    },
    /// A step before or after the dry run failed.
    #[error("{} {step}: {failure}", object.subject())]
    Step {
        /// The object.
        object: ObjectId,
        /// What failed, for example `apply failed`.
        step: &'static str,
        /// Why.
        failure: Failure,
    },
    /// Definitions or classes did not become ready.
    #[error("{0}")]
    NotReady(String),
    /// The announcer refused: nothing of the stage has been written.
    #[error(transparent)]
    Unannounced(#[from] Unannounced),
}

impl ApplyError {
    /// The object at fault, where it is one.
    pub fn object(&self) -> Option<&ObjectId> {
        match self {
            Self::DryRun { object, .. } | Self::Step { object, .. } => Some(object),
            Self::NotReady(_) | Self::Unannounced(_) => None,
        }
    }
}

fn dry_run_text(object: &ObjectId, failure: &Failure) -> String {
    let subject = object.subject();
    if failure.is_not_found() {
        let problem = if object.namespace.is_empty() {
            "namespace not specified"
        } else {
            "not found"
        };
        return format!("{subject} {problem}: {failure}");
    }
    match failure.reason() {
        "" => format!("{subject} dry-run failed: {failure}"),
        reason => format!("{subject} dry-run failed ({reason}): {failure}"),
    }
}

/// An apply that stopped on the way.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ApplyFailure {
    /// Why it stopped.
    #[source]
    pub error: ApplyError,
    /// The stages that were completed.
    pub completed: ChangeSet,
    /// The objects of the failed stage that were dealt with before the one at fault, and that one too where
    /// it may have been written all the same (see [`Failure::may_have_been_carried_out`]).
    pub touched: Vec<Change>,
}

/// A prune in which some objects could not be deleted.
#[derive(Debug, thiserror::Error)]
#[error("delete failed, errors: {}", .errors.concat())]
pub struct PruneFailure {
    /// What happened to each object; those that failed carry [`crate::Action::Unknown`].
    pub changes: ChangeSet,
    /// One text for each failure, ended by a semicolon.
    pub errors: Vec<String>,
}
