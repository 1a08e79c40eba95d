//! Errors: those that a reconcile returns, which carry what is to follow, and those of the machinery itself.

use std::time::Duration;

use crate::events::Severity;

/// Any error below another one.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What is to happen after a failed reconcile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nothing helps but a change of the object (or of what it refers to): `Stalled=True`, no next run is planned.
    Stalled,
    /// Try again after the object's exponential back-off.
    Backoff,
    /// Try again after this time, without back-off (a retry interval).
    RetryAfter(Duration),
    /// Something else is not ready yet; look again after this time, or when it changes. Not a failure: logged as information,
    /// and the failure count starts anew.
    Waiting(Duration),
}

/// The event that a failed reconcile emits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorEvent {
    /// The event's severity.
    pub severity: Severity,
    /// The event's text, where it differs from the error's message.
    pub message: Option<String>,
    /// The event's reason, where it differs from the error's reason.
    pub reason: Option<String>,
}

/// The error of a reconcile: its class decides what follows, its reason and message go into the conditions, into the log and,
/// unless silenced, into an event.
///
/// By default an error emits an event of severity error, except [`Class::Waiting`], which emits none.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ReconcileError {
    /// What is to follow.
    pub class: Class,
    /// The CamelCase reason of the condition.
    pub reason: String,
    /// What happened, to which object, where, and what to do: the text users see.
    pub message: String,
    /// The condition type that the failure sets, besides Ready. See [`Conclusion`](crate::controller::Conclusion).
    pub condition: Option<&'static str>,
    /// The object at fault, where it is not the reconciled one; a log field.
    pub object: Option<String>,
    /// Where in it (`file:line`, field path); a log field.
    pub place: Option<String>,
    /// What helps; a log field.
    pub remedy: Option<String>,
    /// The event to emit, if any.
    pub event: Option<ErrorEvent>,
    /// Extra metadata for that event, such as the revision.
    pub metadata: Vec<(String, String)>,
    /// Overrides the controller's rule whether `status.observedGeneration` moves.
    pub observed: Option<bool>,
    /// Leaves the conditions as the reconciler set them.
    pub conditions_set: bool,
    /// The cause.
    #[source]
    pub source: Option<BoxError>,
}

impl ReconcileError {
    /// An error of the given class.
    pub fn new(class: Class, reason: impl Into<String>, message: impl Into<String>) -> Self {
        let event = match class {
            Class::Waiting(_) => None,
            _ => Some(ErrorEvent {
                severity: Severity::Error,
                message: None,
                reason: None,
            }),
        };
        Self {
            class,
            reason: reason.into(),
            message: message.into(),
            condition: None,
            object: None,
            place: None,
            remedy: None,
            event,
            metadata: Vec::new(),
            observed: None,
            conditions_set: false,
            source: None,
        }
    }

    /// A [`Class::Stalled`] error.
    pub fn stalled(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Class::Stalled, reason, message)
    }

    /// A [`Class::Backoff`] error.
    pub fn backoff(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Class::Backoff, reason, message)
    }

    /// A [`Class::RetryAfter`] error.
    pub fn retry_after(after: Duration, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Class::RetryAfter(after), reason, message)
    }

    /// A [`Class::Waiting`] error.
    pub fn waiting(after: Duration, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Class::Waiting(after), reason, message)
    }

    /// Names the condition type that carries the failure, besides Ready.
    #[must_use]
    pub fn with_condition(mut self, condition: &'static str) -> Self {
        self.condition = Some(condition);
        self
    }

    /// Names the object at fault.
    #[must_use]
    pub fn with_object(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// Names the place in the object at fault.
    #[must_use]
    pub fn with_place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// Says what helps.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Emits no event.
    #[must_use]
    pub fn without_event(mut self) -> Self {
        self.event = None;
        self
    }

    /// Emits an event of this severity with the error's reason and message.
    #[must_use]
    pub fn with_event(mut self, severity: Severity) -> Self {
        self.event = Some(ErrorEvent {
            severity,
            message: None,
            reason: None,
        });
        self
    }

    /// Emits an event of this severity with another text.
    #[must_use]
    pub fn with_event_message(mut self, severity: Severity, message: impl Into<String>) -> Self {
        self.event = Some(ErrorEvent {
            severity,
            message: Some(message.into()),
            reason: None,
        });
        self
    }

    /// Adds metadata to the event.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// Overrides the controller's rule: whether `status.observedGeneration` becomes the object's generation.
    #[must_use]
    pub fn with_observed(mut self, observed: bool) -> Self {
        self.observed = Some(observed);
        self
    }

    /// Leaves Ready and the named condition as the reconciler has already set them.
    #[must_use]
    pub fn with_conditions_set(mut self) -> Self {
        self.conditions_set = true;
        self
    }
}

/// A failure of the machinery around reconciles.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// A flag or environment variable cannot be used.
    #[error("invalid configuration: {name}: {message}")]
    Configuration {
        /// The flag or variable.
        name: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// The API server's address or credentials cannot be read.
    #[error("cannot configure the Kubernetes client: {0}")]
    Kubeconfig(#[source] BoxError),
    /// A request to the API server failed.
    #[error("request to the Kubernetes API failed: {0}")]
    Kubernetes(#[from] kube::Error),
    /// A listening address cannot be used.
    #[error("cannot listen on {address} ({flag}): {source}")]
    Listen {
        /// The flag that gave the address.
        flag: &'static str,
        /// The address.
        address: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A metric could not be registered or encoded.
    #[error("metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// Another process leads now, or the lease could not be renewed in time.
    #[error("leader election lost")]
    LeadershipLost,
    /// A task of the machinery ended though it must not.
    #[error("the {0} ended unexpectedly")]
    TaskEnded(String),
}
